-- Who signed in at these servers and for which client (OAuth 2.1): clients, codes and grants, each by its id or the
-- sha256 of what it is found by. Whose one is, is not known before it was found, so no owner begins the key, and
-- every server reads every row. facts: as JSON, with hashes in place of all that opens anything.
CREATE TABLE cp_sign_ins (
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('client', 'code', 'grant')),
    key text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    facts text NOT NULL CHECK (octet_length(facts) <= 131072),
    until timestamptz NOT NULL,
    version bigint NOT NULL DEFAULT 1,
    PRIMARY KEY (kind, key)
);
CREATE INDEX cp_sign_ins_ending ON cp_sign_ins (kind, user_id, until);
ALTER TABLE cp_sign_ins ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_sign_ins FORCE ROW LEVEL SECURITY;
CREATE POLICY servers ON cp_sign_ins TO commonplace_app USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE (user_id, facts, until, version), DELETE ON cp_sign_ins TO commonplace_app;
