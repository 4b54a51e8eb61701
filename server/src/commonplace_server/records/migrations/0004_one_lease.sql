-- Which model is in charge is one lease: all workers of that model renew it, and none is listed.

-- until: as long as the encoder in charge stays so though none of its workers asks again.
ALTER TABLE wb_upkeep ADD COLUMN until timestamptz;
DROP TABLE wb_workers;
