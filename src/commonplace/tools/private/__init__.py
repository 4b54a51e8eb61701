"""The private journal's tools, in words for a model."""
