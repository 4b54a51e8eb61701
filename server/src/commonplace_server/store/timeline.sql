-- The queries of the timeline that differ on Postgres from those of its file: what writes, and what reads JSON.
-- Each other one of journals/timeline/queries.sql is run as it stands, over the first nine, which have the names of
-- the file's tables.

-- name: journal_entries
-- The table of the file: entries and summaries of one owner, but those that are hidden.
SELECT place AS seq, id, user_id AS thread_id, body AS content, scope AS entry_type, at AS timestamp,
    starts AS period_start, ends AS period_end, more AS metadata, level AS rollup_level,
    state AS status, written_at AS created_at, altered_at AS updated_at, zone AS tz, hash,
    NULL::text AS parent_id, supersedes, tags
FROM cp_entries
WHERE user_id = %(owner)s AND journal = 'timeline' AND place <> ALL (%(hidden)s::bigint[])

-- name: rollups
-- The table of the file.
SELECT * FROM cp_rollups WHERE user_id = %(owner)s

-- name: rollup_sources
-- The table of the file.
SELECT * FROM cp_rollup_sources WHERE user_id = %(owner)s

-- name: dirty
-- The table of the file.
SELECT * FROM cp_due WHERE user_id = %(owner)s

-- name: tombstones
-- The table of the file.
SELECT * FROM cp_gone WHERE user_id = %(owner)s

-- name: expired
-- The table of the file.
SELECT * FROM cp_expired WHERE user_id = %(owner)s

-- name: fed
-- The table of the file, but what is hidden, which has numbers below 0 there.
SELECT * FROM cp_fed WHERE user_id = %(owner)s AND -seq <> ALL (%(hidden)s::bigint[])

-- name: fed_marks
-- The table of the file.
SELECT * FROM cp_fed_marks WHERE user_id = %(owner)s

-- name: series
-- The table of the file.
SELECT * FROM cp_series WHERE user_id = %(owner)s

-- name: open
-- Whether the owner has a timeline, and whether any of their entries has expired.
SELECT EXISTS (
    SELECT FROM wb_times WHERE user_id = %(owner)s AND expires_at <= %(present)s::timestamptz
) FROM cp_timelines WHERE user_id = %(owner)s;

-- name: hold_shared
-- Nobody writes to the owner's timeline until the end, and others may hold it likewise.
SELECT FROM cp_timelines WHERE user_id = %(owner)s FOR SHARE;

-- name: hidden
-- The numbers of entries that have expired, and of the summaries that quote one which has: of `compared` a model
-- wrote when it was shown the one before, and what it wrote went into what lies above.
WITH RECURSIVE over AS (
    SELECT kind, ref_id FROM wb_times
    WHERE user_id = %(owner)s AND expires_at <= %(present)s::timestamptz
),
up (seq) AS (
    SELECT e.place FROM cp_entries AS e JOIN over ON over.kind = 'timeline' AND over.ref_id = e.id
    WHERE e.user_id = %(owner)s AND e.journal = 'timeline'
    UNION
    SELECT -f.seq FROM cp_fed AS f JOIN over ON f.ref = over.kind || ':' || over.ref_id
    WHERE f.user_id = %(owner)s
    UNION
    SELECT l.rollup FROM cp_rollup_sources AS l JOIN up ON l.source = up.seq
    WHERE l.user_id = %(owner)s
),
compared (seq) AS (
    SELECT later.place FROM up
    JOIN cp_entries AS e ON e.user_id = %(owner)s AND e.journal = 'timeline' AND e.place = up.seq
        AND e.level > 0
    JOIN cp_entries AS later ON later.user_id = %(owner)s AND later.journal = 'timeline'
        AND later.level = e.level AND later.level > 0 AND later.starts = e.ends AND later.zone = e.zone
    JOIN cp_rollups AS r ON r.user_id = %(owner)s AND r.seq = later.place
        AND r.generator NOT LIKE 'extractive %%'
    UNION
    SELECT l.rollup FROM cp_rollup_sources AS l JOIN compared ON l.source = compared.seq
    WHERE l.user_id = %(owner)s
)
SELECT seq FROM up UNION SELECT seq FROM compared;

