"""The ways in. What one of them needs of another it asks for here, by name; none imports another.

Imports nothing: the front of stdio goes through this file before it answers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ENTRIES = {
    "serve_http": "commonplace.doors.http.start:start",
    "mcp_over_http": "commonplace.doors.mcp.server:HttpServer",
    "mcp_over_stdio": "commonplace.doors.mcp.server:serve_stdio",
    "mcp_in_memory": "commonplace.doors.mcp.server:converse",
    "begin_stdio": "commonplace.doors.stdio.front:FrontedSession",
    "announce_stdio": "commonplace.doors.stdio.front:announce",
    "serve_stdio": "commonplace.doors.stdio.handover:take_over",
    "refuse_stdio": "commonplace.doors.stdio.handover:refuse",
}


def entry(name: str) -> Any:
    """What one door offers the others under this name, imported now."""
    from importlib import import_module

    module, _, attribute = _ENTRIES[name].partition(":")
    return getattr(import_module(module), attribute)
