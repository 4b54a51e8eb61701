"""What the servers of a database keep there beside what users write: who may connect."""
