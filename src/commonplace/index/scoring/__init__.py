"""What docs are worth by words and by meaning. Pure: never reads a table."""
