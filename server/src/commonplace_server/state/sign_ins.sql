-- The queries of clients, codes and grants; the time is that of who asks, as it is for tokens.

-- name: of_keys
-- Those of a kind with some keys.
SELECT kind, key, user_id, facts, until, version FROM cp_sign_ins
WHERE kind = %(kind)s AND key = ANY (%(keys)s::text[]) AND until > %(now)s;

-- name: of_kind
-- All of a kind.
SELECT kind, key, user_id, facts, until, version FROM cp_sign_ins WHERE kind = %(kind)s AND until > %(now)s;

-- name: of_group
-- Those of a kind and a group.
SELECT kind, key, user_id, facts, until, version FROM cp_sign_ins
WHERE kind = %(kind)s AND user_id = %(group)s AND until > %(now)s;

-- name: put
-- Keeps a record, in place of one with its key.
INSERT INTO cp_sign_ins (kind, key, user_id, facts, until)
VALUES (%(kind)s, %(key)s, %(group)s, %(facts)s, %(until)s)
ON CONFLICT (kind, key) DO UPDATE SET
    user_id = excluded.user_id, facts = excluded.facts, until = excluded.until, version = cp_sign_ins.version + 1;

-- name: trim
-- Removes records whose time is over, and of too many of a kind and user those that end first.
DELETE FROM cp_sign_ins WHERE kind = %(kind)s AND (
    until <= %(now)s OR user_id = %(group)s AND key <> %(key)s AND key NOT IN (
        SELECT key FROM cp_sign_ins WHERE kind = %(kind)s AND user_id = %(group)s AND key <> %(key)s
        ORDER BY until DESC, key LIMIT %(most)s - 1
    )
);

-- name: alter
-- Gives a record other facts, unless another request was faster.
UPDATE cp_sign_ins SET facts = %(facts)s, version = version + 1
WHERE kind = %(kind)s AND key = %(key)s AND version = %(version)s;

-- name: remove
-- Removes a record.
DELETE FROM cp_sign_ins WHERE kind = %(kind)s AND key = %(key)s;
