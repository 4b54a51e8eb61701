"""Chronicle's verbs and tools."""
