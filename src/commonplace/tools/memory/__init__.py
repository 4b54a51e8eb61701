"""Memory's tools, in words for a model."""
