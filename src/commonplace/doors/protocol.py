"""What the doors that speak MCP share: a revision, names in a request's scope, and a refusal.

Imports nothing: the front of stdio reads it before it answers.
"""

from __future__ import annotations

MODERN = "2026-07-28"
"""The revision since which a client has no handshake and no session."""

STRUCTURED_META = "commonplace/structured"
"""In the `_meta` of a call: true asks for JSON beside the text."""

STRUCTURED_HEADER = "commonplace-structured"
"""A header of an HTTP request that asks for it: `Commonplace-Structured: 1`."""

SESSION = "commonplace.session"
"""In the scope of an HTTP request: whose session it belongs to."""

STREAM = "commonplace.stream"
"""In the scope of an HTTP request that stays open."""

WORK = "commonplace.work"
"""In the scope of an HTTP request: a function whose context counts a call while it runs, which may
be longer than the request lasts. Entering it raises RateLimitExceeded."""


class RateLimitExceeded(Exception):
    """An owner has reached a limit.

    Args:
        message: Which limit.
        retry_after_s: When it is worth another try.
    """

    def __init__(self, message: str, *, retry_after_s: int) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after_s = retry_after_s
