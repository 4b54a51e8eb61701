"""Exports every journal as Markdown for people and JSON lines for programs, and imports it."""
