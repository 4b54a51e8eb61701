-- The entry of its journal that another journal's entry took the place of; empty for none. What is known
-- of them so far is read once more.
ALTER TABLE fed ADD COLUMN supersedes TEXT NOT NULL DEFAULT '';
CREATE INDEX fed_supersedes ON fed (supersedes) WHERE supersedes <> '';
UPDATE fed SET stamp = '';
DELETE FROM fed_marks;
