"""The private journal's verbs and tools."""
