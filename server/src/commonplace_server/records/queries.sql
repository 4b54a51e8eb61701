-- The queries of memory on Postgres. A record is read in the columns that `record_of` takes. Every
-- query names the user: row level security stands behind it, and shards are found by it.

-- name: find_message
-- One message.
SELECT supersedes, written_at, id, role, content, created_at FROM wb_message
WHERE user_id = %(user_id)s AND id = %(id)s;

-- name: find_journal
-- One journal entry.
SELECT supersedes, written_at, id, title, body, is_draft, created_at, updated_at FROM wb_journal
WHERE user_id = %(user_id)s AND id = %(id)s;

-- name: find_todo
-- One thing to do.
SELECT supersedes, written_at, id, title, done, created_at, updated_at FROM wb_todo
WHERE user_id = %(user_id)s AND id = %(id)s;

-- name: find_gratitude
-- One gratitude.
SELECT supersedes, written_at, id, content, created_at, updated_at FROM wb_gratitude
WHERE user_id = %(user_id)s AND id = %(id)s;

-- name: find_preference
-- The preferences, under the one id they have.
SELECT language, religion, flags, created_at, updated_at FROM wb_preferences
WHERE user_id = %(user_id)s AND %(id)s = 'preferences';

-- name: find_all_message
-- Messages of some ids. Here as elsewhere, OFFSET has a row looked up for each id: a plan for a user
-- of whom nothing is known may read all that one has.
SELECT r.* FROM unnest(%(ids)s::text[]) AS a (id)
CROSS JOIN LATERAL (
    SELECT supersedes, written_at, id, role, content, created_at FROM wb_message
    WHERE user_id = %(user_id)s AND id = a.id OFFSET 0
) AS r;

-- name: find_all_journal
-- Journal entries of some ids.
SELECT r.* FROM unnest(%(ids)s::text[]) AS a (id)
CROSS JOIN LATERAL (
    SELECT supersedes, written_at, id, title, body, is_draft, created_at, updated_at FROM wb_journal
    WHERE user_id = %(user_id)s AND id = a.id OFFSET 0
) AS r;

-- name: find_all_todo
-- Things to do of some ids.
SELECT r.* FROM unnest(%(ids)s::text[]) AS a (id)
CROSS JOIN LATERAL (
    SELECT supersedes, written_at, id, title, done, created_at, updated_at FROM wb_todo
    WHERE user_id = %(user_id)s AND id = a.id OFFSET 0
) AS r;

-- name: find_all_gratitude
-- Gratitude of some ids.
SELECT r.* FROM unnest(%(ids)s::text[]) AS a (id)
CROSS JOIN LATERAL (
    SELECT supersedes, written_at, id, content, created_at, updated_at FROM wb_gratitude
    WHERE user_id = %(user_id)s AND id = a.id OFFSET 0
) AS r;

-- name: find_all_preference
-- The preferences, if their id is among these.
SELECT language, religion, flags, created_at, updated_at FROM wb_preferences
WHERE user_id = %(user_id)s AND 'preferences' = ANY (%(ids)s::text[]);

-- name: find_successor_message
-- The message that took the place of another.
SELECT supersedes, written_at, id, role, content, created_at FROM wb_message
WHERE user_id = %(user_id)s AND supersedes = %(id)s AND supersedes <> '';

-- name: find_successor_journal
-- The journal entry that took the place of another.
SELECT supersedes, written_at, id, title, body, is_draft, created_at, updated_at FROM wb_journal
WHERE user_id = %(user_id)s AND supersedes = %(id)s AND supersedes <> '';

-- name: find_successor_todo
-- The thing to do that took the place of another.
SELECT supersedes, written_at, id, title, done, created_at, updated_at FROM wb_todo
WHERE user_id = %(user_id)s AND supersedes = %(id)s AND supersedes <> '';

-- name: find_successor_gratitude
-- The gratitude that took the place of another.
SELECT supersedes, written_at, id, content, created_at, updated_at FROM wb_gratitude
WHERE user_id = %(user_id)s AND supersedes = %(id)s AND supersedes <> '';

-- name: add_message
-- A new message; there is no other way to write one.
INSERT INTO wb_message (id, user_id, role, content, created_at, supersedes, written_at)
VALUES (%(id)s, %(user_id)s, %(role)s, %(content)s, %(created_at)s, %(supersedes)s, %(written_at)s);

