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
-- it took, empty for none; own_end: when it expires as its own commit says; expires: when it does, in
-- seconds since 1970; is_swept: whether it has expired and its summary was removed.
CREATE TABLE IF NOT EXISTS entries (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    named TEXT NOT NULL,
    section TEXT NOT NULL,
    hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    summary TEXT NOT NULL,
    supersedes TEXT NOT NULL,
    own_end INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    is_swept INTEGER NOT NULL DEFAULT 0,
    copies INTEGER NOT NULL DEFAULT 1,
    UNIQUE (id, named)
);

-- name: create_by_section
-- The newest of a section, and how many there are.
CREATE INDEX IF NOT EXISTS entries_by_section ON entries (section, at, seq, expires);

-- name: create_by_hash
-- A hash, or the beginning of one.
CREATE INDEX IF NOT EXISTS entries_by_hash ON entries (hash);

-- name: create_by_former
-- Which entry took the place of another.
CREATE INDEX IF NOT EXISTS entries_by_former ON entries (supersedes) WHERE supersedes <> '';

-- name: create_by_end
-- Which entries expire; never is 1 << 62.
CREATE INDEX IF NOT EXISTS entries_by_end ON entries (expires) WHERE expires < 4611686018427387904;

-- name: create_ends
-- When entries expire as later commits say, a row for each commit.
CREATE TABLE IF NOT EXISTS ends (
    hash TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL
);

-- name: create_ends_by_entry
-- The commits that say when one entry expires.
CREATE INDEX IF NOT EXISTS ends_by_entry ON ends (id, at, hash);

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

-- name: create_links
-- What a text names: an entry's, by its id and the section its commit names, or an overview's, with no
-- id, no time and its section's name now. section and entry: as the text has them, an entry by id or hash.
CREATE TABLE IF NOT EXISTS links (
    id TEXT NOT NULL,
    named TEXT NOT NULL,
    section TEXT NOT NULL,
    entry TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (id, named, section, entry)
) WITHOUT ROWID;

-- name: create_links_by_target
-- What names a section, or an entry of it, by time.
CREATE INDEX IF NOT EXISTS links_by_target ON links (section, entry, at);

-- name: create_branch_state
-- One row once other branches were read: each with its commit, as JSON.
CREATE TABLE IF NOT EXISTS branch_state (one INTEGER PRIMARY KEY CHECK (one = 1), branches TEXT NOT NULL);

-- name: create_branch_commits
-- The commits of other branches that the notebook's own does not hold, with their parents.
CREATE TABLE IF NOT EXISTS branch_commits (hash TEXT PRIMARY KEY, parents TEXT NOT NULL, old TEXT, new TEXT);

-- name: create_branch_entries
-- The entries in those, a row for each commit; branches: which hold it, as JSON; is_shown: of several
-- commits that are one entry the last one.
CREATE TABLE IF NOT EXISTS branch_entries (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    named TEXT NOT NULL,
    section TEXT NOT NULL,
    hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    summary TEXT NOT NULL,
    supersedes TEXT NOT NULL,
    own_end INTEGER NOT NULL,
    branches TEXT NOT NULL DEFAULT '[]',
    is_shown INTEGER NOT NULL DEFAULT 0
);

-- name: create_branch_entries_by_section
-- The newest of a section on other branches.
CREATE INDEX IF NOT EXISTS branch_entries_by_section ON branch_entries (section, at);

-- name: create_branch_entries_by_id
-- An entry by its id, on other branches.
CREATE INDEX IF NOT EXISTS branch_entries_by_id ON branch_entries (id);

-- name: create_branch_entries_by_hash
-- An entry by its commit, on other branches.
CREATE INDEX IF NOT EXISTS branch_entries_by_hash ON branch_entries (hash);

-- name: create_branch_ends
-- When entries expire, as commits of other branches say.
CREATE TABLE IF NOT EXISTS branch_ends (
    hash TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL
);

