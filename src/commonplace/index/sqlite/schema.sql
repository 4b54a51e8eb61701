-- The index of one owner. Derived: an older one is dropped and filled again, never migrated.

-- Rows lie in time order: id = epoch seconds << 20 | the next number free in that second.
CREATE TABLE docs (
    id INTEGER PRIMARY KEY,
    ref TEXT NOT NULL UNIQUE,
    facet INTEGER NOT NULL REFERENCES facets (id),
    at_us INTEGER NOT NULL,
    -- When it was written down: `at_us`, where nothing else is known.
    written_us INTEGER NOT NULL,
    -- The order of docs of one instant, before that of their refs.
    turn INTEGER NOT NULL,
    blank INTEGER NOT NULL,
    text_hash TEXT NOT NULL,
    stamp TEXT NOT NULL,
    tags TEXT NOT NULL,
    text TEXT NOT NULL,
    -- 0 for a doc that stands alone; length: its words; timed: whether it names a time.
    session INTEGER NOT NULL,
    length INTEGER NOT NULL,
    timed INTEGER NOT NULL,
    dated TEXT NOT NULL,
    covers TEXT NOT NULL,
    -- Of all that a doc is, its facet and its session in words: see `docs.sum_of`.
    sum INTEGER NOT NULL
);
CREATE INDEX docs_blank ON docs (blank);
-- Few are written down at another time than they are of: a filing of any other costs nothing more.
CREATE INDEX docs_written ON docs (written_us) WHERE written_us <> at_us;

-- Every doc that came, moved or left, so that a reader's doc table follows: see `doc_table`.
CREATE TABLE moved (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    doc INTEGER NOT NULL
);

-- Docs that were written one after the other, under one name.
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE
);

-- What many docs have alike, once; `folded` holds U+001F before each heading as it is compared.
CREATE TABLE facets (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    journal TEXT NOT NULL,
    scope TEXT NOT NULL,
    kind TEXT NOT NULL,
    author TEXT NOT NULL,
    headings TEXT NOT NULL,
    folded TEXT NOT NULL,
    UNIQUE (journal, scope, kind, author, headings)
);

CREATE TABLE doc_tags (
    tag TEXT NOT NULL,
    doc INTEGER NOT NULL REFERENCES docs (id) ON DELETE CASCADE,
    PRIMARY KEY (tag, doc)
) WITHOUT ROWID;
CREATE INDEX doc_tags_doc ON doc_tags (doc);

-- The word index reads each text folded, and stores it nowhere a second time.
CREATE VIEW doc_words AS
SELECT
    d.id,
    folded_words(said(s.author, d.text)) AS body,
    folded_words(d.dated) AS dated
FROM docs AS d JOIN facets AS s ON s.id = d.facet;
CREATE VIRTUAL TABLE words USING fts5 (
    body,
    dated,
    content = 'doc_words',
    content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
-- How often each word stands in each doc; asking `words` for its rank takes four times as long.
CREATE VIRTUAL TABLE instances USING fts5vocab (words, instance);
CREATE TRIGGER docs_filed AFTER INSERT ON docs BEGIN
    INSERT INTO words (rowid, body, dated)
    SELECT id, body, dated FROM doc_words WHERE id = new.id;
    INSERT INTO moved (doc) VALUES (new.id);
    UPDATE state SET docs = docs + 1;
END;
CREATE TRIGGER docs_dropping BEFORE DELETE ON docs BEGIN
    INSERT INTO words (words, rowid, body, dated)
    SELECT 'delete', id, body, dated FROM doc_words WHERE id = old.id;
END;
CREATE TRIGGER docs_dropped AFTER DELETE ON docs BEGIN
    DELETE FROM vectors WHERE doc = old.id;
    INSERT INTO moved (doc) VALUES (old.id);
    UPDATE state SET docs = docs - 1;
END;
-- Inside its second a doc moves without a new id.
CREATE TRIGGER docs_restamped AFTER UPDATE OF at_us, turn ON docs
WHEN old.at_us != new.at_us OR old.turn != new.turn BEGIN
    INSERT INTO moved (doc) VALUES (new.id);
END;

CREATE TABLE encoders (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL
);

-- An id is never used twice, so a reader asks for what is newer than the last it has seen.
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    doc INTEGER NOT NULL,
    encoder INTEGER NOT NULL REFERENCES encoders (id),
    text_hash TEXT NOT NULL,
    chunk INTEGER NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    vector BLOB NOT NULL,
    -- The crc32 of the vector: SQLite notices a flipped bit in a page's order, not in a value.
    sum INTEGER NOT NULL
);
CREATE INDEX vectors_doc ON vectors (doc, encoder);

-- What left since the matrices were written: every reader takes it out of its own.
CREATE TABLE dropped (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    vector INTEGER NOT NULL
);
CREATE TRIGGER vectors_dropped AFTER DELETE ON vectors BEGIN
    INSERT INTO dropped (vector) VALUES (old.id);
END;

-- The matrix file of each encoder and how far it reaches.
CREATE TABLE matrices (
    encoder INTEGER PRIMARY KEY REFERENCES encoders (id),
    file TEXT NOT NULL,
    rows INTEGER NOT NULL,
    last_vector INTEGER NOT NULL,
    last_drop INTEGER NOT NULL
);

CREATE TABLE sources (
    name TEXT PRIMARY KEY,
    mark TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID;

-- One row. name: tells this file from one made later in its place; docs: how many there are;
-- pruned: the highest seq ever removed from `dropped`; texts_dropped: how many texts ever left;
-- texts_erased: of how many of those no byte remains in these files.
CREATE TABLE state (
    name TEXT NOT NULL,
    docs INTEGER NOT NULL,
    pruned INTEGER NOT NULL,
    texts_dropped INTEGER NOT NULL,
    texts_erased INTEGER NOT NULL
);
INSERT INTO state (name, docs, pruned, texts_dropped, texts_erased)
VALUES (lower(hex(randomblob(8))), 0, 0, 0, 0);
