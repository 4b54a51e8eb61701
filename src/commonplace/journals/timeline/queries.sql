-- The timeline's queries. An entry is read in the columns that `entry_of` takes. `rollup_level > 0`
-- stands where the index of rollups alone is to serve: from a bound value SQLite does not see that it may.

-- name: state
-- What distinguishes this file from another, the owner's own zone, and how far the log of changes is pruned.
SELECT name, zone, pruned FROM state;

-- name: visible_entries
-- Those that have not expired, and the summaries that quote none which has: of `compared` a model
-- wrote when it was shown the one before, and what it wrote went into what lies above.
SELECT * FROM main.journal_entries WHERE seq NOT IN (
    WITH RECURSIVE up(seq) AS (
        SELECT seq FROM main.journal_entries
        WHERE id IN (SELECT substr(ref, length('timeline:') + 1) FROM temp.hidden)
        UNION
        SELECT -seq FROM main.fed WHERE ref IN (SELECT ref FROM temp.hidden)
        UNION
        SELECT links.rollup FROM main.rollup_sources AS links JOIN up ON links.source = up.seq
    ),
    compared(seq) AS (
        SELECT later.seq FROM up
        JOIN main.journal_entries AS e ON e.seq = up.seq AND e.rollup_level > 0
        JOIN main.journal_entries AS later
            ON later.thread_id = e.thread_id AND later.rollup_level = e.rollup_level
            AND later.rollup_level > 0 AND later.period_start = e.period_end AND later.tz = e.tz
        JOIN main.rollups AS r ON r.seq = later.seq AND r.generator NOT LIKE 'extractive %'
        UNION
        SELECT links.rollup FROM main.rollup_sources AS links
        JOIN compared ON links.source = compared.seq
    )
    SELECT seq FROM up UNION SELECT seq FROM compared
)

-- name: visible_fed
-- The entries of other journals that have not expired.
SELECT * FROM main.fed WHERE ref NOT IN (SELECT ref FROM temp.hidden)

-- name: zones
-- The owner's own zone, and those that have cut periods; one row without a series where none has.
SELECT state.zone, series.tz FROM state LEFT JOIN series ORDER BY series.number;

-- name: set_zone
-- The owner's own zone; empty for the zone of the process.
UPDATE state SET zone = :zone;

-- name: add
-- One entry of its owner's; one with an id that is there is left alone. Entries and changes are
-- numbered in one count: its number is greater than any that is there, or was.
INSERT INTO journal_entries (
    seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash
) VALUES (
    (SELECT max(
        floor,
        coalesce((SELECT max(seq) FROM journal_entries), 0),
        coalesce((SELECT max(seq) FROM changes), 0)
    ) + 1 FROM state),
    :id, :thread_id, :content, :entry_type, :timestamp, :period_start, :period_end, :metadata,
    0, 'active', :now, :now, '', :hash
) ON CONFLICT (id) DO NOTHING;

-- name: change
-- Note that an entry changed, as its own number says that it was added; the change's number marks
-- what must be rolled up again.
INSERT INTO changes (seq, entry) VALUES (
    (SELECT max(
        floor,
        coalesce((SELECT max(seq) FROM journal_entries), 0),
        coalesce((SELECT max(seq) FROM changes), 0)
    ) + 1 FROM state),
    :entry
);

-- name: last_change
-- The number of the last entry or change.
SELECT max(
    floor,
    coalesce((SELECT max(seq) FROM journal_entries), 0),
    coalesce((SELECT max(seq) FROM changes), 0)
) FROM state;

-- name: changed_since
-- The entries that were added or changed after a mark, the last change first.
SELECT entry, max(seq) FROM (
    SELECT entry, seq FROM changes WHERE seq > :seq
    UNION ALL
    SELECT seq, seq FROM journal_entries WHERE seq > :seq
) GROUP BY entry ORDER BY 2 DESC;

-- name: update
-- Another text, time or metadata for an entry of its owner's.
UPDATE journal_entries
SET content = :content, metadata = :metadata, timestamp = :timestamp,
    period_start = :period_start, period_end = :period_end, updated_at = :now, hash = :hash
WHERE seq = :seq;

-- name: set_status
-- Archived, or active again.
UPDATE journal_entries SET status = :status, updated_at = :now WHERE seq = :seq;

-- name: drop
-- An entry leaves; a rollup takes with it what only it has.
DELETE FROM journal_entries WHERE seq = :seq;

