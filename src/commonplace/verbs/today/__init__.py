"""Today: what is new since the owner looked, what a session is told, what is open, what waits."""
