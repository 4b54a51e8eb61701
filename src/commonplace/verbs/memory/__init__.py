"""Memory's verbs and tools, and the worker that files for many users."""