-- name: add_journal
-- A new journal entry.
INSERT INTO wb_journal (id, user_id, title, body, is_draft, created_at, updated_at, supersedes, written_at)
VALUES (
    %(id)s, %(user_id)s, %(title)s, %(body)s, %(is_draft)s, %(created_at)s, %(updated_at)s,
    %(supersedes)s, %(written_at)s
);

-- name: add_todo
-- A new thing to do.
INSERT INTO wb_todo (id, user_id, title, done, created_at, updated_at, supersedes, written_at)
VALUES (%(id)s, %(user_id)s, %(title)s, %(done)s, %(created_at)s, %(updated_at)s, %(supersedes)s, %(written_at)s);

-- name: add_gratitude
-- A new gratitude.
INSERT INTO wb_gratitude (id, user_id, content, created_at, updated_at, supersedes, written_at)
VALUES (%(id)s, %(user_id)s, %(content)s, %(created_at)s, %(updated_at)s, %(supersedes)s, %(written_at)s);

-- name: add_preference
-- The first preferences.
INSERT INTO wb_preferences (user_id, language, religion, flags, created_at, updated_at)
VALUES (%(user_id)s, %(language)s, %(religion)s, %(flags)s, %(created_at)s, %(updated_at)s);

-- name: alter_journal
-- A journal entry, altered.
UPDATE wb_journal SET title = %(title)s, body = %(body)s, is_draft = %(is_draft)s,
    created_at = %(created_at)s, updated_at = %(updated_at)s, written_at = %(written_at)s
WHERE user_id = %(user_id)s AND id = %(id)s;

-- name: alter_todo
-- A thing to do, altered.
UPDATE wb_todo SET title = %(title)s, done = %(done)s, created_at = %(created_at)s,
    updated_at = %(updated_at)s, written_at = %(written_at)s
WHERE user_id = %(user_id)s AND id = %(id)s;

-- name: alter_gratitude
-- A gratitude, altered.
UPDATE wb_gratitude SET content = %(content)s, created_at = %(created_at)s,
    updated_at = %(updated_at)s, written_at = %(written_at)s
WHERE user_id = %(user_id)s AND id = %(id)s;

-- name: alter_preference
-- The preferences, altered.
UPDATE wb_preferences SET language = %(language)s, religion = %(religion)s, flags = %(flags)s,
    updated_at = %(updated_at)s
WHERE user_id = %(user_id)s;

-- name: relink_message
-- Links the message that replaced a deleted one to what that one had replaced.
UPDATE wb_message SET supersedes = %(former)s WHERE user_id = %(user_id)s AND supersedes = %(id)s AND id <> %(former)s;

-- name: relink_journal
-- Links the journal entry that replaced a deleted one to what that one had replaced.
UPDATE wb_journal SET supersedes = %(former)s WHERE user_id = %(user_id)s AND supersedes = %(id)s AND id <> %(former)s;

-- name: relink_todo
-- Links the thing to do that replaced a deleted one to what that one had replaced.
UPDATE wb_todo SET supersedes = %(former)s WHERE user_id = %(user_id)s AND supersedes = %(id)s AND id <> %(former)s;

-- name: relink_gratitude
-- Links the gratitude that replaced a deleted one to what that one had replaced.
UPDATE wb_gratitude SET supersedes = %(former)s WHERE user_id = %(user_id)s AND supersedes = %(id)s AND id <> %(former)s;

-- name: delete_message
-- A message leaves.
DELETE FROM wb_message WHERE user_id = %(user_id)s AND id = %(id)s;

-- name: delete_journal
-- A journal entry leaves.
DELETE FROM wb_journal WHERE user_id = %(user_id)s AND id = %(id)s;

-- name: delete_todo
-- A thing to do leaves.
DELETE FROM wb_todo WHERE user_id = %(user_id)s AND id = %(id)s;

-- name: delete_gratitude
-- A gratitude leaves.
DELETE FROM wb_gratitude WHERE user_id = %(user_id)s AND id = %(id)s;

-- name: delete_preference
-- The preferences leave.
DELETE FROM wb_preferences WHERE user_id = %(user_id)s AND %(id)s = 'preferences';

