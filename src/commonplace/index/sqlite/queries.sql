-- name: find_doc
-- What is held under a ref, without its text.
SELECT id, facet, at_us, text_hash, session, dated FROM docs WHERE ref = :ref;

-- name: holds_no_more
-- Whether all that a doc says is a part of another text.
SELECT instr(:text, text) > 0 FROM docs WHERE id = :id;

-- name: is_said_beside
-- Whether one of some other docs of its session says all that a doc does: its author and its names too.
SELECT EXISTS (
    SELECT 1 FROM docs AS d JOIN facets AS f ON f.id = d.facet
    JOIN docs AS o ON o.session = d.session JOIN facets AS g ON g.id = o.facet
    WHERE d.id = :id AND o.ref IN (SELECT value FROM json_each(:beside))
        AND o.id <> d.id AND d.session <> 0
        AND instr(o.text, d.text) > 0 AND (f.id = g.id OR instr(o.text, f.author) > 0)
        AND o.tags = d.tags AND o.covers = d.covers
        AND g.journal = f.journal AND g.scope = f.scope AND g.kind = f.kind
        AND g.headings = f.headings
);

-- name: last_of_second
-- The highest id given in one second, or none.
SELECT max(id) FROM docs WHERE id >= :low AND id < :high;

-- name: add_doc
-- A doc under its id; triggers file its words.
INSERT INTO docs (
    id, ref, facet, at_us, written_us, turn, blank, text_hash, stamp, tags, text,
    session, length, timed, dated, covers, sum
)
VALUES (
    :id, :ref, :facet, :at_us, :written_us, :turn, :blank, :text_hash, :stamp, :tags, :text,
    :session, :length, :timed, :dated, :covers, :sum
);

-- name: restamp_doc
-- The same text in the same second, facet and session: only what nothing is derived from.
UPDATE docs SET
    at_us = :at_us, written_us = :written_us, turn = :turn, stamp = :stamp, tags = :tags,
    covers = :covers, sum = :sum
WHERE id = :id;

-- name: drop_doc
-- A doc leaves; triggers take its words and vectors along.
DELETE FROM docs WHERE id = :id;

-- name: drop_tags
-- The tags of a doc leave.
DELETE FROM doc_tags WHERE doc = :id;

-- name: add_tag
-- One tag of a doc.
INSERT OR IGNORE INTO doc_tags (tag, doc) VALUES (:tag, :id);

-- name: find_facet
-- The facet of what many docs have alike.
SELECT id FROM facets
WHERE journal = :journal AND scope = :scope AND kind = :kind AND author = :author
    AND headings = :headings;

-- name: add_facet
-- A new facet.
INSERT INTO facets (journal, scope, kind, author, headings, folded)
VALUES (:journal, :scope, :kind, :author, :headings, :folded);

-- name: list_facets
-- All facets newer than the last one seen.
SELECT id, journal, scope, kind, author, headings FROM facets WHERE id > :last;

-- name: drop_bare_facets
-- Facets that no doc has: their headings may be words that a user wanted forgotten.
DELETE FROM facets WHERE id NOT IN (SELECT facet FROM docs);

-- name: drop_bare_sessions
-- Sessions in which nothing is left, likewise.
DELETE FROM sessions WHERE id NOT IN (SELECT session FROM docs);

-- name: find_session
-- A session by its name.
SELECT id FROM sessions WHERE name = :name;

-- name: add_session
-- A new session.
INSERT INTO sessions (name) VALUES (:name);

-- name: read_docs
-- Whole docs, of a list of ids.
SELECT
    d.id, d.ref, d.facet, d.at_us, d.stamp, d.tags, d.text,
    coalesce(s.name, '') AS session, d.dated, d.covers, d.written_us, d.turn,
    d.blank, d.text_hash, d.length, d.timed, d.sum
FROM docs AS d LEFT JOIN sessions AS s ON s.id = d.session
WHERE d.id IN (SELECT value FROM json_each(:ids));

-- name: list_holding
-- The texts that contain one of these strings.
SELECT d.id, d.text FROM docs AS d
WHERE EXISTS (SELECT 1 FROM json_each(:words) AS w WHERE instr(d.text, w.value) > 0);

-- name: list_matching_texts
-- The texts that match.
SELECT d.id, d.text FROM words JOIN docs AS d ON d.id = words.rowid WHERE words MATCH :match;