-- name: bury
-- What is gone stays distinct from what never existed.
INSERT OR REPLACE INTO tombstones (seq, id, expired) VALUES (:seq, :id, :expired);

-- name: release
-- What was deleted may be written again by its key.
DELETE FROM tombstones WHERE id = :id AND NOT expired;

-- name: find_tombstone
-- Whether an id that is gone expired, or was deleted.
SELECT seq, expired FROM tombstones WHERE id = :id;

-- name: tombstone_id
-- The id of what is gone.
SELECT id FROM tombstones WHERE seq = :seq;

-- name: mark_dirty
-- A period must be rolled up again, since this change.
INSERT INTO dirty (tz, level, period_start, period_end, mark)
VALUES (:tz, :level, :period_start, :period_end, :mark)
ON CONFLICT (tz, level, period_start) DO UPDATE SET mark = excluded.mark;

-- name: mark_all
-- Every period that holds an instant must be rolled up again, since this change.
INSERT INTO dirty (tz, level, period_start, period_end, mark) VALUES
    (:tz, 1, :hour, :hour_end, :mark),
    (:tz, 2, :day, :day_end, :mark),
    (:tz, 3, :week, :week_end, :mark),
    (:tz, 4, :month, :month_end, :mark),
    (:tz, 5, :year, :year_end, :mark)
ON CONFLICT (tz, level, period_start) DO UPDATE SET mark = excluded.mark;

-- name: mark_new
-- Every period that holds a new entry must be rolled up. Where one must be already nothing is
-- written: the entry's number shows it, and `unmark` looks there.
INSERT INTO dirty (tz, level, period_start, period_end, mark) VALUES
    (:tz, 1, :hour, :hour_end, :mark),
    (:tz, 2, :day, :day_end, :mark),
    (:tz, 3, :week, :week_end, :mark),
    (:tz, 4, :month, :month_end, :mark),
    (:tz, 5, :year, :year_end, :mark)
ON CONFLICT (tz, level, period_start) DO NOTHING;

-- name: mark_made
-- The same where the period has a rollup that is shown: for zones that are no longer the owner's.
INSERT INTO dirty (tz, level, period_start, period_end, mark)
SELECT :tz, :level, :period_start, :period_end, :mark
WHERE EXISTS (
    SELECT 1 FROM journal_entries
    WHERE thread_id = :thread_id AND rollup_level = :level AND rollup_level > 0
      AND period_start = :period_start AND tz = :tz AND status = 'active'
)
ON CONFLICT (tz, level, period_start) DO UPDATE SET mark = excluded.mark;

-- name: unmark
-- A period is rolled up, unless something changed since: it was marked again, or an entry of it was
-- added, which marks it only where it has no mark. +: what was added since is few, and looked at.
DELETE FROM dirty
WHERE tz = :tz AND level = :level AND period_start = :period_start AND mark = :mark
  AND NOT EXISTS (
      SELECT 1 FROM journal_entries
      WHERE seq > :seen AND +rollup_level = 0 AND entry_type = 'raw'
        AND timestamp >= dirty.period_start AND timestamp < dirty.period_end
  );

-- name: find_dirty
-- The change since which a period must be rolled up again.
SELECT mark FROM dirty WHERE tz = :tz AND level = :level AND period_start = :period_start;

-- name: due
-- Marked periods that are over, grace included: the oldest first, smaller before larger.
SELECT tz, level, period_start, period_end FROM dirty
WHERE period_end <= CASE level
    WHEN 1 THEN :hour WHEN 2 THEN :day WHEN 3 THEN :week WHEN 4 THEN :month ELSE :year END
ORDER BY period_end, level LIMIT :limit;

-- name: count_due
-- How many of each level are due.
SELECT level, count(*), min(period_start) FROM dirty
WHERE period_end <= CASE level
    WHEN 1 THEN :hour WHEN 2 THEN :day WHEN 3 THEN :week WHEN 4 THEN :month ELSE :year END
GROUP BY level ORDER BY level;

-- name: dirty_within
-- When the periods of a level in a span begin that must be rolled up again.
SELECT period_start FROM dirty
WHERE tz = :tz AND level = :level AND period_start >= :start AND period_start < :end;

-- name: list_series
-- The zones that have cut periods.
SELECT tz, number FROM series ORDER BY number;

-- name: add_series
-- A zone begins to cut periods.
INSERT OR IGNORE INTO series (number, tz, since, tzdata)
SELECT coalesce(max(number), -1) + 1, :tz, :since, :tzdata FROM series;