-- name: list_message
-- Messages before an instant, newest first.
SELECT supersedes, written_at, id, role, content, created_at FROM wb_message
WHERE user_id = %(user_id)s AND (created_at, id) < (%(before)s::timestamptz, %(before_id)s)
ORDER BY created_at DESC, id DESC LIMIT %(limit)s;

-- name: list_journal
-- Journal entries before an instant, newest first, drafts among them.
SELECT supersedes, written_at, id, title, body, is_draft, created_at, updated_at FROM wb_journal
WHERE user_id = %(user_id)s AND (created_at, id) < (%(before)s::timestamptz, %(before_id)s)
ORDER BY created_at DESC, id DESC LIMIT %(limit)s;

-- name: list_todo
-- Things to do before an instant, newest first, done or not.
SELECT supersedes, written_at, id, title, done, created_at, updated_at FROM wb_todo
WHERE user_id = %(user_id)s AND (created_at, id) < (%(before)s::timestamptz, %(before_id)s)
ORDER BY created_at DESC, id DESC LIMIT %(limit)s;

-- name: list_gratitude
-- Gratitude before an instant, newest first.
SELECT supersedes, written_at, id, content, created_at, updated_at FROM wb_gratitude
WHERE user_id = %(user_id)s AND (created_at, id) < (%(before)s::timestamptz, %(before_id)s)
ORDER BY created_at DESC, id DESC LIMIT %(limit)s;

-- name: list_preference
-- The preferences, if they come before an instant.
SELECT language, religion, flags, created_at, updated_at FROM wb_preferences
WHERE user_id = %(user_id)s
    AND (created_at, 'preferences'::text) < (%(before)s::timestamptz, %(before_id)s::text)
LIMIT %(limit)s;

-- name: count_kinds
-- How many of each kind there are, drafts, and the time of the newest.
SELECT 'message', count(*), 0, max(created_at) FROM wb_message WHERE user_id = %(user_id)s
UNION ALL
SELECT 'journal', count(*), count(*) FILTER (WHERE is_draft), max(created_at) FROM wb_journal
WHERE user_id = %(user_id)s
UNION ALL
SELECT 'todo', count(*), 0, max(created_at) FROM wb_todo WHERE user_id = %(user_id)s
UNION ALL
SELECT 'preference', count(*), 0, max(created_at) FROM wb_preferences WHERE user_id = %(user_id)s
UNION ALL
SELECT 'gratitude', count(*), 0, max(created_at) FROM wb_gratitude WHERE user_id = %(user_id)s;

-- name: unless_there
-- What is there stays, where a key or a user may have been quicker: 3 us beside an insert's 12 or 13.
ON CONFLICT DO NOTHING;

-- name: is_gone
-- Whether a record was there once and was deleted.
SELECT 1 FROM wb_outbox
WHERE user_id = %(user_id)s AND kind = %(kind)s AND ref_id = %(id)s AND gone;

-- name: unfiled
-- What changed and whose words are not in the index yet.
SELECT kind, ref_id, changes, gone FROM wb_outbox
WHERE user_id = %(user_id)s AND words_due ORDER BY at, ref_id LIMIT %(limit)s;

-- name: filed
-- The words of these are in the index once this transaction is committed; of which that is so. What changed since may have
-- been filed over by a worker with its earlier text, so it is filed once more, whether or not that was done already. Who
-- marks many lines takes them in the order of their key: else two would wait for each other.
WITH done AS (
    SELECT known.kind, known.ref_id, given.changes
    FROM (
        SELECT kind COLLATE "C", id COLLATE "C", changes
        FROM unnest(%(kinds)s::text[], %(ids)s::text[], %(changes)s::bigint[])
            AS given (kind, id, changes)
        ORDER BY 1, 2
    ) AS given (kind, id, changes)
    CROSS JOIN LATERAL (
        SELECT kind, ref_id FROM wb_outbox
        WHERE user_id = %(user_id)s AND kind = given.kind AND ref_id = given.id
            AND (words_due OR wb_outbox.changes <> given.changes)
        OFFSET 0 FOR UPDATE
    ) AS known
)
UPDATE wb_outbox SET words_due = wb_outbox.changes <> done.changes AND NOT gone,
    due = due OR wb_outbox.changes <> done.changes,
    erase = erase OR (wb_outbox.changes <> done.changes AND gone),
    stale = stale OR wb_outbox.changes <> done.changes
