"""The notebook's tools, in words for a model."""
