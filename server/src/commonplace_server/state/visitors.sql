-- The queries of browsers that are signed in: of one user, who is the first of each key.

-- name: add
-- One that was let in.
INSERT INTO cp_visitors (user_id, digest, sealed) VALUES (%(owner)s, %(digest)s, %(sealed)s);

-- name: trim
-- Those that were not used for long leave, and the longest unused of more than a user may have.
DELETE FROM cp_visitors WHERE user_id = %(owner)s AND (
    used_at < now() - interval '30 days' OR digest IN (
        SELECT digest FROM cp_visitors WHERE user_id = %(owner)s
        ORDER BY used_at DESC, digest OFFSET %(most)s
    )
);

-- name: find
-- What is known of one, and whether its use is to be noted.
SELECT sealed, version, wiped, said, used_at < now() - interval '1 hour' FROM cp_visitors
WHERE user_id = %(owner)s AND digest = %(digest)s AND used_at >= now() - interval '30 days';

-- name: used
-- Notes its use.
UPDATE cp_visitors SET used_at = now() WHERE user_id = %(owner)s AND digest = %(digest)s;

-- name: keep
-- What its pages need now, unless that was altered elsewhere.
UPDATE cp_visitors SET said = %(said)s, version = version + 1, used_at = now()
WHERE user_id = %(owner)s AND digest = %(digest)s AND version = %(version)s;

-- name: remove
-- It is signed out.
DELETE FROM cp_visitors WHERE user_id = %(owner)s AND digest = %(digest)s;

-- name: have_said
-- Whether any browser of a user was shown what is kept of it.
SELECT EXISTS (SELECT FROM cp_visitors WHERE user_id = %(owner)s AND said IS NOT NULL);

-- name: wipe
-- Takes that away from all of them.
UPDATE cp_visitors SET said = NULL, wiped = wiped + 1, version = version + 1 WHERE user_id = %(owner)s;
