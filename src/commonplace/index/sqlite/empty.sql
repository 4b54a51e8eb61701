-- Takes away all that schema.sql makes, what refers to others first.
DROP TABLE instances;
DROP TABLE words;
DROP VIEW doc_words;
DROP TABLE doc_tags;
DROP TABLE vectors;
DROP TABLE docs;
DROP TABLE facets;
DROP TABLE sessions;
DROP TABLE moved;
DROP TABLE matrices;
DROP TABLE encoders;
DROP TABLE dropped;
DROP TABLE sources;
DROP TABLE leases;
DROP TABLE state;