-- name: begin
-- The owner has a timeline from now on.
INSERT INTO cp_timelines (user_id) VALUES (%(owner)s) ON CONFLICT DO NOTHING;

-- name: hold
-- Nobody else writes to the owner's timeline until the end.
SELECT seq FROM cp_timelines WHERE user_id = %(owner)s FOR UPDATE;

-- name: state
-- As the file's, whose log of changes is never pruned: nothing follows one here, for there is the outbox.
SELECT name, zone, 9223372036854775807 FROM cp_timelines WHERE user_id = %(owner)s;

-- name: zones
-- The owner's own zone, and those that have cut periods; one row without a series where none has.
SELECT t.zone, s.tz FROM cp_timelines AS t LEFT JOIN cp_series AS s ON s.user_id = t.user_id
WHERE t.user_id = %(owner)s ORDER BY s.number;

-- name: set_zone
-- The owner's own zone; empty for the zone of the process.
UPDATE cp_timelines SET zone = %(zone)s WHERE user_id = %(owner)s;

-- name: add
-- One entry of its owner's; one with an id that is there is left alone.
WITH counted AS (
    UPDATE cp_timelines SET seq = seq + 1 WHERE user_id = %(owner)s AND NOT EXISTS (
        SELECT FROM cp_entries
        WHERE user_id = %(owner)s AND journal = 'timeline' AND id = %(id)s
    ) RETURNING seq
)
INSERT INTO cp_entries (
    user_id, journal, id, place, at, nanos, written_at, scope, body, tags, folded, supersedes, more,
    level, starts, ends, zone, state, altered_at, hash
) OVERRIDING SYSTEM VALUE
SELECT %(owner)s, 'timeline', %(id)s, seq, %(timestamp)s::timestamptz, 0, %(now)s::timestamptz,
    %(entry_type)s, %(content)s, %(tags)s::text[], '{}', %(supersedes)s, %(metadata)s,
    0, %(period_start)s::timestamptz, %(period_end)s::timestamptz, '', 'active', %(now)s::timestamptz,
    %(hash)s::bytea
FROM counted RETURNING place;

-- name: change
-- Count that something changed: the number marks what must be rolled up again.
UPDATE cp_timelines SET seq = seq + 1 WHERE user_id = %(owner)s RETURNING seq;

-- name: last_change
-- The number of the last entry or change.
SELECT seq FROM cp_timelines WHERE user_id = %(owner)s;

-- name: update
-- Another text, time or metadata for an entry of its owner's.
UPDATE cp_entries
SET body = %(content)s, more = %(metadata)s, tags = %(tags)s::text[], supersedes = %(supersedes)s,
    at = %(timestamp)s::timestamptz, starts = %(period_start)s::timestamptz,
    ends = %(period_end)s::timestamptz, altered_at = %(now)s::timestamptz, hash = %(hash)s::bytea
WHERE user_id = %(owner)s AND journal = 'timeline' AND place = %(seq)s;

-- name: set_status
-- Archived, or active again.
UPDATE cp_entries SET state = %(status)s, altered_at = %(now)s::timestamptz
WHERE user_id = %(owner)s AND journal = 'timeline' AND place = %(seq)s;

-- name: drop
-- An entry leaves; a summary takes with it what only it has.
WITH facts AS (DELETE FROM cp_rollups WHERE user_id = %(owner)s AND seq = %(seq)s)
DELETE FROM cp_entries WHERE user_id = %(owner)s AND journal = 'timeline' AND place = %(seq)s;

-- name: bury
-- What is gone stays distinct from what never existed.
INSERT INTO cp_gone (user_id, seq, id, expired)
VALUES (%(owner)s, %(seq)s, %(id)s, %(expired)s)
ON CONFLICT (user_id, seq) DO UPDATE SET id = excluded.id, expired = excluded.expired;

