-- The timeline of served users. Its entries and summaries are rows of cp_entries; what only it has of them
-- stands in columns that are null for other journals, and what hangs on them in tables of its own.

-- Of the timeline place is the number of an entry, counted for each user (cp_timelines); scope its type; tags
-- the type of memory it was kept as, if any; more its metadata. level: 0, or a summary's (1 hour … 5 year);
-- starts, ends: the period it is of, half-open, as `zone` cut it; state: active or archived; altered_at: when
-- it was written last; hash: of all that readers see of it.
ALTER TABLE cp_entries
    ADD level smallint,
    ADD starts timestamptz,
    ADD ends timestamptz,
    ADD zone text COLLATE "C",
    ADD state text COLLATE "C",
    ADD altered_at timestamptz,
    ADD hash bytea,
    ADD CONSTRAINT cp_entries_timeline CHECK (journal <> 'timeline' OR (
        level IS NOT NULL AND starts IS NOT NULL AND ends IS NOT NULL AND zone IS NOT NULL
        AND state IS NOT NULL AND altered_at IS NOT NULL AND hash IS NOT NULL)) NOT VALID;
ALTER TABLE cp_entries ALTER zone SET STATISTICS 0, ALTER hash SET STATISTICS 0;
CREATE UNIQUE INDEX cp_entries_numbers ON cp_entries (user_id, place) WHERE journal = 'timeline';
CREATE UNIQUE INDEX cp_entries_periods ON cp_entries (user_id, level, starts, zone)
    WHERE journal = 'timeline' AND level > 0;
CREATE INDEX cp_entries_levels ON cp_entries (user_id, level, at, place) WHERE journal = 'timeline';

-- One row a user. seq: the number of the last entry or change; zone: the user's own; who writes holds the row.
CREATE TABLE cp_timelines (
    user_id text COLLATE "C" PRIMARY KEY,
    name text COLLATE "C" NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
    zone text COLLATE "C" NOT NULL DEFAULT '',
    seq bigint NOT NULL DEFAULT 0
);

-- The zones that have cut periods, in the order they came.
CREATE TABLE cp_series (
    user_id text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    tz text COLLATE "C" NOT NULL,
    since timestamptz NOT NULL,
    tzdata text NOT NULL,
    PRIMARY KEY (user_id, tz)
);

-- What only summaries have. figures and points are JSON; points quote entries.
CREATE TABLE cp_rollups (
    user_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    period_key text COLLATE "C" NOT NULL,
    input_hash bytea NOT NULL,
    generator text NOT NULL,
    figures text NOT NULL,
    points text NOT NULL,
    is_private smallint NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    tried text NOT NULL DEFAULT '',
    claimed_until text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (user_id, seq)
);

-- What a summary was made from, as it was then. source: an entry's number, or less than 0 of cp_fed.
CREATE TABLE cp_rollup_sources (
    user_id text COLLATE "C" NOT NULL,
    rollup bigint NOT NULL,
    source bigint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (user_id, rollup, source)
);
CREATE INDEX cp_rollup_sources_source ON cp_rollup_sources (user_id, source);

-- Periods in which something changed since they were rolled up, with the number of that change.
CREATE TABLE cp_due (
    user_id text COLLATE "C" NOT NULL,
    tz text COLLATE "C" NOT NULL,
    level smallint NOT NULL,
    period_start timestamptz NOT NULL,
    period_end timestamptz NOT NULL,
    mark bigint NOT NULL,
    PRIMARY KEY (user_id, tz, level, period_start)
);
CREATE INDEX cp_due_ends ON cp_due (user_id, period_end, level);

-- What is gone, so that links and refs can say so, without its text.
CREATE TABLE cp_gone (
    user_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    expired boolean NOT NULL,
    PRIMARY KEY (user_id, seq)
);
CREATE UNIQUE INDEX cp_gone_id ON cp_gone (user_id, id);

-- What is left of each raw entry that retention deleted: what is counted, and what a summary quotes.
CREATE TABLE cp_expired (
    user_id text COLLATE "C" NOT NULL,
    timestamp timestamptz NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    facts text NOT NULL,
    points text NOT NULL,
    PRIMARY KEY (user_id, timestamp, seq)
);

-- Entries of other journals that count, and how far each journal was read: linked, never copied.
CREATE TABLE cp_fed (
    user_id text COLLATE "C" NOT NULL,
    ref text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    journal text COLLATE "C" NOT NULL,
    timestamp timestamptz NOT NULL,
    hash bytea NOT NULL,
    stamp text COLLATE "C" NOT NULL,
    supersedes text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, ref)
);
CREATE INDEX cp_fed_time ON cp_fed (user_id, timestamp);
CREATE INDEX cp_fed_seq ON cp_fed (user_id, seq);
CREATE INDEX cp_fed_supersedes ON cp_fed (user_id, supersedes) WHERE supersedes <> '';
CREATE TABLE cp_fed_marks (
    user_id text COLLATE "C" NOT NULL,
    journal text COLLATE "C" NOT NULL,
    mark text NOT NULL,
    PRIMARY KEY (user_id, journal)
);

-- No sample of what users wrote goes into the planner's statistics, where it would outlive them.
ALTER TABLE cp_rollups ALTER figures SET STATISTICS 0, ALTER points SET STATISTICS 0;
ALTER TABLE cp_expired ALTER facts SET STATISTICS 0, ALTER points SET STATISTICS 0;
ALTER TABLE cp_gone ALTER id SET STATISTICS 0;
ALTER TABLE cp_fed ALTER ref SET STATISTICS 0, ALTER stamp SET STATISTICS 0,
    ALTER supersedes SET STATISTICS 0;
ALTER TABLE cp_fed_marks ALTER mark SET STATISTICS 0;

DO $$
DECLARE
    made text;
BEGIN
    FOREACH made IN ARRAY ARRAY['cp_timelines', 'cp_series', 'cp_rollups', 'cp_rollup_sources', 'cp_due',
        'cp_gone', 'cp_expired', 'cp_fed', 'cp_fed_marks']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', made);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', made);
        EXECUTE format($f$CREATE POLICY own ON %I
            USING (user_id = nullif(current_setting('app.user_id', true), ''))
            WITH CHECK (user_id = nullif(current_setting('app.user_id', true), ''))$f$, made);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO commonplace_app', made);
        EXECUTE format('GRANT SELECT ON %I TO commonplace_worker', made);
        IF current_setting('server_version_num')::integer >= 170000 THEN
            EXECUTE format('GRANT MAINTAIN ON %I TO commonplace_worker', made);
        END IF;
    END LOOP;
END
$$;
