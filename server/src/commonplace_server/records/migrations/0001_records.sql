-- The records of all users, each user's own. Every table is guarded by row level security, for its
-- owner too: without app.user_id there are no rows. A policy is a plain expression, which the
-- planner folds and which Citus can hand on; after a transaction the setting is '', not NULL.

-- Neither role owns a table, is a superuser or bypasses the guard. Passwords are for the
-- administrator to set; a role of one's own may be made a member instead.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['commonplace_app', 'commonplace_worker'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = wanted) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB'
                    ' NOCREATEROLE', wanted);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;  -- made meanwhile, for another database of this server
            END;
        END IF;
    END LOOP;
END
$$;

CREATE TABLE wb_message (
    user_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    role text NOT NULL,
    content text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX wb_message_time ON wb_message (user_id, created_at DESC, id DESC);

CREATE TABLE wb_journal (
    user_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    is_draft boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX wb_journal_time ON wb_journal (user_id, created_at DESC, id DESC);

CREATE TABLE wb_todo (
    user_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    title text NOT NULL,
    done boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX wb_todo_time ON wb_todo (user_id, created_at DESC, id DESC);

CREATE TABLE wb_gratitude (
    user_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    content text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX wb_gratitude_time ON wb_gratitude (user_id, created_at DESC, id DESC);

-- flags: JSON as text, as it was written: jsonb would change numbers.
CREATE TABLE wb_preferences (
    user_id text COLLATE "C" PRIMARY KEY,
    language text NOT NULL DEFAULT 'en',
    religion text,
    flags text NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

-- The calls of tools; holds no text that anybody wrote.
CREATE TABLE wb_tool_invocation_log (
    user_id text COLLATE "C" NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    tool text NOT NULL,
    status text NOT NULL,
    duration_ms integer NOT NULL,
    top_k_effective integer NOT NULL,
    filters text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX wb_tool_invocation_log_time ON wb_tool_invocation_log (user_id, created_at);

-- The last change of each record; holds no text. changes: how often it changed. gone: it was
-- deleted, and a key does not bring it back; erase: its words are still in the index. words_due: its
-- words are not in the index yet; due: the worker has to look at it, for its vector; leased_until:
-- one is at it, or was: leased_by; encoder: whose vectors it has; stale: an earlier text of it may
-- still lie, unseen, in the files of the tables.
CREATE TABLE wb_outbox (
    user_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    ref_id text COLLATE "C" NOT NULL,
    changes bigint NOT NULL DEFAULT 1,
    at timestamptz NOT NULL DEFAULT now(),
    gone boolean NOT NULL,
    erase boolean NOT NULL,
    words_due boolean NOT NULL,
    due boolean NOT NULL DEFAULT true,
    leased_until timestamptz,
    leased_by uuid,
    encoder text COLLATE "C" NOT NULL DEFAULT '',
    stale boolean NOT NULL DEFAULT false,
    PRIMARY KEY (user_id, kind, ref_id)
);
CREATE INDEX wb_outbox_due ON wb_outbox (at) WHERE due;
CREATE INDEX wb_outbox_words ON wb_outbox (user_id, at) WHERE words_due;
CREATE INDEX wb_outbox_erase ON wb_outbox (user_id, at) WHERE erase;
CREATE INDEX wb_outbox_encoder ON wb_outbox (encoder, at) WHERE NOT gone;
CREATE INDEX wb_outbox_stale ON wb_outbox (user_id) WHERE stale;

-- No sample of what users wrote goes into the planner's statistics, where it would outlive them.
ALTER TABLE wb_message ALTER content SET STATISTICS 0;
ALTER TABLE wb_journal ALTER title SET STATISTICS 0, ALTER body SET STATISTICS 0;
ALTER TABLE wb_todo ALTER title SET STATISTICS 0;
ALTER TABLE wb_gratitude ALTER content SET STATISTICS 0;
ALTER TABLE wb_preferences ALTER religion SET STATISTICS 0, ALTER flags SET STATISTICS 0,
    ALTER language SET STATISTICS 0;

DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['wb_message', 'wb_journal', 'wb_todo', 'wb_gratitude',
        'wb_preferences', 'wb_tool_invocation_log', 'wb_outbox'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', guarded);
        EXECUTE format(
            'CREATE POLICY own ON %I'
            ' USING (user_id = nullif(current_setting(''app.user_id'', true), ''''))'
            ' WITH CHECK (user_id = nullif(current_setting(''app.user_id'', true), ''''))',
            guarded);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO commonplace_app', guarded);
    END LOOP;
    -- The worker reads what it files, tidies the log, and cleans up what is deleted.
    EXECUTE format('GRANT SELECT ON wb_message, wb_journal, wb_todo, wb_gratitude, wb_preferences'
        ' TO commonplace_worker');
    EXECUTE format('GRANT SELECT, DELETE ON wb_tool_invocation_log TO commonplace_worker');
    IF current_setting('server_version_num')::integer >= 170000 THEN
        EXECUTE format('GRANT MAINTAIN ON wb_message, wb_journal, wb_todo, wb_gratitude,'
            ' wb_preferences, wb_outbox TO commonplace_worker');
    END IF;
END
$$;

-- The one thing that is seen across users: which records wait, for the worker alone.
GRANT SELECT ON wb_outbox TO commonplace_worker;
GRANT UPDATE (erase, words_due, due, leased_until, leased_by, encoder, stale) ON wb_outbox
    TO commonplace_worker;
CREATE POLICY lease ON wb_outbox TO commonplace_worker USING (true) WITH CHECK (true);
