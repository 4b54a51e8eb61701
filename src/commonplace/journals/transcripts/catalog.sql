-- What catalog.db answers. It is derived from the files and can be made again at any time, so a
-- change of its tables is a new number in catalog.py and no migration.

-- name: schema
-- The tables; no text of a message is in them.
CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    client TEXT NOT NULL,
    name TEXT NOT NULL,
    year TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    last_n INTEGER NOT NULL,
    broken INTEGER NOT NULL,
    first_at TEXT NOT NULL,
    last_at TEXT NOT NULL,
    cwd TEXT NOT NULL,
    branch TEXT NOT NULL,
    messages INTEGER NOT NULL,
    UNIQUE (client, name)
);
CREATE INDEX sessions_by_time ON sessions (last_at);
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    client TEXT NOT NULL,
    id TEXT NOT NULL,
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    role TEXT NOT NULL,
    at TEXT NOT NULL,
    says INTEGER NOT NULL,
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    UNIQUE (client, id),
    UNIQUE (session, n)
);
CREATE TABLE deleted (
    client TEXT NOT NULL,
    id TEXT NOT NULL,
    session TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (client, id, session)
) WITHOUT ROWID;
CREATE INDEX deleted_by_session ON deleted (client, session);
CREATE TABLE origins (
    path TEXT PRIMARY KEY,
    offset INTEGER NOT NULL,
    fingerprint TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE left_out (
    path TEXT NOT NULL,
    client TEXT NOT NULL,
    why TEXT NOT NULL,
    kind TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (path, why, kind)
) WITHOUT ROWID;
CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    client TEXT NOT NULL,
    session TEXT NOT NULL,
    UNIQUE (client, session) ON CONFLICT REPLACE
);

-- name: read_meta
-- One value.
SELECT value FROM meta WHERE name = :name;

-- name: put_meta
-- Keep one value.
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: read_mark
-- Which making of the catalog this is, and its last change.
SELECT (SELECT value FROM meta WHERE name = 'made'),
       coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0);

-- name: note_change
-- That a session is another than before; its earlier change goes.
INSERT INTO changes (client, session) VALUES (:client, :session);

-- name: list_changed
-- The sessions that changed since, oldest change first.
SELECT client, session FROM changes WHERE seq > :since ORDER BY seq;

-- name: find_session
-- What is known of one session's file.
SELECT key, year, size, mtime_ns, last_n, broken, first_at, last_at, cwd, branch, messages
FROM sessions WHERE client = :client AND name = :session;

-- name: put_session
-- Keep what is known of one session.
INSERT INTO sessions (
    client, name, year, size, mtime_ns, last_n, broken, first_at, last_at, cwd, branch, messages
)
VALUES (
    :client, :session, :year, :size, :mtime_ns, :last_n, :broken, :first_at, :last_at, :cwd, :branch,
    :messages
)
ON CONFLICT (client, name) DO UPDATE SET
    year = excluded.year, size = excluded.size, mtime_ns = excluded.mtime_ns,
    last_n = excluded.last_n, broken = excluded.broken,
    first_at = excluded.first_at, last_at = excluded.last_at, cwd = excluded.cwd, branch = excluded.branch, messages = excluded.messages
RETURNING key;

-- name: drop_session
-- Forget a session and its messages.
DELETE FROM sessions WHERE client = :client AND name = :session;

-- name: drop_messages
-- Forget the messages of a session, which are read again.
DELETE FROM messages WHERE session = :key;

-- name: put_message
-- Keep where a message lies; one whose id or number is taken is left out.
INSERT OR IGNORE INTO messages (client, id, session, n, role, at, says, start, length, crc)
VALUES (:client, :id, :key, :n, :role, :at, :says, :start, :length, :crc);

-- name: known_ids
-- Those of the ids that are kept, in whatever session.
SELECT id FROM messages WHERE client = :client AND id IN (SELECT value FROM json_each(:ids));

-- name: deleted_ids
-- Those of the ids that were deleted, in whatever session.
SELECT id FROM deleted WHERE client = :client AND id IN (SELECT value FROM json_each(:ids));

-- name: drop_deleted
-- Forget what was deleted: it is read again.
DELETE FROM deleted;

-- name: put_deleted
-- Keep that a message was deleted, or with an empty id a whole session.
INSERT OR REPLACE INTO deleted (client, id, session, n) VALUES (:client, :id, :session, :n);

