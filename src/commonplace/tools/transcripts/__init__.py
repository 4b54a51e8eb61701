"""Transcripts in words: sessions and what was said in them."""
