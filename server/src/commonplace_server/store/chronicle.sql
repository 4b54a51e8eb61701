-- The queries of chronicle on Postgres: of one owner, who is the first of each key.

-- name: read
-- An entry's parts, unless it has expired; now is null for who may see that too.
SELECT e.id, e.place, e.at, e.nanos, e.written_at, e.scope, e.body, e.tags, e.supersedes, e.more
FROM cp_entries AS e
WHERE e.user_id = %(owner)s AND e.journal = 'chronicle' AND NOT EXISTS (
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

-- name: newest
-- Appended to a reading: of a span, with the tags and in the folder that are asked for, newest first.
AND (e.at, e.nanos, e.place) < (%(at)s::timestamptz, %(nanos)s::smallint, %(place)s::bigint)
AND (e.at, e.nanos) >= (%(since)s::timestamptz, %(since_nanos)s::smallint)
AND (cardinality(%(any_of)s::text[]) = 0 OR e.folded && %(any_of)s::text[])
AND e.folded @> %(required)s::text[] AND NOT e.folded && %(excluded)s::text[]
AND (%(directory)s::text IS NULL OR e.scope = %(directory)s::text)
ORDER BY e.at DESC, e.nanos DESC, e.place DESC LIMIT %(limit)s;

-- name: oldest
-- Appended to a reading: those after a place, oldest first.
AND (e.at, e.nanos, e.place) > (%(at)s::timestamptz, %(nanos)s::smallint, %(place)s::bigint)
ORDER BY e.at, e.nanos, e.place LIMIT %(limit)s;

-- name: superseding
-- Appended to a reading: those that took the place of some.
AND e.supersedes = ANY (%(ids)s::text[]) AND e.supersedes <> '';

-- name: that_may_bear
-- Appended to a reading: of a span, what holds the beginning of a word, and all that is not plain ASCII.
AND (e.at, e.nanos, e.place) < (%(at)s::timestamptz, %(nanos)s::smallint, %(place)s::bigint)
AND (e.at, e.nanos) >= (%(since)s::timestamptz, %(since_nanos)s::smallint)
AND (strpos(lower(e.body), %(beginning)s) > 0 OR octet_length(e.body) <> length(e.body)
    OR strpos(lower(array_to_string(e.tags, ' ')), %(beginning)s) > 0
    OR octet_length(array_to_string(e.tags, ' ')) <> length(array_to_string(e.tags, ' ')));

-- name: count_tags
-- Every distinct list of tags, and how many entries bear just these.
SELECT e.tags, count(*) FROM cp_entries AS e
WHERE e.user_id = %(owner)s AND e.journal = 'chronicle' AND NOT EXISTS (
    SELECT FROM wb_times AS t
    WHERE t.user_id = e.user_id AND t.kind = e.journal AND t.ref_id = e.id
        AND t.expires_at <= %(now)s::timestamptz
)
GROUP BY e.tags;

-- name: lock_writing
-- Of two who write only what is not there, one looks after the other has written.
SELECT pg_advisory_xact_lock(hashtextextended('chronicle ' || %(owner)s, 7166182915204));

-- name: add
-- A new entry, unless its id is taken.
INSERT INTO cp_entries (
    user_id, journal, id, at, nanos, written_at, scope, body, tags, folded, supersedes, more
) VALUES (
    %(owner)s, 'chronicle', %(id)s, %(at)s, %(nanos)s, %(written_at)s, %(scope)s, %(body)s,
    %(tags)s::text[], %(folded)s::text[], %(supersedes)s, %(more)s
) ON CONFLICT DO NOTHING RETURNING place;

-- name: alter
-- An entry with other parts; when it was written down stays.
UPDATE cp_entries SET at = %(at)s, nanos = %(nanos)s, scope = %(scope)s, body = %(body)s,
    tags = %(tags)s::text[], folded = %(folded)s::text[], supersedes = %(supersedes)s
WHERE user_id = %(owner)s AND journal = 'chronicle' AND id = %(id)s;

-- name: delete
-- Entries leave.
DELETE FROM cp_entries
WHERE user_id = %(owner)s AND journal = 'chronicle' AND id = ANY (%(ids)s::text[]);

-- name: gone
-- Which of some were there once and were deleted.
SELECT ref_id FROM wb_outbox
WHERE user_id = %(owner)s AND kind = 'chronicle' AND ref_id = ANY (%(ids)s::text[]) AND gone;

-- name: mark
-- How many there are and were, and how often they changed.
SELECT count(*), coalesce(sum(changes), 0)
FROM wb_outbox WHERE user_id = %(owner)s AND kind = 'chronicle';