-- name: is_session_deleted
-- Whether a whole session was deleted.
SELECT 1 FROM deleted WHERE client = :client AND id = '' AND session = :session;

-- name: last_deleted_n
-- The highest number that was given to a message of a session and then deleted.
SELECT coalesce(max(n), 0) FROM deleted WHERE client = :client AND session = :session;

-- name: session_of_id
-- The session that a kept message is in.
SELECT sessions.name FROM messages JOIN sessions ON sessions.key = messages.session
WHERE messages.client = :client AND messages.id = :id;

-- name: list_rows
-- Where the messages of a session lie, in their order; a limit below 0 is none.
SELECT n, start, length, crc FROM messages
WHERE session = :key AND n BETWEEN :first AND :last ORDER BY n LIMIT :limit;

-- name: list_around
-- Where a message lies, and the nearest before and after it that say something.
SELECT n, start, length, crc FROM messages WHERE session = :key AND n = :n
UNION ALL SELECT * FROM (
    SELECT n, start, length, crc FROM messages
    WHERE session = :key AND n < :n AND says ORDER BY n DESC LIMIT 1
)
UNION ALL SELECT * FROM (
    SELECT n, start, length, crc FROM messages
    WHERE session = :key AND n > :n AND says ORDER BY n LIMIT 1
)
ORDER BY n;

-- name: first_rows_of_role
-- Where the first messages of a role lie that say something, the first one first.
SELECT n, start, length, crc FROM messages
WHERE session = :key AND role = :role AND says ORDER BY n LIMIT :limit;

-- name: last_rows_of_role
-- Where the last messages of a role lie that say something, the last first.
SELECT n, start, length, crc FROM messages
WHERE session = :key AND role = :role AND says ORDER BY n DESC LIMIT :limit;

-- name: list_turns
-- What is known of the messages of a session that say something; see `exchanges.Turn`.
SELECT n, crc, says, substr(at, 1, 10) FROM messages WHERE session = :key AND says ORDER BY n;

-- name: list_addresses
-- Every message, and with the number 0 every session.
SELECT sessions.client, name, n FROM messages JOIN sessions ON sessions.key = messages.session
UNION ALL SELECT client, name, 0 FROM sessions;

-- name: list_ids
-- The ids and numbers of a session's messages.
SELECT n, id FROM messages WHERE session = :key ORDER BY n;

-- name: list_sessions
-- Sessions with a message in [since, until), newest first; an empty client is any.
SELECT client, name, first_at, last_at, cwd, branch, messages, year FROM sessions
WHERE messages > 0 AND last_at >= :since AND first_at < :until
  AND (:client = '' OR client = :client)
ORDER BY last_at DESC, client, name;

-- name: list_in
-- The newest sessions that began in one of some folders or below it.
WITH folders (folder) AS MATERIALIZED (SELECT rtrim(value, '/') FROM json_each(:folders))
SELECT DISTINCT client, name, first_at, last_at, cwd, branch, messages, year
FROM sessions JOIN folders ON cwd = folder OR (cwd > folder || '/' AND cwd < folder || '0')
WHERE messages > 0 ORDER BY last_at DESC, client, name LIMIT :limit;

-- name: list_files
-- What is known of all files, oldest session first.
SELECT client, name, year, size, mtime_ns, broken FROM sessions ORDER BY first_at, client, name;

-- name: read_origin
-- How far an original file was copied.
SELECT offset, fingerprint FROM origins WHERE path = :path;

-- name: put_origin
-- Keep how far an original file was copied.
INSERT INTO origins (path, offset, fingerprint) VALUES (:path, :offset, :fingerprint)
ON CONFLICT (path) DO UPDATE SET offset = excluded.offset, fingerprint = excluded.fingerprint;

-- name: drop_origin
-- Forget how far an original was copied.
DELETE FROM origins WHERE path = :path;

-- name: list_left_out
-- How much was left out of an original, or with an empty path of all, by client and kind.
SELECT client, why, kind, sum(count) FROM left_out WHERE :path IN ('', path)
GROUP BY client, why, kind ORDER BY client, sum(count) DESC, kind;

-- name: drop_left_out
-- Forget what was left out of an original.
DELETE FROM left_out WHERE path = :path;

-- name: put_left_out
-- Keep how much of one kind was left out of an original.
INSERT INTO left_out (path, client, why, kind, count) VALUES (:path, :client, :why, :kind, :count)
ON CONFLICT (path, why, kind) DO UPDATE SET count = count + excluded.count;
