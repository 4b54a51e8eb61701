-- The queries of the notebook on Postgres: of one owner, who is the first of each key.

-- name: line
-- Entries in a list, with their place, whether or not they have expired.
SELECT e.id, e.scope, e.at, e.more, t.expires_at, e.place, e.written_at
FROM cp_entries AS e LEFT JOIN wb_times AS t
    ON t.user_id = e.user_id AND t.kind = e.journal AND t.ref_id = e.scope || '#' || e.id
WHERE e.user_id = %(owner)s AND e.journal = 'notebook';

-- name: shown
-- Appended to a reading: those that have not expired; now is null for who may see that too.
AND (t.expires_at IS NULL OR %(now)s::timestamptz IS NULL OR t.expires_at > %(now)s::timestamptz);

-- name: newest
-- Appended to a reading: of a section, newest first.
AND e.scope = %(section)s ORDER BY e.at DESC, e.place DESC LIMIT %(length)s OFFSET %(start)s;

-- name: of_id_start
-- Appended to a reading: those of some sections whose id begins so.
AND e.scope = ANY (%(sections)s::text[]) AND e.id >= %(low)s AND e.id < %(high)s
ORDER BY e.place LIMIT 50;

-- name: of_hash
-- Appended to a reading: those of some sections that were a commit whose hash begins so.
AND e.scope = ANY (%(sections)s::text[]) AND starts_with(e.more::json ->> 'hash', %(low)s)
ORDER BY e.place LIMIT 50;

-- name: whole
-- Entries whole, with their place, whether or not they have expired.
SELECT e.id, e.scope, e.at, e.more, t.expires_at, e.written_at, e.body, e.supersedes, e.place
FROM cp_entries AS e LEFT JOIN wb_times AS t
    ON t.user_id = e.user_id AND t.kind = e.journal AND t.ref_id = e.scope || '#' || e.id
WHERE e.user_id = %(owner)s AND e.journal = 'notebook';

-- name: of_refs
-- Appended to a reading: those of some `section#id`, by their ids and names.
AND e.id = ANY (%(ids)s::text[]) AND e.scope || '#' || e.id = ANY (%(names)s::text[]);

-- name: next_places
-- Appended to a reading: the first of those after a place.
AND e.place > %(after)s ORDER BY e.place LIMIT %(limit)s;

-- name: held_before
-- Appended to a reading: an entry; where it has expired, the one whose place it had taken, and so on.
AND e.id IN (
    WITH RECURSIVE before (id) AS (
        SELECT %(id)s::text COLLATE "C"
        UNION
        SELECT gone.supersedes FROM before
        JOIN cp_entries AS gone ON gone.user_id = %(owner)s AND gone.journal = 'notebook' AND gone.id = before.id
        JOIN wb_times AS ends ON ends.user_id = %(owner)s AND ends.kind = 'notebook'
            AND ends.ref_id = gone.scope || '#' || gone.id AND ends.expires_at <= %(now)s::timestamptz
        WHERE gone.supersedes <> '')
    SELECT id FROM before
) ORDER BY e.place LIMIT 1;

-- name: before
-- Appended to a reading: the one before an entry in the order of its section.
AND e.scope = %(section)s AND (e.at, e.place) < (SELECT own.at, own.place FROM cp_entries AS own
    WHERE own.user_id = %(owner)s AND own.journal = 'notebook' AND own.id = %(id)s)
ORDER BY e.at DESC, e.place DESC LIMIT 1;

-- name: behind
-- Appended to a reading: the one after it.
AND e.scope = %(section)s AND (e.at, e.place) > (SELECT own.at, own.place FROM cp_entries AS own
    WHERE own.user_id = %(owner)s AND own.journal = 'notebook' AND own.id = %(id)s)
ORDER BY e.at, e.place LIMIT 1;

-- name: current
-- The current overviews of some sections, or of all where none are named, with when the newest entry of each was
-- and when it was last written to, and who put it in place.
SELECT o.section, o.body, coalesce(newest.at, o.written_at), greatest(newest.written_at, o.written_at),
    o.author, o.address