-- name: release
-- What was deleted may be written again by its key.
DELETE FROM cp_gone WHERE user_id = %(owner)s AND id = %(id)s AND NOT expired;

-- name: mark_dirty
-- A period must be rolled up again, since this change.
INSERT INTO cp_due (user_id, tz, level, period_start, period_end, mark)
VALUES (%(owner)s, %(tz)s, %(level)s, %(period_start)s, %(period_end)s, %(mark)s)
ON CONFLICT (user_id, tz, level, period_start) DO UPDATE SET mark = excluded.mark;

-- name: mark_all
-- Every period that holds an instant must be rolled up again, since this change.
INSERT INTO cp_due (user_id, tz, level, period_start, period_end, mark) VALUES
    (%(owner)s, %(tz)s, 1, %(hour)s, %(hour_end)s, %(mark)s),
    (%(owner)s, %(tz)s, 2, %(day)s, %(day_end)s, %(mark)s),
    (%(owner)s, %(tz)s, 3, %(week)s, %(week_end)s, %(mark)s),
    (%(owner)s, %(tz)s, 4, %(month)s, %(month_end)s, %(mark)s),
    (%(owner)s, %(tz)s, 5, %(year)s, %(year_end)s, %(mark)s)
ON CONFLICT (user_id, tz, level, period_start) DO UPDATE SET mark = excluded.mark;

-- name: mark_new
-- Every period that holds a new entry must be rolled up. Where one must be already nothing is
-- written: the entry's number shows it, and `unmark` looks there.
INSERT INTO cp_due (user_id, tz, level, period_start, period_end, mark) VALUES
    (%(owner)s, %(tz)s, 1, %(hour)s, %(hour_end)s, %(mark)s),
    (%(owner)s, %(tz)s, 2, %(day)s, %(day_end)s, %(mark)s),
    (%(owner)s, %(tz)s, 3, %(week)s, %(week_end)s, %(mark)s),
    (%(owner)s, %(tz)s, 4, %(month)s, %(month_end)s, %(mark)s),
    (%(owner)s, %(tz)s, 5, %(year)s, %(year_end)s, %(mark)s)
ON CONFLICT (user_id, tz, level, period_start) DO NOTHING;

-- name: mark_made
-- The same where the period has a summary that is shown: for zones that are no longer the owner's.
INSERT INTO cp_due (user_id, tz, level, period_start, period_end, mark)
SELECT %(owner)s, %(tz)s, %(level)s, %(period_start)s::timestamptz, %(period_end)s::timestamptz,
    %(mark)s::bigint
WHERE EXISTS (
    SELECT FROM cp_entries
    WHERE user_id = %(owner)s AND journal = 'timeline' AND level = %(level)s AND level > 0
        AND starts = %(period_start)s AND zone = %(tz)s AND state = 'active'
)
ON CONFLICT (user_id, tz, level, period_start) DO UPDATE SET mark = excluded.mark;

-- name: unmark
-- A period is rolled up, unless something changed since: it was marked again, or an entry of it was
-- added, which marks it only where it has no mark.
DELETE FROM cp_due AS d
WHERE d.user_id = %(owner)s AND d.tz = %(tz)s AND d.level = %(level)s
    AND d.period_start = %(period_start)s AND d.mark = %(mark)s
    AND NOT EXISTS (
        SELECT FROM cp_entries AS e
        WHERE e.user_id = %(owner)s AND e.journal = 'timeline' AND e.level = 0 AND e.scope = 'raw'
            AND e.place > %(seen)s AND e.at >= d.period_start AND e.at < d.period_end
    );

