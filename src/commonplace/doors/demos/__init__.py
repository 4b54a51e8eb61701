"""What `commonplace … demo` shows, in a temporary home."""