FROM done
WHERE user_id = %(user_id)s AND wb_outbox.kind = done.kind AND wb_outbox.ref_id = done.ref_id
RETURNING wb_outbox.kind, wb_outbox.ref_id, wb_outbox.changes;

-- name: to_erase
-- Deleted records of which words or vectors may remain.
SELECT kind, ref_id FROM wb_outbox WHERE user_id = %(user_id)s AND erase ORDER BY at LIMIT 1000;

-- name: erased
-- No word and no vector of deleted records remains.
WITH done AS (
    SELECT known.kind, known.ref_id
    FROM unnest(%(kinds)s::text[], %(ids)s::text[]) AS given (kind, id)
    JOIN wb_outbox AS known ON known.user_id = %(user_id)s AND known.kind = given.kind
        AND known.ref_id = given.id
    ORDER BY known.kind, known.ref_id FOR UPDATE OF known
)
UPDATE wb_outbox SET erase = false
FROM done
WHERE user_id = %(user_id)s AND wb_outbox.kind = done.kind AND wb_outbox.ref_id = done.ref_id
    AND gone;

-- name: note_call
-- One call of a tool.
INSERT INTO wb_tool_invocation_log (
    user_id, tool, status, duration_ms, top_k_effective, filters, created_at
) VALUES (%(user_id)s, %(tool)s, %(status)s, %(duration_ms)s, %(top_k_effective)s, %(filters)s,
    %(created_at)s);

-- name: prune_calls
-- Calls older than they are kept leave.
DELETE FROM wb_tool_invocation_log WHERE user_id = %(user_id)s AND created_at < %(before)s;

-- name: calls
-- The calls that are kept, newest first.
SELECT tool, status, duration_ms, top_k_effective, filters, created_at FROM wb_tool_invocation_log
WHERE user_id = %(user_id)s ORDER BY id DESC LIMIT %(limit)s;

-- name: lease_by_user
-- The worker takes what waits, of the users of whom something waits longest, some of each: to file ten
-- records of one user costs as much as two of two. Nothing, if another worker is taking the same.
-- Whether one is due is asked last: right after an import the planner takes an index over those for
-- an empty one, and would read it all for each.
UPDATE wb_outbox SET leased_until = now() + make_interval(secs => %(seconds)s),
    leased_by = %(worker)s
FROM (
    SELECT o.user_id, o.kind, o.ref_id
    FROM (
        SELECT user_id, kind, ref_id FROM (
            SELECT user_id, kind, ref_id, at, min(at) OVER mine AS since,
                row_number() OVER (mine ORDER BY at, kind, ref_id) AS place
            FROM (
                SELECT user_id, kind, ref_id, at FROM wb_outbox
                WHERE due AND (leased_until IS NULL OR leased_until < now())
                ORDER BY at LIMIT %(seen)s
            ) AS oldest
            WINDOW mine AS (PARTITION BY user_id)
        ) AS ranked
        ORDER BY place > %(share)s, since, user_id, at LIMIT %(limit)s
    ) AS chosen
    CROSS JOIN LATERAL (
        SELECT user_id, kind, ref_id, due FROM wb_outbox AS known
        WHERE known.user_id = chosen.user_id AND known.kind = chosen.kind
            AND known.ref_id = chosen.ref_id AND (leased_until IS NULL OR leased_until < now())
        OFFSET 0 FOR UPDATE SKIP LOCKED
    ) AS o
    WHERE o.due
) AS taken
WHERE wb_outbox.user_id = taken.user_id AND wb_outbox.kind = taken.kind
    AND wb_outbox.ref_id = taken.ref_id
RETURNING wb_outbox.user_id, wb_outbox.kind, wb_outbox.ref_id, changes, gone,
    NOT words_due, anew;

-- name: lease_due
-- Likewise what waits longest, of any user, and no other worker is taking.
UPDATE wb_outbox SET leased_until = now() + make_interval(secs => %(seconds)s),
    leased_by = %(worker)s
FROM (
    SELECT user_id, kind, ref_id FROM wb_outbox
    WHERE due AND (leased_until IS NULL OR leased_until < now())
    ORDER BY at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
) AS taken
WHERE wb_outbox.user_id = taken.user_id AND wb_outbox.kind = taken.kind
    AND wb_outbox.ref_id = taken.ref_id
RETURNING wb_outbox.user_id, wb_outbox.kind, wb_outbox.ref_id, changes, gone,
    NOT words_due, anew;

