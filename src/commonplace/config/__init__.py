"""The settings: a table of them, and how flags, environment and files are read into values."""
