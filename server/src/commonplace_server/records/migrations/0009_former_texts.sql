-- What an edit replaced of a record, so that every server takes it back and erases it.

-- One row for each edit. id: of the edit, later ones sort after it; content: the text and all else that
-- `undo` needs, as JSON.
CREATE TABLE wb_former (
    user_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    ref_id text COLLATE "C" NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (user_id, id),
    CONSTRAINT wb_former_kind CHECK (kind IN ('message', 'journal', 'todo', 'gratitude', 'preference'))
);
CREATE INDEX wb_former_record ON wb_former (user_id, kind, ref_id);

-- No sample of what users wrote goes into the planner's statistics, where it would outlive them.
ALTER TABLE wb_former ALTER content SET STATISTICS 0;

ALTER TABLE wb_former ENABLE ROW LEVEL SECURITY;
ALTER TABLE wb_former FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON wb_former
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON wb_former TO commonplace_app;

-- A record that leaves takes its former texts along, whoever deletes it or gives it another id. What
-- leaves is still in the files of the table: the record's line says so, until the worker has tidied
-- up. As the role that makes the change, in the schema of the tables.
DO $$
BEGIN
    EXECUTE format($f$
        CREATE FUNCTION %1$I.wb_drop_former() RETURNS trigger LANGUAGE plpgsql AS $t$
        BEGIN
            DELETE FROM %1$I.wb_former
            WHERE user_id = new.user_id AND kind = new.kind AND ref_id = new.ref_id;
            RETURN NULL;
        END
        $t$
    $f$, current_schema());
    EXECUTE format($f$
        CREATE FUNCTION %1$I.wb_note_former() RETURNS trigger LANGUAGE plpgsql AS $t$
        BEGIN
            UPDATE %1$I.wb_outbox SET stale = true
            WHERE user_id = old.user_id AND kind = old.kind AND ref_id = old.ref_id;
            RETURN NULL;
        END
        $t$
    $f$, current_schema());
    -- The worker reads none of it, and cleans up what is deleted.
    EXECUTE format('GRANT SELECT ON wb_former TO commonplace_worker');
    IF current_setting('server_version_num')::integer >= 170000 THEN
        EXECUTE format('GRANT MAINTAIN ON wb_former TO commonplace_worker');
    END IF;
END
$$;
CREATE TRIGGER wb_drop_former AFTER INSERT OR UPDATE OF gone ON wb_outbox
    FOR EACH ROW WHEN (new.gone) EXECUTE FUNCTION wb_drop_former();
CREATE TRIGGER wb_note_former AFTER UPDATE OR DELETE ON wb_former
    FOR EACH ROW EXECUTE FUNCTION wb_note_former();
