"""The verbs and tools of transcripts: what was said in sessions, listed, read and deleted."""
