"""Postgres as every room uses it: a pool that hands out connections only with an owner."""
