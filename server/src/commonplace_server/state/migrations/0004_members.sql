-- Who uses a token, where its user_id is that of a space, which several users share; else empty.
ALTER TABLE cp_tokens ADD COLUMN member text COLLATE "C" NOT NULL DEFAULT '';
