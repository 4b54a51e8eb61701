-- What is asked of Postgres about itself.

-- name: begin
-- One round trip: a transaction in which only the user's rows are there, and nothing waits for ever.
BEGIN; SET LOCAL app.user_id = {owner}; SET LOCAL statement_timeout = {statement_ms};
SET LOCAL lock_timeout = {lock_ms}; SET LOCAL idle_in_transaction_session_timeout = {idle_ms};
SET LOCAL TimeZone = 'UTC';

-- name: turn_to
-- From here on a transaction sees another user's rows, and no one else's.
SET LOCAL app.user_id = {owner};

-- name: end_stopped
-- Likewise in the middle of a pipeline, where no session counts as idle: a process that is stopped
-- there would keep its locks until it goes on. Unknown to servers before 17.
SET LOCAL transaction_timeout = {whole_ms};

-- name: quota
-- What the user of this transaction may keep at most.
SET LOCAL app.quota = {quota};

-- name: commit_soon
-- A commit of this transaction does not wait for the disk.
SET LOCAL synchronous_commit = off;

-- name: role
-- Who we are, and whether row level security would hold for us.
SELECT rolname, rolsuper, rolbypassrls, current_setting('server_encoding')
FROM pg_catalog.pg_roles WHERE rolname = current_user;

-- name: tables
-- The tables among these names: whether we own one, whether its rows are guarded for everybody.
SELECT relname, pg_catalog.pg_has_role(current_user, relowner, 'MEMBER'),
    relrowsecurity AND relforcerowsecurity
FROM pg_catalog.pg_class
WHERE relkind IN ('r', 'p') AND relname = ANY (%(names)s::text[])
    AND relnamespace = ANY (SELECT oid FROM pg_catalog.pg_namespace
        WHERE nspname = ANY (pg_catalog.current_schemas(false)));

-- name: timeline
-- The database's own number, and how often a standby took the primary's place; null on a standby.
SELECT system_identifier, CASE WHEN NOT pg_is_in_recovery()
    THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END
FROM pg_control_system();

-- name: process
-- The process that answers.
SELECT pg_catalog.pg_backend_pid();

-- name: keep_plans
-- For a session that is ours alone: a plan that is kept from when a table was small reads it whole for each key, and
-- one that must do so is taken for one that is worth compiling.
SET enable_seqscan = off; SET jit = off;

-- name: make_applied
-- The table of the migrations that are done.
CREATE TABLE IF NOT EXISTS applied_migrations (
    series text NOT NULL,
    number integer NOT NULL,
    name text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (series, number)
);

-- name: applied_is_ours
-- Whether that table is no stranger's: nothing runs on a write to it but what we had it run.
-- Asked of the catalog: pg_has_role says yes to a superuser, whoever the owner is.
SELECT c.relkind = 'r' AND NOT c.relhastriggers AND NOT c.relhasrules AND (
    owner.rolsuper OR owner.rolname = current_user
    OR owner.oid = (SELECT datdba FROM pg_catalog.pg_database WHERE datname = current_database())
    OR EXISTS (SELECT 1 FROM pg_catalog.pg_auth_members AS m
        JOIN pg_catalog.pg_roles AS us ON us.oid = m.member
        WHERE m.roleid = owner.oid AND us.rolname = current_user))
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_roles AS owner ON owner.oid = c.relowner
WHERE c.oid = to_regclass('applied_migrations');

-- name: has_applied
-- Whether that table is there.
SELECT to_regclass('applied_migrations') IS NOT NULL;

-- name: applied
-- How far a series is.
SELECT coalesce(max(number), 0) FROM applied_migrations WHERE series = %(series)s;

-- name: note_applied
-- One more is done.
INSERT INTO applied_migrations (series, number, name) VALUES (%(series)s, %(number)s, %(name)s);

-- name: let_read_applied
-- Whoever uses the tables may see which they are.
GRANT SELECT ON applied_migrations TO commonplace_app, commonplace_worker;

-- name: lock_migrations
-- One process at a time migrates a database; released at the end of the transaction.
SELECT pg_advisory_xact_lock(7166182915201);

-- name: named
-- Our tables, all of whose names begin so, that a migration's text names.
SELECT relname::text FROM pg_catalog.pg_class
WHERE relkind IN ('r', 'p') AND relname ~ '^(cp|wb)_'
    AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema())
    AND relname = ANY (regexp_split_to_array(%(sql)s::text, '\W+'))
ORDER BY 1;

-- name: wait_shortly
-- All who save or search wait behind a step that waits for a table. A statement's whole time is limited too, since
-- it may take several tables.
SELECT set_config('lock_timeout', each.ms, true), set_config('statement_timeout', each.ms, true)
FROM (SELECT greatest(least(500, setting::integer / 2), 1)::text AS ms
    FROM pg_catalog.pg_settings WHERE name = 'deadlock_timeout') AS each;

-- name: take
-- All at once, before anything else is done: a transaction that uses one of them may want the next.
LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE;

-- name: take_time
-- The step itself may take long.
SET LOCAL statement_timeout = 0;

-- name: longest_user
-- Of these tables the one that the oldest transaction uses, and its process: none where it is prepared.
SELECT c.relname::text, l.pid FROM pg_catalog.pg_locks AS l
JOIN pg_catalog.pg_class AS c ON c.oid = l.relation
JOIN pg_catalog.pg_database AS d ON d.oid = l.database AND d.datname = current_database()
LEFT JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
WHERE l.granted AND l.pid IS DISTINCT FROM pg_backend_pid() AND c.relname = ANY (%(tables)s::text[])
    AND c.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema())
ORDER BY a.xact_start NULLS FIRST, 1 LIMIT 1;
