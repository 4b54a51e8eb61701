-- When a record was written down, where that is not the time it is of; null where it is.

ALTER TABLE wb_message ADD COLUMN written_at timestamptz;
ALTER TABLE wb_journal ADD COLUMN written_at timestamptz;
ALTER TABLE wb_todo ADD COLUMN written_at timestamptz;
ALTER TABLE wb_gratitude ADD COLUMN written_at timestamptz;
