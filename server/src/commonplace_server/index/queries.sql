-- The index in Postgres. Every statement runs as one user (row level security) and names the user too.

-- name: plan_for_all
-- Of a user who came since the planner last looked it takes any index for as good, and reads all that
-- the user has for each key: in this transaction plans are made for no user in particular, and a
-- table that was small at its last look is not read whole for each key.
SELECT set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true);

-- name: next_change
-- Begin a change of one user's docs: others of the same user wait for its end.
INSERT INTO wb_index (user_id, change) VALUES (%(user)s, 1)
ON CONFLICT (user_id) DO UPDATE SET
    change = wb_index.change + 1, known_change = wb_index.known_change + 1,
    unpacked_at = coalesce(wb_index.unpacked_at, now()), was_written = true
RETURNING change, packed;

-- name: hold
-- Wait for the process that changes this user's docs, and hold off the next.
SELECT docs FROM wb_index WHERE user_id = %(user)s FOR UPDATE;

-- name: count_change
-- How many docs there are more, or fewer.
UPDATE wb_index SET docs = docs + %(more)s, speaking = speaking + %(more_speaking)s
WHERE user_id = %(user)s;

-- name: find_docs
-- What is held under some refs, without the texts. Here as elsewhere, OFFSET has a row looked up for
-- each key: a plan for a user of whom nothing is known may read all that one has.
SELECT d.* FROM unnest(%(refs)s::text[]) AS a (ref)
CROSS JOIN LATERAL (
    SELECT ref, id, facet, at_us, blank, text_hash, session_id, dated, tags, stamp, covers,
        written_us, turn
    FROM wb_docs WHERE user_id = %(user)s AND ref = a.ref OFFSET 0
) AS d;

-- name: last_of_seconds
-- The highest id given in each of some seconds, or none.
SELECT low, (
    SELECT max(id) FROM wb_docs
    WHERE user_id = %(user)s AND id >= low AND id < low + 1048576
)
FROM unnest(%(lows)s::bigint[]) AS asked (low);

-- name: drop_docs
-- Docs leave.
DELETE FROM wb_docs WHERE user_id = %(user)s AND id = ANY (%(ids)s::bigint[]);

-- name: note_dropped
-- Their ids hold nothing any more.
INSERT INTO wb_dropped (user_id, change, doc)
SELECT %(user)s, %(change)s, gone FROM unnest(%(ids)s::bigint[]) AS dropped (gone);

-- name: prune_dropped
-- What no process needs to follow any more; one that is further behind reads every doc again.
WITH old AS (
    DELETE FROM wb_dropped WHERE user_id = %(user)s AND change <= %(change)s - %(kept)s
    RETURNING change
)
UPDATE wb_index SET pruned = greatest(pruned, (SELECT max(change) FROM old))
WHERE user_id = %(user)s AND EXISTS (SELECT FROM old);

-- name: drop_words
-- The words of some docs leave.
DELETE FROM wb_words WHERE user_id = %(user)s AND doc = ANY (%(ids)s::bigint[]);

-- name: find_packed
-- The blocks of some segments, or those of them in which some docs may stand: the number of a doc is looked for without its
-- first three bytes, which many have alike: where the first is found the rest is compared, 0.3 ms of 1.7 in a full segment.
-- One whose words are rows stands in none: where all are so no block is looked through.
WITH wanted AS MATERIALIZED (
    SELECT a.id FROM unnest(%(ids)s::bigint[]) AS a (id)
    WHERE NOT EXISTS (SELECT FROM wb_words AS w WHERE w.user_id = %(user)s AND w.doc = a.id)
)
SELECT p.low, p.is_alone, p.term, p.doc, p.data FROM wb_packed AS p
WHERE p.user_id = %(user)s AND p.low = ANY (%(lows)s::bigint[])
    AND (%(all)s OR EXISTS (SELECT FROM wanted)) AND (%(all)s OR EXISTS (
        SELECT FROM wanted AS a WHERE position(substr(int8send(a.id), 4) IN p.data) > 0
    ));

-- name: drop_packed
-- Some blocks leave.
DELETE FROM wb_packed AS p
USING unnest(%(lows)s::bigint[], %(alone)s::bigint[], %(terms)s::text[], %(docs)s::bigint[])
    AS a (low, alone, term, doc)
WHERE p.user_id = %(user)s AND p.low = a.low AND p.is_alone = (a.alone = 1) AND p.term = a.term
    AND p.doc = a.doc;

