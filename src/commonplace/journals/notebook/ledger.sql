-- name: create_state
-- One row: the commit whose history the ledger holds, empty for none, and the layout it has.
CREATE TABLE IF NOT EXISTS state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    layout INTEGER NOT NULL,
    head TEXT NOT NULL
);

-- name: create_entries
-- One row for each entry of a section; named: the section as its commit calls it, section: its name now;
-- copies: how many commits of the history are this entry; supersedes: the id of the entry whose place
-- it took, empty for none.
CREATE TABLE IF NOT EXISTS entries (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    named TEXT NOT NULL,
    section TEXT NOT NULL,
    hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    summary TEXT NOT NULL,
    supersedes TEXT NOT NULL,
    copies INTEGER NOT NULL DEFAULT 1,
    UNIQUE (id, named)
);

-- name: create_by_section
-- The newest of a section, and how many there are.
CREATE INDEX IF NOT EXISTS entries_by_section ON entries (section, at, seq);

-- name: create_by_hash
-- A hash, or the beginning of one.
CREATE INDEX IF NOT EXISTS entries_by_hash ON entries (hash);

-- name: create_by_former
-- Which entry took the place of another.
CREATE INDEX IF NOT EXISTS entries_by_former ON entries (supersedes) WHERE supersedes <> '';

-- name: create_moves
-- What sections were called before, in the order of the history.
CREATE TABLE IF NOT EXISTS moves (
    seq INTEGER PRIMARY KEY,
    old TEXT NOT NULL,
    new TEXT NOT NULL
);

-- name: create_merges
-- Where two lines of the history were brought together: the last entry that was filed before.
CREATE TABLE IF NOT EXISTS merges (after INTEGER NOT NULL);

-- name: begin_state
-- The one row of a ledger that holds nothing yet.
INSERT OR IGNORE INTO state (one, layout, head) VALUES (1, :layout, '');

-- name: state
-- The layout, and the commit whose history is held.
SELECT layout, head FROM state;

-- name: set_state
-- The commit whose history is held now.
UPDATE state SET head = :head, layout = :layout;

-- name: drop_entries
-- The table of another layout.
DROP TABLE IF EXISTS entries;

-- name: drop_moves
-- As above.
DROP TABLE IF EXISTS moves;

-- name: clear_entries
-- Forget every entry: the history is another.
DELETE FROM entries;

-- name: drop_merges
-- As above.
DROP TABLE IF EXISTS merges;

-- name: clear_merges
-- Forget every merge: the history is another.
DELETE FROM merges;

-- name: clear_moves
-- Forget every move: the history is another.
DELETE FROM moves;

-- name: add_entry
-- One entry, after all that are there; a copy of one (a rebase merged with what it was made from) is
-- that entry, with the commit that comes later, wherever its section was moved to since.
INSERT INTO entries (id, named, section, hash, at, summary, supersedes)
VALUES (:id, :named, :section, :hash, :at, :summary, :supersedes)
ON CONFLICT (id, named) DO UPDATE
SET hash = excluded.hash, at = excluded.at, summary = excluded.summary,
    supersedes = excluded.supersedes, copies = copies + 1;

-- name: drop_copy
-- A commit that was this entry is in the history no more.
UPDATE entries SET copies = copies - 1 WHERE id = :id AND named = :named;

-- name: drop_gone
-- An entry of which no commit is left.
DELETE FROM entries WHERE id = :id AND named = :named AND copies <= 0;

-- name: is_at
-- Whether an entry is still at the commit it was at.
SELECT 1 FROM entries WHERE id = :id AND named = :named AND hash = :hash;

-- name: old_names
-- What sections were called before they were moved.
SELECT DISTINCT old FROM moves;

-- name: total
-- How many entries there are, each counted once in each of its sections.
SELECT count(*) FROM entries;

-- name: all_entries
-- Every entry, in an order of its own. Of several commits that are one entry either may be named.
SELECT id, named, section, copies, CASE copies WHEN 1 THEN hash END, CASE copies WHEN 1 THEN at END,
    CASE copies WHEN 1 THEN summary END, CASE copies WHEN 1 THEN supersedes END
FROM entries ORDER BY id, named;

-- name: all_moves
-- Every move, in the order of the history.
SELECT old, new FROM moves ORDER BY seq;

-- name: add_merge
-- A commit that brings two lines together comes after all that are there.
INSERT INTO merges (after) SELECT coalesce(max(seq), 0) FROM entries;

-- name: add_move
-- A section's new name.
INSERT INTO moves (old, new) VALUES (:old, :new);

-- name: move_entries
-- What was in a section is under its new name.
UPDATE entries SET section = :new WHERE section = :old;

-- name: moved_to
-- The last new name of a section that was called so.
SELECT new FROM moves WHERE old = :old ORDER BY seq DESC LIMIT 1;

-- name: count
-- How many entries a section has.
SELECT count(*) FROM entries WHERE section = :section;

-- name: newest
-- Entries of a section, newest first.
SELECT id, section, hash, at, summary FROM entries WHERE section = :section
ORDER BY at DESC, seq DESC LIMIT :length OFFSET :start;

-- name: by_id
-- An entry by its id; several rows for a commit by hand that touched several sections.
SELECT id, section, hash, at, summary FROM entries WHERE id = :id ORDER BY seq;

-- name: successors
-- The entries that took the place of one, the newest first: other clones may have written theirs.
SELECT id, section, hash, at, summary FROM entries
WHERE supersedes = :id AND supersedes <> '' ORDER BY at DESC, seq DESC;

-- name: replaced
-- The entries of a section whose places others took, with those, newest first, and whether the
-- history is one line since. What took a place is walked through, not the section: few entries do.
SELECT old.id, old.section, old.hash, old.at, old.summary,
    new.id, new.section, new.hash, new.at, new.summary,
    new.seq > (SELECT coalesce(max(after), 0) FROM merges)
FROM entries AS new CROSS JOIN entries AS old ON old.id = new.supersedes
WHERE new.supersedes <> '' AND old.section = :section
ORDER BY new.at DESC, new.seq DESC;

-- name: by_hash
-- Entries by a hash, or by the beginning of one.
SELECT id, section, hash, at, summary FROM entries
WHERE hash >= :low AND hash < :high ORDER BY seq LIMIT 50;

-- name: place
-- Where an entry is now that its commit puts into a section.
SELECT section FROM entries WHERE id = :id AND named = :named;

-- name: before
-- The entry of a section before one, in the order they are listed in.
SELECT id, section, hash, at, summary FROM entries
WHERE section = :section
  AND (at, seq) < (SELECT at, seq FROM entries WHERE section = :section AND id = :id)
ORDER BY at DESC, seq DESC LIMIT 1;

-- name: after
-- The entry of a section after one, in the order they are listed in.
SELECT id, section, hash, at, summary FROM entries
WHERE section = :section
  AND (at, seq) > (SELECT at, seq FROM entries WHERE section = :section AND id = :id)
ORDER BY at, seq LIMIT 1;

-- name: tallies
-- Each section's number of entries, and when its newest was.
SELECT section, count(*), max(at) FROM entries GROUP BY section;
