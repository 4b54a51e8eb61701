"""A reader for each program: its files in, plain entries out."""
