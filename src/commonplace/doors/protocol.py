"""What the doors that speak MCP share: a revision, names in a request's scope, and a refusal.

Imports nothing: the front of stdio reads it before it answers.
"""

from __future__ import annotations

MODERN = "2026-07-28"
"""The revision since which a client has no handshake and no session."""

SESSION = "commonplace.session"
"""In the scope of an HTTP request: whose session it belongs to."""

STREAM = "commonplace.stream"
"""In the scope of an HTTP request that stays open."""

WORK = "commonplace.work"
"""In the scope of an HTTP request: what to hold while it is worked at, which may go on when the
request is over. Entering it raises RateLimitExceeded."""


class RateLimitExceeded(Exception):
    """One owner asks too much. retry_after_s: when it is worth another try."""

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_s = retry_after_s
