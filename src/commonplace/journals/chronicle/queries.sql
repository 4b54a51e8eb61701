-- name: create_entries
-- The table of chronicle's newest layout; its text and columns are chronicle's promise, not ours.
CREATE TABLE IF NOT EXISTS entries (
    rowid INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT UNIQUE NOT NULL,
    timestamp DATETIME NOT NULL,
    timestamp_unix_seconds INTEGER,
    timestamp_nanosecond INTEGER,
    message TEXT NOT NULL,
    hostname TEXT,
    username TEXT,
    working_directory TEXT,
    tags TEXT,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
    updated_at DATETIME DEFAULT CURRENT_TIMESTAMP
);

-- name: create_id_index
-- Chronicle's own, beside the one that UNIQUE makes.
CREATE INDEX IF NOT EXISTS idx_entries_id ON entries(id);

-- name: create_timestamp_index
-- By the text of the time.
CREATE INDEX IF NOT EXISTS idx_entries_timestamp ON entries(timestamp DESC);

-- name: create_instant_index
-- By the time itself.
CREATE INDEX IF NOT EXISTS idx_entries_timestamp_instant
ON entries(timestamp_unix_seconds DESC, timestamp_nanosecond DESC);

-- name: create_words
-- Chronicle's own word index over messages and tags.
CREATE VIRTUAL TABLE IF NOT EXISTS entries_fts USING fts5(
    message,
    tags,
    content=entries,
    content_rowid=rowid
);

-- name: merge_words
-- The words merged into one, so that those of what was deleted are gone.
INSERT INTO entries_fts(entries_fts) VALUES('optimize');

-- name: create_insert_trigger
-- A new entry's words.
CREATE TRIGGER IF NOT EXISTS entries_ai AFTER INSERT ON entries BEGIN
    INSERT INTO entries_fts(rowid, message, tags) VALUES (new.rowid, new.message, new.tags);
END;

-- name: create_delete_trigger
-- A deleted entry's words.
CREATE TRIGGER IF NOT EXISTS entries_ad AFTER DELETE ON entries BEGIN
    INSERT INTO entries_fts(entries_fts, rowid, message, tags)
    VALUES('delete', old.rowid, old.message, old.tags);
END;

-- name: create_update_trigger
-- An edited entry's words; chronicle looks for "AFTER UPDATE OF message, tags" in this very text.
CREATE TRIGGER IF NOT EXISTS entries_au AFTER UPDATE OF message, tags ON entries BEGIN
    INSERT INTO entries_fts(entries_fts, rowid, message, tags)
    VALUES('delete', old.rowid, old.message, old.tags);
    INSERT INTO entries_fts(rowid, message, tags) VALUES (new.rowid, new.message, new.tags);
END;

-- name: drop_update_trigger
-- The one that fires on every update gives way.
DROP TRIGGER IF EXISTS entries_au;

-- name: add_seconds_column
-- The first column that the second layout with a tags column brought.
ALTER TABLE entries ADD COLUMN timestamp_unix_seconds INTEGER;

-- name: add_nanosecond_column
-- The other one.
ALTER TABLE entries ADD COLUMN timestamp_nanosecond INTEGER;

-- name: list_without_instant
-- Entries whose time is known by its text alone.
SELECT rowid, CAST(timestamp AS TEXT) FROM entries
WHERE rowid IN (
    SELECT rowid FROM entries WHERE timestamp_unix_seconds IS NULL
    UNION ALL SELECT rowid FROM entries WHERE timestamp_unix_seconds >= ''
);

-- name: set_instant
-- The instant that a text names.
UPDATE entries SET timestamp_unix_seconds = :seconds, timestamp_nanosecond = :nanosecond
WHERE rowid = :rowid;

-- name: rebuild_words
-- Chronicle's word index is made again from the entries.
INSERT INTO entries_fts(entries_fts) VALUES('rebuild');

-- name: check_words
-- Raises where chronicle's word index and the entries differ.
INSERT INTO entries_fts(entries_fts, rank) VALUES('integrity-check', 1);

-- name: list_objects
-- What the database is made of.
SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\';

-- name: list_columns
-- The columns of a table, with their types.
SELECT name, upper(type) FROM pragma_table_info(:name);

-- name: add_entry
-- A new entry, as chronicle itself adds one, with the time of writing that it would note by itself.
INSERT INTO entries (
    id, timestamp, timestamp_unix_seconds, timestamp_nanosecond,
    message, hostname, username, working_directory, tags, created_at
) VALUES (
    :id, :timestamp, :seconds, :nanosecond, :message, :hostname, :username, :directory, :tags,
    :created_at
);

-- name: set_message
-- Another message; the trigger files its words.
UPDATE entries SET message = :message, updated_at = CURRENT_TIMESTAMP WHERE rowid = :rowid;

