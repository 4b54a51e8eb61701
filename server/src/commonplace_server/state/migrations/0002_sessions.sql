-- What clients of the protocols until 2025-06-18 have open, so that any server answers them: each by the sha256
-- of its session's id, with what it said at its beginning. Of its user alone, as every row of theirs.
CREATE TABLE cp_sessions (
    user_id text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
    token_id text COLLATE "C" NOT NULL,
    opening text NOT NULL CHECK (octet_length(opening) <= 65536),
    used_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, digest)
);
CREATE INDEX cp_sessions_used ON cp_sessions (user_id, token_id, used_at);
ALTER TABLE cp_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON cp_sessions
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE (used_at), DELETE ON cp_sessions TO commonplace_app;
