-- Words as a worker packs them, out of the rows that writes add.

-- packed: where each segment of a user's packed words begins, the lowest first; none where nothing is packed.
ALTER TABLE wb_index ADD COLUMN packed bigint[] NOT NULL DEFAULT '{}';

-- A block of words of the docs of one segment, those from its `low` up to the next one's. is_alone: whether it is of one
-- word, which stands in many docs; term, doc: where the block begins; data: see `index/packed.py`.
CREATE TABLE wb_packed (
    user_id text COLLATE "C" NOT NULL,
    low bigint NOT NULL,
    is_alone boolean NOT NULL,
    term text COLLATE "C" NOT NULL,
    doc bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (user_id, low, is_alone, term, doc)
);
-- Four fill a page; none is moved out of its row.
ALTER TABLE wb_packed ALTER COLUMN data SET STORAGE PLAIN;
ALTER TABLE wb_packed ALTER term SET STATISTICS 0, ALTER data SET STATISTICS 0;

ALTER TABLE wb_packed ENABLE ROW LEVEL SECURITY;
ALTER TABLE wb_packed FORCE ROW LEVEL SECURITY;
CREATE POLICY own_rows ON wb_packed
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON wb_packed TO commonplace_app, commonplace_worker;

-- The worker cleans up what is deleted.
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 170000 THEN
        EXECUTE 'GRANT MAINTAIN ON wb_packed TO commonplace_worker';
    END IF;
END
$$;