-- name: create_elsewhere
-- The entries that only other branches hold, each once. What any branch says of its end counts, the
-- latest of them.
CREATE VIEW IF NOT EXISTS elsewhere AS
SELECT seq, id, named, section, hash, at, summary, supersedes, branches, coalesce((
    SELECT said.expires FROM (
        SELECT id, at, hash, expires FROM ends UNION ALL SELECT id, at, hash, expires FROM branch_ends
    ) AS said
    WHERE said.id = held.id ORDER BY said.at DESC, said.hash DESC LIMIT 1), own_end) AS expires
FROM branch_entries AS held
WHERE is_shown AND NOT EXISTS (
    SELECT 1 FROM entries WHERE entries.id = held.id AND entries.named = held.named);

-- name: begin_state
-- The one row of a ledger that holds nothing yet.
INSERT OR IGNORE INTO state (one, layout, head) VALUES (1, :layout, '');

-- name: state
-- The layout, and the commit whose history is held.
SELECT layout, head FROM state;

-- name: set_state
-- The commit whose history is held now.
UPDATE state SET head = :head;

-- name: clear_entries
-- Forget every entry: the history is another.
DELETE FROM entries;

-- name: clear_ends
-- Forget when entries expire: the history is another.
DELETE FROM ends;

-- name: clear_merges
-- Forget every merge: the history is another.
DELETE FROM merges;

-- name: clear_moves
-- Forget every move: the history is another.
DELETE FROM moves;

-- name: clear_links
-- Forget every link: the history is another.
DELETE FROM links;

-- name: add_link
-- A link of an entry or an overview.
INSERT OR IGNORE INTO links (id, named, section, entry, at)
VALUES (:id, :named, :section, :entry, :at);

-- name: drop_links
-- The text of an entry or an overview is another.
DELETE FROM links WHERE id = :id AND named = :named;

-- name: drop_gone_links
-- Those of an entry of which no commit is left.
DELETE FROM links WHERE id = :id AND named = :named
AND NOT EXISTS (SELECT 1 FROM entries WHERE entries.id = :id AND entries.named = :named);

-- name: sweep_links
-- An entry has expired: nothing of its text stays here.
DELETE FROM links WHERE id = :id;

-- name: link_targets
-- What links call a section or an entry, of all that they may call it.
SELECT DISTINCT section, entry FROM links
WHERE section IN (SELECT value FROM json_each(:sections))
  AND entry IN (SELECT value FROM json_each(:marks));

-- name: linking_entries
-- The entries with one link, newest first, but those that have expired.
SELECT entries.id, entries.section, hash, entries.at, summary, expires, seq
FROM links JOIN entries ON entries.id = links.id AND entries.named = links.named
WHERE links.section = :section AND links.entry = :entry AND links.id <> '' AND expires > :now
ORDER BY links.at DESC, seq DESC LIMIT :length;

-- name: linking_overviews
-- The sections whose overviews have one link.
SELECT named FROM links WHERE section = :section AND entry = :entry AND id = '' ORDER BY named;

-- name: count_linking
-- How many entries have one link, but those that have expired.
SELECT count(*) - (
    SELECT count(*) FROM entries CROSS JOIN links AS own
    ON own.id = entries.id AND own.named = entries.named
    WHERE expires < 4611686018427387904 AND expires <= :now
      AND own.section = :section AND own.entry = :entry)
FROM links WHERE section = :section AND entry = :entry AND id <> '';

-- name: all_links
-- Every link of an overview, and of an entry that has not expired and whose place none took.
SELECT links.section, links.entry, '' AS id, links.named, '' AS hash, 0 AS at, '' AS summary,
    4611686018427387904 AS expires
FROM links WHERE id = ''
UNION ALL
SELECT links.section, links.entry, entries.id, entries.section, hash, entries.at, summary, expires
FROM links JOIN entries ON entries.id = links.id AND entries.named = links.named
WHERE expires > :now
  AND NOT EXISTS (SELECT 1 FROM entries AS new WHERE new.supersedes = entries.id
                  AND new.supersedes <> '' AND new.expires > :now)