-- name: add_packed
-- Blocks of packed words.
INSERT INTO wb_packed (user_id, low, is_alone, term, doc, data)
SELECT %(user)s, low, alone = 1, term, doc, data
FROM unnest(
    %(lows)s::bigint[], %(alone)s::bigint[], %(terms)s::text[], %(docs)s::bigint[], %(data)s::bytea[]
) AS added (low, alone, term, doc, data);

-- name: hold_packed
-- Wait for the process that changes this user's docs, and hold off the next; where the segments of packed words begin.
SELECT packed FROM wb_index WHERE user_id = %(user)s FOR UPDATE;

-- name: list_unpacked
-- Words and docs as rows, of the first docs of a span of which all words may be packed.
WITH lot AS (
    SELECT doc FROM wb_words WHERE user_id = %(user)s AND doc >= %(low)s AND doc < %(high)s
    GROUP BY doc HAVING max(greatest(body, dated)) <= %(most)s ORDER BY doc LIMIT %(limit)s
)
SELECT w.term, string_agg(int8send(w.doc) || int8send(w.body) || int8send(w.dated), ''::bytea)
FROM lot JOIN wb_words AS w ON w.user_id = %(user)s AND w.doc = lot.doc
GROUP BY w.term;

-- name: list_ids
-- The docs of a span.
SELECT string_agg(int8send(id), ''::bytea) FROM wb_docs
WHERE user_id = %(user)s AND id >= %(low)s AND id < %(high)s;

-- name: drop_segments
-- One segment's blocks leave, and those of segments that there are not.
DELETE FROM wb_packed
WHERE user_id = %(user)s AND (low = %(low)s OR NOT low = ANY (%(packed)s::bigint[]));

-- name: keep_segments
-- Where the segments of a user's packed words begin.
UPDATE wb_index SET packed = %(packed)s::bigint[], known_change = change WHERE user_id = %(user)s;

-- name: note_packed
-- All is packed but what was written since this worker began, unless another has taken the user in hand.
UPDATE wb_index SET
    unpacked_at = CASE WHEN was_written THEN now() END, packing_until = NULL, packing_tries = 0
WHERE user_id = %(user)s AND packing_until = %(until)s;

-- name: drop_vectors
-- The vectors of some docs leave, and are counted out.
WITH gone AS (
    DELETE FROM wb_embeddings WHERE user_id = %(user)s AND doc = ANY (%(ids)s::bigint[])
    RETURNING model_tag, doc
), fewer AS (
    SELECT model_tag, count(DISTINCT doc) AS docs, count(*) AS chunks FROM gone GROUP BY model_tag
)
UPDATE wb_models AS m SET
    docs = m.docs - fewer.docs, chunks = m.chunks - fewer.chunks, change = m.change + 1
FROM fewer WHERE m.user_id = %(user)s AND m.model_tag = fewer.model_tag;

-- name: move_vectors
-- A doc has another id or kind: its vectors follow.
UPDATE wb_embeddings SET doc = %(id)s, kind = %(kind)s, ref_id = %(ref_id)s
WHERE user_id = %(user)s AND doc = %(before)s;

-- name: note_moved
-- Vectors of a user have moved.
UPDATE wb_models SET change = change + 1 WHERE user_id = %(user)s;

-- name: put_docs
-- Docs in place of any with their refs, the facets they lie on if they are new, their words, one on
-- each line, and how many docs there are more: as one statement, half as dear as four.
WITH put_facets AS (
    INSERT INTO wb_facets (user_id, id, change, journal, scope, kind, author, headings)
    SELECT %(user)s, id, %(change)s, journal, scope, kind, author, headings
    FROM json_to_recordset(%(facets)s::json) AS put (
        id bigint, journal text, scope text, kind text, author text, headings text[]
    )
    ON CONFLICT (user_id, id) DO NOTHING
), put_words AS (
    INSERT INTO wb_words (user_id, term, doc, body, dated)
    SELECT %(user)s, term, doc, body, dated
    FROM unnest(
        string_to_array(%(terms)s, E'\n'), %(docs)s::bigint[], %(bodies)s::integer[],
        %(dates)s::integer[]
    ) AS added (term, doc, body, dated)
), put_docs AS (
    INSERT INTO wb_docs (
        user_id, id, ref, facet, at_us, blank, text_hash, stamp, tags, text, session, session_id,
        length, timed, dated, covers, written_us, turn, change
    )
    SELECT
        %(user)s, id, ref, facet, at_us, blank, text_hash, stamp, tags, text, session, session_id,
        length, timed, dated, covers, written_us, turn, %(change)s
    FROM json_to_recordset(%(rows)s::json) AS put (
        id bigint, ref text, facet bigint, at_us bigint, blank boolean, text_hash text, stamp text,
        tags text[], text text, session text, session_id bigint, length integer, timed integer,
        dated text, covers text[], written_us bigint, turn bigint
    )
    ON CONFLICT (user_id, ref) DO UPDATE SET
        id = excluded.id, facet = excluded.facet, at_us = excluded.at_us, blank = excluded.blank,
        text_hash = excluded.text_hash, stamp = excluded.stamp, tags = excluded.tags,
        text = excluded.text, session = excluded.session, session_id = excluded.session_id,
        length = excluded.length, timed = excluded.timed, dated = excluded.dated,
        covers = excluded.covers, written_us = excluded.written_us, turn = excluded.turn,
        change = excluded.change
)
UPDATE wb_index SET docs = docs + %(more)s, speaking = speaking + %(more_speaking)s
WHERE user_id = %(user)s AND (%(more)s <> 0 OR %(more_speaking)s <> 0);

