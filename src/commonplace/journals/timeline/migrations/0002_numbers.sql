-- SQLite notes the last number of AUTOINCREMENT in a table of its own: a page more to be written and
-- synced with every entry. Entries and changes are numbered without it; still none is used twice.

-- An entry is given the number after the greatest there is, and after `floor`: that of an entry
-- which had no greater one beside it when it went. SQLite's note lies so far ahead that it is never
-- moved; to make the table anew without it would copy all of the file.
ALTER TABLE state ADD COLUMN floor INTEGER NOT NULL DEFAULT 0;
UPDATE state
SET floor = coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'journal_entries'), 0);
DELETE FROM sqlite_sequence WHERE name = 'journal_entries';
INSERT INTO sqlite_sequence (name, seq) VALUES ('journal_entries', 1000000000000);
CREATE TRIGGER journal_entries_floor AFTER DELETE ON journal_entries
WHEN NOT EXISTS (SELECT 1 FROM journal_entries WHERE seq > old.seq) BEGIN
    UPDATE state SET floor = max(floor, old.seq);
END;

-- Every change of an entry, in order: the index follows it. The last one is never pruned, so that
-- the next is greater.
CREATE TABLE new_changes (seq INTEGER PRIMARY KEY, entry INTEGER NOT NULL);
INSERT INTO new_changes SELECT seq, entry FROM changes;
INSERT OR IGNORE INTO new_changes SELECT seq, 0 FROM sqlite_sequence WHERE name = 'changes';
DROP TABLE changes;
ALTER TABLE new_changes RENAME TO changes;