ORDER BY 4, 3, 1, 2;

-- name: held_links
-- Every link, in an order of its own, but of entries that may expire: those are removed then.
SELECT links.* FROM links LEFT JOIN entries ON entries.id = links.id AND entries.named = links.named
WHERE links.id = '' OR (copies = 1 AND expires = 4611686018427387904)
ORDER BY 1, 2, 3, 4;

-- name: add_entry
-- One entry, after all that are there; a copy of one (a rebase merged with what it was made from) is
-- that entry, with the commit that comes later, wherever its section was moved to since.
INSERT INTO entries (id, named, section, hash, at, summary, supersedes, own_end, expires)
VALUES (:id, :named, :section, :hash, :at, :summary, :supersedes, :own_end, :own_end)
ON CONFLICT (id, named) DO UPDATE
SET hash = excluded.hash, at = excluded.at, summary = excluded.summary,
    supersedes = excluded.supersedes, own_end = excluded.own_end, expires = excluded.expires,
    is_swept = 0, copies = copies + 1;

-- name: add_end
-- A commit that says when an entry expires.
INSERT OR IGNORE INTO ends (hash, id, at, expires) VALUES (:hash, :id, :at, :expires);

-- name: drop_end
-- That commit is in the history no more.
DELETE FROM ends WHERE hash = :hash;

-- name: has_ends
-- Whether any later commit says when an entry expires.
SELECT 1 FROM ends LIMIT 1;

-- name: last_end_set
-- When the last commit was made that says when an entry expires.
SELECT max(at) FROM ends WHERE id = :id;

-- name: set_end_ids
-- The entries of which later commits say when they expire.
SELECT DISTINCT id FROM ends ORDER BY id;

-- name: settle_end
-- When an entry expires: of later commits the latest counts, by time and then by hash, so that every
-- clone reads the same in whatever order it learned of them.
UPDATE entries SET expires = coalesce(
    (SELECT expires FROM ends WHERE ends.id = entries.id ORDER BY at DESC, hash DESC LIMIT 1), own_end)
WHERE id = :id;

-- name: settle_ends
-- The same of every entry of which later commits say it.
UPDATE entries SET expires =
    (SELECT expires FROM ends WHERE ends.id = entries.id ORDER BY at DESC, hash DESC LIMIT 1)
WHERE id IN (SELECT id FROM ends);

-- name: swept
-- The commit of an entry whose summary was removed, the section that it names, and its time.
SELECT hash, named, at FROM entries WHERE id = :id AND is_swept;

-- name: bring_back
-- Its summary is there again.
UPDATE entries SET summary = :summary, is_swept = 0 WHERE hash = :hash;

-- name: sweep
-- An entry has expired: nothing of its text stays here.
UPDATE entries SET summary = '', is_swept = 1 WHERE id = :id AND NOT is_swept;

-- name: set_ends
-- The entries that expire and were not yet swept, the next first; 86400 was taken back, by hand.
SELECT id, section, hash, at, summary, expires FROM entries
WHERE expires < 4611686018427387904 AND expires > 86400 AND NOT is_swept ORDER BY expires, seq;

-- name: expired
-- The entries that have expired, the last one first.
SELECT id, section, hash, at, summary, expires FROM entries
WHERE expires < 4611686018427387904 AND expires <= :now ORDER BY expires DESC, seq DESC;

-- name: count_expired
-- How many entries have expired.
SELECT count(*) FROM entries WHERE expires < 4611686018427387904 AND expires <= :now;

-- name: count_expired_of
-- How many of a section have.
SELECT count(*) FROM entries
WHERE expires < 4611686018427387904 AND expires <= :now AND section = :section;

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
-- Nor is a summary that is removed once its entry has expired.
SELECT id, named, section, copies, CASE copies WHEN 1 THEN hash END, CASE copies WHEN 1 THEN at END,
    CASE WHEN copies = 1 AND expires = 4611686018427387904 THEN summary END,
    CASE copies WHEN 1 THEN supersedes END, CASE copies WHEN 1 THEN expires END
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
-- Entries of a section, newest first, but those that have expired.
SELECT id, section, hash, at, summary, expires FROM entries
WHERE section = :section AND expires > :now
ORDER BY at DESC, seq DESC LIMIT :length OFFSET :start;