-- name: add_link
-- What a rollup was made from, as it was.
INSERT OR REPLACE INTO rollup_sources (rollup, source, hash) VALUES (:rollup, :source, :hash);

-- name: drop_links
-- A rollup is made again.
DELETE FROM rollup_sources WHERE rollup = :rollup;

-- name: links
-- What a rollup was made from: ids, and refs of other journals.
SELECT l.source, coalesce(e.id, t.id, f.ref), coalesce(e.timestamp, f.timestamp, ''), l.hash,
    coalesce(e.hash, f.hash)
FROM rollup_sources AS l
LEFT JOIN journal_entries AS e ON e.seq = l.source
LEFT JOIN tombstones AS t ON t.seq = l.source
LEFT JOIN fed AS f ON f.seq = -l.source
WHERE l.rollup = :rollup ORDER BY 3, l.source;

-- name: above
-- Every rollup that something went into, near or far.
WITH RECURSIVE up (seq) AS (
    SELECT rollup FROM rollup_sources WHERE source = :source
    UNION
    SELECT l.rollup FROM rollup_sources AS l JOIN up ON l.source = up.seq
)
SELECT up.seq, coalesce(e.id, t.id, '') FROM up
LEFT JOIN journal_entries AS e ON e.seq = up.seq
LEFT JOIN tombstones AS t ON t.seq = up.seq;

-- name: model_text
-- The rollup of a period that begins at an instant, where a model wrote it.
SELECT e.seq, e.id FROM journal_entries AS e JOIN rollups AS r ON r.seq = e.seq
WHERE e.thread_id = :thread_id AND e.rollup_level = :level AND e.rollup_level > 0
  AND e.period_start = :start AND e.tz = :tz
  AND e.content <> '' AND r.generator NOT LIKE 'extractive %';

-- name: parents
-- The rollups that something went into, and which are there.
SELECT l.rollup, e.id, e.rollup_level FROM rollup_sources AS l
JOIN journal_entries AS e ON e.seq = l.rollup
WHERE l.source = :source AND e.status = 'active' ORDER BY e.rollup_level;

-- name: set_rollup
-- What only a rollup has.
INSERT OR REPLACE INTO rollups (
    seq, period_key, input_hash, generator, figures, points, is_private
) VALUES (
    :seq, :period_key, :input_hash, :generator, :figures, :points, :is_private
);

-- name: rollup_facts
-- What only a rollup has.
SELECT period_key, input_hash, generator, figures, points, attempts, is_private
FROM rollups WHERE seq = :seq;

-- name: upgradable
-- Rollups that no model has put into words yet, the oldest first, smaller before larger. What
-- another model wrote, or this one with other prompts, stays: nobody pays twice unasked. After too
-- many failures only a summariser that has not failed there is asked.
SELECT e.seq FROM rollups AS r JOIN journal_entries AS e ON e.seq = r.seq
WHERE r.generator LIKE 'extractive %' AND e.status = 'active' AND e.content <> ''
  AND e.rollup_level IN (SELECT value FROM json_each(:levels))
  AND NOT (r.attempts >= :most AND instr(char(10) || r.tried || char(10), char(10) || :generator || char(10)))
  AND r.claimed_until <= :now
  AND (e.period_end, e.rollup_level, e.seq) > (:after_end, :after_level, :after_seq)
ORDER BY e.period_end, e.rollup_level, e.seq LIMIT 1;

-- name: count_upgradable
-- How many rollups no model has put into words.
SELECT count(*) FROM rollups AS r JOIN journal_entries AS e ON e.seq = r.seq
WHERE r.generator LIKE 'extractive %' AND e.status = 'active' AND e.content <> ''
  AND e.rollup_level IN (SELECT value FROM json_each(:levels));

-- name: claim
-- Take a rollup for a while, so that no second process pays for the same summary.
UPDATE rollups SET claimed_until = :until WHERE seq = :seq AND claimed_until <= :now;

-- name: unclaim
-- Let it go, unless another took it when this claim had run out.
UPDATE rollups SET claimed_until = '' WHERE seq = :seq AND claimed_until = :until;

-- name: note_failure
-- One more failed try, and by which summariser: a line for each.
UPDATE rollups
SET attempts = attempts + 1,
    tried = CASE
        WHEN instr(char(10) || tried || char(10), char(10) || :generator || char(10)) THEN tried
        ELSE ltrim(tried || char(10), char(10)) || :generator
    END,
    claimed_until = CASE WHEN claimed_until = :until THEN '' ELSE claimed_until END
WHERE seq = :seq AND input_hash = :input_hash;

