"""Bringing in what other programs keep: diaries, memories of assistants, recorded activity."""
