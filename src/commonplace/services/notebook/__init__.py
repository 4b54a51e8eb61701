"""The notebook's verbs."""
