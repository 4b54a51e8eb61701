-- The queries of transcripts on Postgres beside those of every journal.

-- name: messages
-- What is read of messages.
SELECT e.session, e.turn, e.role, e.at, e.scope, e.body, e.tags, e.more, e.crc, e.exchange FROM cp_entries AS e
WHERE e.user_id = %(owner)s AND e.journal = %(journal)s

-- name: of_session
-- Appended to that: of a session, from a number to another; limit is null for all of them.
AND e.session = %(session)s AND e.turn BETWEEN %(first)s AND %(last)s ORDER BY e.turn LIMIT %(limit)s;

-- name: of_exchanges
-- All of the exchanges that are filed under some messages, in the columns of `messages`. Each is looked for by itself
-- (OFFSET 0): until Postgres has counted a session that just came, it would read all of it for a few.
SELECT e.session, e.turn, e.role, e.at, e.scope, e.body, e.tags, e.more, e.crc, e.exchange FROM (
    SELECT DISTINCT asked.session, asked.turn
    FROM unnest(%(sessions)s::text[], %(turns)s::integer[]) AS asked (session, turn)
) AS given CROSS JOIN LATERAL (
    SELECT * FROM cp_entries AS kept
    WHERE kept.user_id = %(owner)s AND kept.session = given.session AND kept.exchange = given.turn OFFSET 0
) AS e ORDER BY e.session, e.turn;

-- name: around
-- Appended to that: a message, and the nearest before and after it that say something.
AND e.session = %(session)s AND (e.turn = %(n)s
    OR e.turn = (SELECT max(b.turn) FROM cp_entries AS b
        WHERE b.user_id = %(owner)s AND b.session = %(session)s AND b.turn < %(n)s AND b.says > 0)
    OR e.turn = (SELECT min(a.turn) FROM cp_entries AS a
        WHERE a.user_id = %(owner)s AND a.session = %(session)s AND a.turn > %(n)s AND a.says > 0))
ORDER BY e.turn;

-- name: first_of_role
-- Appended to that: the first of a role in a session that say something.
AND e.session = %(session)s AND e.role = %(role)s AND e.says > 0 ORDER BY e.turn LIMIT %(limit)s;

-- name: that_say
-- Appended to that: of some ids, those that say something.
AND e.id = ANY (%(ids)s::text[]) AND e.says > 0;

-- name: that_say_after
-- Appended to `messages`: those that say something after a place, session by session, by an index of messages alone.
AND e.session IS NOT NULL AND (e.session, e.turn) > (%(session)s, %(turn)s) AND e.says > 0
ORDER BY e.session, e.turn LIMIT %(limit)s;

-- name: turns
-- What is known of the messages of a session that say something, and under which each is filed.
SELECT e.turn, e.crc, e.says, e.at, e.exchange FROM cp_entries AS e
WHERE e.user_id = %(owner)s AND e.session = %(session)s AND e.says > 0 ORDER BY e.turn;

-- name: addresses
-- Every message, and with the number 0 every session.
SELECT e.session, e.turn FROM cp_entries AS e WHERE e.user_id = %(owner)s AND e.journal = %(journal)s
UNION ALL
SELECT s.client || '/' || s.name, 0 FROM cp_transcripts AS s WHERE s.user_id = %(owner)s AND s.messages > 0;

-- name: put_message
-- A new message.
INSERT INTO cp_entries (
    user_id, journal, id, at, nanos, written_at, scope, body, tags, folded, supersedes, more,
    session, turn, role, says, crc, exchange
) VALUES (
    %(owner)s, %(journal)s, %(id)s, %(at)s, 0, %(written_at)s, %(scope)s, %(body)s, %(tags)s::text[], '{}', '',
    %(more)s, %(session)s, %(turn)s, %(role)s, %(says)s, %(crc)s, %(exchange)s
);

-- name: regroup
-- Under which messages others are filed now; also where that is as it was, so that they are filed again.
UPDATE cp_entries AS e SET exchange = given.exchange
FROM unnest(%(turns)s::integer[], %(exchanges)s::integer[]) AS given (turn, exchange)
WHERE e.user_id = %(owner)s AND e.session = %(session)s AND e.turn = given.turn;

-- name: file_again
-- Messages whose lines are written again.
UPDATE cp_entries SET exchange = exchange
WHERE user_id = %(owner)s AND session = %(session)s AND turn = ANY (%(turns)s::integer[]);

-- name: sessions
-- Sessions with a message in [since, until), newest first; an empty client is any.
SELECT client, name, first_at, last_at, cwd, branch, messages, year FROM cp_transcripts
WHERE user_id = %(owner)s AND messages > 0 AND last_at >= %(since)s AND first_at < %(until)s
    AND %(client)s IN ('', client)
ORDER BY last_at DESC, client, name;

-- name: names
-- All sessions, the one that began first first.
SELECT client, name FROM cp_transcripts WHERE user_id = %(owner)s AND messages > 0 ORDER BY first_at, client, name;

-- name: session
-- What is known of a session, of one that is deleted its last number.
SELECT year, last_n, first_at, last_at, cwd, branch, messages FROM cp_transcripts
WHERE user_id = %(owner)s AND client = %(client)s AND name = %(name)s;

-- name: put_session
-- Keep that.
INSERT INTO cp_transcripts (user_id, client, name, year, last_n, first_at, last_at, cwd, branch, messages)
VALUES (
    %(owner)s, %(client)s, %(name)s, %(year)s, %(last_n)s, %(first_at)s, %(last_at)s, %(cwd)s, %(branch)s,
    %(messages)s
)
ON CONFLICT (user_id, client, name) DO UPDATE SET year = excluded.year, last_n = excluded.last_n,
    first_at = excluded.first_at, last_at = excluded.last_at, cwd = excluded.cwd, branch = excluded.branch,
    messages = excluded.messages;

-- name: drop_session
-- A session that may come again as if it had never been there.
DELETE FROM cp_transcripts WHERE user_id = %(owner)s AND client = %(client)s AND name = %(name)s;

-- name: known_keys
-- Those of some keys that are known.
SELECT key FROM cp_keys
WHERE user_id = %(owner)s AND journal = %(journal)s AND key = ANY (%(keys)s::text[]);

-- name: keep_keys
-- Keys, unless they are known; an empty id is none.
INSERT INTO cp_keys (user_id, journal, key, ids, at)
SELECT %(owner)s, %(journal)s, given.key, array_remove(ARRAY[given.id], ''), %(now)s
FROM unnest(%(keys)s::text[], %(ids)s::text[]) AS given (key, id)
ON CONFLICT DO NOTHING;

-- name: release_keys
-- Keys of messages that may be kept again.
DELETE FROM cp_keys
WHERE user_id = %(owner)s AND journal = %(journal)s AND key = ANY (%(keys)s::text[]);
