-- The queries of the workers' upkeep on Postgres: which encoder is in the lead, and vacuuming.

-- name: take_lead
-- The encoder in the lead renews its lease; another one takes over once that has run out. Vectors of
-- others are to be dropped once all are made again, unless there are none: the first in charge cannot
-- say whose there are, once any were made.
UPDATE wb_upkeep SET
    encoder = %(encoder)s,
    until = now() + make_interval(secs => %(seconds)s),
    whole_at = CASE WHEN encoder = %(encoder)s THEN whole_at END,
    is_cleared = CASE WHEN encoder = %(encoder)s THEN is_cleared ELSE
        (is_cleared OR encoder = ''
            AND NOT EXISTS (SELECT FROM wb_outbox WHERE NOT gone AND encoder > ''))
        AND NOT EXISTS (SELECT FROM wb_outbox
            WHERE NOT gone AND encoder > '' AND encoder < %(encoder)s)
        AND NOT EXISTS (SELECT FROM wb_outbox WHERE NOT gone AND encoder > %(encoder)s)
    END
WHERE encoder = %(encoder)s OR until IS NULL OR until < now();

-- name: release_lead
-- A worker of this encoder has ended: any may be in the lead.
UPDATE wb_upkeep SET until = NULL WHERE encoder = %(encoder)s;

-- name: in_charge
-- Whose vectors are made.
SELECT encoder FROM wb_upkeep;

-- name: note_whole
-- Whether for so long no record has had the vectors of another encoder than the one in the lead.
UPDATE wb_upkeep SET whole_at = CASE
    WHEN EXISTS (SELECT FROM wb_outbox WHERE NOT gone AND encoder > '' AND encoder < %(encoder)s)
        OR EXISTS (SELECT FROM wb_outbox WHERE NOT gone AND encoder > %(encoder)s) THEN NULL
    ELSE coalesce(whole_at, now())
END
WHERE encoder = %(encoder)s AND NOT is_cleared
RETURNING coalesce(whole_at <= now() - make_interval(secs => %(kept_s)s), false);

-- name: is_whole_still
-- Whether this encoder is in the lead, and none was since all was found to have its vectors.
SELECT encoder = %(encoder)s AND whole_at IS NOT NULL FROM wb_upkeep;

-- name: note_cleared
-- No vector of another encoder is left.
UPDATE wb_upkeep SET is_cleared = true WHERE encoder = %(encoder)s;

-- name: users
-- Everybody of whom anything was ever kept.
SELECT DISTINCT user_id FROM wb_outbox;

-- name: take_vacuuming
-- One process at a time vacuums; one that ends, or dies, releases it with the transaction.
SELECT pg_try_advisory_xact_lock(7166182915203);

-- name: vacuuming_is_due
-- Whether nobody has vacuumed for so long.
SELECT tidied_at IS NULL OR tidied_at <= now() - make_interval(secs => %(every_s)s) FROM wb_upkeep;

-- name: note_vacuumed
-- Everything was vacuumed to the end.
UPDATE wb_upkeep SET tidied_at = now();

-- name: pruning_is_due
-- Whether nobody has gone through everybody's log of calls for so long.
SELECT pruned_at IS NULL OR pruned_at <= now() - make_interval(secs => %(every_s)s) FROM wb_upkeep;

-- name: prune_old_calls
-- Some of the calls of all users that are older than they are kept leave, the oldest first.
DELETE FROM wb_tool_invocation_log WHERE (user_id, id) IN (
    SELECT user_id, id FROM wb_tool_invocation_log
    WHERE created_at < %(before)s::timestamptz ORDER BY created_at LIMIT %(limit)s
);

-- name: note_pruned
-- Everybody's log has been gone through.
UPDATE wb_upkeep SET pruned_at = now();

