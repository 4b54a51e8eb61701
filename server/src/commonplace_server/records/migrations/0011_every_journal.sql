-- Times and former texts may be of any journal: each next one needs no change of these checks.

ALTER TABLE wb_times DROP CONSTRAINT wb_times_kind;
ALTER TABLE wb_times ADD CONSTRAINT wb_times_kind CHECK (
    kind IN ('message', 'journal', 'todo', 'gratitude', 'preference', 'chronicle', 'private', 'notebook',
        'timeline', 'transcripts')) NOT VALID;
ALTER TABLE wb_former DROP CONSTRAINT wb_former_kind;
ALTER TABLE wb_former ADD CONSTRAINT wb_former_kind CHECK (
    kind IN ('message', 'journal', 'todo', 'gratitude', 'preference', 'chronicle', 'private', 'notebook',
        'timeline', 'transcripts')) NOT VALID;
