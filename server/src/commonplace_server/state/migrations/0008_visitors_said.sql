-- What a browser's pages were shown, secrets and notes, apart from what signs it in: forgetting takes it away from every
-- browser of a user, and signs none out. wiped: how often it did. Browsers that are signed in sign in once more, since
-- what they were shown lies among what signs them in.
DELETE FROM cp_visitors;
ALTER TABLE cp_visitors ADD COLUMN said bytea, ADD COLUMN wiped bigint NOT NULL DEFAULT 0;
REVOKE UPDATE ON cp_visitors FROM commonplace_app;
GRANT UPDATE (said, wiped, version, used_at) ON cp_visitors TO commonplace_app;