-- name: set_text
-- A better text for a rollup that is still made from the same.
UPDATE journal_entries
SET content = :content, metadata = :metadata, hash = :hash, updated_at = :now
WHERE seq = :seq AND EXISTS (
    SELECT 1 FROM rollups WHERE seq = :seq AND input_hash = :input_hash
);

-- name: set_generator
-- Who wrote a rollup's text.
UPDATE rollups SET generator = :generator, claimed_until = '', attempts = 0, tried = ''
WHERE seq = :seq;

-- name: blank
-- A rollup holds nothing until it is made again from what is left.
UPDATE rollups
SET figures = '{"entries": 0, "hours": 0}', points = '[]', input_hash = x'', generator = ''
WHERE seq = :seq;

-- name: raw_within
-- What a period is made from that has no smaller one: its raw entries, archived ones too; whether
-- another entry took the place of each.
SELECT seq, id, timestamp, content, metadata, hash, EXISTS (
    SELECT 1 FROM journal_entries AS later
    WHERE CASE WHEN json_valid(later.metadata) THEN json_extract(later.metadata, '$.supersedes') END
            = 'timeline:' || journal_entries.id
        AND instr(later.metadata, '"supersedes"') > 0
) AS is_replaced
FROM journal_entries
WHERE rollup_level = 0 AND timestamp >= :start AND timestamp < :end AND entry_type = 'raw'
ORDER BY timestamp, id;

-- name: expired_within
-- What is left of raw entries of it that expired.
SELECT x.seq, t.id, x.timestamp, x.facts, x.points, x.hash
FROM expired AS x JOIN tombstones AS t ON t.seq = x.seq
WHERE x.timestamp >= :start AND x.timestamp < :end ORDER BY x.timestamp, x.seq;

-- name: quoted_within
-- The same of those alone that a rollup quotes.
SELECT x.seq, t.id, x.timestamp, x.points FROM expired AS x JOIN tombstones AS t ON t.seq = x.seq
WHERE x.timestamp >= :start AND x.timestamp < :end AND x.points <> '[]';

-- name: expire
-- An entry expires; this is left of it.
INSERT OR REPLACE INTO expired (timestamp, seq, hash, facts, points)
VALUES (:timestamp, :seq, :hash, :facts, :points);

-- name: keep_points
-- A rollup that quoted an expired entry is gone.
UPDATE expired SET points = :points WHERE timestamp = :timestamp AND seq = :seq;

-- name: find_expired
-- When an expired entry was. All are looked at: this is asked for to delete one.
SELECT timestamp FROM expired WHERE seq = :seq;

-- name: drop_expired
-- Nothing is left of an expired entry.
DELETE FROM expired WHERE timestamp = :timestamp AND seq = :seq;

-- name: points_around
-- What the rollups of a level quote that overlap a span. low: what they begin after, at the least.
SELECT r.points FROM journal_entries AS e JOIN rollups AS r ON r.seq = e.seq
WHERE e.thread_id = :thread_id AND e.rollup_level = :level AND e.rollup_level > 0
  AND e.period_start >= :low AND e.period_start < :end AND e.period_end > :start
  AND r.points <> '[]';

-- name: is_dirty_around
-- Whether a rollup that overlaps a span is there and to be made again.
SELECT EXISTS (
    SELECT 1 FROM dirty AS d JOIN journal_entries AS e
    ON e.thread_id = :thread_id AND e.rollup_level = d.level AND e.rollup_level > 0
        AND e.period_start = d.period_start AND e.tz = d.tz
    WHERE d.period_start < :end AND d.period_end > :start
);

-- name: fed_within
-- What other journals add to it; whether another entry took the place of each, and the time of the one
-- whose place it took.
SELECT seq, ref, journal, timestamp, hash, EXISTS (
    SELECT 1 FROM fed AS later WHERE later.supersedes = fed.ref AND later.supersedes <> ''
) AS is_replaced, (
    SELECT former.timestamp FROM fed AS former WHERE former.ref = fed.supersedes
) AS former
FROM fed
WHERE timestamp >= :start AND timestamp < :end ORDER BY timestamp, ref;

-- name: has_raw
-- Whether anything was recorded in a span, expired entries included.
SELECT EXISTS (
    SELECT 1 FROM journal_entries
    WHERE rollup_level = 0 AND timestamp >= :start AND timestamp < :end AND entry_type = 'raw'
) OR EXISTS (
    SELECT 1 FROM expired WHERE timestamp >= :start AND timestamp < :end
) OR EXISTS (SELECT 1 FROM fed WHERE timestamp >= :start AND timestamp < :end);

