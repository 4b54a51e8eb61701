-- The queries of chronicle on Postgres beside those of every journal.

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
WHERE e.user_id = %(owner)s AND e.journal = %(journal)s AND NOT EXISTS (
    SELECT FROM wb_times AS t
    WHERE t.user_id = e.user_id AND t.kind = e.journal AND t.ref_id = e.id
        AND t.expires_at <= %(now)s::timestamptz
)
GROUP BY e.tags;
