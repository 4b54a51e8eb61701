-- Whether what is counted of users is what they keep; see the migration `kept`.

-- name: next_user
-- The first user after another of whom anything was ever kept.
SELECT user_id FROM wb_outbox WHERE user_id > %(after)s ORDER BY user_id LIMIT 1;

-- name: is_miscounted
-- Whether other numbers stand there than a user keeps: entries and bytes of all journals.
SELECT (coalesce(sum(found.entries), 0), coalesce(sum(found.bytes), 0)) <> (
    SELECT coalesce(sum(kept.entries), 0), coalesce(sum(kept.bytes), 0)
    FROM cp_kept AS kept WHERE kept.user_id = %(owner)s
) FROM (
    SELECT 1 AS entries, octet_length(e.body) + octet_length(e.more) + octet_length(e.scope)
        + octet_length(array_to_string(e.tags, ' ')) AS bytes
    FROM cp_entries AS e WHERE e.user_id = %(owner)s AND coalesce(e.level, 0) = 0
    UNION ALL SELECT 0, octet_length(o.body) + octet_length(o.section)
    FROM cp_overviews AS o WHERE o.user_id = %(owner)s
    UNION ALL SELECT 1, octet_length(m.content) FROM wb_message AS m WHERE m.user_id = %(owner)s
    UNION ALL SELECT 1, octet_length(j.title) + octet_length(j.body)
    FROM wb_journal AS j WHERE j.user_id = %(owner)s
    UNION ALL SELECT 1, octet_length(t.title) FROM wb_todo AS t WHERE t.user_id = %(owner)s
    UNION ALL SELECT 1, octet_length(g.content) FROM wb_gratitude AS g WHERE g.user_id = %(owner)s
    UNION ALL SELECT 1, octet_length(p.language) + octet_length(coalesce(p.religion, '')) + octet_length(p.flags)
    FROM wb_preferences AS p WHERE p.user_id = %(owner)s
) AS found;
