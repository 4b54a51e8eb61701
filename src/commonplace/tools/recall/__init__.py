"""The tools over all journals, in words for a model."""
