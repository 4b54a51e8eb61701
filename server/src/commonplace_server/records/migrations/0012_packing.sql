-- When everybody's words were last packed. At first when this was applied: a server of the former version, which does
-- not read what is packed, may serve for a day more.
ALTER TABLE wb_upkeep ADD COLUMN packed_at timestamptz NOT NULL DEFAULT now();