FROM (
    SELECT DISTINCT ON (section) section, body, written_at, author, address FROM cp_overviews
    WHERE user_id = %(owner)s
        AND (%(sections)s::text[] IS NULL OR section = ANY (%(sections)s::text[]))
    ORDER BY section, number DESC
) AS o CROSS JOIN LATERAL (
    SELECT max(e.at) AS at, max(e.written_at) AS written_at FROM cp_entries AS e
    WHERE e.user_id = %(owner)s AND e.journal = 'notebook' AND e.scope = o.section
) AS newest;

-- name: left_by
-- The overview of a section as each of some entries left it.
SELECT e.id, coalesce((
    SELECT o.body FROM cp_overviews AS o
    WHERE o.user_id = e.user_id AND o.section = %(section)s
        AND (o.after < e.place OR (o.after = e.place AND o.entry_id = e.id))
    ORDER BY o.number DESC LIMIT 1), '')
FROM cp_entries AS e
WHERE e.user_id = %(owner)s AND e.journal = 'notebook' AND e.id = ANY (%(ids)s::text[]);

-- name: linking
-- Appended to a reading: those that link to one of some targets, newest first.
AND e.folded && %(targets)s::text[] ORDER BY e.at DESC, e.place DESC;

-- name: linking_overviews
-- The sections whose current overviews link to one of some targets.
SELECT o.section FROM cp_overviews AS o
WHERE o.user_id = %(owner)s AND o.links && %(targets)s::text[] AND NOT EXISTS (
    SELECT FROM cp_overviews AS later
    WHERE later.user_id = o.user_id AND later.section = o.section AND later.number > o.number
) ORDER BY o.section;

-- name: counts
-- How many entries each section ever had, how many of them have expired, and when the newest of the others was.
SELECT e.scope, count(*), count(*) FILTER (WHERE t.expires_at <= %(now)s::timestamptz),
    max(e.at) FILTER (WHERE NOT coalesce(t.expires_at <= %(now)s::timestamptz, false))
FROM cp_entries AS e LEFT JOIN wb_times AS t
    ON t.user_id = e.user_id AND t.kind = e.journal AND t.ref_id = e.scope || '#' || e.id
WHERE e.user_id = %(owner)s AND e.journal = 'notebook'
    AND (%(section)s::text IS NULL OR e.scope = %(section)s::text)
GROUP BY e.scope;

-- name: sections
-- Every section that there is.
SELECT DISTINCT section FROM cp_overviews WHERE user_id = %(owner)s ORDER BY section;

-- name: overview
-- The current overview of a section, and who put it in place.
SELECT body, after, author, address FROM cp_overviews
WHERE user_id = %(owner)s AND section = %(section)s ORDER BY number DESC LIMIT 1;

-- name: overviews
-- The current overviews of some sections.
SELECT DISTINCT ON (section) section, body FROM cp_overviews
WHERE user_id = %(owner)s AND section = ANY (%(sections)s::text[]) ORDER BY section, number DESC;

-- name: versions
-- What the overview of a section was, the last as it is now.
SELECT body FROM cp_overviews
WHERE user_id = %(owner)s AND section = %(section)s ORDER BY number;

-- name: around
-- The version that came with an entry, and the one before it.
SELECT own.body, coalesce((
    SELECT former.body FROM cp_overviews AS former
    WHERE former.user_id = own.user_id AND former.section = own.section AND former.number < own.number
    ORDER BY former.number DESC LIMIT 1), '')
FROM cp_overviews AS own
WHERE own.user_id = %(owner)s AND own.section = %(section)s AND own.entry_id = %(id)s
ORDER BY own.number LIMIT 1;

-- name: all_versions
-- Every version of every overview, and whether it is the current one.
SELECT section, number, body, number = max(number) OVER (PARTITION BY section)
FROM cp_overviews WHERE user_id = %(owner)s ORDER BY section, number;

-- name: drop_versions
-- All that an overview is and was leaves.
DELETE FROM cp_overviews WHERE user_id = %(owner)s AND section = %(section)s RETURNING number;

-- name: alter_version
-- A version with another text.
UPDATE cp_overviews SET body = %(body)s, version = %(version)s, links = %(links)s::text[]
WHERE user_id = %(owner)s AND section = %(section)s AND number = %(number)s;

-- name: whole_versions
-- What overviews are and were, each with the place of the newest entry that its writer could read.
SELECT section, body, written_at, entry_id, after, number, author, address FROM cp_overviews WHERE user_id = %(owner)s
ORDER BY after, section, number;

