"""A backup: one file that holds the truth of every journal, and what gives it back."""
