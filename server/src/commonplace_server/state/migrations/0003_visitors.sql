-- The browsers that are signed in to pages, for every server: each by the sha256 of its cookie. sealed: what its
-- pages need, secrets among it, sealed by a key that is made of the cookie, which lies nowhere but in the browser.
CREATE TABLE cp_visitors (
    user_id text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
    sealed bytea NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    used_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, digest)
);
CREATE INDEX cp_visitors_used ON cp_visitors (user_id, used_at);
ALTER TABLE cp_visitors ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_visitors FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON cp_visitors
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE (sealed, version, used_at), DELETE ON cp_visitors TO commonplace_app;
