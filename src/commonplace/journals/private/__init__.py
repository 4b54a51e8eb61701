"""The private journal: Markdown files by day, with their `.embedding` beside them."""