-- name: by_id
-- An entry by its id; several rows for a commit by hand that touched several sections.
SELECT id, section, hash, at, summary, expires FROM entries WHERE id = :id ORDER BY seq;

-- name: by_id_start
-- Entries by the beginning of an id.
SELECT id, section, hash, at, summary, expires FROM entries
WHERE id >= :low AND id < :high ORDER BY seq LIMIT 50;

-- name: number
-- Where an entry stands in the order of the history: those of other branches behind ours.
SELECT coalesce((SELECT max(seq) FROM entries WHERE id = :id),
    (SELECT 4503599627370496 + max(seq) FROM branch_entries WHERE id = :id), 0);

-- name: newest_at
-- When the newest of a section was, whether or not it has expired.
SELECT max(at) FROM entries WHERE section = :section;

-- name: successors
-- The entries that took the place of one, the newest first: other clones may have written theirs. In
-- place of one that has expired counts what took its place.
WITH RECURSIVE later (id, is_open) AS (
    SELECT :id, 1
    UNION
    SELECT next.id, next.expires <= :now FROM later
    JOIN entries AS next ON next.supersedes = later.id AND next.supersedes <> ''
    WHERE later.is_open)
SELECT entries.id, section, hash, at, summary, expires FROM later JOIN entries ON entries.id = later.id
WHERE NOT later.is_open ORDER BY at DESC, seq DESC;

-- name: expired_successors
-- The ids of those that took the place of one, and have expired.
SELECT DISTINCT id FROM entries
WHERE supersedes = :id AND supersedes <> '' AND expires <= :now ORDER BY id;

-- name: formers
-- The entry with an id; where that has expired, the one whose place it had taken, and so on.
WITH RECURSIVE before (id) AS (
    SELECT :id
    UNION
    SELECT gone.supersedes FROM before JOIN entries AS gone ON gone.id = before.id
    WHERE gone.expires <= :now AND gone.supersedes <> '')
SELECT entries.id, section, hash, at, summary, expires FROM before JOIN entries ON entries.id = before.id
WHERE expires > :now ORDER BY seq LIMIT 1;

-- name: left_replaced
-- The entries whose place others took that have expired, with when that was. One that was taken back
-- (86400) took no place.
SELECT old.id, old.section, old.hash, old.at, old.summary, old.expires, max(new.at)
FROM entries AS new CROSS JOIN entries AS old ON old.id = new.supersedes
WHERE new.expires < 4611686018427387904 AND new.expires <= :now AND new.expires > 86400
  AND new.supersedes <> ''
GROUP BY old.id, old.named;

-- name: replaced
-- The entries of a section whose places others took, with those, newest first, and whether the
-- history is one line since. What took a place is walked through, not the section: few entries do.
-- Of a chain whose middle has expired both ends count.
WITH RECURSIVE taken (former, seq) AS (
    SELECT supersedes, seq FROM entries WHERE supersedes <> '' AND expires > :now
    UNION
    SELECT gone.supersedes, taken.seq FROM taken JOIN entries AS gone ON gone.id = taken.former
    WHERE gone.expires <= :now AND gone.supersedes <> '')
SELECT old.id, old.section, old.hash, old.at, old.summary, old.expires,
    new.id, new.section, new.hash, new.at, new.summary, new.expires,
    new.seq > (SELECT coalesce(max(after), 0) FROM merges)
FROM taken JOIN entries AS new ON new.seq = taken.seq JOIN entries AS old ON old.id = taken.former
WHERE old.section = :section AND old.expires > :now
ORDER BY new.at DESC, new.seq DESC;