-- name: set_tags
-- Other tags; the trigger files their words.
UPDATE entries SET tags = :tags, updated_at = CURRENT_TIMESTAMP WHERE rowid = :rowid;

-- name: set_directory
-- Another folder in which it was logged.
UPDATE entries SET working_directory = :directory, updated_at = CURRENT_TIMESTAMP
WHERE rowid = :rowid;

-- name: set_time
-- Another time, in all three columns.
UPDATE entries SET
    timestamp = :timestamp, timestamp_unix_seconds = :seconds, timestamp_nanosecond = :nanosecond,
    updated_at = CURRENT_TIMESTAMP
WHERE rowid = :rowid;

-- name: drop_entry
-- An entry leaves; the trigger takes its words along.
DELETE FROM entries WHERE rowid = :rowid;

-- name: drop_former_tags
-- What an older generation keeps of an entry in a table of its own.
DELETE FROM tags WHERE entry_id IN (SELECT id FROM entries WHERE rowid = :rowid);

-- name: list_created
-- By what an entry of the oldest generation is known: its number, and what no version edits.
SELECT rowid, created_at, hostname FROM entries;

-- name: visible_entries
-- Those that have not expired, by every name of a row's number.
SELECT rowid, * FROM main.entries
WHERE 'chronicle:' || CAST(id AS TEXT) NOT IN (SELECT ref FROM temp.hidden)

-- name: count_entries
-- How many there are, and the highest number given.
SELECT (SELECT count(*) FROM entries), (SELECT max(rowid) FROM entries);

-- name: count_tag_columns
-- Every distinct list of tags, and how many entries bear just these.
SELECT CAST(tags AS TEXT), count(*) FROM entries GROUP BY tags;

-- name: read_with_columns
-- An entry's parts where there are both instant columns and a tags column.
SELECT rowid, timestamp_unix_seconds, timestamp_nanosecond, CAST(timestamp AS TEXT),
    CAST(id AS TEXT), CAST(message AS TEXT), CAST(hostname AS TEXT), CAST(username AS TEXT),
    CAST(working_directory AS TEXT), CAST(tags AS TEXT), CAST(created_at AS TEXT)
FROM entries;

-- name: read_without_instants
-- The same where the time is a text alone.
SELECT rowid, NULL, NULL, CAST(timestamp AS TEXT),
    CAST(id AS TEXT), CAST(message AS TEXT), CAST(hostname AS TEXT), CAST(username AS TEXT),
    CAST(working_directory AS TEXT), CAST(tags AS TEXT), CAST(created_at AS TEXT)
FROM entries;

-- name: read_with_tag_rows
-- The same where tags have a table of their own.
SELECT rowid, NULL, NULL, CAST(timestamp AS TEXT),
    CAST(id AS TEXT), CAST(message AS TEXT), CAST(hostname AS TEXT), CAST(username AS TEXT),
    CAST(working_directory AS TEXT),
    (SELECT json_group_array(CAST(tag AS TEXT))
     FROM (SELECT tag FROM tags WHERE entry_id = entries.id ORDER BY tags.id)),
    CAST(created_at AS TEXT)
FROM entries;

-- name: where_id
-- Appended to a reading: one entry by its whole id.
WHERE id = :id LIMIT 2;

-- name: where_prefix
-- Appended to a reading: entries whose id begins so.
WHERE id >= :low AND id < :high LIMIT 2;

-- name: where_row
-- Appended to a reading: one entry by its number.
WHERE rowid = :rowid;

-- name: where_since
-- Appended to a reading: entries with higher numbers, the last ones first.
WHERE rowid > :number ORDER BY rowid DESC;

-- name: where_rows
-- Appended to a reading: entries by their numbers.
WHERE rowid IN (SELECT value FROM json_each(:rowids));

-- name: where_tag
-- Appended to a reading: entries that may bear a tag.
WHERE instr(CAST(tags AS TEXT), :tag) > 0;

-- name: where_tag_words
-- Appended to a reading: entries whose tags bear the words of one, by chronicle's word index.
WHERE rowid IN (SELECT rowid FROM entries_fts WHERE entries_fts MATCH :match);

-- name: newest_by_instant
-- Appended to a reading: entries up to a second, newest first.
WHERE timestamp_unix_seconds <= :seconds
ORDER BY timestamp_unix_seconds DESC, timestamp_nanosecond DESC, rowid DESC;

