"""Chronicle: a log of what was done, in SQLite or as a folder of Markdown."""