-- name: drop_stray_words
-- The words of docs that were lost leave, as far as they have ids of some seconds.
DELETE FROM wb_words AS w USING unnest(%(lows)s::bigint[]) AS second (low)
WHERE w.user_id = %(user)s AND w.doc >= second.low AND w.doc < second.low + 1048576
    AND NOT EXISTS (SELECT FROM wb_docs AS d WHERE d.user_id = %(user)s AND d.id = w.doc);

-- name: drop_vectors_of_lost
-- The vectors leave that these docs had under another id, or for another text.
DELETE FROM wb_embeddings AS e
USING unnest(%(kinds)s::text[], %(ref_ids)s::text[], %(docs)s::bigint[], %(hashes)s::text[])
    AS put (kind, ref_id, doc, text_hash)
WHERE e.user_id = %(user)s AND e.kind = put.kind AND e.ref_id = put.ref_id
    AND (e.doc <> put.doc OR e.text_hash <> put.text_hash);

-- name: drop_vectors_of_others
-- The vectors leave that others had under the ids of these docs.
DELETE FROM wb_embeddings AS e
USING unnest(%(kinds)s::text[], %(ref_ids)s::text[], %(docs)s::bigint[]) AS put (kind, ref_id, doc)
WHERE e.user_id = %(user)s AND e.doc = put.doc AND (e.kind, e.ref_id) <> (put.kind, put.ref_id);

-- name: recount_docs
-- How many docs there are, whatever was counted; where it was another number some were lost, and
-- a process that remembers any reads all again.
UPDATE wb_index AS i SET docs = found.docs, speaking = found.speaking,
    name = CASE WHEN i.docs = found.docs THEN i.name ELSE gen_random_uuid() END
FROM (
    SELECT count(*) AS docs, count(*) FILTER (WHERE NOT blank) AS speaking
    FROM wb_docs WHERE user_id = %(user)s
) AS found
WHERE i.user_id = %(user)s;

-- name: recount_vectors
-- How many vectors there are of each model, whatever was counted. A count that was lost goes on with
-- a change that no process remembers: later than any number of changes, the microseconds since 1970.
WITH found AS (
    SELECT model_tag, count(DISTINCT doc) AS docs, count(*) AS chunks
    FROM wb_embeddings WHERE user_id = %(user)s GROUP BY model_tag
), none AS (
    UPDATE wb_models SET docs = 0, chunks = 0, change = change + 1
    WHERE user_id = %(user)s AND chunks + docs <> 0 AND model_tag NOT IN (SELECT model_tag FROM found)
)
INSERT INTO wb_models AS m (user_id, model_tag, dimensions, docs, chunks, change)
SELECT %(user)s, found.model_tag, (
    SELECT vector_dims(coalesce(e.half::vector, e.vector)) FROM wb_embeddings AS e
    WHERE e.user_id = %(user)s AND e.model_tag = found.model_tag LIMIT 1
), found.docs, found.chunks, extract(epoch FROM clock_timestamp()) * 1000000
FROM found
ON CONFLICT (user_id, model_tag) DO UPDATE SET
    docs = excluded.docs, chunks = excluded.chunks, change = m.change + 1
WHERE (m.docs, m.chunks) <> (excluded.docs, excluded.chunks);

-- name: drop_bare_facets
-- Facets that no doc has: their headings may be words that a user wanted forgotten.
DELETE FROM wb_facets AS s WHERE user_id = %(user)s AND NOT EXISTS (
    SELECT FROM wb_docs AS d WHERE d.user_id = %(user)s AND d.facet = s.id
);

