"""Postgres for the journals of served users: one table of entries, an adapter for each journal."""
