-- How much each user keeps, counted by the tables themselves in the transaction of each change, and a limit to it.

-- entries: of all journals; bytes: of what was written in them, versions of overviews too. Summaries are made
-- of entries, and count nothing; nor do former texts, which go by themselves.
CREATE TABLE cp_kept (
    user_id text COLLATE "C" PRIMARY KEY,
    entries bigint NOT NULL,
    bytes bigint NOT NULL
);
ALTER TABLE cp_kept ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_kept FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON cp_kept
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON cp_kept TO commonplace_app;
GRANT SELECT ON cp_kept TO commonplace_worker;

DO $$
DECLARE
    counted record;
    total text := '';
BEGIN
    IF current_setting('server_version_num')::integer >= 170000 THEN
        EXECUTE 'GRANT MAINTAIN ON cp_kept TO commonplace_worker';
    END IF;
    -- What a transaction changes is added up in settings that end with it, and written once, at its commit: a row
    -- that was written for each entry of a large one would be found behind all its former versions, and of two
    -- transactions that had it and each other's entries neither could go on.
    EXECUTE format($f$
        CREATE FUNCTION %1$I.cp_add_kept(owner text, more_entries bigint, more_bytes bigint)
        RETURNS text LANGUAGE plpgsql AS $t$
        DECLARE
            sum bigint[] := ARRAY[0, 0];
            done text;
        BEGIN
            IF more_entries = 0 AND more_bytes = 0 THEN
                RETURN '';
            END IF;
            IF current_setting('app.kept_of', true) = owner THEN
                sum := string_to_array(current_setting('app.kept'), ' ');
            ELSE
                done := %1$I.cp_write_kept();
                done := set_config('app.kept_of', owner, true);
            END IF;
            RETURN set_config('app.kept', (sum[1] + more_entries) || ' ' || (sum[2] + more_bytes), true);
        END
        $t$
    $f$, current_schema());
    -- app.quota: the most entries and bytes of one user, 0 for any number. What takes entries away is never
    -- refused, nor is a text that becomes shorter.
    EXECUTE format($f$
        CREATE FUNCTION %1$I.cp_write_kept() RETURNS text LANGUAGE plpgsql AS $t$
        DECLARE
            owner text := nullif(current_setting('app.kept_of', true), '');
            seen text := coalesce(current_setting('app.user_id', true), '');
            more bigint[] := string_to_array(nullif(current_setting('app.kept', true), ''), ' ');
            most bigint[] := string_to_array(nullif(current_setting('app.quota', true), ''), ' ');
            has bigint[];
            done text;
        BEGIN
            IF owner IS NULL THEN
                RETURN '';
            END IF;
            done := set_config('app.kept_of', '', true);
            done := set_config('app.user_id', owner, true);
            INSERT INTO %1$I.cp_kept AS kept (user_id, entries, bytes) VALUES (owner, more[1], more[2])
            ON CONFLICT (user_id) DO UPDATE SET entries = kept.entries + more[1], bytes = kept.bytes + more[2]
            RETURNING ARRAY[kept.entries, kept.bytes] INTO has;
            done := set_config('app.user_id', seen, true);
            IF more[1] >= 0 AND ((more[1] > 0 AND has[1] > nullif(most[1], 0))
                OR (more[2] > 0 AND has[2] > nullif(most[2], 0)))
            THEN
                RAISE EXCEPTION 'over the quota' USING ERRCODE = 'CP001',
                    DETAIL = array_to_string(has || more || most, ' ');
            END IF;
            RETURN done;
        END
        $t$
    $f$, current_schema());
    EXECUTE format($f$
        CREATE FUNCTION %1$I.cp_settle_kept() RETURNS trigger LANGUAGE plpgsql AS $t$
        DECLARE
            done text := %1$I.cp_write_kept();
        BEGIN
            RETURN NULL;
        END
        $t$
    $f$, current_schema());

    -- Of each table: what one row counts as entries, and its bytes. The owner of the tables sees no rows while
    -- they are guarded for it too.
    FOR counted IN SELECT * FROM (VALUES
        ('cp_entries', 'CASE WHEN coalesce(%1$s.level, 0) = 0 THEN 1 ELSE 0 END',
            'CASE WHEN coalesce(%1$s.level, 0) = 0 THEN octet_length(%1$s.body) + octet_length(%1$s.more)'
            ' + octet_length(%1$s.scope) + octet_length(array_to_string(%1$s.tags, '' '')) ELSE 0 END'),
        ('cp_overviews', '0', 'octet_length(%1$s.body) + octet_length(%1$s.section)'),
        ('wb_message', '1', 'octet_length(%1$s.content)'),
        ('wb_journal', '1', 'octet_length(%1$s.title) + octet_length(%1$s.body)'),
        ('wb_todo', '1', 'octet_length(%1$s.title)'),
        ('wb_gratitude', '1', 'octet_length(%1$s.content)'),
        ('wb_preferences', '1', 'octet_length(%1$s.language) + octet_length(coalesce(%1$s.religion, ''''))'
            ' + octet_length(%1$s.flags)')
    ) AS tables (name, entries, bytes)
    LOOP
        EXECUTE format($f$
            CREATE FUNCTION %1$I.%2$I() RETURNS trigger LANGUAGE plpgsql AS $t$
            DECLARE
                done text;  -- which costs less than a PERFORM, a query of its own
            BEGIN
                IF tg_op = 'UPDATE' AND new.user_id = old.user_id THEN
                    done := %1$I.cp_add_kept(new.user_id, (%4$s) - (%3$s), (%6$s) - (%5$s));
                    RETURN NULL;
                END IF;
                IF tg_op <> 'INSERT' THEN
                    done := %1$I.cp_add_kept(old.user_id, -(%3$s), -(%5$s));
                END IF;
                IF tg_op <> 'DELETE' THEN
                    done := %1$I.cp_add_kept(new.user_id, %4$s, %6$s);
                END IF;
                RETURN NULL;
            END
            $t$
        $f$, current_schema(), counted.name || '_kept', format(counted.entries, 'old'),
            format(counted.entries, 'new'), format(counted.bytes, 'old'), format(counted.bytes, 'new'));
        EXECUTE format('CREATE TRIGGER cp_count AFTER INSERT OR UPDATE OR DELETE ON %I'
            ' FOR EACH ROW EXECUTE FUNCTION %I()', counted.name, counted.name || '_kept');
        EXECUTE format('CREATE CONSTRAINT TRIGGER cp_settle AFTER INSERT OR UPDATE OR DELETE ON %I'
            ' DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cp_settle_kept()', counted.name);
        EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', counted.name);
        total := total || format(' UNION ALL SELECT user_id, (%s)::bigint, (%s)::bigint FROM %I',
            replace(counted.entries, '%1$s.', ''), replace(counted.bytes, '%1$s.', ''), counted.name);
    END LOOP;
    ALTER TABLE cp_kept NO FORCE ROW LEVEL SECURITY;
    EXECUTE 'INSERT INTO cp_kept (user_id, entries, bytes) SELECT user_id, sum(entries), sum(bytes) FROM ('
        || substr(total, 12) || ') AS row (user_id, entries, bytes) GROUP BY user_id';
    FOR counted IN SELECT unnest(ARRAY['cp_kept', 'cp_entries', 'cp_overviews', 'wb_message', 'wb_journal',
        'wb_todo', 'wb_gratitude', 'wb_preferences']) AS name
    LOOP
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', counted.name);
    END LOOP;
END
$$;
