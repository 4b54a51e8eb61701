-- How many requests each user has left in one go, which all servers take from: a bucket that fills up again, as it
-- stood at an instant. Not logged: whoever is promoted after a failure begins with full ones.
CREATE UNLOGGED TABLE cp_rates (
    user_id text COLLATE "C" PRIMARY KEY,
    tokens double precision NOT NULL,
    at timestamptz NOT NULL
) WITH (fillfactor = 50);
ALTER TABLE cp_rates ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_rates FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON cp_rates
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE (tokens, at) ON cp_rates TO commonplace_app;
