-- The lines of a notebook in the outbox are named as its refs are: `section#id` for an entry, `section` for an
-- overview; so are the times of its entries. A section that is moved gives its texts other lines.

DO $$
BEGIN
    -- An overview as it is now: a section without one has no line that is not gone. A line that was written in
    -- this transaction says it already.
    EXECUTE format($f$
        CREATE FUNCTION %1$I.cp_note_overview(owner text, name text) RETURNS void LANGUAGE plpgsql AS $t$
        DECLARE
            said text;
        BEGIN
            SELECT o.body INTO said FROM %1$I.cp_overviews AS o
            WHERE o.user_id = owner AND o.section = name ORDER BY o.number DESC LIMIT 1;
            IF said ~ '\S' THEN
                INSERT INTO %1$I.wb_outbox AS known (user_id, kind, ref_id, gone, erase, words_due)
                VALUES (owner, 'notebook', name, false, false, true)
                ON CONFLICT (user_id, kind, ref_id) DO UPDATE SET changes = known.changes + 1,
                    at = now(), gone = false, erase = false, words_due = true, due = true, stale = true
                WHERE known.gone OR known.xmin <> pg_current_xact_id()::xid;
            ELSE
                UPDATE %1$I.wb_outbox SET changes = changes + 1, at = now(), gone = true, erase = true,
                    words_due = false, due = true, stale = true
                WHERE user_id = owner AND kind = 'notebook' AND ref_id = name;
            END IF;
        END
        $t$
    $f$, current_schema());
    EXECUTE format($f$
        CREATE FUNCTION %1$I.cp_note_overviews() RETURNS trigger LANGUAGE plpgsql AS $t$
        BEGIN
            IF tg_op <> 'INSERT' THEN
                PERFORM %1$I.cp_note_overview(old.user_id, old.section);
            END IF;
            IF tg_op = 'INSERT' OR (tg_op = 'UPDATE' AND new.section <> old.section) THEN
                PERFORM %1$I.cp_note_overview(new.user_id, new.section);
            END IF;
            RETURN NULL;
        END
        $t$
    $f$, current_schema());
    -- As before, with the notebook's names; an overview is as old as the newest entry of its section.
    EXECUTE format($f$
        CREATE OR REPLACE FUNCTION %1$I.cp_note_change() RETURNS trigger LANGUAGE plpgsql AS $t$
        DECLARE
            was text;
            is_now text;
        BEGIN
            IF tg_op <> 'INSERT' THEN
                was := CASE old.journal WHEN 'notebook' THEN old.scope || '#' || old.id ELSE old.id END;
            END IF;
            IF tg_op <> 'DELETE' THEN
                is_now := CASE new.journal WHEN 'notebook' THEN new.scope || '#' || new.id ELSE new.id END;
            END IF;
            IF tg_op = 'DELETE' OR (tg_op = 'UPDATE'
                AND (new.user_id, new.journal, is_now) IS DISTINCT FROM (old.user_id, old.journal, was))
            THEN
                INSERT INTO %1$I.wb_outbox AS known (user_id, kind, ref_id, gone, erase, words_due)
                VALUES (old.user_id, old.journal, was, true, true, false)
                ON CONFLICT (user_id, kind, ref_id) DO UPDATE SET changes = known.changes + 1,
                    at = now(), gone = true, erase = true, words_due = false, due = true,
                    stale = true;
            END IF;
            IF tg_op <> 'DELETE' THEN
                INSERT INTO %1$I.wb_outbox AS known (user_id, kind, ref_id, gone, erase, words_due)
                VALUES (new.user_id, new.journal, is_now, false, false, true)
                ON CONFLICT (user_id, kind, ref_id) DO UPDATE SET changes = known.changes + 1,
                    at = now(), gone = false, erase = false, words_due = true, due = true,
                    stale = true;
            END IF;
            IF tg_op <> 'INSERT' AND old.journal = 'notebook' THEN
                PERFORM %1$I.cp_note_overview(old.user_id, old.scope);
            ELSIF tg_op = 'INSERT' AND new.journal = 'notebook' THEN
                PERFORM %1$I.cp_note_overview(new.user_id, new.scope);
            END IF;
            RETURN NULL;
        END
        $t$
    $f$, current_schema());
END
$$;
CREATE TRIGGER cp_note_overviews AFTER INSERT OR UPDATE OR DELETE ON cp_overviews
    FOR EACH ROW EXECUTE FUNCTION cp_note_overviews();
