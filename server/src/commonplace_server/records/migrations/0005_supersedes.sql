-- A record that took the place of another of its kind bears the id of that one, and says so with it.

ALTER TABLE wb_message ADD COLUMN supersedes text COLLATE "C" NOT NULL DEFAULT '';
CREATE UNIQUE INDEX wb_message_supersedes ON wb_message (user_id, supersedes) WHERE supersedes <> '';

ALTER TABLE wb_journal ADD COLUMN supersedes text COLLATE "C" NOT NULL DEFAULT '';
CREATE UNIQUE INDEX wb_journal_supersedes ON wb_journal (user_id, supersedes) WHERE supersedes <> '';

ALTER TABLE wb_todo ADD COLUMN supersedes text COLLATE "C" NOT NULL DEFAULT '';
CREATE UNIQUE INDEX wb_todo_supersedes ON wb_todo (user_id, supersedes) WHERE supersedes <> '';

ALTER TABLE wb_gratitude ADD COLUMN supersedes text COLLATE "C" NOT NULL DEFAULT '';
CREATE UNIQUE INDEX wb_gratitude_supersedes ON wb_gratitude (user_id, supersedes) WHERE supersedes <> '';
