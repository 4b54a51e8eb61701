"""Memory in Postgres: tables of many users, each guarded, and their outbox."""