-- name: newest_in_folders
-- Appended to a reading: of the newest entries those that were logged in some folders or below them,
-- newest first. No index of chronicle's holds the folder: 1 ms where many of the newest are of them,
-- 10 ms where none of 10,000 is.
JOIN (
    WITH folders (folder) AS MATERIALIZED (SELECT rtrim(value, '/') FROM json_each(:folders))
    SELECT number FROM (
        SELECT rowid AS number, working_directory AS directory FROM entries
        ORDER BY timestamp_unix_seconds DESC, timestamp_nanosecond DESC, rowid DESC
        LIMIT :surveyed
    ) WHERE EXISTS (
        SELECT 1 FROM folders WHERE directory = folder
            OR (directory > folder || '/' AND directory < folder || '0')
    ) LIMIT :limit
) ON rowid = number
ORDER BY timestamp_unix_seconds DESC, timestamp_nanosecond DESC, rowid DESC;

-- name: list_links
-- The tags of those entries that took the place of others, the last that were written.
SELECT CAST(tags AS TEXT) FROM entries WHERE rowid IN (
    SELECT rowid FROM entries_fts WHERE entries_fts MATCH :match ORDER BY rowid DESC LIMIT :surveyed
);

-- name: oldest_by_instant
-- Appended to a reading: entries from a second on, oldest first.
WHERE timestamp_unix_seconds >= :seconds AND timestamp_unix_seconds < ''
ORDER BY timestamp_unix_seconds, timestamp_nanosecond, rowid;

-- name: where_ids
-- Appended to a reading: entries by their ids.
WHERE id IN (SELECT value FROM json_each(:ids));

-- name: list_messages
-- Messages and tags that may bear a word: those that hold its beginning, and all that are not plain
-- ASCII.
SELECT rowid, CAST(message AS TEXT), CAST(tags AS TEXT) FROM entries
WHERE instr(lower(CAST(message AS TEXT)), :beginning) > 0
    OR length(CAST(message AS TEXT)) <> length(CAST(message AS BLOB))
    OR instr(lower(CAST(tags AS TEXT)), :beginning) > 0
    OR length(CAST(tags AS TEXT)) <> length(CAST(tags AS BLOB));

-- name: create_said
-- Messages by their words, for one question, in memory; words are cut as the search index cuts them.
CREATE VIRTUAL TABLE said USING fts5(
    body,
    content='',
    tokenize='porter unicode61 remove_diacritics 2'
);

-- name: add_said
-- A message's words.
INSERT INTO said (rowid, body) VALUES (?, ?);

-- name: list_said
-- The messages that bear what is asked for.
SELECT rowid FROM said WHERE said MATCH :match ORDER BY rowid;

-- name: create_stems
-- What the words were cut down to.
CREATE VIRTUAL TABLE stems USING fts5vocab(said, 'instance');

-- name: list_stems
-- Each message's stems, in their order.
SELECT doc, term FROM stems ORDER BY doc, "offset";

-- name: without_instant
-- Appended to a reading: entries without an instant, or with a text instead of one; by the index.
WHERE rowid IN (
    SELECT rowid FROM entries WHERE timestamp_unix_seconds IS NULL
    UNION ALL SELECT rowid FROM entries WHERE timestamp_unix_seconds >= ''
);

-- name: create_kept
-- Where the entries of an older layout wait while its tables make room.
CREATE TEMP TABLE kept_entries (
    number INTEGER PRIMARY KEY, seconds, nanosecond, timestamp, id, message, hostname, username,
    directory, tags,
    created_at
);

-- name: keep_entries
-- Followed by a reading: every entry goes there.
INSERT INTO kept_entries;

-- name: read_sequence
-- The highest number ever given to an entry.
SELECT max(seq) FROM sqlite_sequence WHERE name = 'entries';

-- name: raise_sequence
-- An edit or a deletion takes a number as well, which no entry will have.
UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'entries';

-- name: count_since
-- How many entries have higher numbers.
SELECT count(*) FROM entries WHERE rowid > :number;

-- name: drop_sequence
-- What the new table counted so far.
DELETE FROM sqlite_sequence WHERE name = 'entries';

-- name: add_sequence
-- It goes on where the old table was.
INSERT INTO sqlite_sequence (name, seq)
VALUES ('entries', max(:highest, (SELECT coalesce(max(rowid), 0) FROM entries)));

-- name: list_kept
-- What of a waiting entry is to be written in another form.
SELECT number, timestamp, id, tags, created_at, hostname FROM kept_entries ORDER BY number;

-- name: add_kept
-- A waiting entry takes its place, its texts byte for byte.
INSERT INTO entries (
    rowid, id, timestamp, timestamp_unix_seconds, timestamp_nanosecond,
    message, hostname, username, working_directory, tags, created_at, updated_at
)
SELECT number, :id, timestamp, :seconds, :nanosecond,
    message, hostname, username, directory, :tags, created_at, created_at
FROM kept_entries WHERE number = :number;

-- name: drop_kept
-- Nobody waits any more.
DROP TABLE kept_entries;

-- name: check_pages
-- Whether the file is whole.
PRAGMA quick_check(1);
