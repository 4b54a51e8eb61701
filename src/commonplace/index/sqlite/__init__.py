"""The index on disk: an SQLite file for each owner, words by FTS5, meaning by exact products."""
