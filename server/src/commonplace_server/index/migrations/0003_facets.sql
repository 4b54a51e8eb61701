-- What many docs have alike is a facet in code and docs; its table and column are named so too.
ALTER TABLE wb_shelves RENAME TO wb_facets;
ALTER TABLE wb_docs RENAME COLUMN shelf TO facet;
