"""The tables of what servers keep beside what users write: their names.

Never asks them anything: each module has queries of its own.
"""

from __future__ import annotations

TABLES = (
    *("cp_tokens", "cp_sessions", "cp_session_reads", "cp_visitors"),
    *("cp_rates", "cp_spent", "cp_sign_ins"),
)
"""What the migrations make; row level security is forced on it."""

SERIES = "state"
"""The name of those migrations, which lie in `state/migrations`."""
