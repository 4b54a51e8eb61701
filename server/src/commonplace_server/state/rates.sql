-- The query of rates: of one user, who is the key.

-- name: spend
-- Takes requests out of a user's bucket, which has filled up since it was last asked; what is left, below zero too.
INSERT INTO cp_rates AS r (user_id, tokens, at) VALUES (%(owner)s, %(burst)s - %(spent)s, now())
ON CONFLICT (user_id) DO UPDATE SET
    tokens = least(%(burst)s, r.tokens + %(per_second)s * greatest(0, extract(epoch FROM now() - r.at)))
        - %(spent)s,
    at = greatest(r.at, now())
RETURNING tokens;