-- name: by_hash
-- Entries by a hash, or by the beginning of one.
SELECT id, section, hash, at, summary, expires FROM entries
WHERE hash >= :low AND hash < :high ORDER BY seq LIMIT 50;

-- name: place
-- Where an entry is now that its commit puts into a section, and when it expires.
SELECT section, expires FROM entries WHERE id = :id AND named = :named;

-- name: before
-- The entry of a section before one, in the order they are listed in.
SELECT id, section, hash, at, summary, expires FROM entries
WHERE section = :section AND expires > :now
  AND (at, seq) < (SELECT at, seq FROM entries WHERE section = :section AND id = :id)
ORDER BY at DESC, seq DESC LIMIT 1;

-- name: after
-- The entry of a section after one, in the order they are listed in.
SELECT id, section, hash, at, summary, expires FROM entries
WHERE section = :section AND expires > :now
  AND (at, seq) > (SELECT at, seq FROM entries WHERE section = :section AND id = :id)
ORDER BY at, seq LIMIT 1;

-- name: section_counts
-- Each section's number of entries, and when its newest was, but for those that have expired.
SELECT section, count(*), max(at) FROM entries WHERE expires > :now GROUP BY section;

-- name: branches
-- The other branches that were read, each with its commit.
SELECT branches FROM branch_state;

-- name: set_branches
-- The other branches that are held now.
INSERT INTO branch_state (one, branches) VALUES (1, :branches)
ON CONFLICT (one) DO UPDATE SET branches = excluded.branches;

-- name: clear_branch_state
-- Other branches are to be read again.
DELETE FROM branch_state;

-- name: clear_branch_commits
-- Forget the commits of other branches.
DELETE FROM branch_commits;

-- name: clear_branch_entries
-- Forget the entries of other branches.
DELETE FROM branch_entries;

-- name: clear_branch_ends
-- Forget when entries expire as other branches say.
DELETE FROM branch_ends;

-- name: add_branch_commit
-- A commit of another branch; old and new: the names of a section that it moves.
INSERT OR IGNORE INTO branch_commits (hash, parents, old, new) VALUES (:hash, :parents, :old, :new);

-- name: add_branch_entry
-- An entry of another branch.
INSERT INTO branch_entries (id, named, section, hash, at, summary, supersedes, own_end)
VALUES (:id, :named, :section, :hash, :at, :summary, :supersedes, :own_end);

-- name: add_branch_end
-- A commit of another branch that says when an entry expires.
INSERT OR IGNORE INTO branch_ends (hash, id, at, expires) VALUES (:hash, :id, :at, :expires);

-- name: branch_commits
-- All of them, in the order they were read: after their parents.
SELECT hash, parents, old, new FROM branch_commits ORDER BY rowid;

-- name: branch_rows
-- What is held of each entry's places.
SELECT seq, id, named, section, hash, branches, is_shown FROM branch_entries ORDER BY seq;

-- name: place_branch_entry
-- Where an entry of another branch is, and which branches hold it.
UPDATE branch_entries SET section = :section, branches = :branches, is_shown = :is_shown WHERE seq = :seq;

-- name: sweep_elsewhere
-- An entry of another branch has expired: nothing of its text stays here.
UPDATE branch_entries SET summary = '' WHERE id = :id AND summary <> '';

-- name: sweep_expired_elsewhere
-- The same for all that have.
UPDATE branch_entries SET summary = '' WHERE summary <> '' AND seq IN (
    SELECT seq FROM elsewhere WHERE expires <= :now);

-- name: has_elsewhere
-- Whether other branches hold any entry.
SELECT 1 FROM branch_entries LIMIT 1;

-- name: all_elsewhere
-- The entries that only other branches hold, but those that have expired.
SELECT id, section, hash, at, summary, expires, branches, supersedes FROM elsewhere
WHERE expires > :now ORDER BY seq;

-- name: count_expired_elsewhere
-- How many of them have expired.
SELECT count(*) FROM elsewhere WHERE expires <= :now;

