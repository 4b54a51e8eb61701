-- Which model the vectors are made with, what was tidied and when, and who is at work.

-- One row. encoder: the one in charge; whole_at: since when no record has the vectors of another one;
-- is_cleared: whether those of others were let go of; tidied_at, pruned_at: when the tables, and the
-- log of calls, were last tidied; horizon: how far back the tables held what is dead when they were.
CREATE TABLE wb_upkeep (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    encoder text COLLATE "C" NOT NULL DEFAULT '',
    whole_at timestamptz,
    is_cleared boolean NOT NULL DEFAULT false,
    tidied_at timestamptz,
    pruned_at timestamptz,
    horizon xid
);
INSERT INTO wb_upkeep DEFAULT VALUES;

-- The workers that are at work, each with its encoder, until it tells so again.
CREATE TABLE wb_workers (
    worker uuid PRIMARY KEY,
    encoder text COLLATE "C" NOT NULL,
    until timestamptz NOT NULL
);

-- anew: its words are to be put into the index even if they seem to be there.
ALTER TABLE wb_outbox ADD COLUMN anew boolean NOT NULL DEFAULT false;
GRANT UPDATE (anew) ON wb_outbox TO commonplace_worker;
-- What a worker without an encoder takes besides words that are due.
CREATE INDEX wb_outbox_plain ON wb_outbox (user_id, at) WHERE due AND (gone OR anew);

-- Neither table tells anything of a user; the application sees no row of them.
DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['wb_upkeep', 'wb_workers'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', guarded);
        EXECUTE format('CREATE POLICY work ON %I TO commonplace_worker USING (true)'
            ' WITH CHECK (true)', guarded);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO commonplace_worker', guarded);
    END LOOP;
    -- A table of one row tells what a vacuum could let go of.
    IF current_setting('server_version_num')::integer >= 170000 THEN
        EXECUTE format('GRANT MAINTAIN ON wb_upkeep TO commonplace_worker');
    END IF;
END
$$;
