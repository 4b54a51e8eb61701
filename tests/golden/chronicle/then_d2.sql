-- What a chronicle of generation D2 does to a database of generation A or B before it gives up: its
-- tables are there already, so only indexes, columns and one trigger change.
CREATE INDEX IF NOT EXISTS idx_entries_id ON entries(id);
CREATE INDEX IF NOT EXISTS idx_entries_timestamp ON entries(timestamp DESC);
DROP TRIGGER entries_au;
CREATE TRIGGER entries_au AFTER UPDATE OF message, tags ON entries BEGIN
    INSERT INTO entries_fts(entries_fts, rowid, message, tags) VALUES('delete', old.rowid, old.message, old.tags);
    INSERT INTO entries_fts(rowid, message, tags) VALUES (new.rowid, new.message, new.tags);
END;
ALTER TABLE entries ADD COLUMN timestamp_unix_seconds INTEGER;
ALTER TABLE entries ADD COLUMN timestamp_nanosecond INTEGER;
UPDATE entries SET timestamp_unix_seconds = unixepoch(timestamp), timestamp_nanosecond = 0;
CREATE INDEX idx_entries_timestamp_instant
ON entries(timestamp_unix_seconds DESC, timestamp_nanosecond DESC);
