-- What the servers of one database agree on.

-- name: claim
-- Makes a home the one whose journals are served, if none is, or in place of the one that was.
INSERT INTO cp_served_home AS known (home, place) VALUES (%(home)s, %(place)s)
ON CONFLICT (one) DO UPDATE SET home = excluded.home, place = excluded.place
WHERE known.home = excluded.home OR %(instead)s;

-- name: served
-- The home whose journals are served.
SELECT home::text, place FROM cp_served_home;
