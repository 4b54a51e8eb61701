-- The queries of tokens in a database; revoked is what cp_revoked_tokens has a row of.

-- name: of_ids
-- Those with some ids.
SELECT t.id, t.user_id, t.scopes, t.toolsets, t.digest, t.created_at, t.expires_at, r.revoked_at, t.label,
    t.member, t.used_at
FROM cp_tokens AS t LEFT JOIN cp_revoked_tokens AS r ON r.digest = t.digest
WHERE t.id = ANY (%(ids)s::text[]);

-- name: all
-- Every one, the newest first.
SELECT t.id, t.user_id, t.scopes, t.toolsets, t.digest, t.created_at, t.expires_at, r.revoked_at, t.label,
    t.member, t.used_at
FROM cp_tokens AS t LEFT JOIN cp_revoked_tokens AS r ON r.digest = t.digest
ORDER BY t.created_at DESC, t.id DESC;

-- name: any
-- Whether any was ever made.
SELECT EXISTS (SELECT FROM cp_tokens);

-- name: ids
-- The ids of all.
SELECT id FROM cp_tokens;

-- name: add
-- A new one, unless its id is taken.
INSERT INTO cp_tokens (
    id, user_id, scopes, toolsets, digest, created_at, expires_at, label, member, used_at
) VALUES (
    %(id)s, %(owner)s, %(scopes)s::text[], %(toolsets)s::text[], %(digest)s, %(created_at)s, %(expires_at)s,
    %(label)s, %(member)s, %(used_at)s
) ON CONFLICT DO NOTHING;

-- name: revoke
-- Notes that one is revoked; what is noted stays.
INSERT INTO cp_revoked_tokens (digest, revoked_at) VALUES (%(digest)s, %(at)s) ON CONFLICT DO NOTHING;

-- name: used
-- Notes a use, unless one within an hour is noted.
UPDATE cp_tokens SET used_at = %(at)s
WHERE id = %(id)s AND (used_at IS NULL OR used_at <= %(at)s::timestamptz - %(every)s::interval);
