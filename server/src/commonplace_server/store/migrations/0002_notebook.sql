-- The overviews of served users' notebooks, and what their sections were called; their entries are rows of
-- cp_entries: scope is the section, folded the links that the text has.

-- A row for each version of an overview; the highest number is the one that holds. A section is there while
-- it has one. version: of the text, as a writer names what was read; links: what the text links to; entry_id:
-- of the entry that it came with, empty for none; after: the place of the newest entry that its writer
-- could read.
CREATE TABLE cp_overviews (
    user_id text COLLATE "C" NOT NULL,
    section text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    version text COLLATE "C" NOT NULL,
    body text NOT NULL,
    links text[] NOT NULL,
    entry_id text COLLATE "C" NOT NULL,
    after bigint NOT NULL,
    written_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, section, number),
    CONSTRAINT cp_overviews_number CHECK (number > 0),
    CONSTRAINT cp_overviews_time CHECK (isfinite(written_at))
);

-- A row for each move of a section, in their order.
CREATE TABLE cp_moves (
    user_id text COLLATE "C" NOT NULL,
    place bigint GENERATED ALWAYS AS IDENTITY,
    old text COLLATE "C" NOT NULL,
    new text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, place)
);

-- The newest of a section, and how many it has, without the others of its user.
CREATE INDEX cp_entries_section ON cp_entries (user_id, journal, scope, at, place) WHERE journal = 'notebook';

-- No sample of what users wrote goes into the planner's statistics, where it would outlive them.
ALTER TABLE cp_overviews ALTER section SET STATISTICS 0, ALTER body SET STATISTICS 0,
    ALTER links SET STATISTICS 0;
ALTER TABLE cp_moves ALTER old SET STATISTICS 0, ALTER new SET STATISTICS 0;

ALTER TABLE cp_overviews ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_overviews FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON cp_overviews
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
ALTER TABLE cp_moves ENABLE ROW LEVEL SECURITY;
ALTER TABLE cp_moves FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON cp_moves
    USING (user_id = nullif(current_setting('app.user_id', true), ''))
    WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''));
GRANT SELECT, INSERT, UPDATE, DELETE ON cp_overviews, cp_moves TO commonplace_app;
GRANT SELECT ON cp_overviews, cp_moves TO commonplace_worker;

DO $$
BEGIN
    IF current_setting('server_version_num')::integer >= 170000 THEN
        EXECUTE 'GRANT MAINTAIN ON cp_overviews, cp_moves TO commonplace_worker';
    END IF;
END
$$;
