-- Entries and changes are numbered in one count: an entry's own number tells when it was added, and
-- `changes` is of what happened to it later. So an add writes a page less.
UPDATE state
SET floor = max(
    floor,
    coalesce((SELECT max(seq) FROM journal_entries), 0),
    coalesce((SELECT max(seq) FROM changes), 0)
);
