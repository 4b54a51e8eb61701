-- The queries of memory. A record is read in the columns that `record_of` takes.

-- name: state
-- What this file is known by, and how far its outbox goes.
SELECT name, (SELECT coalesce(max(seq), 0) FROM wb_outbox) FROM state;

-- name: visible_messages
-- Those that have not expired.
SELECT * FROM main.wb_message
WHERE 'memory:message/' || id NOT IN (SELECT ref FROM temp.hidden)

-- name: visible_journals
-- Those that have not expired.
SELECT * FROM main.wb_journal
WHERE 'memory:journal/' || id NOT IN (SELECT ref FROM temp.hidden)

-- name: visible_todos
-- Those that have not expired.
SELECT * FROM main.wb_todo
WHERE 'memory:todo/' || id NOT IN (SELECT ref FROM temp.hidden)

-- name: visible_gratitudes
-- Those that have not expired.
SELECT * FROM main.wb_gratitude
WHERE 'memory:gratitude/' || id NOT IN (SELECT ref FROM temp.hidden)

-- name: visible_preferences
-- Those that have not expired.
SELECT * FROM main.wb_preferences
WHERE 'memory:preference/preferences' NOT IN (SELECT ref FROM temp.hidden)

-- name: find_message
-- One message.
SELECT supersedes, written_at, id, role, content, created_at FROM wb_message
WHERE user_id = :user_id AND id = :id;

-- name: find_journal
-- One journal entry.
SELECT supersedes, written_at, id, title, body, is_draft, created_at, updated_at FROM wb_journal
WHERE user_id = :user_id AND id = :id;

-- name: find_todo
-- One thing to do.
SELECT supersedes, written_at, id, title, done, created_at, updated_at FROM wb_todo
WHERE user_id = :user_id AND id = :id;

-- name: find_gratitude
-- One gratitude.
SELECT supersedes, written_at, id, content, created_at, updated_at FROM wb_gratitude
WHERE user_id = :user_id AND id = :id;

-- name: find_preference
-- The preferences, under the one id they have.
SELECT language, religion, flags, created_at, updated_at FROM wb_preferences
WHERE user_id = :user_id AND :id = 'preferences';

-- name: find_successor_message
-- The message that took the place of another.
SELECT supersedes, written_at, id, role, content, created_at FROM wb_message
WHERE user_id = :user_id AND supersedes = :id AND supersedes <> '';

-- name: find_successor_journal
-- The journal entry that took the place of another.
SELECT supersedes, written_at, id, title, body, is_draft, created_at, updated_at FROM wb_journal
WHERE user_id = :user_id AND supersedes = :id AND supersedes <> '';

-- name: find_successor_todo
-- The thing to do that took the place of another.
SELECT supersedes, written_at, id, title, done, created_at, updated_at FROM wb_todo
WHERE user_id = :user_id AND supersedes = :id AND supersedes <> '';

-- name: find_successor_gratitude
-- The gratitude that took the place of another.
SELECT supersedes, written_at, id, content, created_at, updated_at FROM wb_gratitude
WHERE user_id = :user_id AND supersedes = :id AND supersedes <> '';

-- name: save_message
-- A new message; there is no other way to write one.
INSERT INTO wb_message (id, user_id, role, content, created_at, supersedes, written_at)
VALUES (:id, :user_id, :role, :content, :created_at, :supersedes, :written_at);

-- name: save_journal
-- A journal entry, new or altered.
INSERT INTO wb_journal (id, user_id, title, body, is_draft, created_at, updated_at, supersedes, written_at)
VALUES (:id, :user_id, :title, :body, :is_draft, :created_at, :updated_at, :supersedes, :written_at)
ON CONFLICT (id) DO UPDATE SET title = excluded.title, body = excluded.body,
    is_draft = excluded.is_draft, created_at = excluded.created_at,
    updated_at = excluded.updated_at, written_at = excluded.written_at;

-- name: save_todo
-- A thing to do, new or altered.
INSERT INTO wb_todo (id, user_id, title, done, created_at, updated_at, supersedes, written_at)
VALUES (:id, :user_id, :title, :done, :created_at, :updated_at, :supersedes, :written_at)
ON CONFLICT (id) DO UPDATE SET title = excluded.title, done = excluded.done,
    created_at = excluded.created_at, updated_at = excluded.updated_at,
    written_at = excluded.written_at;

-- name: save_gratitude
-- A gratitude, new or altered.
INSERT INTO wb_gratitude (id, user_id, content, created_at, updated_at, supersedes, written_at)
VALUES (:id, :user_id, :content, :created_at, :updated_at, :supersedes, :written_at)
ON CONFLICT (id) DO UPDATE SET content = excluded.content, created_at = excluded.created_at,
    updated_at = excluded.updated_at, written_at = excluded.written_at;

-- name: save_preference
-- The preferences, new or altered.
INSERT INTO wb_preferences (user_id, language, religion, flags, created_at, updated_at)
VALUES (:user_id, :language, :religion, :flags, :created_at, :updated_at)
ON CONFLICT (user_id) DO UPDATE SET language = excluded.language, religion = excluded.religion,
    flags = excluded.flags, updated_at = excluded.updated_at;

-- name: relink_message
-- Links the message that replaced a deleted one to what that one had replaced.
UPDATE wb_message SET supersedes = :former WHERE user_id = :user_id AND supersedes = :id AND id <> :former;