-- name: has_shown
-- Whether an entry is shown in a span, or a rollup of a level that one of `level` is made from.
WITH levels (number) AS (VALUES (0), (1), (2), (4))
SELECT EXISTS (
    SELECT 1 FROM levels CROSS JOIN journal_entries AS e
    WHERE e.rollup_level = levels.number AND levels.number < :level
      AND e.timestamp >= :period_start AND e.timestamp < :period_end
      AND e.status = 'active' AND e.content <> '' AND e.entry_type <> 'profile_snapshot'
) OR EXISTS (SELECT 1 FROM fed WHERE timestamp >= :period_start AND timestamp < :period_end);

-- name: count_shown
-- How many entries are shown in a span.
SELECT (
    SELECT count(*) FROM journal_entries
    WHERE rollup_level = 0 AND timestamp >= :start AND timestamp < :end
      AND status = 'active' AND content <> '' AND entry_type = 'raw'
) + (SELECT count(*) FROM fed WHERE timestamp >= :start AND timestamp < :end);

-- name: count_types
-- How many entries of each type are shown or archived, and when the first and the last was.
SELECT entry_type, status, count(*), min(timestamp), max(timestamp) FROM journal_entries
GROUP BY entry_type, status;

-- name: reach
-- When the first and the last of all that is counted was, up to an instant: of what is kept, of what
-- expired, and of what other journals add.
WITH bounds (first, last) AS (
    SELECT
        (SELECT timestamp FROM journal_entries
         WHERE rollup_level = 0 AND entry_type = 'raw' AND timestamp <= :until
         ORDER BY timestamp LIMIT 1),
        (SELECT timestamp FROM journal_entries
         WHERE rollup_level = 0 AND entry_type = 'raw' AND timestamp <= :until
         ORDER BY timestamp DESC LIMIT 1)
    UNION ALL
    SELECT (SELECT min(timestamp) FROM expired WHERE timestamp <= :until),
        (SELECT max(timestamp) FROM expired WHERE timestamp <= :until)
    UNION ALL
    SELECT (SELECT min(timestamp) FROM fed WHERE timestamp <= :until),
        (SELECT max(timestamp) FROM fed WHERE timestamp <= :until)
)
SELECT min(first), max(last) FROM bounds;

-- name: by_id
-- An entry by its id.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries WHERE id = :id;

-- name: raw_time
-- When an entry was.
SELECT timestamp FROM journal_entries WHERE id = :id AND rollup_level = 0;

-- name: successor
-- The entry that took the place of another, whose ref is given; the terms are those of the index.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE CASE WHEN json_valid(metadata) THEN json_extract(metadata, '$.supersedes') END = :ref
    AND instr(metadata, '"supersedes"') > 0
ORDER BY seq DESC LIMIT 1;

-- name: by_seq
-- An entry by its number.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries WHERE seq = :seq;

-- name: by_period
-- The rollup of a period.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE thread_id = :thread_id AND rollup_level = :level AND rollup_level > 0
  AND period_start = :period_start AND tz = :tz;

-- name: profile
-- The newest snapshot of who the owner is.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE entry_type = 'profile_snapshot' AND status = 'active'
ORDER BY timestamp DESC, seq DESC LIMIT 1;

-- name: memories
-- What was kept as a memory, newest first; of one type, or of all.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE rollup_level = 0 AND status = 'active'
  AND json_extract(metadata, '$.memory_type') IS NOT NULL
  AND (:memory_type = '' OR json_extract(metadata, '$.memory_type') = :memory_type)
ORDER BY timestamp DESC, seq DESC LIMIT :limit;

-- name: range
-- Shown entries of a level that overlap a span, newest first, from a place on. A rollup's time is
-- the last instant of its period, and it begins no earlier than `reach` says. facts: the type of
-- memory that is listed whatever `types` says of raw entries; empty for none.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE rollup_level = :level AND timestamp >= :start AND timestamp < :reach
  AND (:level > 0 OR timestamp < :end) AND (:level = 0 OR period_start < :end)
  AND (timestamp, seq) < (:before, :before_seq)
  AND status = 'active' AND content <> ''
  AND (
    :types = '' OR entry_type IN (SELECT value FROM json_each(:types))
    OR (:facts <> '' AND entry_type = 'raw' AND json_extract(metadata, '$.memory_type') = :facts)
  )
ORDER BY timestamp DESC, seq DESC LIMIT :limit;

