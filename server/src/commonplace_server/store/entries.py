"""The table of entries that all journals but memory share: its names.

Never asks it anything: each journal has queries of its own.
"""

from __future__ import annotations

TABLES = ("cp_entries",)
"""What the migrations make; row level security is forced on it."""

SERIES = "entries"
"""The name of those migrations, which lie in `store/migrations`."""
