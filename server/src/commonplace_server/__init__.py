"""Commonplace for many users: MCP over HTTP, tokens, and the memory of all users on Postgres.

Its log goes below that of the core, `commonplace`, which is set up once for both.
"""
