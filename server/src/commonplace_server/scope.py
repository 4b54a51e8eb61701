"""The names under which a request over HTTP carries what the gate knows of it, in its scope."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from commonplace.core.errors import Invalid
from commonplace.core.spaces import parse_space

if TYPE_CHECKING:
    from collections.abc import Mapping

STRUCTURED_HEADER = "commonplace-structured"
"""A header of an HTTP request that asks for it: `Commonplace-Structured: 1`."""

PATH = "/mcp"
"""Where MCP is spoken."""

API = "/api/v1"
"""What the paths of the API for programs that speak no MCP begin with."""

TOOLS = f"{API}/tools/"
"""What the path of a tool begins with there; its name is all that follows."""

SESSION = "commonplace.session"
"""In the scope of an HTTP request: whose session it belongs to."""

STREAM = "commonplace.stream"
"""In the scope of an HTTP request that stays open."""

WORK = "commonplace.work"
"""In the scope of an HTTP request: a function whose context counts a call while it runs, which may
be longer than the request lasts. Entering it raises RateLimitExceeded."""

METADATA = "/.well-known/oauth-authorization-server"
TOKENS = "/token"
REGISTER = "/register"
REVOKE = "/revoke"
AUTHORIZATION = (METADATA, TOKENS, REGISTER, REVOKE)
"""Where clients find out how to sign in here, register, and are given tokens."""


def space_asked(scope: Mapping[str, Any]) -> str:
    """The space that the address of a request names, `?space=team`; else empty. Raises: Invalid."""
    return space_in(scope.get("query_string", b"").decode("latin-1"))


def space_in(query: str) -> str:
    """The space that a query names; else empty. Raises: Invalid."""
    named = parse_qs(query, keep_blank_values=True).get("space", [])
    if len(named) > 1:
        raise Invalid("The address names a space twice.", hint="Name one: ?space=team.")
    return parse_space(named[0]) if named else ""


def is_api(scope: Mapping[str, Any]) -> bool:
    """Whether a request over HTTP is one of the API."""
    return bool(scope["path"].startswith(f"{API}/"))


def tool_at(path: str) -> str:
    """The name of the tool that a path of the API calls; empty where it calls none."""
    return path.removeprefix(TOOLS) if path.startswith(TOOLS) else ""