-- name: due
-- Marked periods that are over, grace included: the oldest first, smaller before larger. None while a worker has
-- them in hand, unless it asks itself.
SELECT tz, level, period_start, period_end FROM cp_due
WHERE user_id = %(owner)s AND period_end <= CASE level
    WHEN 1 THEN %(hour)s::timestamptz WHEN 2 THEN %(day)s::timestamptz
    WHEN 3 THEN %(week)s::timestamptz WHEN 4 THEN %(month)s::timestamptz
    ELSE %(year)s::timestamptz END
    AND NOT EXISTS (
        SELECT FROM cp_timelines AS t
        WHERE t.user_id = %(owner)s AND t.leased_until > now() AND t.leased_by IS NOT NULL
            AND t.leased_by IS DISTINCT FROM %(worker)s::uuid
    )
ORDER BY period_end, level LIMIT %(limit)s;

-- name: count_due
-- How many of each level are due.
SELECT level, count(*), min(period_start) FROM cp_due
WHERE user_id = %(owner)s AND period_end <= CASE level
    WHEN 1 THEN %(hour)s::timestamptz WHEN 2 THEN %(day)s::timestamptz
    WHEN 3 THEN %(week)s::timestamptz WHEN 4 THEN %(month)s::timestamptz
    ELSE %(year)s::timestamptz END
GROUP BY level ORDER BY level;

-- name: add_series
-- A zone begins to cut periods.
INSERT INTO cp_series (user_id, number, tz, since, tzdata)
SELECT %(owner)s, coalesce(max(number), -1) + 1, %(tz)s, %(since)s::timestamptz, %(tzdata)s
FROM cp_series WHERE user_id = %(owner)s
ON CONFLICT DO NOTHING;

-- name: add_link
-- What a summary was made from, as it was.
INSERT INTO cp_rollup_sources (user_id, rollup, source, hash)
VALUES (%(owner)s, %(rollup)s, %(source)s, %(hash)s)
ON CONFLICT (user_id, rollup, source) DO UPDATE SET hash = excluded.hash;

-- name: drop_links
-- A summary is made again.
DELETE FROM cp_rollup_sources WHERE user_id = %(owner)s AND rollup = %(rollup)s;

-- name: unlink
-- Nothing is linked to what was deleted.
DELETE FROM cp_rollup_sources WHERE user_id = %(owner)s AND source = %(source)s;

-- name: links
-- What a summary was made from: ids, and refs of other journals.
SELECT l.source, coalesce(e.id, t.id, f.ref), coalesce(e.at, f.timestamp), l.hash,
    coalesce(e.hash, f.hash)
FROM cp_rollup_sources AS l
LEFT JOIN cp_entries AS e ON e.user_id = %(owner)s AND e.journal = 'timeline' AND e.place = l.source
LEFT JOIN cp_gone AS t ON t.user_id = %(owner)s AND t.seq = l.source
LEFT JOIN cp_fed AS f ON f.user_id = %(owner)s AND f.seq = -l.source
WHERE l.user_id = %(owner)s AND l.rollup = %(rollup)s
ORDER BY 3 NULLS FIRST, l.source;

-- name: list_above
-- The ids of all summaries that each of some entries went into: ours by id, those fed to us by ref.
WITH RECURSIVE up (ref, seq) AS (
    SELECT 'timeline:' || e.id, l.rollup
    FROM cp_entries AS e JOIN cp_rollup_sources AS l ON l.user_id = %(owner)s AND l.source = e.place
    WHERE e.user_id = %(owner)s AND e.journal = 'timeline' AND e.id = ANY (%(ids)s::text[])
    UNION
    SELECT f.ref, l.rollup
    FROM cp_fed AS f JOIN cp_rollup_sources AS l ON l.user_id = %(owner)s AND l.source = -f.seq
    WHERE f.user_id = %(owner)s AND f.ref = ANY (%(refs)s::text[])
    UNION
    SELECT up.ref, l.rollup FROM cp_rollup_sources AS l JOIN up ON l.source = up.seq
    WHERE l.user_id = %(owner)s
)
SELECT up.ref, 'timeline:' || e.id FROM up
JOIN cp_entries AS e ON e.user_id = %(owner)s AND e.journal = 'timeline' AND e.place = up.seq
    AND e.place <> ALL (%(hidden)s::bigint[]);

