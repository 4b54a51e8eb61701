-- The tokens of the HTTP servers, by the id that each begins with: whose a request is, is not known before its
-- token was found, so no owner begins the key, and every server reads every row. digest: the sha256 of its text,
-- which is kept nowhere. That one is revoked is a row of cp_revoked_tokens. used_at: to the hour.
CREATE TABLE cp_tokens (
    id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9a-f]{8}$'),
    user_id text COLLATE "C" NOT NULL,
    scopes text[] NOT NULL,
    toolsets text[] NOT NULL,
    digest text COLLATE "C" NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    label text NOT NULL,
    used_at timestamptz
);
ALTER TABLE cp_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY servers ON cp_tokens TO commonplace_app USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE (used_at) ON cp_tokens TO commonplace_app;