-- name: list_sums
-- What the sum of each doc is made of, with its facet and session; the sum; its tags as looked up.
SELECT
    d.ref, d.at_us, d.stamp, d.tags, d.text, d.dated, d.covers, d.written_us, d.turn,
    d.blank, d.text_hash, d.length, d.timed,
    d.facet, coalesce(s.name, '') AS session, d.sum,
    (SELECT json_group_array(tag) FROM doc_tags WHERE doc = d.id) AS looked_up
FROM docs AS d LEFT JOIN sessions AS s ON s.id = d.session;

-- name: count_orphan_tags
-- Tags of docs that are gone.
SELECT count(*) FROM doc_tags WHERE doc NOT IN (SELECT id FROM docs);

-- name: list_folded
-- The headings of each facet, and as they are compared.
SELECT headings, folded FROM facets;

-- name: count_altered_vectors
-- Vectors that are not as they were written, or too short or long for their encoder.
SELECT count(*) FROM vectors AS v LEFT JOIN encoders AS e ON e.id = v.encoder
WHERE v.sum <> crc32(v.vector) OR e.id IS NULL OR length(v.vector) <> 4 * e.dimensions;

-- name: count_lagging_numbers
-- Whether a number that must never be given again is lower than one in use, or docs are miscounted.
SELECT
    (SELECT coalesce(max(id), 0) > :vectors FROM vectors)
    + (SELECT coalesce(max(seq), 0) > :dropped FROM dropped)
    + (SELECT coalesce(max(seq), 0) > :moved FROM moved)
    + (SELECT coalesce(max(id), 0) > :facets FROM facets)
    + (SELECT pruned > :dropped FROM state)
    + (SELECT docs <> (SELECT count(*) FROM docs) FROM state);

-- name: list_placed_vectors
-- Some vectors of an encoder by their ids, with what filters ask of their docs.
SELECT v.id, v.doc, d.facet, v.vector, v.sum FROM vectors AS v JOIN docs AS d ON d.id = v.doc
WHERE v.id > :seen AND v.id <= :last AND v.encoder = :encoder ORDER BY v.id LIMIT :limit;

-- name: list_stamps
-- Refs and stamps from a prefix up to where it ends; a blob as its end stands above all texts.
SELECT ref, stamp FROM docs WHERE ref >= :low AND ref < :high;

-- name: list_marks
-- The last mark of each source.
SELECT name, mark FROM sources;

-- name: keep_mark
-- Remember the mark of a source.
INSERT INTO sources (name, mark) VALUES (:name, :mark)
ON CONFLICT (name) DO UPDATE SET mark = excluded.mark;

-- name: take_back_mark
-- Give a source that has a mark an earlier one again.
UPDATE sources SET mark = :mark WHERE name = :name AND mark <> :mark;

-- name: drop_mark
-- Forget the mark of a source: the next look reads all of it.
DELETE FROM sources WHERE name = :name;

-- name: find_encoder
-- An encoder by its identity.
SELECT id, identity, dimensions FROM encoders WHERE identity = :identity;

-- name: add_encoder
-- A new encoder.
INSERT INTO encoders (identity, dimensions) VALUES (:identity, :dimensions);

-- name: list_encoders
-- All encoders whose vectors are held.
SELECT id, identity, dimensions FROM encoders ORDER BY id;

-- name: find_previous_encoder
-- The encoder of most docs that have a vector, and none of another encoder.
SELECT e.identity FROM vectors AS v INDEXED BY vectors_doc JOIN encoders AS e ON e.id = v.encoder
WHERE v.encoder <> :encoder
    AND NOT EXISTS (SELECT 1 FROM vectors WHERE doc = v.doc AND encoder = :encoder)
GROUP BY e.id ORDER BY count(DISTINCT v.doc) DESC, e.identity LIMIT 1;

-- name: list_unencoded
-- Docs with words in them and no vector of an encoder, newest first.
SELECT d.ref, said(s.author, d.text) AS said, d.text_hash, d.at_us
FROM docs AS d JOIN facets AS s ON s.id = d.facet
WHERE d.blank = 0
    AND NOT EXISTS (SELECT 1 FROM vectors WHERE doc = d.id AND encoder = :encoder)
ORDER BY d.id DESC LIMIT :limit;

