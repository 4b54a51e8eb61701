-- The queries of which users a worker has to look at: across users by times alone, and of one user what comes next.

-- name: lease_unseen
-- Users of whom something changed that no worker has looked at, the longest first, whom none has in hand.
UPDATE cp_kept AS t
SET leased_until = now() + make_interval(secs => %(seconds)s), leased_by = %(worker)s
FROM (
    SELECT known.user_id FROM cp_kept AS known
    WHERE known.unseen_since <= now() - make_interval(secs => %(rest_s)s)
        AND (known.leased_until IS NULL OR known.leased_until <= now())
    ORDER BY known.unseen_since LIMIT %(limit)s FOR UPDATE SKIP LOCKED
) AS found
WHERE t.user_id = found.user_id RETURNING t.user_id, t.changes, t.leased_until;

-- name: lease_upkeep
-- Users whose upkeep is due by the database's clock too, likewise.
UPDATE cp_kept AS t
SET leased_until = now() + make_interval(secs => %(seconds)s), leased_by = %(worker)s
FROM (
    SELECT known.user_id FROM cp_kept AS known
    WHERE known.upkeep_at <= least(now(), %(now)s::timestamptz)
        AND (known.leased_until IS NULL OR known.leased_until <= now())
    ORDER BY known.upkeep_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
) AS found
WHERE t.user_id = found.user_id RETURNING t.user_id, t.changes, t.leased_until;

-- name: note_seen
-- A worker has looked: what comes next is judged at once, or a while after the last upkeep. What changed since it
-- began is looked at again. Only the lease that it holds ends, here and below: one that ran out may have been followed
-- by another of the same worker, which keeps users up in a thread of its own.
UPDATE cp_kept SET leased_by = NULL, leased_until = NULL,
    unseen_since = CASE WHEN changes = %(changes)s THEN NULL ELSE now() END,
    upkeep_at = least(upkeep_at,
        greatest(%(now)s::timestamptz, kept_up_at + make_interval(secs => %(rest_s)s)))
WHERE user_id = %(owner)s AND leased_by = %(worker)s AND leased_until = %(until)s;

-- name: note_upkeep
-- When the next upkeep of a user is due, null for never.
UPDATE cp_kept SET leased_by = NULL, leased_until = NULL, upkeep_at = %(next_at)s::timestamptz,
    kept_up_at = coalesce(%(kept_up_at)s::timestamptz, kept_up_at)
WHERE user_id = %(owner)s AND leased_by = %(worker)s AND leased_until = %(until)s;

-- name: put_off
-- A worker could not do it: any may try again after so long.
UPDATE cp_kept SET leased_by = NULL, leased_until = now() + make_interval(secs => %(rest_s)s)
WHERE user_id = %(owner)s AND leased_by = %(worker)s AND leased_until = %(until)s;

-- name: has_changed
-- Whether anything of a user's changed since so many transactions had.
SELECT NOT EXISTS (SELECT FROM cp_kept WHERE user_id = %(owner)s AND changes = %(changes)s);

-- name: ask_for_some
-- The settings by which upkeep is done are other than they were: that of the next users by name is judged again.
UPDATE cp_kept AS t SET upkeep_at = %(now)s::timestamptz
FROM (
    SELECT known.user_id FROM cp_kept AS known
    WHERE known.user_id > %(after)s AND (known.upkeep_at IS NULL OR known.upkeep_at > %(now)s::timestamptz)
    ORDER BY known.user_id LIMIT %(limit)s FOR UPDATE
) AS found
WHERE t.user_id = found.user_id RETURNING t.user_id;

-- name: feeds
-- Whether a user has anything in one of some journals, or a timeline already.
SELECT EXISTS (
    SELECT FROM cp_entries WHERE user_id = %(owner)s AND journal = ANY (%(journals)s::text[])
) OR EXISTS (SELECT FROM cp_timelines WHERE user_id = %(owner)s);

-- name: next_end
-- When the next entry of a user expires, or did, later than a time. What was taken back of a notebook stays.
SELECT min(expires_at) FROM wb_times
WHERE user_id = %(owner)s AND expires_at > %(after)s AND NOT (kind = 'notebook' AND expires_at <= to_timestamp(86400));

-- name: oldest
-- The time of the oldest entry of each of some levels and states of a user's timeline that may grow old.
SELECT asked.level, asked.state, (
    SELECT e.at FROM cp_entries AS e
    WHERE e.user_id = %(owner)s AND e.journal = 'timeline' AND e.level = asked.level
        AND e.state = asked.state AND e.scope <> 'profile_snapshot' AND e.more NOT LIKE '%%"pinned"%%'
    ORDER BY e.at LIMIT 1
)
FROM unnest(%(levels)s::smallint[], %(states)s::text[]) AS asked (level, state);

-- name: oldest_session
-- When the session of a user ended that ended first.
SELECT min(last_at) FROM cp_transcripts WHERE user_id = %(owner)s AND messages > 0;

-- name: oldest_former
-- The oldest edit of a user's of which what it replaced is kept: its id begins with its time.
SELECT min(id) FROM wb_former WHERE user_id = %(owner)s;

-- name: waits_for_words
-- Whether a summary of a user's waits for a language model.
SELECT EXISTS (
    SELECT FROM cp_rollups AS r
    JOIN cp_entries AS e ON e.user_id = %(owner)s AND e.journal = 'timeline' AND e.place = r.seq
        AND e.state = 'active' AND e.body <> ''
    WHERE r.user_id = %(owner)s AND r.generator LIKE 'extractive %%' AND r.attempts < %(most)s
);