-- name: keep_mark
-- Remember the mark of a source.
INSERT INTO wb_marks (user_id, source, mark) VALUES (%(user)s, %(source)s, %(mark)s)
ON CONFLICT (user_id, source) DO UPDATE SET mark = excluded.mark;

-- name: take_back_mark
-- Give a source that has a mark an earlier one again.
UPDATE wb_marks SET mark = %(mark)s
WHERE user_id = %(user)s AND source = %(source)s AND mark <> %(mark)s;

-- name: drop_mark
-- Forget the mark of a source: the next look reads all of it.
DELETE FROM wb_marks WHERE user_id = %(user)s AND source = %(source)s;

-- name: list_marks
-- The last mark of each source.
SELECT source, mark FROM wb_marks WHERE user_id = %(user)s;

-- name: list_stamps
-- Refs and stamps from a prefix up to where it ends.
SELECT ref, stamp FROM wb_docs
WHERE user_id = %(user)s AND ref >= %(low)s AND (%(high)s::text IS NULL OR ref < %(high)s);

-- name: read_counts
-- Docs, and those without a vector of a model.
SELECT i.docs, i.speaking - coalesce(m.docs, 0) FROM wb_index AS i
LEFT JOIN wb_models AS m ON m.user_id = i.user_id AND m.model_tag = %(model)s
WHERE i.user_id = %(user)s;

-- name: count_by_journal
-- How many docs of each journal there are.
SELECT s.journal, sum(d.docs)::bigint
FROM (SELECT facet, count(*) AS docs FROM wb_docs WHERE user_id = %(user)s GROUP BY facet) AS d
JOIN wb_facets AS s ON s.user_id = %(user)s AND s.id = d.facet
GROUP BY s.journal;

-- name: list_scopes
-- Each journal and scope with a doc in it.
SELECT DISTINCT s.journal COLLATE "C", s.scope COLLATE "C" FROM wb_facets AS s
WHERE s.user_id = %(user)s AND EXISTS (
    SELECT FROM wb_docs AS d WHERE d.user_id = %(user)s AND d.facet = s.id
)
ORDER BY 1, 2;

-- name: count_by_kind
-- How many docs of each kind there are, how many wait for a model, when the latest was.
SELECT
    s.journal,
    s.kind,
    count(*),
    count(*) FILTER (WHERE NOT d.blank AND NOT EXISTS (
        SELECT FROM wb_embeddings AS e
        WHERE e.user_id = %(user)s AND e.doc = d.id AND e.model_tag = %(model)s
    )),
    max(d.at_us)
FROM wb_docs AS d JOIN wb_facets AS s ON s.user_id = d.user_id AND s.id = d.facet
WHERE d.user_id = %(user)s GROUP BY s.journal, s.kind
ORDER BY s.journal COLLATE "C", s.kind COLLATE "C";

-- name: list_unencoded
-- Docs with words in them and no vector of a model, newest first.
SELECT d.ref, s.author, d.text, d.text_hash, d.at_us
FROM wb_docs AS d JOIN wb_facets AS s ON s.user_id = d.user_id AND s.id = d.facet
WHERE d.user_id = %(user)s AND NOT d.blank AND NOT EXISTS (
    SELECT FROM wb_embeddings AS e
    WHERE e.user_id = %(user)s AND e.doc = d.id AND e.model_tag = %(model)s
)
ORDER BY d.id DESC LIMIT %(limit)s;

-- name: find_previous_encoder
-- The model of most docs that have a vector, and none of another model.
SELECT m.model_tag FROM wb_models AS m CROSS JOIN LATERAL (
    SELECT count(DISTINCT e.doc) AS docs FROM wb_embeddings AS e
    WHERE e.user_id = %(user)s AND e.model_tag = m.model_tag AND NOT EXISTS (
        SELECT FROM wb_embeddings AS n
        WHERE n.user_id = %(user)s AND n.doc = e.doc AND n.model_tag = %(model)s
    )
) AS waiting
WHERE m.user_id = %(user)s AND m.model_tag <> %(model)s AND m.docs > 0 AND waiting.docs > 0
ORDER BY waiting.docs DESC, m.model_tag LIMIT 1;

-- name: find_encoded
-- What is held under some refs, how many vectors of a model each has, and how many numbers one has.
SELECT (SELECT dimensions FROM wb_models WHERE user_id = %(user)s AND model_tag = %(model)s), d.ref,
    d.id, s.kind, d.text_hash, (
    SELECT count(*) FROM wb_embeddings AS e
    WHERE e.user_id = %(user)s AND e.doc = d.id AND e.model_tag = %(model)s
)
FROM unnest(%(refs)s::text[]) AS a (ref)
CROSS JOIN LATERAL (
    SELECT id, ref, facet, text_hash FROM wb_docs
    WHERE user_id = %(user)s AND ref = a.ref AND NOT blank OFFSET 0
) AS d
JOIN wb_facets AS s ON s.user_id = %(user)s AND s.id = d.facet;

