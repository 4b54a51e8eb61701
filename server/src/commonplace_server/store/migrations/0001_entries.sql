-- The entries of all journals of served users but memory's, whose tables are its design's. Each row is there
-- for its user alone, as in those, also for the role that owns the table.

-- at, nanos: its time, to the nanosecond; place: of two of one instant, the later written has the higher;
-- scope: where it was written; tags: as they were written, and folded as they are compared; supersedes: the
-- id of the entry whose place it took, empty for none; more: what else its journal's format has, as JSON.
CREATE TABLE cp_entries (
    user_id text COLLATE "C" NOT NULL,
    journal text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    place bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL,
    nanos smallint NOT NULL,
    written_at timestamptz NOT NULL,
    scope text COLLATE "C" NOT NULL,
    body text NOT NULL,
    tags text[] NOT NULL,
    folded text[] NOT NULL,
    supersedes text COLLATE "C" NOT NULL,
    more text NOT NULL,
    PRIMARY KEY (user_id, journal, id),
    CONSTRAINT cp_entries_times CHECK (isfinite(at) AND isfinite(written_at)),
    CONSTRAINT cp_entries_nanos CHECK (nanos BETWEEN 0 AND 999)
);
CREATE INDEX cp_entries_time ON cp_entries (user_id, journal, at, nanos, place);
CREATE INDEX cp_entries_supersedes ON cp_entries (user_id, journal, supersedes) WHERE supersedes <> '';

-- No sample of what users wrote goes into the planner's statistics, where it would outlive them.
ALTER TABLE cp_entries ALTER scope SET STATISTICS 0, ALTER body SET STATISTICS 0,
    ALTER tags SET STATISTICS 0, ALTER folded SET STATISTICS 0, ALTER more SET STATISTICS 0;

ALTER TABLE cp_entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_entries FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON cp_entries
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON cp_entries TO commonplace_app;

-- The outbox is written by the table itself, in the transaction of each change and as the role that makes it;
-- the line of an entry that leaves takes its times and former texts along. The worker reads what it files, and
-- cleans up what is deleted.
DO $$
BEGIN
    EXECUTE format($f$
        CREATE FUNCTION %1$I.cp_note_change() RETURNS trigger LANGUAGE plpgsql AS $t$
        BEGIN
            IF tg_op <> 'INSERT' AND (tg_op = 'DELETE'
                OR (new.user_id, new.journal, new.id) IS DISTINCT FROM (old.user_id, old.journal, old.id))
            THEN
                INSERT INTO %1$I.wb_outbox AS known (user_id, kind, ref_id, gone, erase, words_due)
                VALUES (old.user_id, old.journal, old.id, true, true, false)
                ON CONFLICT (user_id, kind, ref_id) DO UPDATE SET changes = known.changes + 1,
                    at = now(), gone = true, erase = true, words_due = false, due = true,
                    stale = true;
            END IF;
            IF tg_op <> 'DELETE' THEN
                INSERT INTO %1$I.wb_outbox AS known (user_id, kind, ref_id, gone, erase, words_due)
                VALUES (new.user_id, new.journal, new.id, false, false, true)
                ON CONFLICT (user_id, kind, ref_id) DO UPDATE SET changes = known.changes + 1,
                    at = now(), gone = false, erase = false, words_due = true, due = true,
                    stale = true;
            END IF;
            RETURN NULL;
        END
        $t$
    $f$, current_schema());
    EXECUTE format('GRANT SELECT ON cp_entries TO commonplace_worker');
    IF current_setting('server_version_num')::integer >= 170000 THEN
        EXECUTE format('GRANT MAINTAIN ON cp_entries TO commonplace_worker');
    END IF;
END
$$;
CREATE TRIGGER cp_note_change AFTER INSERT OR UPDATE OR DELETE ON cp_entries
    FOR EACH ROW EXECUTE FUNCTION cp_note_change();
