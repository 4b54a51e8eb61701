-- Who put each version of an overview in place, as git has authors; empty where that is not known.

ALTER TABLE cp_overviews ADD author text COLLATE "C" NOT NULL DEFAULT '',
    ADD address text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE cp_overviews ALTER author SET STATISTICS 0, ALTER address SET STATISTICS 0;

-- One that came with an entry is by its author. No text changes, so nothing is filed or counted again; the owner
-- of the tables sees no rows while they are guarded for it too.
ALTER TABLE cp_overviews NO FORCE ROW LEVEL SECURITY, DISABLE TRIGGER USER;
ALTER TABLE cp_entries NO FORCE ROW LEVEL SECURITY;
UPDATE cp_overviews AS o SET author = e.more::json ->> 'author', address = e.more::json ->> 'address'
FROM cp_entries AS e
WHERE o.entry_id <> '' AND e.user_id = o.user_id AND e.journal = 'notebook' AND e.id = o.entry_id;
ALTER TABLE cp_overviews FORCE ROW LEVEL SECURITY, ENABLE TRIGGER USER;
ALTER TABLE cp_entries FORCE ROW LEVEL SECURITY;
