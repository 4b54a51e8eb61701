"""What `commonplace doctor` checks and repairs."""
