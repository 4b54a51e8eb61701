"""The verbs and tools over all journals at once."""
