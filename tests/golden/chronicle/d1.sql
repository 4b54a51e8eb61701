-- A database as chronicle's generation D1 makes it, with entries of nobody.
CREATE TABLE entries (
		rowid INTEGER PRIMARY KEY AUTOINCREMENT,
		id TEXT UNIQUE NOT NULL,
		timestamp DATETIME NOT NULL,
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
CREATE TRIGGER entries_au AFTER UPDATE ON entries BEGIN
		INSERT INTO entries_fts(entries_fts, rowid, message, tags) VALUES('delete', old.rowid, old.message, old.tags);
		INSERT INTO entries_fts(rowid, message, tags) VALUES (new.rowid, new.message, new.tags);
	END;

INSERT INTO entries (id, timestamp, message, hostname, username, working_directory, tags) VALUES
    ('d1614813-5fd0-456b-be59-1488906c798c', '2026-02-01 09:30:00.123456789 -0600 CST', 'shipped it', 'otter', 'wren', '/srv/garden', '["work","go"]'),
    ('ae8995d9-3c07-415a-91c9-b9967cd3ca94', '2026-02-01 15:40:00.5 +0000 UTC m=+0.012345', 'no tags', 'otter', 'wren', '/srv/garden', 'null'),
    ('5b0be1a7-3a59-4b4f-a3a8-7d5a3d6f2c11', '2026-02-02 01:00:00 +1100 AEDT', 'far away', NULL, NULL, NULL, NULL);
