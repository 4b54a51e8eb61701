-- What the servers of one database agree on.

-- name: claim
-- Makes a home the one whose journals are served, if none is, or in place of the one that was.
INSERT INTO cp_served_home AS known (home, place) VALUES (%(home)s, %(place)s)
ON CONFLICT (one) DO UPDATE SET home = excluded.home, place = excluded.place
WHERE known.home = excluded.home OR %(instead)s;

-- name: state
-- The home whose journals are served, null before any was; whether nothing can be written; what
-- time it is there.
SELECT home::text, place, current_setting('transaction_read_only')::bool, clock_timestamp()
FROM (VALUES (1)) AS once LEFT JOIN cp_served_home ON true;

-- name: other_settings
-- What was announced last of each setting, where it is another than some process has.
SELECT said.name, said.value, said.place FROM cp_settings AS said
JOIN unnest(%(names)s::text[], %(values)s::text[]) AS own (name, value) ON own.name = said.name
WHERE said.value <> own.value ORDER BY 1;

-- name: unlike_settings
-- Which settings were announced last as another than some process has, or never.
SELECT own.name FROM unnest(%(names)s::text[], %(values)s::text[]) AS own (name, value)
LEFT JOIN cp_settings AS said ON said.name = own.name
WHERE said.value IS DISTINCT FROM own.value ORDER BY 1;

-- name: announce_settings
-- What a process has, in place of what others announced that is another.
INSERT INTO cp_settings AS said (name, value, place, at)
SELECT own.name, own.value, %(place)s, now() FROM unnest(%(names)s::text[], %(values)s::text[]) AS own (name, value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, place = excluded.place, at = excluded.at
WHERE said.value <> excluded.value;
