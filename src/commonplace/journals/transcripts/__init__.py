"""Transcripts: what was said in the sessions of assistants, in files of ours."""
