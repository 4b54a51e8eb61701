-- What the keys of calls stand for, of journals whose ids say nothing of a key: by its sha256 the ids of the
-- entries that the first call wrote, and their time. They outlive their entries, so that none comes back.
CREATE TABLE cp_keys (
    user_id text COLLATE "C" NOT NULL,
    journal text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    ids text[] NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (user_id, journal, key),
    CONSTRAINT cp_keys_at CHECK (isfinite(at))
);

ALTER TABLE cp_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON cp_keys
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON cp_keys TO commonplace_app;
GRANT SELECT ON cp_keys TO commonplace_worker;
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 170000 THEN
        EXECUTE 'GRANT MAINTAIN ON cp_keys TO commonplace_worker';
    END IF;
END
$$;
