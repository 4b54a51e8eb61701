-- Which version of a notebook's overview a client was shown last in a session, for the server that it writes one at:
-- by the sha256 of the section's name, so that no word of it lies here. It goes with its session.
CREATE TABLE cp_session_reads (
    user_id text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    section text COLLATE "C" NOT NULL CHECK (section ~ '^[0-9a-f]{64}$'),
    version text COLLATE "C" NOT NULL CHECK (octet_length(version) <= 64),
    PRIMARY KEY (user_id, digest, section),
    FOREIGN KEY (user_id, digest) REFERENCES cp_sessions ON DELETE CASCADE
);
ALTER TABLE cp_session_reads ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_session_reads FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON cp_session_reads
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE (version) ON cp_session_reads TO commonplace_app;
