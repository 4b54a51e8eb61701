-- Rows that other programs put into the tables are found as ours are: the outbox is written by the
-- tables themselves, in the transaction of each change, whoever makes it.

-- A role of the application's own, without our defaults, gives what its row is and nothing else.
ALTER TABLE wb_message ALTER id SET DEFAULT gen_random_uuid()::text,
    ALTER created_at SET DEFAULT now();
ALTER TABLE wb_journal ALTER id SET DEFAULT gen_random_uuid()::text,
    ALTER created_at SET DEFAULT now(), ALTER updated_at SET DEFAULT now();
ALTER TABLE wb_todo ALTER id SET DEFAULT gen_random_uuid()::text, ALTER done SET DEFAULT false,
    ALTER created_at SET DEFAULT now(), ALTER updated_at SET DEFAULT now();
ALTER TABLE wb_gratitude ALTER id SET DEFAULT gen_random_uuid()::text,
    ALTER created_at SET DEFAULT now(), ALTER updated_at SET DEFAULT now();
ALTER TABLE wb_preferences ALTER created_at SET DEFAULT now(), ALTER updated_at SET DEFAULT now();

-- What no search could name or read is refused from now on; what is there already stays, and is
-- never found.
ALTER TABLE wb_message
    ADD CONSTRAINT wb_message_role CHECK (role IN ('user', 'assistant')) NOT VALID,
    ADD CONSTRAINT wb_message_times CHECK (isfinite(created_at)) NOT VALID;
ALTER TABLE wb_preferences ADD CONSTRAINT wb_preferences_flags
    CHECK (json_typeof(flags::json) = 'object') NOT VALID;
DO $$
DECLARE
    named text;
BEGIN
    FOREACH named IN ARRAY ARRAY['wb_message', 'wb_journal', 'wb_todo', 'wb_gratitude'] LOOP
        EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (id ~ ''^[!-~]+$'') NOT VALID',
            named, named || '_id');
    END LOOP;
    FOREACH named IN ARRAY ARRAY['wb_journal', 'wb_todo', 'wb_gratitude', 'wb_preferences'] LOOP
        EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (isfinite(created_at)'
            ' AND isfinite(updated_at)) NOT VALID', named, named || '_times');
    END LOOP;
END
$$;

-- As the role that makes the change, so that its line is guarded as its row is. The schema is named:
-- the caller's path may lead elsewhere. A lease stays: who has it sees at the end that there was
-- another change.
DO $$
DECLARE
    watched record;
BEGIN
    EXECUTE format($f$
        CREATE FUNCTION %1$I.wb_note_change() RETURNS trigger LANGUAGE plpgsql AS $t$
        DECLARE
            before text;
            after text;
        BEGIN
            IF tg_argv[0] = 'preference' THEN
                before := CASE WHEN tg_op <> 'INSERT' THEN 'preferences' END;
                after := CASE WHEN tg_op <> 'DELETE' THEN 'preferences' END;
            ELSE
                before := old.id;
                after := new.id;
            END IF;
            IF before ~ '^[!-~]+$' AND (after, new.user_id) IS DISTINCT FROM (before, old.user_id)
            THEN
                INSERT INTO %1$I.wb_outbox AS known (user_id, kind, ref_id, gone, erase, words_due)
                VALUES (old.user_id, tg_argv[0], before, true, true, false)
                ON CONFLICT (user_id, kind, ref_id) DO UPDATE SET changes = known.changes + 1,
                    at = now(), gone = true, erase = true, words_due = false, due = true,
                    stale = true;
            END IF;
            IF after IS NOT NULL THEN
                INSERT INTO %1$I.wb_outbox AS known (user_id, kind, ref_id, gone, erase, words_due)
                VALUES (new.user_id, tg_argv[0], after, false, false, true)
                ON CONFLICT (user_id, kind, ref_id) DO UPDATE SET changes = known.changes + 1,
                    at = now(), gone = false, erase = false, words_due = true, due = true,
                    stale = true;
            END IF;
            RETURN NULL;
        END
        $t$
    $f$, current_schema());
    FOR watched IN SELECT * FROM (VALUES ('wb_message', 'message'), ('wb_journal', 'journal'),
        ('wb_todo', 'todo'), ('wb_gratitude', 'gratitude'), ('wb_preferences', 'preference'))
        AS tables (name, kind)
    LOOP
        EXECUTE format('CREATE TRIGGER wb_note_change AFTER INSERT OR UPDATE OR DELETE ON %I'
            ' FOR EACH ROW EXECUTE FUNCTION wb_note_change(%L)', watched.name, watched.kind);
    END LOOP;
END
$$;

-- What is there without a line waits from now on, and what has a line and is there no more leaves the
-- index. The owner of the tables sees no rows of anybody while they are guarded for it too.
DO $$
DECLARE
    watched record;
BEGIN
    ALTER TABLE wb_outbox NO FORCE ROW LEVEL SECURITY;
    FOR watched IN SELECT * FROM (VALUES ('wb_message', 'message', 'id'),
        ('wb_journal', 'journal', 'id'), ('wb_todo', 'todo', 'id'),
        ('wb_gratitude', 'gratitude', 'id'), ('wb_preferences', 'preference', '''preferences'''))
        AS tables (name, kind, id)
    LOOP
        EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', watched.name);
        EXECUTE format('INSERT INTO wb_outbox AS known (user_id, kind, ref_id, gone, erase, words_due)'
            ' SELECT user_id, %2$L, %3$s, false, false, true FROM %1$I WHERE %3$s ~ ''^[!-~]+$'''
            ' ON CONFLICT (user_id, kind, ref_id) DO UPDATE SET changes = known.changes + 1,'
            ' at = now(), gone = false, erase = false, words_due = true, due = true'
            ' WHERE known.gone', watched.name, watched.kind, watched.id);
        EXECUTE format('UPDATE wb_outbox AS known SET changes = changes + 1, at = now(), gone = true,'
            ' erase = true, words_due = false, due = true, stale = true'
            ' WHERE kind = %2$L AND NOT gone AND NOT EXISTS (SELECT FROM %1$I AS mine'
            ' WHERE mine.user_id = known.user_id AND %3$s = known.ref_id)',
            watched.name, watched.kind, watched.id);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', watched.name);
    END LOOP;
    ALTER TABLE wb_outbox FORCE ROW LEVEL SECURITY;
END
$$;