-- name: all_shown
-- Every shown entry of a level, newest first, for an index that knows none of them.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE rollup_level = :level AND (timestamp, seq) < (:timestamp, :seq)
  AND status = 'active' AND content <> ''
ORDER BY timestamp DESC, seq DESC LIMIT :limit;

-- name: neighbour_before
-- The raw entry before a time.
SELECT id, timestamp, content FROM journal_entries
WHERE rollup_level = 0 AND (timestamp, seq) < (:timestamp, :seq) AND status = 'active'
ORDER BY timestamp DESC, seq DESC LIMIT 1;

-- name: neighbour_after
-- The raw entry after a time.
SELECT id, timestamp, content FROM journal_entries
WHERE rollup_level = 0 AND (timestamp, seq) > (:timestamp, :seq) AND status = 'active'
ORDER BY timestamp, seq LIMIT 1;

-- name: children
-- The rollups of a level in a span, shown or archived.
SELECT e.seq, e.id, e.period_start, e.period_end, e.content, e.entry_type, e.hash,
    r.figures, r.points, r.is_private
FROM journal_entries AS e JOIN rollups AS r ON r.seq = e.seq
WHERE e.thread_id = :thread_id AND e.rollup_level = :level AND e.rollup_level > 0
  AND e.period_start >= :start AND e.period_start < :end AND e.tz = :tz
ORDER BY e.period_start;

-- name: shown_rollups
-- The rollups of a level in a span that are shown, oldest first.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE thread_id = :thread_id AND rollup_level = :level AND rollup_level > 0
  AND period_start >= :start AND period_start < :end AND tz = :tz
  AND status = 'active' AND content <> ''
ORDER BY period_start;

-- name: figures_within
-- What the rollups of a level in a span count, shown or archived.
SELECT e.period_start, r.figures FROM journal_entries AS e JOIN rollups AS r ON r.seq = e.seq
WHERE e.thread_id = :thread_id AND e.rollup_level = :level AND e.rollup_level > 0
  AND e.period_start >= :start AND e.period_start < :end AND e.tz = :tz;

-- name: add_rollup
-- The rollup of a period that has none; under the number it had, where it expired.
INSERT INTO journal_entries (
    seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash
) VALUES (
    coalesce(:seq, (SELECT max(
        floor,
        coalesce((SELECT max(seq) FROM journal_entries), 0),
        coalesce((SELECT max(seq) FROM changes), 0)
    ) + 1 FROM state)),
    :id, :thread_id, :content, :entry_type, :timestamp, :period_start, :period_end, :metadata,
    :level, :status, :now, :now, :tz, :hash
);

-- name: unbury
-- What expired is there again.
DELETE FROM tombstones WHERE seq = :seq;

-- name: update_rollup
-- Another text for a rollup that is there; it is shown again.
UPDATE journal_entries
SET content = :content, metadata = :metadata, status = 'active', updated_at = :now, hash = :hash
WHERE seq = :seq;

-- name: overlapped
-- Rollups of a level as other zones cut it, around a span.
SELECT e.seq, e.id, e.period_start, e.period_end FROM journal_entries AS e
WHERE e.thread_id = :thread_id AND e.rollup_level = :level AND e.rollup_level > 0
  AND e.tz <> :tz
  AND e.period_start >= :low AND e.period_start < :high;

-- name: unlink
-- Nothing is linked to what was deleted.
DELETE FROM rollup_sources WHERE source = :source;

-- name: erasing
-- Whether bytes of what was deleted may be left in the file.
SELECT erasing FROM state;

-- name: note_erasing
-- They may be, or are no more.
UPDATE state SET erasing = :erasing;

-- name: merge_words
-- Merge the words into one, so that those of what was deleted are gone.
INSERT INTO journal_fts (journal_fts) VALUES ('optimize');

-- name: forget_inputs
-- Rollups in a span are made again, whatever they were made from.
UPDATE rollups SET input_hash = x''
WHERE seq IN (
    SELECT seq FROM journal_entries
    WHERE thread_id = :thread_id AND tz = :tz AND rollup_level BETWEEN 1 AND :level
      AND period_start >= :period_start AND period_end <= :end
);

-- name: made_within
-- The rollups in a span, up to a level.
SELECT rollup_level, period_start, period_end FROM journal_entries
WHERE thread_id = :thread_id AND tz = :tz AND rollup_level BETWEEN 1 AND :level
  AND period_start >= :start AND period_end <= :end;