-- name: set_ends_elsewhere
-- Those that expire and were not yet swept.
SELECT id, section, hash, at, summary, expires, branches FROM elsewhere
WHERE expires < 4611686018427387904 AND expires > 86400 AND (expires > :now OR summary <> '');

-- name: ended_elsewhere
-- Those of which later commits say when they expire.
SELECT id, section, hash, at, summary, expires, branches FROM elsewhere
WHERE id IN (SELECT id FROM branch_ends);

-- name: by_id_elsewhere
-- One by its id; several rows for a commit by hand that touched several sections.
SELECT id, section, hash, at, summary, expires, branches FROM elsewhere WHERE id = :id ORDER BY seq;

-- name: by_id_start_elsewhere
-- Those whose id begins so.
SELECT id, section, hash, at, summary, expires, branches FROM elsewhere
WHERE id >= :low AND id < :high ORDER BY seq LIMIT 50;

-- name: by_hash_elsewhere
-- Those whose commit's hash begins so.
SELECT elsewhere.id, elsewhere.section, elsewhere.hash, elsewhere.at, elsewhere.summary,
    elsewhere.expires, elsewhere.branches
FROM branch_entries JOIN elsewhere USING (id, named)
WHERE branch_entries.hash >= :low AND branch_entries.hash < :high ORDER BY elsewhere.seq LIMIT 50;

-- name: successor_elsewhere
-- What another branch has in the place of one of its own.
SELECT id, section, hash, at, summary, expires, branches FROM elsewhere
WHERE supersedes = :id AND expires > :now ORDER BY at DESC, seq DESC LIMIT 1;

-- name: has_section_elsewhere
-- Whether other branches have entries of a section.
SELECT 1 FROM elsewhere WHERE section IN (SELECT value FROM json_each(:sections)) AND expires > :now LIMIT 1;

-- name: newest_everywhere
-- Entries of a section on all branches, newest first, but those that have expired. Of one second what
-- another branch holds is the newer: it may rest on ours, and ours rests on none of it.
SELECT id, section, hash, at, summary, expires, branches FROM (
    SELECT id, section, hash, at, summary, expires, '[]' AS branches, 1 AS is_own, seq FROM entries
    WHERE section = :section AND expires > :now
    UNION ALL
    SELECT id, section, hash, at, summary, expires, branches, 0, seq FROM elsewhere
    WHERE section IN (SELECT value FROM json_each(:sections)) AND expires > :now)
ORDER BY at DESC, is_own, seq DESC LIMIT :length OFFSET :start;

-- name: newest_on_branch
-- The same of one other branch; without: the commits that it does not hold, and our own does.
SELECT id, section, hash, at, summary, expires, branches FROM (
    SELECT id, section, hash, at, summary, expires, '[]' AS branches, 1 AS is_own, seq FROM entries
    WHERE section = :section AND expires > :now
      AND (hash NOT IN (SELECT value FROM json_each(:without)) OR EXISTS (
        SELECT 1 FROM branch_entries AS copy, json_each(copy.branches)
        WHERE copy.id = entries.id AND copy.named = entries.named AND value = :branch))
    UNION ALL
    SELECT id, section, hash, at, summary, expires, branches, 0, seq FROM elsewhere
    WHERE section IN (SELECT value FROM json_each(:sections)) AND expires > :now
      AND EXISTS (SELECT 1 FROM json_each(branches) WHERE value = :branch))
ORDER BY at DESC, is_own, seq DESC LIMIT :length OFFSET :start;

-- name: not_on_branch
-- The entries that a branch does not hold; without: as above, branch: empty for our own.
SELECT section, id FROM entries
WHERE hash IN (SELECT value FROM json_each(:without)) AND NOT EXISTS (
    SELECT 1 FROM branch_entries AS copy, json_each(copy.branches)
    WHERE copy.id = entries.id AND copy.named = entries.named AND value = :branch)
UNION ALL
SELECT section, id FROM elsewhere
WHERE NOT EXISTS (SELECT 1 FROM json_each(branches) WHERE value = :branch);
