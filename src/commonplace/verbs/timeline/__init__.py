"""The timeline's verbs and tools."""
