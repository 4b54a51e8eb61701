-- What the servers and workers of the database say of those of their settings on which depends what is stored. A
-- row a setting, as who began last has it. value: as JSON; place: where that process is, for people; at: since when.
CREATE TABLE cp_settings (
    name text COLLATE "C" PRIMARY KEY,
    value text NOT NULL,
    place text NOT NULL,
    at timestamptz NOT NULL
);
ALTER TABLE cp_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_settings FORCE ROW LEVEL SECURITY;
CREATE POLICY servers ON cp_settings TO commonplace_app, commonplace_worker USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE (value, place, at) ON cp_settings TO commonplace_app, commonplace_worker;
