-- Which users' words are to be packed and whose vectors halved, so that one who has written nothing costs nothing, and
-- several workers share the rest. Since then `wb_upkeep.packed_at` says nothing any more.

-- unpacked_at: since when something may not be packed, null where all is; packing_until: until when a worker has the user in
-- hand, or the user rests after one that did not end; packing_tries: workers that have, since one did; was_written: whether
-- anything was since the last of them began.
ALTER TABLE wb_index
    ADD COLUMN unpacked_at timestamptz DEFAULT now(),
    ADD COLUMN packing_until timestamptz,
    ADD COLUMN packing_tries integer NOT NULL DEFAULT 0,
    ADD COLUMN was_written boolean NOT NULL DEFAULT true;
CREATE INDEX wb_index_unpacked ON wb_index (unpacked_at) WHERE unpacked_at IS NOT NULL;
CREATE INDEX wb_index_packing_tries ON wb_index (user_id) WHERE packing_tries > 1;

-- The last change by a program that knows of packed words, null until they are packed by one that notes it. A former version
-- leaves the former words of what it edits or deletes in the blocks: its changes are refused, wait, and a worker files them.
ALTER TABLE wb_index
    ADD COLUMN known_change bigint,
    ADD CONSTRAINT wb_index_known_change CHECK (packed = '{}' OR known_change = change) NOT VALID;

-- A worker is shown which users are to be packed while it is at work on no user.
CREATE POLICY packing ON wb_index FOR SELECT TO commonplace_worker
    USING (nullif(current_setting('app.user_id', true), '') IS NULL);
CREATE POLICY packing_leased ON wb_index FOR UPDATE TO commonplace_worker
    USING (nullif(current_setting('app.user_id', true), '') IS NULL)
    WITH CHECK (nullif(current_setting('app.user_id', true), '') IS NULL);