-- name: count_unencoded
-- How many docs with words in them have no vector of an encoder.
SELECT count(*) FROM docs
WHERE blank = 0
    AND NOT EXISTS (SELECT 1 FROM vectors WHERE doc = docs.id AND encoder = :encoder);

-- name: list_unencoded_since
-- Of the docs that came or moved since a move, those; the sign before `blank` keeps its index out.
SELECT d.ref, said(s.author, d.text) AS said, d.text_hash, d.at_us
FROM docs AS d JOIN facets AS s ON s.id = d.facet
WHERE d.id IN (SELECT doc FROM moved WHERE seq > :seen) AND +d.blank = 0
    AND NOT EXISTS (SELECT 1 FROM vectors WHERE doc = d.id AND encoder = :encoder)
ORDER BY d.id DESC LIMIT :limit;

-- name: count_unencoded_since
-- How many those are.
SELECT count(*) FROM docs
WHERE id IN (SELECT doc FROM moved WHERE seq > :seen) AND +blank = 0
    AND NOT EXISTS (SELECT 1 FROM vectors WHERE doc = docs.id AND encoder = :encoder);

-- name: count_worded
-- How many docs have words in them: without an encoder all of these wait.
SELECT (SELECT docs FROM state) - count(*) FROM docs WHERE blank <> 0;

-- name: read_pending_position
-- Which index this is, and how often docs and vectors came and left: while it is the same, as many wait.
-- The last move, and the oldest that is kept.
SELECT
    name,
    (SELECT group_concat(seq) FROM (
        SELECT seq FROM sqlite_sequence WHERE name IN ('moved', 'vectors', 'dropped') ORDER BY name
    )) AS numbers,
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'moved'), 0) AS newest,
    coalesce((SELECT min(seq) FROM moved), 1) AS oldest
FROM state;

-- name: count_docs
-- How many docs there are.
SELECT docs FROM state;

-- name: count_by_kind
-- How many docs of each kind there are, how many wait for an encoder, when the latest was.
SELECT
    facets.journal,
    facets.kind,
    count(*),
    sum(docs.blank = 0 AND NOT EXISTS (
        SELECT 1 FROM vectors WHERE doc = docs.id AND encoder = :encoder
    )),
    max(docs.at_us)
FROM docs JOIN facets ON facets.id = docs.facet
GROUP BY facets.journal, facets.kind ORDER BY facets.journal, facets.kind;

-- name: count_by_kind_encoded
-- The same where none waits: half the time, and what is asked for most.
SELECT facets.journal, facets.kind, sum(counted.docs), 0, max(counted.at_us)
FROM (SELECT facet, count(*) AS docs, max(at_us) AS at_us FROM docs GROUP BY facet) AS counted
JOIN facets ON facets.id = counted.facet
GROUP BY facets.journal, facets.kind ORDER BY facets.journal, facets.kind;

-- name: list_scopes
-- Each journal and scope with a doc in it.
SELECT DISTINCT journal, scope FROM facets
WHERE id IN (SELECT DISTINCT facet FROM docs) ORDER BY journal, scope;

-- name: list_doc_vectors
-- The vectors of a doc, of one encoder or of all.
SELECT encoder, text_hash, chunk, start, "end", vector, sum FROM vectors
WHERE doc = :doc AND (:encoder IS NULL OR encoder = :encoder) ORDER BY encoder, chunk;

-- name: drop_doc_vectors
-- The vectors of a doc and an encoder leave.
DELETE FROM vectors WHERE doc = :doc AND encoder = :encoder;

-- name: add_vector
-- The vector of one chunk.
INSERT INTO vectors (doc, encoder, text_hash, chunk, start, "end", vector, sum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: read_position
-- How far the matrix file of an encoder reaches, and how far the tables do.
SELECT
    (SELECT name FROM state) AS name,
    (SELECT pruned FROM state) AS pruned,
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'vectors'), 0) AS newest_vector,
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'dropped'), 0) AS newest_drop,
    m.file, m.rows, m.last_vector, m.last_drop
FROM (SELECT :encoder AS encoder) AS asked LEFT JOIN matrices AS m USING (encoder);

-- name: list_newer_vectors
-- The vectors of an encoder added since one was seen, with what filters ask of their docs.
SELECT v.id, v.doc, d.facet, v.vector, v.sum FROM vectors AS v JOIN docs AS d ON d.id = v.doc
WHERE v.id > :seen AND v.encoder = :encoder ORDER BY v.id;

