"""The index in Postgres: rows of many users, each guarded; meaning by pgvector."""
