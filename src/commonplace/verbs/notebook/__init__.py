"""The notebook's verbs and tools."""