-- name: past
-- Entries of a level whose time is past, the oldest first, from a place on.
SELECT seq, id, entry_type, timestamp, period_start, period_end, metadata, content, hash
FROM journal_entries
WHERE rollup_level = :level AND status = :status AND timestamp < :before
  AND (timestamp, seq) > (:after, :after_seq) AND entry_type <> 'profile_snapshot'
ORDER BY timestamp, seq LIMIT :limit;

-- name: covering
-- The rollups that an entry went into, with its hash as it was then. One that expired is named by
-- its id alone: it was covered itself.
SELECT l.rollup, e.rollup_level, t.id FROM rollup_sources AS l
LEFT JOIN journal_entries AS e ON e.seq = l.rollup
LEFT JOIN tombstones AS t ON t.seq = l.rollup AND t.expired
WHERE l.source = :source AND l.hash = :hash;

-- name: pages
-- How many pages the file has, and how many of them hold nothing.
SELECT
    (SELECT page_count FROM pragma_page_count()),
    (SELECT freelist_count FROM pragma_freelist_count());

-- name: prune_to
-- The last change of what has been gone for long: the log of changes needs them no more.
SELECT coalesce(max(c.seq), 0) FROM changes AS c JOIN tombstones AS t ON t.seq = c.entry
WHERE t.expired;

-- name: prune_changes
-- Changes of what expired leave the log; the last of all stays, for the next is numbered by it.
DELETE FROM changes
WHERE seq <= :seq AND seq < (SELECT max(seq) FROM changes)
  AND entry IN (SELECT seq FROM tombstones WHERE expired);

-- name: note_pruned
-- A reader that knows the log up to before this must look at everything once.
UPDATE state SET pruned = max(pruned, :seq);

-- name: fed_mark
-- How far a source was read.
SELECT mark FROM fed_marks WHERE journal = :source;

-- name: set_fed_mark
-- A source was read up to here.
INSERT INTO fed_marks (journal, mark) VALUES (:source, :mark)
ON CONFLICT (journal) DO UPDATE SET mark = excluded.mark;

-- name: fed_stamps
-- What is known of the entries whose refs begin so.
SELECT ref, stamp FROM fed WHERE ref >= :low AND ref < :high;

-- name: find_fed
-- An entry of another journal.
SELECT seq, timestamp, hash, supersedes FROM fed WHERE ref = :ref;

-- name: put_fed
-- An entry of another journal counts, or is another one now.
INSERT INTO fed (ref, journal, timestamp, hash, stamp, supersedes)
VALUES (:ref, :journal, :timestamp, :hash, :stamp, :supersedes)
ON CONFLICT (ref) DO UPDATE
SET timestamp = excluded.timestamp, hash = excluded.hash, stamp = excluded.stamp,
    supersedes = excluded.supersedes;

-- name: drop_fed
-- It counts no more.
DELETE FROM fed WHERE seq = :seq;

-- name: list_above
-- The ids of all rollups that each of some entries went into: ours by id, those fed to us by ref.
WITH RECURSIVE up (ref, seq) AS (
    SELECT 'timeline:' || e.id, l.rollup FROM json_each(:ids) AS w
    CROSS JOIN journal_entries AS e ON e.id = w.value
    CROSS JOIN rollup_sources AS l ON l.source = e.seq
    UNION
    SELECT f.ref, l.rollup FROM json_each(:refs) AS w
    CROSS JOIN fed AS f ON f.ref = w.value
    CROSS JOIN rollup_sources AS l ON l.source = -f.seq
    UNION
    SELECT up.ref, l.rollup FROM up CROSS JOIN rollup_sources AS l ON l.source = up.seq
)
SELECT up.ref, 'timeline:' || e.id FROM up CROSS JOIN journal_entries AS e ON e.seq = up.seq;

-- name: check_pages
-- Whether the file is whole.
PRAGMA quick_check(1);

-- name: check_words
-- Raises where the word index and the active entries differ.
INSERT INTO journal_fts (journal_fts, rank) VALUES ('integrity-check', 1);

-- name: rebuild_words
-- The word index is rebuilt from the active entries.
INSERT INTO journal_fts (journal_fts) VALUES ('rebuild');

-- name: all_raw
-- Every raw entry and snapshot, archived or not, in the order of time.
SELECT seq, id, thread_id, content, entry_type, timestamp, period_start, period_end, metadata,
    rollup_level, status, created_at, updated_at, tz, hash, parent_id
FROM journal_entries
WHERE rollup_level = 0 AND (timestamp, seq) > (:timestamp, :seq)
  AND status <> 'deleted' AND content <> ''
