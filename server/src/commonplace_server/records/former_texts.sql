-- The queries of a user's former texts: what edits of records replaced.

-- name: former_ids
-- The ids of all of a journal, the newest edit first.
SELECT id FROM wb_former
WHERE user_id = %(user_id)s AND kind = ANY (%(kinds)s::text[]) ORDER BY id DESC;

-- name: former_all
-- All of a journal, the newest edit first.
SELECT content FROM wb_former
WHERE user_id = %(user_id)s AND kind = ANY (%(kinds)s::text[]) ORDER BY id DESC;

-- name: former_of
-- Those of one record.
SELECT content FROM wb_former
WHERE user_id = %(user_id)s AND kind = %(kind)s AND ref_id = %(ref_id)s ORDER BY id DESC;

-- name: is_known
-- Whether there is such a record, or was: each has a line of the outbox from its first moment.
SELECT 1 FROM wb_outbox
WHERE user_id = %(user_id)s AND kind = %(kind)s AND ref_id = %(ref_id)s;

-- name: keep
-- Keeps one, in place of the one of the same edit; none of a record that is gone. Who deletes the record
-- comes before, and this keeps nothing, or after, and takes it along: its line is locked for that.
INSERT INTO wb_former (user_id, id, kind, ref_id, content)
SELECT user_id, %(id)s, kind, ref_id, %(content)s FROM wb_outbox
WHERE user_id = %(user_id)s AND kind = %(kind)s AND ref_id = %(ref_id)s AND NOT gone FOR UPDATE
ON CONFLICT (user_id, id) DO UPDATE SET content = excluded.content
WHERE wb_former.content <> excluded.content;

-- name: lock_removed
-- The lines of the records of some edits, in the order of their key: a line is locked before what is
-- below it, by whoever changes either.
SELECT FROM wb_outbox AS known
WHERE user_id = %(user_id)s AND (kind, ref_id) IN (
    SELECT kind, ref_id FROM wb_former WHERE user_id = %(user_id)s AND id = ANY (%(ids)s::text[])
) ORDER BY user_id, kind, ref_id FOR UPDATE;

-- name: remove
-- Erases some edits.
DELETE FROM wb_former WHERE user_id = %(user_id)s AND id = ANY (%(ids)s::text[]);

-- name: lock_dropped
-- Likewise the lines of some records.
SELECT FROM wb_outbox AS known
WHERE user_id = %(user_id)s AND (kind, ref_id) IN (
    SELECT kind, id FROM unnest(%(kinds)s::text[], %(ids)s::text[]) AS a (kind, id)
) ORDER BY user_id, kind, ref_id FOR UPDATE;

-- name: drop
-- Erases all of some records.
DELETE FROM wb_former USING unnest(%(kinds)s::text[], %(ids)s::text[]) AS a (kind, id)
WHERE wb_former.user_id = %(user_id)s AND wb_former.kind = a.kind AND wb_former.ref_id = a.id;