-- name: set_rollup
-- What only a summary has.
INSERT INTO cp_rollups (
    user_id, seq, period_key, input_hash, generator, figures, points, is_private
) VALUES (
    %(owner)s, %(seq)s, %(period_key)s, %(input_hash)s, %(generator)s, %(figures)s, %(points)s,
    %(is_private)s
) ON CONFLICT (user_id, seq) DO UPDATE SET period_key = excluded.period_key,
    input_hash = excluded.input_hash, generator = excluded.generator, figures = excluded.figures,
    points = excluded.points, is_private = excluded.is_private, attempts = 0, tried = '',
    claimed_until = '';

-- name: upgradable
-- Summaries that no model has put into words yet, the oldest first, smaller before larger; as the file's.
SELECT e.seq FROM rollups AS r JOIN journal_entries AS e ON e.seq = r.seq
WHERE r.generator LIKE 'extractive %%' AND e.status = 'active' AND e.content <> ''
    AND e.rollup_level = ANY (%(levels)s::smallint[])
    AND NOT (r.attempts >= %(most)s AND %(generator)s = ANY (string_to_array(r.tried, E'\n')))
    AND r.claimed_until <= %(now)s
    AND (e.period_end, e.rollup_level, e.seq)
        > (%(after_end)s::timestamptz, %(after_level)s::smallint, %(after_seq)s::bigint)
ORDER BY e.period_end, e.rollup_level, e.seq LIMIT 1;

-- name: count_upgradable
-- How many summaries no model has put into words.
SELECT count(*) FROM rollups AS r JOIN journal_entries AS e ON e.seq = r.seq
WHERE r.generator LIKE 'extractive %%' AND e.status = 'active' AND e.content <> ''
    AND e.rollup_level = ANY (%(levels)s::smallint[]);

-- name: claim
-- Take a summary for a while, so that no second process pays for the same.
UPDATE cp_rollups SET claimed_until = %(until)s
WHERE user_id = %(owner)s AND seq = %(seq)s AND claimed_until <= %(now)s;

-- name: unclaim
-- Let it go, unless another took it when this claim had run out.
UPDATE cp_rollups SET claimed_until = ''
WHERE user_id = %(owner)s AND seq = %(seq)s AND claimed_until = %(until)s;

-- name: note_failure
-- One more failed try, and by which summariser: a line for each.
UPDATE cp_rollups
SET attempts = attempts + 1,
    tried = CASE
        WHEN %(generator)s = ANY (string_to_array(tried, E'\n')) THEN tried
        ELSE ltrim(tried || E'\n', E'\n') || %(generator)s
    END,
    claimed_until = CASE WHEN claimed_until = %(until)s THEN '' ELSE claimed_until END
WHERE user_id = %(owner)s AND seq = %(seq)s AND input_hash = %(input_hash)s;

-- name: set_text
-- A better text for a summary that is still made from the same.
UPDATE cp_entries
SET body = %(content)s, more = %(metadata)s, hash = %(hash)s::bytea,
    altered_at = %(now)s::timestamptz
WHERE user_id = %(owner)s AND journal = 'timeline' AND place = %(seq)s AND EXISTS (
    SELECT FROM cp_rollups
    WHERE user_id = %(owner)s AND seq = %(seq)s AND input_hash = %(input_hash)s
);

-- name: set_generator
-- Who wrote a summary's text.
UPDATE cp_rollups SET generator = %(generator)s, claimed_until = '', attempts = 0, tried = ''
WHERE user_id = %(owner)s AND seq = %(seq)s;

-- name: blank
-- A summary holds nothing until it is made again from what is left.
UPDATE cp_rollups
SET figures = '{"entries": 0, "hours": 0}', points = '[]', input_hash = '', generator = ''
WHERE user_id = %(owner)s AND seq = %(seq)s;

