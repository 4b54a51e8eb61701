-- Vectors in half precision, as a worker moves them: half the room, and eight rows to a page in place of four. One that is
-- not moved yet is in `vector`; that column stays, since servers of the former version read it and write to it.
ALTER TABLE wb_embeddings
    ADD COLUMN half halfvec,
    ALTER COLUMN vector DROP NOT NULL,
    ADD CONSTRAINT wb_embeddings_vector CHECK (num_nonnulls(vector, half) = 1) NOT VALID;
ALTER TABLE wb_embeddings ALTER COLUMN half SET STORAGE PLAIN, ALTER COLUMN half SET STATISTICS 0;
