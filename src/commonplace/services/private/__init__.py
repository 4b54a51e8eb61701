"""The private journal's verbs."""
