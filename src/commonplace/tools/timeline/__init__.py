"""The timeline's tools, in words for a model."""