-- name: list_vectors_of
-- The vectors that some docs have of an encoder, in the order of the docs.
SELECT id, doc, 0, vector, sum FROM vectors
WHERE doc IN (SELECT value FROM json_each(:docs)) AND encoder = :encoder ORDER BY doc;

-- name: list_vector_ids
-- The ids of the same, up to the last one that a vector store has.
SELECT group_concat(id) FROM vectors
WHERE doc IN (SELECT value FROM json_each(:docs)) AND encoder = :encoder AND id <= :last;

-- name: list_settled_vector_ids
-- The ids of an encoder's vectors up to the last one that a vector store has.
SELECT group_concat(id) FROM vectors WHERE encoder = :encoder AND id <= :last;

-- name: list_refs_of_vectors
-- Some docs of some vectors, by their refs.
SELECT DISTINCT d.ref FROM vectors AS v JOIN docs AS d ON d.id = v.doc
WHERE v.id IN (SELECT value FROM json_each(:vectors)) ORDER BY d.ref LIMIT :limit;

-- name: list_docs_of_vectors
-- The docs of some vectors.
SELECT group_concat(doc) FROM vectors WHERE id IN (SELECT value FROM json_each(:vectors));

-- name: list_newer_drops
-- The vectors dropped since one drop was seen.
SELECT vector FROM dropped WHERE seq > :seen;

-- name: keep_matrix
-- The file that now holds an encoder's matrix.
INSERT INTO matrices (encoder, file, rows, last_vector, last_drop)
VALUES (:encoder, :file, :rows, :last_vector, :last_drop)
ON CONFLICT (encoder) DO UPDATE SET
    file = excluded.file, rows = excluded.rows,
    last_vector = excluded.last_vector, last_drop = excluded.last_drop;

-- name: list_matrices
-- Every matrix file there should be.
SELECT m.encoder, e.identity, e.dimensions, m.file FROM matrices AS m
JOIN encoders AS e ON e.id = m.encoder ORDER BY m.encoder;

-- name: keep_pruned
-- Note how far `dropped` is about to be pruned: as far as every matrix file has taken it in.
UPDATE state SET pruned = max(pruned, coalesce((SELECT min(last_drop) FROM matrices), 0));

-- name: prune_dropped
-- Drops that every matrix file has taken in.
DELETE FROM dropped WHERE seq <= (SELECT pruned FROM state);

-- name: count_matches
-- How many docs of a span of time match.
SELECT count(*) FROM words WHERE words MATCH :match AND rowid >= :low AND rowid < :high;

-- name: list_matches
-- The docs of a span of time that match, each times two.
SELECT group_concat(2 * rowid) FROM words
WHERE words MATCH :match AND rowid >= :low AND rowid < :high;

-- name: list_instances
-- Each place where a word stands in a span of time: its doc times two, one more for the date.
SELECT group_concat(2 * doc + (col = 'dated')) FROM instances
WHERE term = :term AND doc >= :low AND doc < :high;

-- name: list_prefix_instances
-- The same of every word that begins so.
SELECT group_concat(2 * doc + (col = 'dated')) FROM instances
WHERE term >= :term AND term < :end AND doc >= :low AND doc < :high;

-- name: read_doc_table_position
-- Which index this is, the last move, and the oldest one that is kept.
SELECT
    (SELECT name FROM state) AS name,
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'moved'), 0) AS newest,
    coalesce((SELECT min(seq) FROM moved), 1) AS oldest;

-- name: list_doc_table
-- What the doc table holds of every doc.
SELECT
    group_concat(id), group_concat(at_us), group_concat(facet), group_concat(session),
    group_concat(length), group_concat(timed)
FROM docs;

-- name: list_doc_table_of
-- What the doc table holds of some docs.
SELECT
    group_concat(id), group_concat(at_us), group_concat(facet), group_concat(session),
    group_concat(length), group_concat(timed)
FROM docs WHERE id IN (SELECT value FROM json_each(:ids));

-- name: list_moved
-- The docs that came, moved or left since one move.
SELECT group_concat(DISTINCT doc) FROM moved WHERE seq > :seen;

-- name: prune_moved
-- Moves older than the last so many; a reader that is further behind reads every doc again.
DELETE FROM moved
WHERE seq <= (SELECT seq FROM sqlite_sequence WHERE name = 'moved') - :kept;

