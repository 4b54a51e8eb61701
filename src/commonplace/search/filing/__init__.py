"""Filing: keeps an index behind the journals, and makes the vectors that are missing."""
