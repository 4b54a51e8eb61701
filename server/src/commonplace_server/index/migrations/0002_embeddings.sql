-- The columns of the memory design that wb_embeddings lacked: id and created_at; and its names.

-- Every row is written anew for its id: an index of the nearest would be built again meanwhile, with
-- nobody let in. `commonplace memory migrate` and a worker make them afterwards, beside everything.
DO $$
DECLARE
    nearest text;
BEGIN
    FOR nearest IN SELECT c.relname
        FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
        WHERE i.indrelid = 'wb_embeddings'::regclass AND c.relname LIKE 'wb\_nearest\_%'
    LOOP
        EXECUTE format('DROP INDEX %I', nearest);
    END LOOP;
END
$$;

ALTER TABLE wb_embeddings RENAME COLUMN embedding TO vector;
-- A ref_id that begins with a colon is of an entry of another journal, which has kinds of its own.
ALTER TABLE wb_embeddings
    ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid(),
    ADD COLUMN created_at timestamptz NOT NULL DEFAULT now(),
    ADD PRIMARY KEY (user_id, id),
    ADD CONSTRAINT wb_embeddings_kind CHECK (ref_id LIKE ':%'
        OR kind IN ('message', 'journal', 'todo', 'preference', 'gratitude'));
