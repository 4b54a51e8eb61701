"""What this server lets clients of other programs do, where users sign in here (OAuth 2.1)."""
