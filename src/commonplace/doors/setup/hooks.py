"""Which events of each client run `commonplace hook`: the one table, for plugins and setup alike.

Never decides what a hook does: `doors/hooks` does.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from commonplace.doors.setup.clients import RUN_BY_UV, SERVER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TIMEOUT_S = 10
"""When a client gives up on a hook; the hook itself ends after two seconds."""


class HookTable(Struct, frozen=True, kw_only=True):
    """The hooks of one client.

    Args:
        events: The client's name of each event that we answer, by the event of `commonplace hook`.
        timeout: The key of the time limit, and the limit in the unit of the client.
        shorter: The limits of events for which the client takes no longer one.
        is_grouped: Whether an event has a list of groups, each with a list of hooks under `hooks`;
            else it has a list of hooks.
        fields: What a hook holds besides its command and time limit.
        top: What the file holds besides `hooks`.
        windows_key: The key of the command on Windows, where a plugin can have both.
        guard: What follows the command in a plugin, so that a client which takes a 2 as a veto
            goes on where an older `commonplace`, or another program of the name, is on the path.
        has_choice: Whether all shells of this client know `||`. A plugin then takes the installed
            program first, which answers in a third of the time that uvx takes.
    """

    events: Mapping[str, str]
    timeout: tuple[str, int] = ("timeout", TIMEOUT_S)
    shorter: Mapping[str, int] = field(default_factory=dict)
    is_grouped: bool = True
    fields: Mapping[str, str] = field(default_factory=lambda: {"type": "command"})
    top: Mapping[str, int] = field(default_factory=dict)
    command_key: str = "command"
    windows_key: str = ""
    guard: str = ""
    has_choice: bool = False


# `prompt` is run at every question, and answers only where `hooks.recall` is on: else it costs 6 ms
# of processor beside bare Python, and no one who turns the setting on has to run setup again.
_CLAUDE_EVENTS = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "stop": "Stop",
    "pre-compact": "PreCompact",
    "session-end": "SessionEnd",
}

HOOKS: dict[str, HookTable] = {
    "claude-code": HookTable(
        events={
            **_CLAUDE_EVENTS,
            "subagent-start": "SubagentStart",
            "subagent-stop": "SubagentStop",
            "cwd-changed": "CwdChanged",
        },
        guard=" || true",
        has_choice=True,
    ),
    "codex": HookTable(
        events=_CLAUDE_EVENTS,
        shorter={"session-end": 3},
        windows_key="commandWindows",
        guard=" || true",
        has_choice=True,
    ),
    "gemini": HookTable(
        events={
            "session-start": "SessionStart",
            "prompt": "BeforeAgent",
            "stop": "AfterAgent",
            "pre-compact": "PreCompress",
            "session-end": "SessionEnd",
        },
        timeout=("timeout", TIMEOUT_S * 1000),
    ),
    # Their transcripts are not read, so only the beginning of a session is of use.
    "cursor": HookTable(
        events={"session-start": "sessionStart"}, is_grouped=False, fields={}, top={"version": 1}
    ),
    "copilot": HookTable(
        events={"session-start": "sessionStart"},
        timeout=("timeoutSec", TIMEOUT_S),
        is_grouped=False,
        top={"version": 1},
        command_key="bash",
    ),
}


def render_hook(
    program: Sequence[str], event: str, client: str, *, platform: str
) -> dict[str, Any]:
    """One hook as the client's file holds it."""
    table = HOOKS[client]
    key, limit = table.timeout
    words = [*_without_network(program), "hook", event, "--client", client]
    line = _shell_line(words, platform=platform)
    command_key = table.command_key
    if command_key == "bash" and platform == "win32":
        command_key, line = "powershell", f"& {line}"
    return {**table.fields, command_key: line, key: table.shorter.get(event, limit)}


def render_plugin_hooks(client: str) -> dict[str, Any]:
    """All hooks of a client as its plugin holds them, on any platform.

    A plugin may assume uv, and that its server was started once: a hook fetches nothing.
    """
    table = HOOKS[client]
    made = {}
    for event, name in table.events.items():
        hook = render_hook(RUN_BY_UV, event, client, platform="linux")
        if table.windows_key:
            hook[table.windows_key] = hook[table.command_key]
        if table.has_choice:
            installed = render_hook([SERVER], event, client, platform="linux")["command"]
            hook["command"] = f"{installed} || {hook['command']}"
        hook[table.command_key] += table.guard
        made[name] = [with_group(hook, table)]
    return {**table.top, "hooks": made}


def _without_network(program: Sequence[str]) -> Sequence[str]:
    """A command that asks no index at its start, as uvx does unless it is told not to."""
    is_uvx = PurePath(program[0]).stem == RUN_BY_UV[0]
    return [program[0], "--offline", *program[1:]] if is_uvx else program


def with_group(hook: Mapping[str, Any], table: HookTable) -> dict[str, Any]:
    """A hook as an item of an event's list."""
    return {"hooks": [dict(hook)]} if table.is_grouped else dict(hook)


def is_ours(hook: object, event: str, client: str) -> bool:
    """Whether a hook of a client's file runs `commonplace hook` for this event."""
    if not isinstance(hook, dict):
        return False
    ends = re.compile(rf"commonplace\S* hook {event} --client {client}\Z")
    commands = [hook.get(key) for key in ("command", "bash", "powershell")]
    return any(isinstance(line, str) and ends.search(line) for line in commands)


def _shell_line(words: Sequence[str], *, platform: str) -> str:
    """A command as one line that the shells which run hooks on this platform all read alike."""
    if platform != "win32":
        return shlex.join(words)
    # Git's bash, cmd and PowerShell all take slashes in a path, and double quotes around it.
    plain = [word.replace("\\", "/") for word in words]
    return " ".join(f'"{word}"' if " " in word else word for word in plain)
