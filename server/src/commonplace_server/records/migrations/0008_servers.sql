-- What the servers of one database agree on. Neither table tells anything of a user: no text, no owner.

-- One row, once any is served. home: the one whose journals on disk are, by an id of its own; place:
-- where that home is, for people.
CREATE TABLE cp_served_home (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    home uuid NOT NULL,
    place text NOT NULL
);

-- The tokens of the HTTP servers that are revoked, by the hash of each: it opens nothing. A row only
-- takes a right away, and none leaves: who breaks into the database is let in nowhere by it.
CREATE TABLE cp_revoked_tokens (
    digest text COLLATE "C" PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
    revoked_at timestamptz NOT NULL DEFAULT now()
);

DO $$
DECLARE
    guarded text;
BEGIN
    FOREACH guarded IN ARRAY ARRAY['cp_served_home', 'cp_revoked_tokens'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', guarded);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', guarded);
        EXECUTE format('CREATE POLICY servers ON %I TO commonplace_app USING (true)'
            ' WITH CHECK (true)', guarded);
    END LOOP;
END
$$;
GRANT SELECT, INSERT, UPDATE (home, place) ON cp_served_home TO commonplace_app;
GRANT SELECT, INSERT ON cp_revoked_tokens TO commonplace_app;
