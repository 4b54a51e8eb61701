-- Which comes first of the docs of one instant, before the order of their refs; of what was filed before, none.
ALTER TABLE wb_docs ADD COLUMN turn bigint NOT NULL DEFAULT 0;
