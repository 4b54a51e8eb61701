"""Forgetting: what holds a text goes, and a look through every byte of ours proves it."""