-- name: list_turns
-- What decides among some docs of one instant.
SELECT id, turn, ref FROM docs WHERE id IN (SELECT value FROM json_each(:ids));

-- name: find_facets
-- The facets a filter lets in; an empty list lets in all.
SELECT id FROM facets
WHERE (:journals = '[]' OR journal IN (SELECT value FROM json_each(:journals)))
    AND (:kinds = '[]' OR kind IN (SELECT value FROM json_each(:kinds)))
    AND (:scopes = '[]' OR scope IN (SELECT value FROM json_each(:scopes)))
    AND (:headings = '[]' OR (folded != '' AND EXISTS (
        SELECT 1 FROM json_each(:headings) WHERE instr(folded, value) > 0
    )));

-- name: count_facets
-- How many facets there are.
SELECT count(*) FROM facets;

-- name: list_tagged
-- The docs that bear one of some tags, once for each.
SELECT group_concat(doc) FROM doc_tags WHERE tag IN (SELECT value FROM json_each(:tags));

-- name: list_named
-- The docs with one of some refs.
SELECT group_concat(id) FROM docs WHERE ref IN (SELECT value FROM json_each(:refs));

-- name: list_written_apart
-- The docs that were written down at another time than they are of, and when.
SELECT group_concat(id), group_concat(written_us) FROM docs WHERE written_us <> at_us;

-- name: list_refs_behind
-- The refs of a short form.
SELECT ref FROM docs WHERE crc32(CAST(ref AS BLOB)) = :number ORDER BY ref;

-- name: list_dates
-- When the docs of some refs were.
SELECT ref, at_us FROM docs WHERE ref IN (SELECT value FROM json_each(:refs));

-- name: list_links
-- The links of the chains that refs begin, each once, those of older successors first.
WITH RECURSIVE chain (former, ref, at_us) AS (
    SELECT '', value, 0 FROM json_each(:refs)
    UNION
    SELECT chain.ref, d.ref, d.at_us FROM chain
    JOIN doc_tags AS t ON t.tag = :lead || chain.ref
    JOIN docs AS d ON d.id = t.doc
    WHERE :before IS NULL OR d.written_us < :before
)
SELECT former, ref FROM chain WHERE former <> '' ORDER BY at_us, ref;

-- name: list_excluded
-- The docs of one second that lie outside a span given to the microsecond.
SELECT group_concat(id) FROM docs
WHERE id >= :low AND id < :high AND (at_us < :start OR at_us >= :end);

-- name: take_lease
-- Take a lease that is free, run out, one's own, or taken by a clock that was far ahead.
INSERT INTO leases (name, holder, until) VALUES (:name, :holder, :until)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE leases.holder = excluded.holder OR leases.until <= :now OR leases.until > :until + 3600;

-- name: drop_lease
-- Give a lease back.
DELETE FROM leases WHERE name = :name AND holder = :holder;

-- name: check_words
-- Raises where the word index and the docs it was made from differ.
INSERT INTO words (words, rank) VALUES ('integrity-check', 1);

-- name: rebuild_words
-- Build the word index again from the docs.
INSERT INTO words (words) VALUES ('rebuild');

-- name: merge_words
-- Merge the word index into one, so that what was dropped is gone from it.
INSERT INTO words (words) VALUES ('optimize');

-- name: note_dropped_text
-- A text leaves: until it is erased its bytes may remain.
UPDATE state SET texts_dropped = texts_dropped + 1;

-- name: count_dropped_texts
-- How many texts ever left, and of how many of those no byte remains.
SELECT texts_dropped, texts_erased FROM state;

-- name: note_erased_texts
-- Those that had left by a certain time are erased; another process may have come further.
UPDATE state SET texts_erased = max(texts_erased, :texts);

-- name: count_orphan_vectors
-- Vectors of docs that are gone or whose text has changed.
SELECT count(*) FROM vectors
WHERE NOT EXISTS (
    SELECT 1 FROM docs WHERE docs.id = vectors.doc AND docs.text_hash = vectors.text_hash
);

-- name: count_filed_words
-- The docs counted one by one, and the rows of the word index.
SELECT (SELECT count(*) FROM docs) AS docs, (SELECT count(*) FROM words_docsize) AS filed;