-- name: forget_inputs
-- Summaries in a span are made again, whatever they were made from.
UPDATE cp_rollups SET input_hash = ''
WHERE user_id = %(owner)s AND seq IN (
    SELECT place FROM cp_entries
    WHERE user_id = %(owner)s AND journal = 'timeline' AND zone = %(tz)s
        AND level BETWEEN 1 AND %(level)s AND starts >= %(period_start)s AND ends <= %(end)s
);

-- name: raw_within
-- What a period is made from that has no smaller one: its raw entries, archived ones too; whether
-- another entry took the place of each.
SELECT e.place, e.id, e.at, e.body, e.more, e.hash, EXISTS (
    SELECT FROM cp_entries AS later
    WHERE later.user_id = %(owner)s AND later.journal = 'timeline' AND later.supersedes = e.id
        AND later.supersedes <> '' AND later.place <> ALL (%(hidden)s::bigint[])
)
FROM cp_entries AS e
WHERE e.user_id = %(owner)s AND e.journal = 'timeline' AND e.level = 0 AND e.scope = 'raw'
    AND e.at >= %(start)s AND e.at < %(end)s AND e.place <> ALL (%(hidden)s::bigint[])
ORDER BY e.at, e.id;

-- name: successor
-- The entry that took the place of another, whose ref is given.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE supersedes <> '' AND 'timeline:' || supersedes = %(ref)s ORDER BY seq DESC LIMIT 1;

-- name: memories
-- What was kept as a memory, newest first; of one type, or of all.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE rollup_level = 0 AND status = 'active' AND cardinality(tags) > 0
    AND (%(memory_type)s = '' OR tags @> ARRAY[%(memory_type)s::text])
ORDER BY timestamp DESC, seq DESC LIMIT %(limit)s;

-- name: range
-- Shown entries of a level that overlap a span, newest first, from a place on; as the file's.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE rollup_level = %(level)s AND timestamp >= %(start)s AND timestamp < %(reach)s
    AND (%(level)s > 0 OR timestamp < %(end)s) AND (%(level)s = 0 OR period_start < %(end)s)
    AND (timestamp, seq) < (%(before)s::timestamptz, %(before_seq)s::bigint)
    AND status = 'active' AND content <> ''
    AND (
        cardinality(%(types)s::text[]) = 0 OR entry_type = ANY (%(types)s::text[])
        OR (%(facts)s <> '' AND entry_type = 'raw' AND tags @> ARRAY[%(facts)s::text])
    )
ORDER BY timestamp DESC, seq DESC LIMIT %(limit)s;

-- name: expire
-- An entry expires; this is left of it.
INSERT INTO cp_expired (user_id, timestamp, seq, hash, facts, points)
VALUES (%(owner)s, %(timestamp)s, %(seq)s, %(hash)s, %(facts)s, %(points)s)
ON CONFLICT (user_id, timestamp, seq) DO UPDATE SET hash = excluded.hash, facts = excluded.facts,
    points = excluded.points;

-- name: keep_points
-- A summary that quoted an expired entry is gone.
UPDATE cp_expired SET points = %(points)s
WHERE user_id = %(owner)s AND timestamp = %(timestamp)s AND seq = %(seq)s;

-- name: drop_expired
-- Nothing is left of an expired entry.
DELETE FROM cp_expired
WHERE user_id = %(owner)s AND timestamp = %(timestamp)s AND seq = %(seq)s;

-- name: add_rollup
-- The summary of a period that has none; under the number it had, where it expired.
WITH counted AS (
    UPDATE cp_timelines SET seq = seq + 1 WHERE user_id = %(owner)s RETURNING seq
)
INSERT INTO cp_entries (
    user_id, journal, id, place, at, nanos, written_at, scope, body, tags, folded, supersedes, more,
    level, starts, ends, zone, state, altered_at, hash
) OVERRIDING SYSTEM VALUE
SELECT %(owner)s, 'timeline', %(id)s, coalesce(%(seq)s::bigint, counted.seq),
    %(timestamp)s::timestamptz, 0, %(now)s::timestamptz, %(entry_type)s, %(content)s, '{}', '{}', '',
    %(metadata)s, %(level)s, %(period_start)s::timestamptz, %(period_end)s::timestamptz, %(tz)s,
    %(status)s, %(now)s::timestamptz, %(hash)s::bytea
