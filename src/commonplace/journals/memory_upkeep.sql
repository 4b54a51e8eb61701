-- The queries of the workers' upkeep on Postgres: which encoder is in charge, and tidying up.

-- name: hold_charge
-- One worker at a time looks who is in charge.
SELECT 1 FROM wb_upkeep FOR UPDATE;

-- name: note_worker
-- A worker is there, and has this encoder.
INSERT INTO wb_workers (worker, encoder, until)
VALUES (%(worker)s, %(encoder)s, now() + make_interval(secs => %(seconds)s))
ON CONFLICT (worker) DO UPDATE SET encoder = excluded.encoder, until = excluded.until;

-- name: drop_workers
-- One that has told nothing for that long is gone.
DELETE FROM wb_workers WHERE until < now();

-- name: drop_worker
-- A worker has ended.
DELETE FROM wb_workers WHERE worker = %(worker)s;

-- name: take_charge
-- An encoder takes over where no worker of the one before is left. Vectors of others are to be let
-- go of once all are made anew, unless there are none.
UPDATE wb_upkeep SET encoder = %(encoder)s, since = now(), whole_at = NULL,
    is_cleared = is_cleared
        AND NOT EXISTS (SELECT FROM wb_outbox
            WHERE NOT gone AND encoder > '' AND encoder < %(encoder)s)
        AND NOT EXISTS (SELECT FROM wb_outbox WHERE NOT gone AND encoder > %(encoder)s)
WHERE encoder <> %(encoder)s
    AND NOT EXISTS (SELECT FROM wb_workers WHERE wb_workers.encoder = wb_upkeep.encoder);

-- name: in_charge
-- Whose vectors are made.
SELECT encoder FROM wb_upkeep;

-- name: note_whole
-- Whether for so long no record has had the vectors of another encoder than the one in charge.
UPDATE wb_upkeep SET whole_at = CASE
    WHEN EXISTS (SELECT FROM wb_outbox WHERE NOT gone AND encoder > '' AND encoder < %(encoder)s)
        OR EXISTS (SELECT FROM wb_outbox WHERE NOT gone AND encoder > %(encoder)s) THEN NULL
    ELSE coalesce(whole_at, now())
END
WHERE encoder = %(encoder)s AND NOT is_cleared
RETURNING coalesce(whole_at <= now() - make_interval(secs => %(kept_s)s), false);

-- name: note_cleared
-- No vector of another encoder is left.
UPDATE wb_upkeep SET is_cleared = true WHERE encoder = %(encoder)s;

-- name: users
-- Everybody of whom anything was ever kept.
SELECT DISTINCT user_id FROM wb_outbox;
