"""The worker of memory: what waits in the outboxes of all users is filed by it."""
