"""What the doors that speak MCP share: revisions, codes, capabilities, what refuses a request.

Imports nothing: stdio reads it before it answers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions whose sessions begin with a handshake, oldest first."""

MODERN = "2026-07-28"
"""The revision since which a client has no handshake and no session."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
"""In the `_meta` of each request since then, and of each result."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022

CAPABILITIES: dict[str, dict[str, bool]] = {
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}
"""What a server of ours can: nothing that it offers changes while it runs. A client that is told so
asks for no news before it lists the tools."""

SAMPLING_S = 45.0
"""How long the client's model may take: many clients give up a call after 60 s, and the tool must
still answer without it."""

STRUCTURED_META = "commonplace/structured"
"""In the `_meta` of a call: true asks for JSON beside the text."""


class RefusedRequest(Exception):
    """A request that gets an error of the protocol in place of a result."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class RateLimitExceeded(Exception):
    """An owner has reached a limit. limit: its name, as `per_second`."""

    def __init__(self, message: str, *, limit: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.message = message
        self.limit = limit
        self.retry_after_s = retry_after_s