-- name: drop_model_vectors
-- The vectors of some docs and one model leave; they are counted by the process that puts others there.
DELETE FROM wb_embeddings
WHERE user_id = %(user)s AND doc = ANY (%(ids)s::bigint[]) AND model_tag = %(model)s;

-- name: add_vectors
-- The vectors of chunks, and how many there are more of a model; they are to be halved.
WITH noted AS (
    UPDATE wb_index SET unpacked_at = coalesce(unpacked_at, now()), was_written = true
    WHERE user_id = %(user)s AND (unpacked_at IS NULL OR NOT was_written)
), added AS (
    INSERT INTO wb_embeddings (
        user_id, kind, ref_id, model_tag, chunk, doc, span, text_hash, vector
    )
    SELECT
        %(user)s, kind, ref_id, %(model)s, chunk, doc, int4range(low, high), text_hash,
        (%(floats)s::real[])[(place - 1) * %(dimensions)s + 1:place * %(dimensions)s]::vector
    FROM unnest(
        %(kinds)s::text[], %(ref_ids)s::text[], %(chunks)s::integer[], %(docs)s::bigint[],
        %(lows)s::integer[], %(highs)s::integer[], %(hashes)s::text[]
    ) WITH ORDINALITY AS added (kind, ref_id, chunk, doc, low, high, text_hash, place)
)
INSERT INTO wb_models AS m (user_id, model_tag, dimensions, docs, chunks)
VALUES (%(user)s, %(model)s, %(dimensions)s, %(more)s, %(more_chunks)s)
ON CONFLICT (user_id, model_tag) DO UPDATE SET
    docs = m.docs + excluded.docs, chunks = m.chunks + excluded.chunks, change = m.change + 1;

-- name: read_position
-- How far the docs are, and of a model what `read_changes` gives: most often nothing came since. With
-- it, where some words stand in a span of time, and how often in text and in date: one statement
-- costs the server half of what two do. A server that was started since, to which not all may have
-- come that another had, gives the docs another name: no change number of before counts.
SELECT i.name::text || pg_postmaster_start_time(), i.change, m.dimensions, m.chunks, m.change, (
    {rows}
), (
    {blocks}
)
FROM wb_index AS i
LEFT JOIN wb_models AS m ON m.user_id = i.user_id AND m.model_tag = %(model)s
WHERE i.user_id = %(user)s;

-- name: has_nearest
-- Whether an index over a user's vectors of a model is there and whole.
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_index
    WHERE indexrelid = pg_catalog.to_regclass(%(index)s) AND indisvalid
);

-- name: read_changes
-- How far the docs are; what came and went since a change was seen, in the order of (time, turn, ref);
-- and what there is of a model.
SELECT
    i.name::text || pg_postmaster_start_time(), i.change, i.pruned, (
        SELECT string_agg(
            int8send(d.id) || int8send(d.at_us) || int8send(d.facet) || int8send(d.session_id)
            || int8send(d.length) || int8send(d.timed),
            ''::bytea ORDER BY d.at_us, d.turn, d.ref
        )
        FROM wb_docs AS d WHERE d.user_id = %(user)s AND d.change > %(seen)s
    ), (
        SELECT string_agg(int8send(g.doc), ''::bytea)
        FROM wb_dropped AS g WHERE g.user_id = %(user)s AND g.change > %(seen)s
    ), (
        SELECT json_agg(json_build_array(
            s.id, s.journal, s.scope, s.kind, s.author, array_to_json(s.headings)
        ))
        FROM wb_facets AS s WHERE s.user_id = %(user)s AND s.change > %(seen)s
    ), m.dimensions, m.chunks, m.change
FROM wb_index AS i
LEFT JOIN wb_models AS m ON m.user_id = i.user_id AND m.model_tag = %(model)s
WHERE i.user_id = %(user)s;

-- name: list_turns
-- What decides among some docs of one instant.
SELECT id, turn, ref FROM wb_docs WHERE user_id = %(user)s AND id = ANY (%(ids)s::bigint[]);