-- name: relink_journal
-- Links the journal entry that replaced a deleted one to what that one had replaced.
UPDATE wb_journal SET supersedes = :former WHERE user_id = :user_id AND supersedes = :id AND id <> :former;

-- name: relink_todo
-- Links the thing to do that replaced a deleted one to what that one had replaced.
UPDATE wb_todo SET supersedes = :former WHERE user_id = :user_id AND supersedes = :id AND id <> :former;

-- name: relink_gratitude
-- Links the gratitude that replaced a deleted one to what that one had replaced.
UPDATE wb_gratitude SET supersedes = :former WHERE user_id = :user_id AND supersedes = :id AND id <> :former;

-- name: delete_message
-- A message leaves.
DELETE FROM wb_message WHERE user_id = :user_id AND id = :id;

-- name: delete_journal
-- A journal entry leaves.
DELETE FROM wb_journal WHERE user_id = :user_id AND id = :id;

-- name: delete_todo
-- A thing to do leaves.
DELETE FROM wb_todo WHERE user_id = :user_id AND id = :id;

-- name: delete_gratitude
-- A gratitude leaves.
DELETE FROM wb_gratitude WHERE user_id = :user_id AND id = :id;

-- name: delete_preference
-- The preferences leave.
DELETE FROM wb_preferences WHERE user_id = :user_id AND :id = 'preferences';

-- name: list_message
-- Messages before an instant, newest first.
SELECT supersedes, written_at, id, role, content, created_at FROM wb_message
WHERE user_id = :user_id AND (created_at, id) < (:before, :before_id)
ORDER BY created_at DESC, id DESC LIMIT :limit;

-- name: list_journal
-- Journal entries before an instant, newest first, drafts among them.
SELECT supersedes, written_at, id, title, body, is_draft, created_at, updated_at FROM wb_journal
WHERE user_id = :user_id AND (created_at, id) < (:before, :before_id)
ORDER BY created_at DESC, id DESC LIMIT :limit;

-- name: list_todo
-- Things to do before an instant, newest first, done or not.
SELECT supersedes, written_at, id, title, done, created_at, updated_at FROM wb_todo
WHERE user_id = :user_id AND (created_at, id) < (:before, :before_id)
ORDER BY created_at DESC, id DESC LIMIT :limit;

-- name: list_gratitude
-- Gratitude before an instant, newest first.
SELECT supersedes, written_at, id, content, created_at, updated_at FROM wb_gratitude
WHERE user_id = :user_id AND (created_at, id) < (:before, :before_id)
ORDER BY created_at DESC, id DESC LIMIT :limit;

-- name: list_preference
-- The preferences, if they come before an instant.
SELECT language, religion, flags, created_at, updated_at FROM wb_preferences
WHERE user_id = :user_id AND (created_at, 'preferences') < (:before, :before_id) LIMIT :limit;

-- name: count_kinds
-- How many of each kind there are, drafts, and the time of the newest.
SELECT 'message', count(*), 0, max(created_at) FROM wb_message WHERE user_id = :user_id
UNION ALL
SELECT 'journal', count(*), coalesce(sum(is_draft), 0), max(created_at) FROM wb_journal
WHERE user_id = :user_id
UNION ALL
SELECT 'todo', count(*), 0, max(created_at) FROM wb_todo WHERE user_id = :user_id
UNION ALL
SELECT 'preference', count(*), 0, max(created_at) FROM wb_preferences WHERE user_id = :user_id
UNION ALL
SELECT 'gratitude', count(*), 0, max(created_at) FROM wb_gratitude WHERE user_id = :user_id;

-- name: is_gone
-- Whether a record was there once and was deleted.
SELECT 1 FROM wb_outbox WHERE user_id = :user_id AND kind = :kind AND ref_id = :id AND gone;

-- name: changed_since
-- The records that changed after a mark and before another, the last change first; by their numbers,
-- which the sign keeps SQLite to: by the user it reads and sorts all.
SELECT seq, kind, ref_id FROM wb_outbox
WHERE +user_id = :user_id AND seq > :seq AND seq < :below
ORDER BY seq DESC LIMIT :limit;

-- name: to_erase
-- Deleted records of which bytes may remain.
SELECT kind, ref_id FROM wb_outbox WHERE user_id = :user_id AND erase ORDER BY seq LIMIT 1000;

-- name: erased
-- No byte of a deleted record remains.
UPDATE wb_outbox SET erase = 0 WHERE user_id = :user_id AND kind = :kind AND ref_id = :id AND gone;

-- name: note_call
-- One call of a tool.
INSERT INTO wb_tool_invocation_log (
    user_id, tool, status, duration_ms, top_k_effective, filters, created_at
) VALUES (:user_id, :tool, :status, :duration_ms, :top_k_effective, :filters, :created_at);

-- name: prune_calls
-- Calls older than they are kept leave.
DELETE FROM wb_tool_invocation_log WHERE created_at < :before;

-- name: calls
-- The calls that are kept, newest first.
SELECT tool, status, duration_ms, top_k_effective, filters, created_at FROM wb_tool_invocation_log
WHERE user_id = :user_id ORDER BY id DESC LIMIT :limit;

-- name: check_pages
-- Whether the file is whole.
PRAGMA integrity_check(1);