FROM counted RETURNING place;

-- name: unbury
-- What expired is there again.
DELETE FROM cp_gone WHERE user_id = %(owner)s AND seq = %(seq)s;

-- name: update_rollup
-- Another text for a summary that is there; it is shown again.
UPDATE cp_entries
SET body = %(content)s, more = %(metadata)s, state = 'active', altered_at = %(now)s::timestamptz,
    hash = %(hash)s::bytea
WHERE user_id = %(owner)s AND journal = 'timeline' AND place = %(seq)s;

-- name: note_erasing
-- Nothing: what is deleted or altered stands in the outbox, and the worker vacuums by it.
SELECT;

-- name: set_fed_mark
-- A source was read up to here.
INSERT INTO cp_fed_marks (user_id, journal, mark) VALUES (%(owner)s, %(source)s, %(mark)s)
ON CONFLICT (user_id, journal) DO UPDATE SET mark = excluded.mark;

-- name: put_fed
-- An entry of another journal counts, or is another one now.
WITH counted AS (
    UPDATE cp_timelines SET seq = seq + 1 WHERE user_id = %(owner)s RETURNING seq
)
INSERT INTO cp_fed (user_id, ref, seq, journal, timestamp, hash, stamp, supersedes)
SELECT %(owner)s, %(ref)s, seq, %(journal)s, %(timestamp)s::timestamptz, %(hash)s::bytea, %(stamp)s,
    %(supersedes)s FROM counted
ON CONFLICT (user_id, ref) DO UPDATE SET timestamp = excluded.timestamp, hash = excluded.hash,
    stamp = excluded.stamp, supersedes = excluded.supersedes;

-- name: drop_fed
-- It counts no more.
DELETE FROM cp_fed WHERE user_id = %(owner)s AND seq = %(seq)s;

-- name: note_as_it_was
-- An entry that was in another timeline has the status and the times that it had there.
UPDATE cp_entries SET state = %(status)s, written_at = %(created)s::timestamptz,
    altered_at = %(updated)s::timestamptz
WHERE user_id = %(owner)s AND journal = 'timeline' AND id = %(id)s;

-- name: take_number
-- A number of its own for what is in no other table.
UPDATE cp_timelines SET seq = seq + 1 WHERE user_id = %(owner)s RETURNING seq;

-- name: by_ids
-- Those with some ids that are shown.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE id = ANY (%(ids)s::text[]) AND status = 'active' AND content <> '';

-- name: shown_after
-- All that is shown after a number, in the order of their numbers.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE seq > %(seq)s AND status = 'active' AND content <> '' ORDER BY seq LIMIT %(limit)s;

-- name: take_state
-- A timeline comes out of a file: its zone, and the number of its last entry or change.
UPDATE cp_timelines SET zone = coalesce(nullif(%(zone)s, ''), zone), seq = %(seq)s
WHERE user_id = %(owner)s;

-- name: take_entries
-- An entry or summary as it was; this and what follows comes out of a file.
INSERT INTO cp_entries (
    user_id, journal, id, place, at, nanos, written_at, scope, body, tags, folded, supersedes, more,
    level, starts, ends, zone, state, altered_at, hash
) OVERRIDING SYSTEM VALUE VALUES (
    %(owner)s, 'timeline', %(id)s, %(seq)s, %(timestamp)s::timestamptz, 0, %(created_at)s::timestamptz,
    %(entry_type)s, %(content)s, %(tags)s::text[], '{}', %(supersedes)s, %(metadata)s,
    %(rollup_level)s, %(period_start)s::timestamptz, %(period_end)s::timestamptz, %(tz)s,
    %(status)s, %(updated_at)s::timestamptz, %(hash)s::bytea
);