-- name: lease_words
-- Without an encoder: words that are due. By user, as the index over them has them: what waits for a
-- vector alone may be a million lines, and none of it is looked at.
UPDATE wb_outbox SET leased_until = now() + make_interval(secs => %(seconds)s),
    leased_by = %(worker)s
FROM (
    SELECT user_id, kind, ref_id FROM wb_outbox
    WHERE words_due AND (leased_until IS NULL OR leased_until < now())
    ORDER BY user_id, at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
) AS taken
WHERE wb_outbox.user_id = taken.user_id AND wb_outbox.kind = taken.kind
    AND wb_outbox.ref_id = taken.ref_id
RETURNING wb_outbox.user_id, wb_outbox.kind, wb_outbox.ref_id, changes, gone,
    NOT words_due, anew;

-- name: lease_plain
-- Likewise what else needs no encoder: what is gone, and words that may be lost.
UPDATE wb_outbox SET leased_until = now() + make_interval(secs => %(seconds)s),
    leased_by = %(worker)s
FROM (
    SELECT user_id, kind, ref_id FROM wb_outbox
    WHERE due AND (gone OR anew) AND (leased_until IS NULL OR leased_until < now())
    ORDER BY user_id, at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
) AS taken
WHERE wb_outbox.user_id = taken.user_id AND wb_outbox.kind = taken.kind
    AND wb_outbox.ref_id = taken.ref_id
RETURNING wb_outbox.user_id, wb_outbox.kind, wb_outbox.ref_id, changes, gone,
    NOT words_due, anew;

-- name: lease_others_below
-- Likewise what has the vectors of another encoder, newest first: that is asked for most. A range of
-- an index, read from its end, since a million rows are not to be sorted for a few.
UPDATE wb_outbox SET leased_until = now() + make_interval(secs => %(seconds)s),
    leased_by = %(worker)s
FROM (
    SELECT user_id, kind, ref_id FROM wb_outbox
    WHERE NOT gone AND NOT due AND encoder < %(encoder)s
        AND (leased_until IS NULL OR leased_until < now())
    ORDER BY encoder DESC, at DESC LIMIT %(limit)s FOR UPDATE SKIP LOCKED
) AS taken
WHERE wb_outbox.user_id = taken.user_id AND wb_outbox.kind = taken.kind
    AND wb_outbox.ref_id = taken.ref_id
RETURNING wb_outbox.user_id, wb_outbox.kind, wb_outbox.ref_id, changes, gone,
    NOT words_due, anew;

-- name: lease_others_above
-- The other range.
UPDATE wb_outbox SET leased_until = now() + make_interval(secs => %(seconds)s),
    leased_by = %(worker)s
FROM (
    SELECT user_id, kind, ref_id FROM wb_outbox
    WHERE NOT gone AND NOT due AND encoder > %(encoder)s
        AND (leased_until IS NULL OR leased_until < now())
    ORDER BY encoder DESC, at DESC LIMIT %(limit)s FOR UPDATE SKIP LOCKED
) AS taken
WHERE wb_outbox.user_id = taken.user_id AND wb_outbox.kind = taken.kind
    AND wb_outbox.ref_id = taken.ref_id
RETURNING wb_outbox.user_id, wb_outbox.kind, wb_outbox.ref_id, changes, gone,
    NOT words_due, anew;

-- name: lease_done
-- What was leased is filed; what changed since then waits again, and is given back: even where another
-- has filed it since, for its earlier text may just have been filed over that. Of it nothing was filed
-- that was lost. What another has leased since stays leased.
WITH done AS (
    SELECT known.user_id, known.kind, known.ref_id, given.changes
    FROM unnest(%(users)s::text[], %(kinds)s::text[], %(ids)s::text[], %(changes)s::bigint[])
        AS given (user_id, kind, id, changes)
    JOIN wb_outbox AS known ON known.user_id = given.user_id AND known.kind = given.kind
        AND known.ref_id = given.id
    ORDER BY known.user_id, known.kind, known.ref_id FOR UPDATE OF known
)
UPDATE wb_outbox SET
    leased_until = CASE WHEN leased_by = %(worker)s THEN NULL ELSE leased_until END,
    due = wb_outbox.changes <> done.changes OR (due AND NOT (gone OR %(has_encoder)s)),
    words_due = wb_outbox.changes <> done.changes AND NOT gone,
    erase = wb_outbox.changes <> done.changes AND gone,
    stale = stale OR wb_outbox.changes <> done.changes,
    anew = anew AND wb_outbox.changes <> done.changes,
    encoder = CASE WHEN %(has_encoder)s THEN %(encoder)s ELSE encoder END
