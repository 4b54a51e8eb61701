-- The queries of sessions: of one user, who is the first of each key, and of one token.

-- name: keep
-- A session that has begun.
INSERT INTO cp_sessions (user_id, digest, token_id, opening)
VALUES (%(owner)s, %(digest)s, %(token_id)s, %(opening)s) ON CONFLICT DO NOTHING;

-- name: trim
-- Those of a user that were idle for too long leave, and the longest idle of more than a token may have.
DELETE FROM cp_sessions WHERE user_id = %(owner)s AND (
    used_at < now() - %(idle)s::interval OR digest IN (
        SELECT digest FROM cp_sessions WHERE user_id = %(owner)s AND token_id = %(token_id)s
        ORDER BY used_at DESC, digest OFFSET %(most)s
    )
);

-- name: find
-- What was said at the beginning of one that is open, and whether its use is to be noted.
SELECT opening, used_at < now() - interval '1 minute' FROM cp_sessions
WHERE user_id = %(owner)s AND digest = %(digest)s AND token_id = %(token_id)s
    AND used_at >= now() - %(idle)s::interval;

-- name: used
-- Notes its use.
UPDATE cp_sessions SET used_at = now()
WHERE user_id = %(owner)s AND digest = %(digest)s AND token_id = %(token_id)s;

-- name: end
-- It is over.
DELETE FROM cp_sessions
WHERE user_id = %(owner)s AND digest = %(digest)s AND token_id = %(token_id)s;

-- name: note_read
-- Which version of an overview was shown in a session that is open, in place of the one before.
INSERT INTO cp_session_reads AS r (user_id, digest, section, version)
SELECT user_id, digest, %(section)s, %(version)s FROM cp_sessions
WHERE user_id = %(owner)s AND digest = %(digest)s AND token_id = %(token_id)s
ON CONFLICT (user_id, digest, section) DO UPDATE SET version = excluded.version WHERE r.version <> excluded.version;

-- name: last_read
-- Which was shown last.
SELECT r.version FROM cp_session_reads AS r
WHERE r.user_id = %(owner)s AND r.digest = %(digest)s AND r.section = %(section)s;
