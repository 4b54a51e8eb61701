"""The commands that this adds to `commonplace`."""
