-- The queries of the private journal on Postgres beside those of every journal. Of one instant, what was written
-- at once stands before what was written down later, then their names decide: a private entry's turn.

-- name: newest
-- Appended to a reading: of a span and of a scope, where one is given, newest first.
AND (%(scope)s::text IS NULL OR e.scope = %(scope)s::text)
AND (%(start)s::timestamptz IS NULL OR e.at >= %(start)s::timestamptz)
AND (%(end)s::timestamptz IS NULL OR e.at < %(end)s::timestamptz)
ORDER BY e.at DESC, nullif(e.written_at, e.at) DESC NULLS LAST, e.id DESC LIMIT %(limit)s;

-- name: oldest
-- Appended to a reading: those after a place, oldest first, by time and name.
AND (e.at, e.id) > (%(at)s::timestamptz, %(id)s)
ORDER BY e.at, e.id LIMIT %(limit)s;

-- name: before
-- Appended to a reading: the nearest of its scope before an entry.
AND e.scope = %(scope)s AND e.at <= %(at)s::timestamptz
AND (e.at, coalesce(nullif(e.written_at, e.at), '-infinity'), e.id)
    < (%(at)s::timestamptz, %(turn)s::timestamptz, %(id)s)
ORDER BY e.at DESC, nullif(e.written_at, e.at) DESC NULLS LAST, e.id DESC LIMIT 1;

-- name: behind
-- Appended to a reading: the nearest of its scope after an entry.
AND e.scope = %(scope)s AND e.at >= %(at)s::timestamptz
AND (e.at, coalesce(nullif(e.written_at, e.at), '-infinity'), e.id)
    > (%(at)s::timestamptz, %(turn)s::timestamptz, %(id)s)
ORDER BY e.at, nullif(e.written_at, e.at) NULLS FIRST, e.id LIMIT 1;

-- name: known
-- Which of some are there, or were, expired or not.
SELECT ref_id FROM wb_outbox
WHERE user_id = %(owner)s AND kind = %(journal)s AND ref_id = ANY (%(ids)s::text[]);

-- name: key_of
-- What a key stands for.
SELECT ids, at FROM cp_keys
WHERE user_id = %(owner)s AND journal = %(journal)s AND key = %(key)s;

-- name: keep_key
-- A key, unless it is known.
INSERT INTO cp_keys (user_id, journal, key, ids, at)
VALUES (%(owner)s, %(journal)s, %(key)s, %(ids)s::text[], %(at)s) ON CONFLICT DO NOTHING;

-- name: release_keys
-- Keys that may write again.
DELETE FROM cp_keys
WHERE user_id = %(owner)s AND journal = %(journal)s AND key = ANY (%(keys)s::text[]);
