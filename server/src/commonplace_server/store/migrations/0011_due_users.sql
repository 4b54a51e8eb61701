-- Which users a worker has to look at: of each their row of cp_kept says so, by times alone. The tables write it in
-- the statement that counts what is kept, at the commit of every change.

-- changes: how many transactions changed anything of the user's; unseen_since: since when no worker has looked, null
-- when one has; upkeep_at: when what grows old, expires or waits for a language model is due, null for never;
-- kept_up_at: when that was last seen to; leased_by: the worker that has the user in hand, until leased_until.
ALTER TABLE cp_kept
    ADD changes bigint NOT NULL DEFAULT 0,
    ADD unseen_since timestamptz DEFAULT now(),
    ADD upkeep_at timestamptz,
    ADD kept_up_at timestamptz,
    ADD leased_until timestamptz,
    ADD leased_by uuid;
CREATE INDEX cp_kept_unseen ON cp_kept (unseen_since) WHERE unseen_since IS NOT NULL;
CREATE INDEX cp_kept_upkeep ON cp_kept (upkeep_at) WHERE upkeep_at IS NOT NULL;

-- Who is at work on no user sees all rows; as a user a worker sees that user's own.
CREATE POLICY due ON cp_kept FOR SELECT TO commonplace_worker
    USING (nullif(current_setting('app.user_id', true), '') IS NULL);
CREATE POLICY lease ON cp_kept FOR UPDATE TO commonplace_worker
    USING (nullif(current_setting('app.user_id', true), '') IS NULL)
    WITH CHECK (nullif(current_setting('app.user_id', true), '') IS NULL);
GRANT UPDATE (changes, unseen_since, upkeep_at, kept_up_at, leased_until, leased_by) ON cp_kept TO commonplace_worker;

-- The timeline of a user who never recorded anything in it begins when a worker follows what feeds it.
GRANT INSERT ON cp_timelines TO commonplace_worker;
CREATE POLICY begun ON cp_timelines AS RESTRICTIVE FOR INSERT TO commonplace_worker
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));

DO $$
BEGIN
    -- As before, but a change that adds no entry and no byte is noted too.
    EXECUTE format($f$
        CREATE OR REPLACE FUNCTION %1$I.cp_add_kept(owner text, more_entries bigint, more_bytes bigint)
        RETURNS text LANGUAGE plpgsql AS $t$
        DECLARE
            sum bigint[] := ARRAY[0, 0];
            done text;
        BEGIN
            IF current_setting('app.kept_of', true) = owner THEN
                IF more_entries = 0 AND more_bytes = 0 THEN
                    RETURN '';
                END IF;
                sum := string_to_array(current_setting('app.kept'), ' ');
            ELSE
                done := %1$I.cp_write_kept();
                done := set_config('app.kept_of', owner, true);
            END IF;
            RETURN set_config('app.kept', (sum[1] + more_entries) || ' ' || (sum[2] + more_bytes), true);
        END
        $t$
    $f$, current_schema());
    EXECUTE format($f$
        CREATE OR REPLACE FUNCTION %1$I.cp_write_kept() RETURNS text LANGUAGE plpgsql AS $t$
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
            -- unseen_since stays while it is set, so that no index is written.
            IF more[1] = 0 AND more[2] = 0 THEN
                UPDATE %1$I.cp_kept AS kept
                SET changes = kept.changes + 1, unseen_since = coalesce(kept.unseen_since, now())
                WHERE kept.user_id = owner;
                RETURN set_config('app.user_id', seen, true);
            END IF;
            INSERT INTO %1$I.cp_kept AS kept (user_id, entries, bytes, changes)
            VALUES (owner, more[1], more[2], 1)
            ON CONFLICT (user_id) DO UPDATE SET entries = kept.entries + more[1], bytes = kept.bytes + more[2],
                changes = kept.changes + 1, unseen_since = coalesce(kept.unseen_since, now())
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
    -- When an entry is to expire is set beside it, also long after it was written.
    EXECUTE format($f$
        CREATE FUNCTION %1$I.wb_times_kept() RETURNS trigger LANGUAGE plpgsql AS $t$
        DECLARE
            done text := %1$I.cp_add_kept(new.user_id, 0, 0);
        BEGIN
            RETURN NULL;
        END
        $t$
    $f$, current_schema());
END
$$;
CREATE TRIGGER cp_count AFTER INSERT OR UPDATE OF expires_at ON wb_times
    FOR EACH ROW EXECUTE FUNCTION wb_times_kept();
CREATE CONSTRAINT TRIGGER cp_settle AFTER INSERT OR UPDATE OF expires_at ON wb_times
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cp_settle_kept();
