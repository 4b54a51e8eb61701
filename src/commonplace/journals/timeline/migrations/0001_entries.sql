-- One owner's timeline. Times are text in UTC, all of one width, so that they order as they read.

CREATE TABLE journal_entries (
    -- Never used twice: links to what is gone stay true.
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    thread_id TEXT NOT NULL,
    content TEXT NOT NULL,
    entry_type TEXT NOT NULL CHECK (entry_type IN (
        'raw', 'profile_snapshot', 'hourly_rollup', 'daily_rollup', 'weekly_rollup',
        'monthly_rollup', 'yearly_rollup'
    )),
    timestamp TEXT NOT NULL,
    -- Half-open: [period_start, period_end).
    period_start TEXT NOT NULL,
    period_end TEXT NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}',
    parent_id TEXT,
    rollup_level INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived', 'deleted')),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    -- The zone that cut a rollup's period; empty for what is no rollup.
    tz TEXT NOT NULL DEFAULT '',
    -- Of all that readers see of it: links and the index tell by it whether it changed.
    hash BLOB NOT NULL
);
CREATE UNIQUE INDEX journal_entries_period
ON journal_entries (thread_id, rollup_level, period_start, tz) WHERE rollup_level > 0;
CREATE INDEX journal_entries_time ON journal_entries (rollup_level, timestamp, seq);
CREATE INDEX journal_entries_profile
ON journal_entries (timestamp) WHERE entry_type = 'profile_snapshot';

-- The words of active entries, for readers of this file.
CREATE VIEW active_entries AS
SELECT seq, content FROM journal_entries WHERE status = 'active';
CREATE VIRTUAL TABLE journal_fts USING fts5 (
    content, content = 'active_entries', content_rowid = 'seq'
);
CREATE TRIGGER journal_fts_insert AFTER INSERT ON journal_entries WHEN new.status = 'active' BEGIN
    INSERT INTO journal_fts (rowid, content) VALUES (new.seq, new.content);
END;
CREATE TRIGGER journal_fts_delete AFTER DELETE ON journal_entries WHEN old.status = 'active' BEGIN
    INSERT INTO journal_fts (journal_fts, rowid, content) VALUES ('delete', old.seq, old.content);
END;
CREATE TRIGGER journal_fts_update AFTER UPDATE OF content, status ON journal_entries BEGIN
    INSERT INTO journal_fts (journal_fts, rowid, content)
    SELECT 'delete', old.seq, old.content WHERE old.status = 'active';
    INSERT INTO journal_fts (rowid, content)
    SELECT new.seq, new.content WHERE new.status = 'active';
END;

-- What only rollups have. figures, points and base are JSON; base: what is known of expired sources.
CREATE TABLE rollups (
    seq INTEGER PRIMARY KEY REFERENCES journal_entries (seq) ON DELETE CASCADE,
    period_key TEXT NOT NULL,
    input_hash BLOB NOT NULL,
    generator TEXT NOT NULL,
    figures TEXT NOT NULL,
    points TEXT NOT NULL,
    base TEXT NOT NULL DEFAULT '',
    is_private INTEGER NOT NULL DEFAULT 0,
    -- Failed tries of a summariser at this material, which one, and until when one is at it.
    attempts INTEGER NOT NULL DEFAULT 0,
    tried TEXT NOT NULL DEFAULT '',
    claimed_until TEXT NOT NULL DEFAULT ''
);
CREATE INDEX rollups_key ON rollups (period_key);
CREATE INDEX rollups_generator ON rollups (generator);

-- What a rollup was made from, as it was then. source: an entry's seq, or -seq of `fed`.
CREATE TABLE rollup_sources (
    rollup INTEGER NOT NULL,
    source INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (rollup, source)
) WITHOUT ROWID;
CREATE INDEX rollup_sources_source ON rollup_sources (source);

-- Periods in which something changed since they were rolled up, marked with that change.
CREATE TABLE dirty (
    tz TEXT NOT NULL,
    level INTEGER NOT NULL,
    period_start TEXT NOT NULL,
    period_end TEXT NOT NULL,
    mark INTEGER NOT NULL,
    PRIMARY KEY (tz, level, period_start)
) WITHOUT ROWID;
CREATE INDEX dirty_due ON dirty (period_end, level);

-- Every change of an entry, in order: the index follows it.
CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    entry INTEGER NOT NULL
);

-- What is gone, so that links and refs can say so; holds nothing of its text. There is one for every
-- raw entry that ever expired: a UUID is kept in its 16 bytes.
CREATE TABLE tombstones (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    expired INTEGER NOT NULL
);

-- The zones that have cut periods, in the order they came; ids of the first bear no zone.
CREATE TABLE series (
    number INTEGER PRIMARY KEY,
    tz TEXT NOT NULL UNIQUE,
    since TEXT NOT NULL,
    tzdata TEXT NOT NULL
);

-- Entries of other journals that count as raw activity: linked, never copied. hash: of what they say;
-- stamp: by which their journal tells that they changed.
CREATE TABLE fed (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    ref TEXT NOT NULL UNIQUE,
    journal TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    hash BLOB NOT NULL,
    stamp TEXT NOT NULL
);
CREATE INDEX fed_time ON fed (timestamp);
CREATE TABLE fed_marks (journal TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;

-- What summarisers cost, a row a day of UTC and a model.
CREATE TABLE spent (
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    PRIMARY KEY (day, model)
) WITHOUT ROWID;

-- One row. name: tells this file from one made later in its place; zone: the owner's own, if told;
-- pruned: the last change that is no longer in the log.
CREATE TABLE state (name TEXT NOT NULL, zone TEXT NOT NULL, pruned INTEGER NOT NULL);
INSERT INTO state (name, zone, pruned) VALUES (lower(hex(randomblob(8))), '', 0);
