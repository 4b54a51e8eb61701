"""The verbs of transcripts: what was said in sessions, listed, read and deleted."""
