"""The wiring of memories, in files or in Postgres."""
