-- The queries of what language models have taken: of one user, who is the first of each key.

-- name: set_aside
-- Counts tokens before a model is asked, unless the day has not so many left: then there is no row.
INSERT INTO cp_spent AS s (user_id, day, tokens)
SELECT %(owner)s, %(day)s::date, %(tokens)s WHERE %(tokens)s <= %(most)s
ON CONFLICT (user_id, day) DO UPDATE SET tokens = s.tokens + %(tokens)s WHERE s.tokens + %(tokens)s <= %(most)s
RETURNING tokens;

-- name: settle
-- Replaces what was set aside by what was spent.
UPDATE cp_spent SET tokens = tokens + %(more)s WHERE user_id = %(owner)s AND day = %(day)s::date;

-- name: spent
-- What a day has taken.
SELECT tokens FROM cp_spent WHERE user_id = %(owner)s AND day = %(day)s::date;

-- name: drop_former
-- Removes days that nobody asks about any more.
DELETE FROM cp_spent WHERE user_id = %(owner)s AND day < %(day)s::date - 31;