FROM done
WHERE wb_outbox.user_id = done.user_id AND wb_outbox.kind = done.kind
    AND wb_outbox.ref_id = done.ref_id
RETURNING wb_outbox.user_id, wb_outbox.kind, wb_outbox.ref_id, wb_outbox.changes, gone,
    wb_outbox.changes <> done.changes;

-- name: hold
-- What is leased and takes long stays leased. Looked up one by one: the planner takes those of one
-- worker for few, and would compare each of them with each that is given.
WITH done AS (
    SELECT known.user_id, known.kind, known.ref_id
    FROM (
        SELECT user_id COLLATE "C", kind COLLATE "C", id COLLATE "C"
        FROM unnest(%(users)s::text[], %(kinds)s::text[], %(ids)s::text[])
            AS given (user_id, kind, id)
        ORDER BY 1, 2, 3
    ) AS given (user_id, kind, id)
    CROSS JOIN LATERAL (
        SELECT user_id, kind, ref_id FROM wb_outbox
        WHERE user_id = given.user_id AND kind = given.kind AND ref_id = given.id
            AND leased_by = %(worker)s AND leased_until IS NOT NULL
        OFFSET 0 FOR UPDATE
    ) AS known
)
UPDATE wb_outbox SET leased_until = now() + make_interval(secs => %(seconds)s)
FROM done
WHERE wb_outbox.user_id = done.user_id AND wb_outbox.kind = done.kind
    AND wb_outbox.ref_id = done.ref_id AND leased_by = %(worker)s;

-- name: give_back
-- What was leased and not begun, unless another has leased it since.
WITH done AS (
    SELECT known.user_id, known.kind, known.ref_id, given.changes
    FROM unnest(%(users)s::text[], %(kinds)s::text[], %(ids)s::text[], %(changes)s::bigint[])
        AS given (user_id, kind, id, changes)
    JOIN wb_outbox AS known ON known.user_id = given.user_id AND known.kind = given.kind
        AND known.ref_id = given.id
    ORDER BY known.user_id, known.kind, known.ref_id FOR UPDATE OF known
)
UPDATE wb_outbox SET leased_until = NULL
FROM done
WHERE wb_outbox.user_id = done.user_id AND wb_outbox.kind = done.kind
    AND wb_outbox.ref_id = done.ref_id AND leased_by = %(worker)s;

-- name: is_worker
-- Whether what waits is shown to us.
SELECT pg_catalog.pg_has_role(current_user, 'commonplace_worker', 'MEMBER');

-- name: renew
-- Everything waits again for a worker, for its words even if the index seems to have them, and for
-- its vector; what is gone, to leave the index. No search does it: it could not know what is lost.
WITH known AS (
    SELECT user_id, kind, ref_id FROM wb_outbox ORDER BY user_id, kind, ref_id FOR UPDATE
)
UPDATE wb_outbox SET due = true, anew = NOT gone
FROM known
WHERE wb_outbox.user_id = known.user_id AND wb_outbox.kind = known.kind
    AND wb_outbox.ref_id = known.ref_id;

-- name: waiting
-- How much waits for the worker, and for how many seconds the oldest of it.
SELECT count(*), coalesce(extract(epoch FROM now() - min(at)), 0) FROM wb_outbox WHERE due;

-- name: unpacked
-- For how many seconds anything has waited to be packed, and how many users a worker could not pack at its first try.
SELECT coalesce(extract(epoch FROM now() - (
    SELECT min(unpacked_at) FROM wb_index WHERE unpacked_at IS NOT NULL
)), 0), (
    SELECT count(*) FROM wb_index WHERE packing_tries > 1
);

-- name: last_changes
-- How often some records have changed by now.
SELECT known.* FROM unnest(%(kinds)s::text[], %(ids)s::text[]) AS a (kind, id)
CROSS JOIN LATERAL (
    SELECT kind, ref_id, changes FROM wb_outbox
    WHERE user_id = %(user_id)s AND kind = a.kind AND ref_id = a.id OFFSET 0
) AS known;