-- name: rows
-- Within other queries, the rows of some words in a span of time. The span is asked of word and doc together: a plan for
-- a user of whom nothing is known may else read all docs' words for each.
SELECT string_agg(
    int8send(a.number) || int8send(w.doc) || int8send(w.body) || int8send(w.dated), ''::bytea
)
FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS a (term, number)
CROSS JOIN LATERAL (
    SELECT doc, body, dated FROM wb_words
    WHERE user_id = %(user)s AND term = a.term
        AND (term, doc) >= (a.term, %(low)s) AND (term, doc) < (a.term, %(high)s) OFFSET 0
) AS w;

-- name: blocks
-- Within other queries, the blocks that hold the packed ones of some words in a span of time: of each segment of that time
-- the one in which a word lies with others, and those that it has for itself, whose number is sent below 0.
SELECT string_agg(
    int4send((CASE WHEN b.is_alone THEN -a.number ELSE a.number END)::integer)
    || int4send(octet_length(b.data)) || b.data, ''::bytea
)
FROM unnest(i.packed, i.packed[2:]) AS s (low, next)
CROSS JOIN unnest(%(terms)s::text[]) WITH ORDINALITY AS a (term, number)
CROSS JOIN LATERAL (
    (SELECT is_alone, data FROM wb_packed
    WHERE user_id = %(user)s AND low = s.low AND NOT is_alone AND term <= a.term
    ORDER BY term DESC LIMIT 1)
    UNION ALL
    SELECT is_alone, data FROM wb_packed
    WHERE user_id = %(user)s AND low = s.low AND is_alone AND term = a.term
) AS b
WHERE s.low < %(high)s AND (s.next IS NULL OR s.next > %(low)s);

-- name: list_postings
-- Where some words stand in a span of time, and how often in text and in date; and of those that are packed the blocks.
SELECT (
    {rows}
), (
    {blocks}
)
FROM wb_index AS i WHERE i.user_id = %(user)s;

-- name: list_prefix_postings
-- The same of all words that begin so, as if they were one.
SELECT (
    SELECT string_agg(int8send(1) || int8send(doc) || int8send(body) || int8send(dated), ''::bytea)
    FROM (
        SELECT w.doc, sum(w.body) AS body, sum(w.dated) AS dated FROM (
            SELECT doc, body, dated FROM wb_words
            WHERE user_id = %(user)s AND (term, doc) >= (%(term)s, 1::bigint << 63)
                AND (term, doc) < (%(end)s, 1::bigint << 63) OFFSET 0
        ) AS w
        WHERE w.doc >= %(low)s AND w.doc < %(high)s GROUP BY w.doc
    ) AS found
), (
    SELECT string_agg(
        int4send(CASE WHEN b.is_alone THEN -1 ELSE 1 END)
        || int4send(octet_length(b.data)) || b.data, ''::bytea
    )
    FROM unnest(i.packed, i.packed[2:]) AS s (low, next)
    CROSS JOIN LATERAL (
        (SELECT is_alone, data FROM wb_packed
        WHERE user_id = %(user)s AND low = s.low AND NOT is_alone AND term < %(term)s
        ORDER BY term DESC LIMIT 1)
        UNION ALL
        SELECT is_alone, data FROM wb_packed
        WHERE user_id = %(user)s AND low = s.low AND term >= %(term)s AND term < %(end)s
    ) AS b
    WHERE s.low < %(high)s AND (s.next IS NULL OR s.next > %(low)s)
)
FROM wb_index AS i WHERE i.user_id = %(user)s;

-- name: count_postings
-- In how many docs of a span of time some words stand, likewise.
SELECT (
    SELECT string_agg(int8send(c.number) || int8send(c.count), ''::bytea) FROM (
        SELECT a.number, count(*) FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS a (term, number)
        CROSS JOIN LATERAL (
            SELECT doc FROM wb_words
            WHERE user_id = %(user)s AND term = a.term
                AND (term, doc) >= (a.term, %(low)s) AND (term, doc) < (a.term, %(high)s) OFFSET 0
        ) AS w
        GROUP BY a.number
    ) AS c
), (
    {blocks}
)
FROM wb_index AS i WHERE i.user_id = %(user)s;

