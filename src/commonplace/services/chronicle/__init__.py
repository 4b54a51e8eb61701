"""Chronicle's verbs."""
