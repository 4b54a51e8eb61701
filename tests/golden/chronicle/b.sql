-- A database as chronicle's generation B makes it, with entries of nobody.
CREATE TABLE entries (
    id TEXT PRIMARY KEY,
    timestamp DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    message TEXT NOT NULL,
    hostname TEXT NOT NULL,
    username TEXT NOT NULL,
    working_directory TEXT NOT NULL,
    created_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE tags (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    entry_id TEXT NOT NULL,
    tag TEXT NOT NULL,
    FOREIGN KEY (entry_id) REFERENCES entries(id) ON DELETE CASCADE
);
CREATE INDEX idx_timestamp ON entries(timestamp);
CREATE INDEX idx_tags_entry ON tags(entry_id);
CREATE INDEX idx_tags_tag ON tags(tag);
CREATE VIRTUAL TABLE entries_fts USING fts5(id UNINDEXED, message, content=entries);
CREATE TRIGGER entries_ai AFTER INSERT ON entries BEGIN
  INSERT INTO entries_fts(id, message) VALUES (new.id, new.message);
END;
CREATE TRIGGER entries_ad AFTER DELETE ON entries BEGIN
  DELETE FROM entries_fts WHERE id = old.id;
END;
CREATE TRIGGER entries_au AFTER UPDATE ON entries BEGIN
  UPDATE entries_fts SET message = new.message WHERE id = new.id;
END;

INSERT INTO entries (id, timestamp, message, hostname, username, working_directory, created_at) VALUES
    ('6764eb94-ad7f-42af-b942-e971577df8d5', '2025-12-16 23:26:10', 'quokka here', 'otter', 'wren', '/srv/garden', '2025-12-16 23:26:10'),
    ('340a9549-5c1c-4273-ae6b-e4a820a4925b', '2025-12-16T23:26:09Z', 'decided to use WAL', 'otter', 'wren', '/srv/garden', '2025-12-16T23:26:09Z'),
    ('0249338e-9f05-468f-8d23-f1ee735b3465', '2025-12-16 14:30:00-06:00', 'brand new zebra', 'otter', 'wren', '/srv/pond', '2025-12-16 20:30:00');
INSERT INTO tags (entry_id, tag) VALUES
    ('6764eb94-ad7f-42af-b942-e971577df8d5', 'work'), ('0249338e-9f05-468f-8d23-f1ee735b3465', 'Work');
