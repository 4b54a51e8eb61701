-- When a record expires, and since when it is replaced by one that is gone: in the database, so that
-- every server knows it. Beside the records, whose tables stay as other programs know them.

-- Holds no text. expires_at: from then on no answer shows the record, and it is deleted; replaced_at:
-- it holds no longer, though what took its place has left. Either is null for never.
CREATE TABLE wb_times (
    user_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    ref_id text COLLATE "C" NOT NULL,
    expires_at timestamptz,
    replaced_at timestamptz,
    PRIMARY KEY (user_id, kind, ref_id),
    CONSTRAINT wb_times_kind CHECK (kind IN ('message', 'journal', 'todo', 'gratitude', 'preference')),
    CONSTRAINT wb_times_finite CHECK (isfinite(expires_at) AND isfinite(replaced_at))
);
CREATE INDEX wb_times_due ON wb_times (user_id, expires_at) WHERE expires_at IS NOT NULL;

ALTER TABLE wb_times ENABLE ROW LEVEL SECURITY;
ALTER TABLE wb_times FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON wb_times
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON wb_times TO commonplace_app;
GRANT SELECT ON wb_times TO commonplace_worker;

-- A record that leaves takes its times along, whoever deletes it or gives it another id: a server of
-- an earlier version, or the application's own SQL. The outbox has a line of each. As the role that
-- makes the change, in the schema of the tables.
DO $$
BEGIN
    EXECUTE format($f$
        CREATE FUNCTION %1$I.wb_drop_times() RETURNS trigger LANGUAGE plpgsql AS $t$
        BEGIN
            DELETE FROM %1$I.wb_times
            WHERE user_id = new.user_id AND kind = new.kind AND ref_id = new.ref_id;
            RETURN NULL;
        END
        $t$
    $f$, current_schema());
END
$$;
CREATE TRIGGER wb_drop_times AFTER INSERT OR UPDATE OF gone ON wb_outbox
    FOR EACH ROW WHEN (new.gone) EXECUTE FUNCTION wb_drop_times();
