"""The timeline's verbs."""
