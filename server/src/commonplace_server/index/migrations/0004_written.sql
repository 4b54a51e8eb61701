-- When an entry was written down, where that is not the time it is of; a search may ask as of a past day.
ALTER TABLE wb_docs ADD COLUMN written_us bigint;
