"""What a session is told at its start: the brief of one project."""
