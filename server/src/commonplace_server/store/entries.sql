-- The queries of every journal on Postgres: of one owner and journal, which begin each key. What one journal asks
-- besides lies in a file of its name.

-- name: read
-- An entry's parts, unless it has expired; now is null for who may see that too.
SELECT e.id, e.place, e.at, e.nanos, e.written_at, e.scope, e.body, e.tags, e.supersedes, e.more
FROM cp_entries AS e
WHERE e.user_id = %(owner)s AND e.journal = %(journal)s AND NOT EXISTS (
    SELECT FROM wb_times AS t
    WHERE t.user_id = e.user_id AND t.kind = e.journal AND t.ref_id = e.id
        AND t.expires_at <= %(now)s::timestamptz
);

-- name: of_id
-- Appended to a reading: the one with an id.
AND e.id = %(id)s;

-- name: locked
-- Appended to a reading of one: nobody else changes it until the end.
FOR UPDATE OF e;

-- name: of_ids
-- Appended to a reading: those with some ids.
AND e.id = ANY (%(ids)s::text[]);

-- name: of_ids_locked
-- Appended to that: in the order of their key, else two who change several would wait for each other.
ORDER BY e.id FOR UPDATE OF e;

-- name: of_prefix
-- Appended to a reading: those whose id begins so, or two of them.
AND e.id >= %(low)s AND e.id < %(high)s LIMIT 2;

-- name: lock_writing
-- Of two who write only what is not there, one looks after the other has written.
SELECT pg_advisory_xact_lock(hashtextextended(%(journal)s || ' ' || %(owner)s, 7166182915204));

-- name: add
-- A new entry, unless its id is taken.
INSERT INTO cp_entries (
    user_id, journal, id, at, nanos, written_at, scope, body, tags, folded, supersedes, more
) VALUES (
    %(owner)s, %(journal)s, %(id)s, %(at)s, %(nanos)s, %(written_at)s, %(scope)s, %(body)s,
    %(tags)s::text[], %(folded)s::text[], %(supersedes)s, %(more)s
) ON CONFLICT DO NOTHING RETURNING place;

-- name: alter
-- An entry with other parts; when it was written down stays.
UPDATE cp_entries SET at = %(at)s, nanos = %(nanos)s, scope = %(scope)s, body = %(body)s,
    tags = %(tags)s::text[], folded = %(folded)s::text[], supersedes = %(supersedes)s,
    more = %(more)s
WHERE user_id = %(owner)s AND journal = %(journal)s AND id = %(id)s;

-- name: delete
-- Entries leave; the ids of those that were there.
DELETE FROM cp_entries
WHERE user_id = %(owner)s AND journal = %(journal)s AND id = ANY (%(ids)s::text[]) RETURNING id;

-- name: gone
-- Which of some were there once and were deleted.
SELECT ref_id FROM wb_outbox
WHERE user_id = %(owner)s AND kind = %(journal)s AND ref_id = ANY (%(ids)s::text[]) AND gone;

-- name: mark
-- How many there are and were, how often they changed, and the second of the last change.
SELECT count(*), coalesce(sum(changes), 0), coalesce(floor(extract(epoch FROM max(at))), 0)::bigint
FROM wb_outbox WHERE user_id = %(owner)s AND kind = %(journal)s;

-- name: changed
-- Those that changed from a second on, the last change first.
SELECT ref_id FROM wb_outbox
WHERE user_id = %(owner)s AND kind = %(journal)s AND at >= to_timestamp(%(second)s)
ORDER BY at DESC, ref_id;

-- name: is_kept
-- Whether a user has ever kept anything, in any journal: who has is counted from then on.
SELECT FROM cp_kept WHERE user_id = %(owner)s;
