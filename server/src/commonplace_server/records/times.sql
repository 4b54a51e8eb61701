-- The queries of when a user's records expire, and of since when they are replaced by one that is gone:
-- {time} is the column of either, and {due} the query of that name.

-- name: times
-- The time of each record that has one. An entry of a notebook that was taken back has none: it is kept, and
-- its end, the first day after 1970 began, hides it.
SELECT kind, ref_id, extract(epoch FROM {time})::float8 FROM wb_times
WHERE user_id = %(user_id)s AND {time} IS NOT NULL
    AND NOT (kind = 'notebook' AND {time} <= to_timestamp(86400));

-- name: times_of
-- The times of some records.
SELECT known.kind, known.ref_id, extract(epoch FROM known.at)::float8
FROM unnest(%(kinds)s::text[], %(ids)s::text[]) AS a (kind, id)
CROSS JOIN LATERAL (
    SELECT kind, ref_id, {time} AS at FROM wb_times
    WHERE user_id = %(user_id)s AND kind = a.kind AND ref_id = a.id OFFSET 0
) AS known
WHERE known.at IS NOT NULL;

-- name: due
-- The records whose time has come, the longest ago first: by the database's clock too, since that of
-- one of its servers may be wrong. What was taken back stays.
SELECT kind, ref_id FROM wb_times
WHERE user_id = %(user_id)s AND {time} <= least(now(), to_timestamp(%(now)s))
    AND NOT (kind = 'notebook' AND {time} <= to_timestamp(86400))
ORDER BY {time}, kind, ref_id;

-- name: absent
-- What each search would ask one by one: whether there is a record whose time has come, one whose words wait for the
-- index, preferences, and a timeline.
SELECT EXISTS ({due}), EXISTS (SELECT FROM wb_outbox WHERE user_id = %(user_id)s AND words_due),
    EXISTS (SELECT FROM wb_preferences WHERE user_id = %(user_id)s),
    EXISTS (SELECT FROM cp_timelines WHERE user_id = %(user_id)s);

-- name: keep
-- Sets times, in the order of the key: else two who set several would wait for each other.
INSERT INTO wb_times (user_id, kind, ref_id, {time})
SELECT %(user_id)s, kind, id, to_timestamp(at)
FROM unnest(%(kinds)s::text[], %(ids)s::text[], %(times)s::float8[]) AS a (kind, id, at)
ORDER BY kind COLLATE "C", id COLLATE "C"
ON CONFLICT (user_id, kind, ref_id) DO UPDATE SET {time} = excluded.{time};

-- name: take_over
-- Likewise, where another place kept them: the later of two counts, so that nothing goes before the
-- last end that anybody set.
INSERT INTO wb_times AS known (user_id, kind, ref_id, {time})
SELECT %(user_id)s, kind, id, to_timestamp(at)
FROM unnest(%(kinds)s::text[], %(ids)s::text[], %(times)s::float8[]) AS a (kind, id, at)
ORDER BY kind COLLATE "C", id COLLATE "C"
ON CONFLICT (user_id, kind, ref_id) DO UPDATE SET {time} = greatest(known.{time}, excluded.{time});

-- name: known
-- Which of some records there are, or were: each has a line of the outbox from its first moment.
SELECT known.kind, known.ref_id, known.gone
FROM unnest(%(kinds)s::text[], %(ids)s::text[]) AS a (kind, id)
JOIN wb_outbox AS known ON known.user_id = %(user_id)s AND known.kind = a.kind
    AND known.ref_id = a.id;

-- name: drop
-- These records have no such time any more.
UPDATE wb_times SET {time} = NULL
FROM unnest(%(kinds)s::text[], %(ids)s::text[]) AS a (kind, id)
WHERE wb_times.user_id = %(user_id)s AND wb_times.kind = a.kind AND wb_times.ref_id = a.id;

-- name: drop_empty
-- A line without a time says nothing.
DELETE FROM wb_times USING unnest(%(kinds)s::text[], %(ids)s::text[]) AS a (kind, id)
WHERE wb_times.user_id = %(user_id)s AND wb_times.kind = a.kind AND wb_times.ref_id = a.id
    AND expires_at IS NULL AND replaced_at IS NULL;