-- name: lease_packing
-- Users something of whom has waited to be packed for so long, the longest first; none for as long after a migration of the
-- index: servers of the former version may not read what is packed. One who is not packed in that time, as the worker was
-- killed or the database too slow, rests twice as long each time, a day at the most.
UPDATE wb_index AS i SET
    packing_until = now() + least(
        make_interval(secs => %(seconds)s * power(2, least(i.packing_tries, 16))), interval '1 day'
    ),
    packing_tries = i.packing_tries + 1, was_written = false
FROM (
    SELECT known.user_id FROM wb_index AS known
    WHERE known.unpacked_at <= now() - make_interval(secs => %(every_s)s)
        AND (known.packing_until IS NULL OR known.packing_until <= now())
        AND (known.packing_tries > 0) = %(tried)s
        AND NOT EXISTS (
            SELECT FROM applied_migrations AS a
            WHERE a.series = 'index' AND a.at > now() - make_interval(secs => %(every_s)s)
        )
    ORDER BY known.unpacked_at LIMIT %(limit)s FOR UPDATE OF known SKIP LOCKED
) AS found
WHERE i.user_id = found.user_id RETURNING i.user_id, i.packing_until, i.packing_tries;

-- name: stale
-- What was altered or deleted, out of the index by now, and is still in the files of the tables.
SELECT user_id, kind, ref_id, changes, gone FROM wb_outbox
WHERE stale AND NOT words_due AND NOT erase AND NOT (due AND gone) LIMIT 100000;

-- name: clean
-- No file of a table holds what these were before: whatever was dead before a transaction has left
-- them, so lines that were last written before that one are clean, unless they changed since.
WITH done AS (
    SELECT known.user_id, known.kind, known.ref_id, given.changes
    FROM unnest(%(users)s::text[], %(kinds)s::text[], %(ids)s::text[], %(changes)s::bigint[])
        AS given (user_id, kind, id, changes)
    JOIN wb_outbox AS known ON known.user_id = given.user_id AND known.kind = given.kind
        AND known.ref_id = given.id
    ORDER BY known.user_id, known.kind, known.ref_id FOR UPDATE OF known
)
UPDATE wb_outbox SET stale = false
FROM done
WHERE wb_outbox.user_id = done.user_id AND wb_outbox.kind = done.kind
    AND wb_outbox.ref_id = done.ref_id AND wb_outbox.changes = done.changes
    AND age(wb_outbox.xmin) > age(%(horizon)s::text::xid);

-- name: horizon
-- The first transaction whose deletions some file of these tables may still hold: what a VACUUM that
-- freezes leaves behind, of a table and of what lies beside it. Snapshots, prepared transactions and
-- replicas keep it back.
SELECT frozen.xid::text
FROM unnest(%(tables)s::text[]) AS named (name)
JOIN pg_catalog.pg_class AS c ON c.oid = named.name::regclass
LEFT JOIN pg_catalog.pg_class AS beside ON beside.oid = c.reltoastrelid
CROSS JOIN LATERAL (VALUES (c.relfrozenxid), (beside.relfrozenxid)) AS frozen (xid)
WHERE frozen.xid IS NOT NULL ORDER BY age(frozen.xid) DESC LIMIT 1;

-- name: look_far
-- Have a table of one row say how far back anything is held now.
VACUUM (FREEZE) wb_upkeep;

-- name: is_held_back
-- Whether that is as far as when the tables were last vacuumed: nothing more would leave them.
SELECT coalesce(u.horizon = c.relfrozenxid, false)
FROM wb_upkeep AS u, pg_catalog.pg_class AS c WHERE c.oid = 'wb_upkeep'::regclass;

-- name: note_horizon
-- How far back the tables may hold what is dead, all vacuumed.
UPDATE wb_upkeep SET horizon = %(horizon)s::text::xid;

-- name: size
-- Bytes of a table with its indexes.
SELECT pg_catalog.pg_total_relation_size(%(table)s::text::regclass);

-- name: vacuum_patiently
-- Nobody waits long behind a rewriting that waits itself.
SET lock_timeout = '2s';

-- name: vacuum_no_more
-- As it was.
RESET lock_timeout;
