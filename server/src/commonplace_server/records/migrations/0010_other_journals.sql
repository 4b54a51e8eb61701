-- Lines of the outbox, times and former texts are of other journals too: kind is then the journal's name,
-- ref_id the entry's id in it.

ALTER TABLE wb_times DROP CONSTRAINT wb_times_kind;
ALTER TABLE wb_times ADD CONSTRAINT wb_times_kind CHECK (
    kind IN ('message', 'journal', 'todo', 'gratitude', 'preference', 'chronicle')) NOT VALID;
ALTER TABLE wb_former DROP CONSTRAINT wb_former_kind;
ALTER TABLE wb_former ADD CONSTRAINT wb_former_kind CHECK (
    kind IN ('message', 'journal', 'todo', 'gratitude', 'preference', 'chronicle')) NOT VALID;
