-- The tokens that each user's language models have taken, by day: one count for all servers.
CREATE TABLE cp_spent (
    user_id text COLLATE "C" NOT NULL,
    day date NOT NULL,
    tokens bigint NOT NULL,
    PRIMARY KEY (user_id, day)
);
ALTER TABLE cp_spent ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_spent FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON cp_spent
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE (tokens), DELETE ON cp_spent TO commonplace_app;
