"""`commonplace serve`: many owners over HTTP."""
