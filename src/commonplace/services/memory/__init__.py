"""Memory's verbs, and the worker that files for many users."""