-- name: list_cosines
-- How near every vector of a model is, in a span of time.
SELECT string_agg(
    int8send(e.doc) || float8send(-(coalesce(e.half::vector, e.vector) <#> %(query)s::real[]::vector)), ''::bytea
)
FROM wb_embeddings AS e
WHERE e.user_id = %(user)s AND e.model_tag = %(model)s AND e.doc >= %(low)s AND e.doc < %(high)s;

-- name: list_cosines_of
-- How near the vectors of some docs are.
SELECT string_agg(
    int8send(e.doc) || float8send(-(coalesce(e.half::vector, e.vector) <#> %(query)s::real[]::vector)), ''::bytea
)
FROM wb_embeddings AS e
WHERE e.user_id = %(user)s AND e.model_tag = %(model)s AND e.doc = ANY (%(ids)s::bigint[]);

-- name: list_vectors
-- Every vector of a model, by doc: its doc, its id, whether it is halved, and its numbers, unless a process has these under
-- that id. A row's numbers never change but when it is halved; its doc may.
SELECT string_agg(
    int8send(v.doc) || uuid_send(v.id) || boolsend(v.is_halved) || boolsend(v.is_held), ''::bytea
    ORDER BY v.doc, v.chunk, v.id
), string_agg(vector_send(coalesce(v.half::vector, v.vector)), ''::bytea ORDER BY v.doc, v.chunk, v.id)
    FILTER (WHERE NOT v.is_held)
FROM (
    SELECT doc, chunk, id, half, vector, half IS NOT NULL AS is_halved,
        CASE WHEN half IS NULL THEN id = ANY (%(whole)s::uuid[]) ELSE id = ANY (%(halved)s::uuid[]) END AS is_held
    FROM wb_embeddings WHERE user_id = %(user)s AND model_tag = %(model)s OFFSET 0
) AS v;

-- name: list_written_later
-- The docs that were written down at an instant or later.
SELECT string_agg(int8send(id), ''::bytea) FROM wb_docs
WHERE user_id = %(user)s AND coalesce(written_us, at_us) >= %(before)s;

-- name: list_named
-- The docs with one of some refs.
SELECT string_agg(int8send(d.id), ''::bytea) FROM unnest(%(refs)s::text[]) AS a (ref)
CROSS JOIN LATERAL (
    SELECT id FROM wb_docs WHERE user_id = %(user)s AND ref = a.ref OFFSET 0
) AS d;

-- name: list_all_refs
-- Every ref.
SELECT ref FROM wb_docs WHERE user_id = %(user)s ORDER BY ref;

-- name: list_dates
-- When the docs of some refs were.
SELECT d.ref, d.at_us FROM unnest(%(refs)s::text[]) AS a (ref)
CROSS JOIN LATERAL (
    SELECT ref, at_us FROM wb_docs WHERE user_id = %(user)s AND ref = a.ref OFFSET 0
) AS d;

-- name: list_links
-- Every ref that was replaced, and what replaced it, those of older successors first. The docs were found by
-- the words that tags are indexed as: a user's other docs are not read.
SELECT substr(tag, length(%(lead)s) + 1), d.ref
FROM unnest(%(ids)s::bigint[]) AS a (id)
CROSS JOIN LATERAL (
    SELECT ref, tags, at_us, written_us FROM wb_docs
    WHERE user_id = %(user)s AND id = a.id OFFSET 0
) AS d
CROSS JOIN LATERAL unnest(d.tags) AS tag
WHERE starts_with(tag, %(lead)s)
    AND (%(before)s::bigint IS NULL OR coalesce(d.written_us, d.at_us) < %(before)s::bigint)
ORDER BY d.at_us, d.ref;

-- name: read_docs
-- Whole docs, of a list of ids.
SELECT d.* FROM unnest(%(ids)s::bigint[]) AS a (id)
CROSS JOIN LATERAL (
    SELECT id, ref, facet, at_us, stamp, tags, text, session, dated, covers, written_us, turn
    FROM wb_docs WHERE user_id = %(user)s AND id = a.id OFFSET 0
) AS d;

-- name: list_holding
-- Whole docs whose text contains one of some strings, each with its facet.
SELECT
    d.id, d.ref, d.facet, d.at_us, d.stamp, d.tags, d.text, d.session, d.dated, d.covers,
    d.written_us, d.turn, s.journal, s.scope, s.kind, s.author, s.headings
FROM wb_docs AS d JOIN wb_facets AS s ON s.user_id = d.user_id AND s.id = d.facet
WHERE d.user_id = %(user)s AND EXISTS (
    SELECT FROM unnest(%(words)s::text[]) AS w (word) WHERE strpos(d.text, w.word) > 0
)
ORDER BY d.id;

-- name: clear
-- Every doc, vector and mark of a user leaves; what others remember of them ends.
WITH
    docs AS (DELETE FROM wb_docs WHERE user_id = %(user)s),
    words AS (DELETE FROM wb_words WHERE user_id = %(user)s),
    packed AS (DELETE FROM wb_packed WHERE user_id = %(user)s),
    vectors AS (DELETE FROM wb_embeddings WHERE user_id = %(user)s),
    models AS (
        UPDATE wb_models SET docs = 0, chunks = 0, change = change + 1 WHERE user_id = %(user)s
    ),
    facets AS (DELETE FROM wb_facets WHERE user_id = %(user)s),
    marks AS (DELETE FROM wb_marks WHERE user_id = %(user)s),
    dropped AS (DELETE FROM wb_dropped WHERE user_id = %(user)s)
UPDATE wb_index SET pruned = change, docs = 0, speaking = 0, packed = '{}' WHERE user_id = %(user)s;

-- name: take_lease
-- Take a lease that is free, run out, or one's own.
INSERT INTO wb_leases (user_id, name, holder, until)
VALUES (%(user)s, %(name)s, %(holder)s, %(until)s)
ON CONFLICT (user_id, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE wb_leases.holder = excluded.holder OR wb_leases.until <= %(now)s;

-- name: drop_lease
-- Give a lease back.
DELETE FROM wb_leases WHERE user_id = %(user)s AND name = %(name)s AND holder = %(holder)s;

-- name: list_nearest
-- The docs of the nearest vectors, by the user's own index.
SELECT e.doc FROM wb_embeddings AS e
WHERE e.user_id = %(user)s AND e.model_tag = %(model)s
ORDER BY coalesce(e.half, e.vector::halfvec)::halfvec({dimensions}) <#> %(query)s::real[]::vector::halfvec({dimensions})
LIMIT %(limit)s;

-- name: lock_nearest
-- One process at a time tends these indexes; held by the session.
SELECT pg_try_advisory_lock(7166182915202);

-- name: unlock_nearest
-- The next one may.
SELECT pg_advisory_unlock(7166182915202);

-- name: list_sizes
-- How many vectors of each model each user has; the owner of the tables sees this of everybody.
SELECT user_id, model_tag, dimensions, chunks FROM wb_models WHERE chunks > 0;

-- name: list_nearest_indexes
-- The indexes there are, those of the former version too, and whether each is whole.
SELECT c.relname, i.indisvalid
FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = 'wb_embeddings'::regclass AND c.relname ~ '^wb_near(est)?_';

-- name: make_nearest
-- An index over the vectors of one user and one model; no search waits for it. Built with 64 in place
-- of 128 it takes half as long and finds 0.977 of the nearest eight, not 0.998.
CREATE INDEX CONCURRENTLY IF NOT EXISTS {index} ON wb_embeddings
USING hnsw ((coalesce(half, vector::halfvec)::halfvec({dimensions})) halfvec_ip_ops) WITH (ef_construction = 128)
WHERE user_id = {user} AND model_tag = {model};

-- name: drop_nearest
-- An index that is not wanted, or was broken off in the making, goes.
DROP INDEX CONCURRENTLY IF EXISTS {index};

-- name: halve_vectors
-- Vectors of some docs at a time are kept in half precision from now on. Gives the last doc of these, none at the end.
WITH lot AS (
    SELECT DISTINCT doc FROM wb_embeddings
    WHERE user_id = %(user)s AND doc > %(after)s AND half IS NULL ORDER BY doc LIMIT %(limit)s
), halved AS (
    UPDATE wb_embeddings AS e SET half = e.vector::halfvec, vector = NULL FROM lot
    WHERE e.user_id = %(user)s AND e.doc = lot.doc AND e.half IS NULL
)
SELECT max(doc) FROM lot;

-- name: drop_previous
-- The vectors of other models leave where a doc has ones of this, of some docs at a time; they are
-- counted out. Gives the last doc of these, none at the end.
WITH lot AS (
    SELECT DISTINCT e.doc FROM wb_embeddings AS e
    WHERE e.user_id = %(user)s AND e.doc > %(after)s AND e.model_tag <> %(model)s AND EXISTS (
        SELECT FROM wb_embeddings AS n
        WHERE n.user_id = %(user)s AND n.doc = e.doc AND n.model_tag = %(model)s
    )
    ORDER BY e.doc LIMIT %(limit)s
), gone AS (
    DELETE FROM wb_embeddings AS e USING lot
    WHERE e.user_id = %(user)s AND e.doc = lot.doc AND e.model_tag <> %(model)s
    RETURNING e.model_tag, e.doc
), fewer AS (
    SELECT model_tag, count(DISTINCT doc) AS docs, count(*) AS chunks FROM gone GROUP BY model_tag
), counted AS (
    UPDATE wb_models AS m SET
        docs = m.docs - fewer.docs, chunks = m.chunks - fewer.chunks, change = m.change + 1
    FROM fewer WHERE m.user_id = %(user)s AND m.model_tag = fewer.model_tag
)
SELECT max(doc) FROM lot;
