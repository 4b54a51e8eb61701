-- The words and vectors of every user, in tables whose rows are guarded one by one.
CREATE EXTENSION IF NOT EXISTS vector;

-- One row a user. name: tells these rows from others made later in their place; change: goes up
-- with every transaction that files docs; pruned: who saw less must read every doc anew;
-- speaking: docs that are not blank.
CREATE TABLE wb_index (
    user_id text COLLATE "C" PRIMARY KEY,
    name uuid NOT NULL DEFAULT gen_random_uuid(),
    change bigint NOT NULL DEFAULT 0,
    pruned bigint NOT NULL DEFAULT 0,
    docs integer NOT NULL DEFAULT 0,
    speaking integer NOT NULL DEFAULT 0
);

-- What a search needs of each doc. id: epoch seconds << 20 | the next number free in that second.
-- session_id: of its name, 0 for a doc that stands alone; length: its words; timed: 1 where it
-- names a time; change: the last one that touched it.
CREATE TABLE wb_docs (
    user_id text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    ref text COLLATE "C" NOT NULL,
    shelf bigint NOT NULL,
    at_us bigint NOT NULL,
    blank boolean NOT NULL,
    text_hash text NOT NULL,
    stamp text NOT NULL,
    tags text[] NOT NULL,
    text text NOT NULL,
    session text NOT NULL,
    session_id bigint NOT NULL,
    length integer NOT NULL,
    timed integer NOT NULL,
    dated text NOT NULL,
    covers text[] NOT NULL,
    change bigint NOT NULL,
    PRIMARY KEY (user_id, id),
    UNIQUE (user_id, ref)
);
CREATE INDEX wb_docs_change ON wb_docs (user_id, change);

-- Ids that hold no doc any more, so that whoever remembers the docs follows.
CREATE TABLE wb_dropped (
    user_id text COLLATE "C" NOT NULL,
    change bigint NOT NULL,
    doc bigint NOT NULL,
    PRIMARY KEY (user_id, change, doc)
);

-- What many docs have alike, once. id: the hash of the rest.
CREATE TABLE wb_shelves (
    user_id text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    change bigint NOT NULL,
    journal text NOT NULL,
    scope text NOT NULL,
    kind text NOT NULL,
    author text NOT NULL,
    headings text[] NOT NULL,
    PRIMARY KEY (user_id, id)
);

-- How often each word stands in each doc, in its text and in its date; a tag is a word that begins
-- with U+001F. Rows, not a tsvector: `@@` may not use an index where rows are guarded.
CREATE TABLE wb_words (
    user_id text COLLATE "C" NOT NULL,
    term text COLLATE "C" NOT NULL,
    doc bigint NOT NULL,
    body integer NOT NULL,
    dated integer NOT NULL,
    PRIMARY KEY (user_id, term, doc) INCLUDE (body, dated)
);
CREATE INDEX wb_words_doc ON wb_words (user_id, doc);

-- A vector a chunk, and no text beside it. model_tag: which model made it; span: of the chunk, in
-- characters of what the doc says.
CREATE TABLE wb_embeddings (
    user_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    ref_id text COLLATE "C" NOT NULL,
    model_tag text COLLATE "C" NOT NULL,
    chunk integer NOT NULL,
    doc bigint NOT NULL,
    span int4range NOT NULL,
    text_hash text NOT NULL,
    embedding vector NOT NULL,
    UNIQUE (user_id, kind, ref_id, model_tag, chunk)
);
-- A vector moved out of its row costs five times as much to read.
ALTER TABLE wb_embeddings ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE INDEX wb_embeddings_doc ON wb_embeddings (user_id, doc, model_tag);

-- What there is of each model. docs: those with vectors of it, blank ones aside; chunks: its
-- vectors; change: goes up whenever one of them comes, goes or moves.
CREATE TABLE wb_models (
    user_id text COLLATE "C" NOT NULL,
    model_tag text COLLATE "C" NOT NULL,
    dimensions integer NOT NULL,
    docs integer NOT NULL DEFAULT 0,
    chunks integer NOT NULL DEFAULT 0,
    change bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (user_id, model_tag)
);

CREATE TABLE wb_marks (
    user_id text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    mark text NOT NULL,
    PRIMARY KEY (user_id, source)
);

-- until: seconds since the epoch.
CREATE TABLE wb_leases (
    user_id text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    holder text NOT NULL,
    until double precision NOT NULL,
    PRIMARY KEY (user_id, name)
);

-- No sample of what users wrote goes into the planner's statistics, where it would outlive them.
ALTER TABLE wb_docs ALTER text SET STATISTICS 0, ALTER tags SET STATISTICS 0,
    ALTER session SET STATISTICS 0, ALTER dated SET STATISTICS 0, ALTER covers SET STATISTICS 0;
ALTER TABLE wb_shelves ALTER scope SET STATISTICS 0, ALTER author SET STATISTICS 0,
    ALTER headings SET STATISTICS 0;
ALTER TABLE wb_words ALTER term SET STATISTICS 0;
ALTER TABLE wb_embeddings ALTER embedding SET STATISTICS 0;

-- Each row is there for its user alone, also for the role that owns the table. A plain expression:
-- a sub-select would hide the user from the planner.
DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY[
        'wb_index', 'wb_docs', 'wb_dropped', 'wb_shelves', 'wb_words', 'wb_embeddings',
        'wb_models', 'wb_marks', 'wb_leases'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', guarded);
        EXECUTE format(
            'CREATE POLICY own_rows ON %I'
            ' USING (user_id = nullif(current_setting(''app.user_id'', true), ''''))'
            ' WITH CHECK (user_id = nullif(current_setting(''app.user_id'', true), ''''))',
            guarded
        );
        EXECUTE format(
            'GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO commonplace_app, commonplace_worker',
            guarded
        );
        -- The worker cleans up what is deleted.
        IF current_setting('server_version_num')::integer >= 170000 THEN
            EXECUTE format('GRANT MAINTAIN ON %I TO commonplace_worker', guarded);
        END IF;
    END LOOP;
END
$$;

-- The owner of the tables sees how many vectors each user has, and nothing else, so that it can
-- index those of a user who has many.
CREATE POLICY sizes ON wb_models FOR SELECT TO CURRENT_USER USING (true);
