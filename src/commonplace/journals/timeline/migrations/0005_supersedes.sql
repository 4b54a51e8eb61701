-- An entry that took the place of another names it in its metadata: by this the other one is asked who
-- it was. A database may hold metadata of other programs, which need not be JSON.
CREATE INDEX journal_entries_supersedes ON journal_entries (
    CASE WHEN json_valid(metadata) THEN json_extract(metadata, '$.supersedes') END
) WHERE instr(metadata, '"supersedes"') > 0;
