"""The ways in. What one of them needs of another it asks for here, by name; none imports another.

Imports nothing: stdio goes through this file before it answers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ENTRY_POINTS = {
    "serve_web": "commonplace.doors.web.start:start",
    "serve_stdio": "commonplace.doors.stdio.start:serve",
    "offered_tools": "commonplace.doors.stdio.built_lists:offered_tools",
    "answer_hook": "commonplace.doors.hooks.hook:answer",
    "hook_events": "commonplace.doors.hooks.client_messages:EVENTS",
    "doctor": "commonplace.doors.doctor.checks:Doctor",
    "find_secrets": "commonplace.doors.doctor.secrets:find_secrets",
    "repair_secrets": "commonplace.doors.doctor.secret_repair:repair_secrets",
    "clients": "commonplace.doors.setup.clients:CLIENTS",
    "client_setup": "commonplace.doors.setup.set_up:ClientSetup",
    "list_clients": "commonplace.doors.setup.set_up:list_clients",
    "install_timer": "commonplace.doors.setup.timer:install_timer",
    "remove_timer": "commonplace.doors.setup.timer:remove_timer",
    "timeline_demo": "commonplace.doors.demos.timeline:run",
}


def entry_point(name: str) -> Any:
    """Import what one door offers the others under this name."""
    from importlib import import_module

    module, _, attribute = _ENTRY_POINTS[name].partition(":")
    return getattr(import_module(module), attribute)
