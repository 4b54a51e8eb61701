"""The verbs over all journals at once."""