-- name: take_rollups
-- What only a summary has.
INSERT INTO cp_rollups (
    user_id, seq, period_key, input_hash, generator, figures, points, is_private, attempts, tried,
    claimed_until
) VALUES (
    %(owner)s, %(seq)s, %(period_key)s, %(input_hash)s, %(generator)s, %(figures)s, %(points)s,
    %(is_private)s, %(attempts)s, %(tried)s, %(claimed_until)s
);

-- name: take_links
-- What it was made from.
INSERT INTO cp_rollup_sources (user_id, rollup, source, hash)
VALUES (%(owner)s, %(rollup)s, %(source)s, %(hash)s);

-- name: take_due
-- What must be rolled up.
INSERT INTO cp_due (user_id, tz, level, period_start, period_end, mark) VALUES (
    %(owner)s, %(tz)s, %(level)s, %(period_start)s::timestamptz, %(period_end)s::timestamptz, %(mark)s
);

-- name: take_gone
-- What is gone.
INSERT INTO cp_gone (user_id, seq, id, expired)
VALUES (%(owner)s, %(seq)s, %(id)s, %(expired)s::int::boolean);

-- name: take_expired
-- What is left of what expired.
INSERT INTO cp_expired (user_id, timestamp, seq, hash, facts, points)
VALUES (%(owner)s, %(timestamp)s::timestamptz, %(seq)s, %(hash)s, %(facts)s, %(points)s);

-- name: take_fed
-- What another journal adds.
INSERT INTO cp_fed (user_id, ref, seq, journal, timestamp, hash, stamp, supersedes) VALUES (
    %(owner)s, %(ref)s, %(seq)s, %(journal)s, %(timestamp)s::timestamptz, %(hash)s, %(stamp)s,
    %(supersedes)s
);

-- name: take_fed_marks
-- How far one was read.
INSERT INTO cp_fed_marks (user_id, journal, mark) VALUES (%(owner)s, %(journal)s, %(mark)s);

-- name: take_series
-- A zone that has cut periods.
INSERT INTO cp_series (user_id, number, tz, since, tzdata)
VALUES (%(owner)s, %(number)s, %(tz)s, %(since)s::timestamptz, %(tzdata)s);

-- name: lease_due
-- Users of whom something is due, the longest first, whom no worker has in hand and who do not rest.
UPDATE cp_timelines AS t
SET leased_until = now() + make_interval(secs => %(seconds)s), leased_by = %(worker)s
FROM (
    SELECT known.user_id FROM (
        SELECT waiting.user_id, min(waiting.period_end) AS first FROM (
            SELECT d.user_id, d.period_end
            FROM cp_due AS d JOIN cp_timelines AS free ON free.user_id = d.user_id
                AND (free.leased_until IS NULL OR free.leased_until <= now())
            WHERE d.period_end <= %(hour)s::timestamptz AND d.period_end <= CASE d.level
                WHEN 1 THEN %(hour)s::timestamptz WHEN 2 THEN %(day)s::timestamptz
                WHEN 3 THEN %(week)s::timestamptz WHEN 4 THEN %(month)s::timestamptz
                ELSE %(year)s::timestamptz END
            ORDER BY d.period_end LIMIT %(seen)s
        ) AS waiting GROUP BY waiting.user_id
    ) AS users
    JOIN cp_timelines AS known ON known.user_id = users.user_id
        AND (known.leased_until IS NULL OR known.leased_until <= now())
    ORDER BY users.first, known.user_id LIMIT %(limit)s FOR UPDATE OF known SKIP LOCKED
) AS found
WHERE t.user_id = found.user_id RETURNING t.user_id;

-- name: give_back
-- A worker has done what it could of a user's, who rests for so long; unless another has it by now.
UPDATE cp_timelines SET leased_by = NULL, leased_until = now() + make_interval(secs => %(seconds)s)
WHERE user_id = %(owner)s AND leased_by = %(worker)s;