-- name: add_version
-- A new version of the overview of a section, which is the current one from now on.
INSERT INTO cp_overviews (
    user_id, section, number, version, body, links, entry_id, after, written_at, author, address
) VALUES (
    %(owner)s, %(section)s, (
        SELECT coalesce(max(number), 0) + 1 FROM cp_overviews
        WHERE user_id = %(owner)s AND section = %(section)s
    ), %(version)s, %(body)s, %(links)s::text[], %(id)s, %(after)s, %(at)s,
    %(author)s, %(address)s
);

-- name: put_version
-- A version of the overview of a section that was not there.
INSERT INTO cp_overviews (
    user_id, section, number, version, body, links, entry_id, after, written_at, author, address
) VALUES (
    %(owner)s, %(section)s, %(number)s, %(version)s, %(body)s, %(links)s::text[], %(id)s, %(after)s, %(at)s,
    %(author)s, %(address)s
);

-- name: last_place
-- The place of the newest entry.
SELECT coalesce(max(place), 0) FROM cp_entries WHERE user_id = %(owner)s AND journal = 'notebook';

-- name: put_end
-- When an entry expires.
INSERT INTO wb_times (user_id, kind, ref_id, expires_at)
SELECT e.user_id, e.journal, e.scope || '#' || e.id, %(expires)s::timestamptz FROM cp_entries AS e
WHERE e.user_id = %(owner)s AND e.journal = 'notebook' AND e.id = %(id)s
ON CONFLICT (user_id, kind, ref_id) DO UPDATE SET expires_at = excluded.expires_at;

-- name: drop_end
-- An entry expires no more.
UPDATE wb_times AS t SET expires_at = NULL FROM cp_entries AS e
WHERE e.user_id = %(owner)s AND e.journal = 'notebook' AND e.id = %(id)s
    AND t.user_id = e.user_id AND t.kind = e.journal AND t.ref_id = e.scope || '#' || e.id;

-- name: drop_no_end
-- Of what never expires, and was replaced by nothing that is gone, nothing is noted.
DELETE FROM wb_times AS t USING cp_entries AS e
WHERE e.user_id = %(owner)s AND e.journal = 'notebook' AND e.id = %(id)s
    AND t.user_id = e.user_id AND t.kind = e.journal AND t.ref_id = e.scope || '#' || e.id
    AND t.expires_at IS NULL AND t.replaced_at IS NULL;

-- name: note_end
-- An entry whose end is set, and what took its place or that of one after it, are filed once more: some may be
-- shown again, or have replaced another.
WITH RECURSIVE later (id) AS (
    SELECT %(id)s::text COLLATE "C"
    UNION
    SELECT next.id FROM later JOIN cp_entries AS next ON next.user_id = %(owner)s
        AND next.journal = 'notebook' AND next.supersedes = later.id AND next.supersedes <> ''
)
UPDATE cp_entries SET supersedes = supersedes
WHERE user_id = %(owner)s AND journal = 'notebook' AND id IN (SELECT id FROM later);

-- name: rename_times
-- The times of a section's entries, before it is renamed.
UPDATE wb_times SET ref_id = %(new)s || substr(ref_id, length(%(old)s) + 1)
WHERE user_id = %(owner)s AND kind = 'notebook' AND starts_with(ref_id, %(old)s || '#');

-- name: note_renamed
-- What took the place of an entry of a section that was renamed names it otherwise.
UPDATE cp_entries AS later SET supersedes = later.supersedes FROM cp_entries AS moved
WHERE moved.user_id = %(owner)s AND moved.journal = 'notebook' AND moved.scope = %(new)s
    AND later.user_id = moved.user_id AND later.journal = moved.journal AND later.supersedes <> ''
    AND later.supersedes = moved.id AND later.scope <> %(new)s;

-- name: rename_entries
-- The entries of a section that is renamed.
UPDATE cp_entries SET scope = %(new)s
WHERE user_id = %(owner)s AND journal = 'notebook' AND scope = %(old)s;

-- name: rename_overviews
-- The versions of its overview.
UPDATE cp_overviews SET section = %(new)s WHERE user_id = %(owner)s AND section = %(old)s;

