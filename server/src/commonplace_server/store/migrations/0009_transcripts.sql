-- Transcripts of served users. Each message is a row of cp_entries; what only messages have stands in columns that
-- are null for other journals, and what is known of a session in a table of its own.

-- Of transcripts id is `client/session#turn`; scope the folder in which it was said; tags the tools that were
-- called; more the client's own ids and the rest. session: `client/name`; turn: its number there; role: user,
-- assistant or tool; says: how much it says (journals/transcripts/exchanges.py); crc: of its line in a file;
-- exchange: the turn under which the index has it, null where it says nothing.
ALTER TABLE cp_entries
    ADD session text COLLATE "C",
    ADD turn integer,
    ADD role text COLLATE "C",
    ADD says smallint,
    ADD crc bigint,
    ADD exchange integer,
    ADD CONSTRAINT cp_entries_messages CHECK (journal <> 'transcripts' OR (
        session IS NOT NULL AND turn IS NOT NULL AND role IS NOT NULL AND says IS NOT NULL
        AND crc IS NOT NULL)) NOT VALID;
ALTER TABLE cp_entries ALTER session SET STATISTICS 0;
CREATE UNIQUE INDEX cp_entries_turns ON cp_entries (user_id, session, turn) WHERE session IS NOT NULL;
CREATE INDEX cp_entries_exchanges ON cp_entries (user_id, session, exchange) WHERE session IS NOT NULL;

-- A row a session, also of one that is deleted: its numbers are not given again. Times are text as messages have
-- them. Which messages and sessions were deleted is known by cp_keys, which has the ids of all there ever were.
CREATE TABLE cp_transcripts (
    user_id text COLLATE "C" NOT NULL,
    client text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    year text COLLATE "C" NOT NULL,
    last_n integer NOT NULL,
    first_at text COLLATE "C" NOT NULL,
    last_at text COLLATE "C" NOT NULL,
    cwd text NOT NULL,
    branch text NOT NULL,
    messages integer NOT NULL,
    PRIMARY KEY (user_id, client, name)
);
ALTER TABLE cp_transcripts ALTER name SET STATISTICS 0, ALTER cwd SET STATISTICS 0, ALTER branch SET STATISTICS 0;
ALTER TABLE cp_transcripts ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_transcripts FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON cp_transcripts
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON cp_transcripts TO commonplace_app;
GRANT SELECT ON cp_transcripts TO commonplace_worker;
DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 170000 THEN
        EXECUTE 'GRANT MAINTAIN ON cp_transcripts TO commonplace_worker';
    END IF;
END
$$;
