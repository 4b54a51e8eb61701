-- A database as chronicle's generation A makes it, with entries of nobody.
CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    message TEXT NOT NULL,
    hostname TEXT NOT NULL,
    username TEXT NOT NULL,
    working_directory TEXT NOT NULL,
    created_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE tags (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    entry_id INTEGER NOT NULL,
    tag TEXT NOT NULL,
    FOREIGN KEY (entry_id) REFERENCES entries(id) ON DELETE CASCADE
);
CREATE INDEX idx_timestamp ON entries(timestamp);
CREATE INDEX idx_tags_entry ON tags(entry_id);
CREATE INDEX idx_tags_tag ON tags(tag);
CREATE VIRTUAL TABLE entries_fts USING fts5(message, content=entries, content_rowid=id);
CREATE TRIGGER entries_ai AFTER INSERT ON entries BEGIN
  INSERT INTO entries_fts(rowid, message) VALUES (new.id, new.message);
END;
CREATE TRIGGER entries_ad AFTER DELETE ON entries BEGIN
  INSERT INTO entries_fts(entries_fts, rowid, message) VALUES('delete', old.id, old.message);
END;
CREATE TRIGGER entries_au AFTER UPDATE ON entries BEGIN
  INSERT INTO entries_fts(entries_fts, rowid, message) VALUES('delete', old.id, old.message);
  INSERT INTO entries_fts(rowid, message) VALUES (new.id, new.message);
END;

INSERT INTO entries (id, timestamp, message, hostname, username, working_directory, created_at) VALUES
    (1, '2025-11-29 14:32:15', 'deployed version 2.1.0', 'otter', 'wren', '/srv/garden', '2025-11-29 14:32:15'),
    (2, '2025-11-30 08:00:00', 'fixed auth bug-fix in login', 'otter', 'wren', '/srv/garden', '2025-11-30 08:00:00'),
    (3, '2025-11-30 08:00:00', 'decided to use WAL', 'otter', 'wren', '/srv/pond', '2025-11-30 08:00:00'),
    (4, '2025-12-01 09:00:00', 'a line that is gone', 'otter', 'wren', '/srv/pond', '2025-12-01 09:00:00');
INSERT INTO tags (entry_id, tag) VALUES (1, 'work'), (1, 'deployment'), (2, 'golang'), (4, 'gone');
DELETE FROM tags WHERE entry_id = 4;
DELETE FROM entries WHERE id = 4;