-- name: add_move
-- A section's new name.
INSERT INTO cp_moves (user_id, old, new) VALUES (%(owner)s, %(old)s, %(new)s);

-- name: moves
-- What sections were called, in the order of the moves.
SELECT old, new FROM cp_moves WHERE user_id = %(owner)s ORDER BY place;

-- name: successors
-- Appended to a reading: what took the place of one, the newest first. In place of one that has expired
-- counts what took its place.
AND e.id IN (
    WITH RECURSIVE later (id, is_open) AS (
        SELECT %(id)s::text COLLATE "C", true
        UNION
        SELECT next.id, coalesce(ends.expires_at <= %(now)s::timestamptz, false) FROM later
        JOIN cp_entries AS next ON next.user_id = %(owner)s AND next.journal = 'notebook'
            AND next.supersedes = later.id AND next.supersedes <> ''
        LEFT JOIN wb_times AS ends ON ends.user_id = %(owner)s AND ends.kind = 'notebook'
            AND ends.ref_id = next.scope || '#' || next.id
        WHERE later.is_open)
    SELECT id FROM later WHERE NOT is_open
) ORDER BY e.at DESC, e.place DESC;

-- name: expired_successors
-- Appended to a reading: what took the place of one, and has expired.
AND e.supersedes = %(id)s AND e.supersedes <> '' AND t.expires_at <= %(now)s::timestamptz ORDER BY e.id;

-- name: replaced
-- The entries of a section whose places others took, with those, newest first. Of a chain whose middle has
-- expired both ends count.
WITH RECURSIVE held AS (
    SELECT e.id, e.scope, e.at, e.place, e.written_at, e.supersedes,
        coalesce(t.expires_at <= %(now)s::timestamptz, false) AS is_over
    FROM cp_entries AS e LEFT JOIN wb_times AS t
        ON t.user_id = e.user_id AND t.kind = e.journal AND t.ref_id = e.scope || '#' || e.id
    WHERE e.user_id = %(owner)s AND e.journal = 'notebook'
), taken (former, later) AS (
    SELECT supersedes, id FROM held WHERE supersedes <> '' AND NOT is_over
    UNION
    SELECT gone.supersedes, taken.later FROM taken JOIN held AS gone ON gone.id = taken.former
    WHERE gone.is_over AND gone.supersedes <> ''
)
SELECT old.id, old.scope, old.at, old.place, new.id, new.scope, new.at, new.place, new.written_at
FROM taken JOIN held AS old ON old.id = taken.former JOIN held AS new ON new.id = taken.later
WHERE NOT old.is_over
ORDER BY new.at DESC, new.place DESC;

-- name: alter_more
-- An entry with other facts beside its text.
UPDATE cp_entries SET more = %(more)s
WHERE user_id = %(owner)s AND journal = 'notebook' AND id = %(id)s;

-- name: relink
-- What replaced one that leaves is linked to what that one had replaced.
UPDATE cp_entries AS later SET supersedes = gone.supersedes FROM cp_entries AS gone
WHERE gone.user_id = %(owner)s AND gone.journal = 'notebook' AND gone.id = %(id)s
    AND later.user_id = gone.user_id AND later.journal = gone.journal AND later.supersedes = gone.id;

-- name: unname
-- No version of an overview names it as the entry that it came with.
UPDATE cp_overviews SET entry_id = '' WHERE user_id = %(owner)s AND entry_id = %(id)s;

-- name: known
-- Those of some ids whose entries are there, or were deleted.
SELECT id FROM cp_entries
WHERE user_id = %(owner)s AND journal = 'notebook' AND id = ANY (%(ids)s::text[])
UNION
SELECT split_part(ref_id, '#', 2) FROM wb_outbox
WHERE user_id = %(owner)s AND kind = 'notebook' AND gone
    AND split_part(ref_id, '#', 2) = ANY (%(ids)s::text[]);

-- name: taken_over
-- Whether a repository was moved here as it was at a commit.
SELECT key FROM cp_keys
WHERE user_id = %(owner)s AND journal = 'notebook' AND key = %(key)s;

-- name: note_taken_over
-- It was.
INSERT INTO cp_keys (user_id, journal, key, ids, at) VALUES (%(owner)s, 'notebook', %(key)s, '{}', %(at)s);
