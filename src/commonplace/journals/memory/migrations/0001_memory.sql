-- One user's memory. Times are text in UTC, all of one width, so that they order as they read.

CREATE TABLE wb_message (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    content TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX wb_message_time ON wb_message (created_at, id);

CREATE TABLE wb_journal (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    is_draft INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX wb_journal_time ON wb_journal (created_at, id);

CREATE TABLE wb_todo (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    title TEXT NOT NULL,
    done INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX wb_todo_time ON wb_todo (created_at, id);

CREATE TABLE wb_gratitude (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX wb_gratitude_time ON wb_gratitude (created_at, id);

CREATE TABLE wb_preferences (
    user_id TEXT PRIMARY KEY,
    language TEXT NOT NULL DEFAULT 'en',
    religion TEXT,
    flags TEXT NOT NULL DEFAULT '{}',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

-- The calls of tools; holds no text that anybody wrote.
CREATE TABLE wb_tool_invocation_log (
    id INTEGER PRIMARY KEY,
    user_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    status TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    top_k_effective INTEGER NOT NULL,
    filters TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX wb_tool_invocation_log_time ON wb_tool_invocation_log (created_at);

-- The last change of each record, in order: the index follows it. Holds no text. gone: it was
-- deleted, and a key does not bring it back; erase: bytes of its text may still be in the index.
CREATE TABLE wb_outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    ref_id TEXT NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0,
    erase INTEGER NOT NULL DEFAULT 0,
    UNIQUE (user_id, kind, ref_id)
);
CREATE INDEX wb_outbox_erase ON wb_outbox (seq) WHERE erase;

-- One row. name: tells this file from one made later in its place.
CREATE TABLE state (name TEXT NOT NULL);
INSERT INTO state (name) VALUES (lower(hex(randomblob(8))));
