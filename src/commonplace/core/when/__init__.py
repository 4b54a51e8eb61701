"""English time phrases read as half-open intervals in the owner's zone."""
