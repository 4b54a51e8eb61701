-- What is left of each raw entry that expired: its time, what figures count of it, and the sentences
-- of it that a rollup still quotes. A period is made from what is there and from these, and nothing
-- is in both. Ordered by time, which is how they are read.
CREATE TABLE expired (
    timestamp TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    facts TEXT NOT NULL,
    points TEXT NOT NULL,
    PRIMARY KEY (timestamp, seq)
) WITHOUT ROWID;

ALTER TABLE rollups DROP COLUMN base;

-- Whether bytes of what was deleted may be left in the file: set with the deletion.
ALTER TABLE state ADD COLUMN erasing INTEGER NOT NULL DEFAULT 0;
UPDATE state SET erasing = EXISTS (SELECT 1 FROM tombstones WHERE NOT expired);
