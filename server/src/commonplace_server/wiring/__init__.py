"""The wiring of what lies in Postgres: memories, the servers of one database, the worker."""
