-- A database as chronicle's generation D2 makes it, with entries of nobody.
CREATE TABLE entries (
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
CREATE INDEX idx_entries_id ON entries(id);
CREATE INDEX idx_entries_timestamp ON entries(timestamp DESC);
CREATE VIRTUAL TABLE entries_fts USING fts5(
		message,
		tags,
		content=entries,
		content_rowid=rowid
	);
CREATE TRIGGER entries_ai AFTER INSERT ON entries BEGIN
		INSERT INTO entries_fts(rowid, message, tags) VALUES (new.rowid, new.message, new.tags);
	END;
CREATE TRIGGER entries_ad AFTER DELETE ON entries BEGIN
		INSERT INTO entries_fts(entries_fts, rowid, message, tags) VALUES('delete', old.rowid, old.message, old.tags);
	END;
CREATE TRIGGER entries_au AFTER UPDATE OF message, tags ON entries BEGIN
		INSERT INTO entries_fts(entries_fts, rowid, message, tags) VALUES('delete', old.rowid, old.message, old.tags);
		INSERT INTO entries_fts(rowid, message, tags) VALUES (new.rowid, new.message, new.tags);
	END;
CREATE INDEX idx_entries_timestamp_instant ON entries(timestamp_unix_seconds DESC, timestamp_nanosecond DESC);

INSERT INTO entries (id, timestamp, timestamp_unix_seconds, timestamp_nanosecond, message, hostname, username, working_directory, tags) VALUES
    ('edaca8e0-6ef6-41c6-8c6b-00e7ababb62a', '2026-09-01 09:30:00.123456789 -0500 CDT', 1788273000, 123456789, 'shipped it', 'otter', 'wren', '/srv/garden', '["work","go"]'),
    ('0a1b2c3d-0000-4000-8000-000000000001', '2026-09-01 09:30:00.123456788 -0500 CDT', 1788273000, 123456788, 'a nanosecond before', 'otter', 'wren', '/srv/garden', '[]');
-- A chronicle of before the instant columns wrote into this newer database.
INSERT INTO entries (id, timestamp, message, hostname, username, working_directory, tags) VALUES
    ('0a1b2c3d-0000-4000-8000-000000000002', '2026-09-01 15:00:00 +0000 UTC', 'without an instant', 'otter', 'wren', '/srv/garden', '["Work"]');