ORDER BY timestamp, seq LIMIT :limit;

-- name: all_expired
-- What is left of every raw entry that expired, in the order of time.
SELECT x.seq, t.id, x.timestamp, x.facts, x.points, x.hash
FROM expired AS x JOIN tombstones AS t ON t.seq = x.seq
WHERE (x.timestamp, x.seq) > (:timestamp, :seq)
ORDER BY x.timestamp, x.seq LIMIT :limit;

-- name: all_rollups
-- Every rollup that is shown, by the time it begins, the smaller first; and what wrote it.
SELECT e.seq, e.id, e.content, e.rollup_level, e.period_start, e.period_end, e.tz, r.generator
FROM journal_entries AS e JOIN rollups AS r ON r.seq = e.seq
WHERE e.status = 'active' AND e.content <> '' AND e.period_start >= :start
  AND (e.period_start, e.rollup_level, e.seq) > (:after, :level, :seq)
ORDER BY e.period_start, e.rollup_level, e.seq LIMIT :limit;

-- name: note_as_it_was
-- An entry that was in another timeline has the status and the times that it had there.
UPDATE journal_entries SET status = :status, created_at = :created, updated_at = :updated
WHERE id = :id;

-- name: take_number
-- A number of its own for what is in no other table.
UPDATE state SET floor = max(
    floor,
    coalesce((SELECT max(seq) FROM journal_entries), 0),
    coalesce((SELECT max(seq) FROM changes), 0)
) + 1
RETURNING floor;

-- name: has_anything
-- Whether there is anything that would move into another storage.
SELECT EXISTS (SELECT 1 FROM journal_entries) OR EXISTS (SELECT 1 FROM tombstones)
    OR EXISTS (SELECT 1 FROM fed) OR EXISTS (SELECT 1 FROM dirty) OR EXISTS (SELECT 1 FROM series);

-- name: moved_entries
-- Every entry and summary, expired ones too; this and what follows is what moves into another storage.
SELECT seq, id, content, entry_type, timestamp, period_start, period_end, metadata, rollup_level,
    status, created_at, updated_at, tz, hash
FROM journal_entries ORDER BY seq;

-- name: moved_rollups
-- What only summaries have.
SELECT seq, period_key, input_hash, generator, figures, points, is_private, attempts, tried,
    claimed_until
FROM rollups ORDER BY seq;

-- name: moved_links
-- What they were made from.
SELECT rollup, source, hash FROM rollup_sources ORDER BY rollup, source;

-- name: moved_due
-- What must be rolled up.
SELECT tz, level, period_start, period_end, mark FROM dirty ORDER BY tz, level, period_start;

-- name: moved_gone
-- What is gone.
SELECT seq, id, expired FROM tombstones ORDER BY seq;

-- name: moved_expired
-- What is left of what expired.
SELECT timestamp, seq, hash, facts, points FROM expired ORDER BY timestamp, seq;

-- name: moved_fed
-- What other journals add.
SELECT seq, ref, journal, timestamp, hash, stamp, supersedes FROM fed ORDER BY seq;

-- name: moved_fed_marks
-- How far they were read.
SELECT journal, mark FROM fed_marks ORDER BY journal;

-- name: moved_series
-- The zones that have cut periods.
SELECT number, tz, since, tzdata FROM series ORDER BY number;

-- name: leave_state
-- All of it has moved: the numbers go on, who follows the file looks at everything, and bytes are left.
UPDATE state SET name = lower(hex(randomblob(8))), erasing = 1, floor = max(
    floor,
    coalesce((SELECT max(seq) FROM journal_entries), 0),
    coalesce((SELECT max(seq) FROM changes), 0)
);

-- name: leave_entries
-- Every entry has moved.
DELETE FROM journal_entries;

-- name: leave_rollups
-- What only summaries have has moved.
DELETE FROM rollups;

-- name: leave_changes
-- Nobody follows them any more.
DELETE FROM changes;

-- name: leave_links
-- They have moved.
DELETE FROM rollup_sources;

-- name: leave_due
-- They have moved.
DELETE FROM dirty;

-- name: leave_gone
-- It has moved, and what happened to it is followed no more.
DELETE FROM tombstones;

-- name: leave_expired
-- It has moved.
DELETE FROM expired;

-- name: leave_fed
-- It has moved.
DELETE FROM fed;

-- name: leave_fed_marks
-- They have moved.
DELETE FROM fed_marks;

-- name: leave_series
-- They have moved.
DELETE FROM series;
