"""What clients send to a hook, and how each wants to be answered.

Pure functions; never trusts what was sent, and never answers in another form than JSON or nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

EVENTS = (
    "session-start",
    "prompt",
    "stop",
    "pre-compact",
    "session-end",
    "subagent-start",
    "subagent-stop",
    "cwd-changed",
)

DEFAULT_CLIENT = "claude-code"
CUTS = ("compact", "clear")
"""Sources of a session's start after which the model no longer sees what was said before."""

_NAMES = {
    "claude-code": {
        "session-start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "subagent-start": "SubagentStart",
    },
    "codex": {"session-start": "SessionStart", "prompt": "UserPromptSubmit"},
    "gemini": {"session-start": "SessionStart", "prompt": "BeforeAgent"},
}
"""What the clients that answer in Claude Code's form call the events that may add context."""

_FIELDS = {"cursor": "additional_context"}
"""In which field other clients take context; else `additionalContext`."""

_LONGEST = 4096


class HookCall:
    """What a client said of the event.

    Args:
        transcript: The path of its transcript, or of the sub-agent's that ends; empty for none.
        old_cwd: The folder it worked in before, where that changed.
        source: Why the session starts: `startup`, `resume`, `clear`, `compact`.
    """

    __slots__ = ("client", "cwd", "event", "old_cwd", "prompt", "session", "source", "transcript")

    def __init__(self, event: str, client: str, said: Mapping[str, Any], cwd: str) -> None:
        self.event = event
        self.client = client
        self.session = _text(said, "session_id", "sessionId", "conversation_id")
        if event == "subagent-stop":
            self.transcript = _path(_text(said, "agent_transcript_path"))
        else:
            self.transcript = _path(_text(said, "transcript_path", "transcriptPath"))
        self.cwd = _path(_text(said, "new_cwd", "cwd")) or _first_root(said) or cwd
        self.old_cwd = _path(_text(said, "old_cwd"))
        self.source = _text(said, "source", "trigger")
        prompt = said.get("prompt")
        self.prompt = prompt if isinstance(prompt, str) else ""


def parse_call(event: str, client: str, sent: bytes, cwd: str) -> HookCall:
    """What a client sent on stdin; what is no JSON object says nothing."""
    import json

    try:
        said = json.loads(sent)
    except (ValueError, RecursionError):
        said = {}
    return HookCall(event, client, said if isinstance(said, dict) else {}, cwd)


def render_answer(call: HookCall, context: str) -> str:
    """What the client reads on stdout."""
    import json

    names = _NAMES.get(call.client)
    if not context or (names is not None and call.event not in names):
        return render_nothing(call.client)
    if names is None:
        answer: dict[str, Any] = {_FIELDS.get(call.client, "additionalContext"): context}
    else:
        name = names[call.event]
        answer = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}
    return json.dumps(answer) + "\n"


def render_nothing(client: str) -> str:
    """What a client reads on stdout where there is nothing to say."""
    return "" if client == DEFAULT_CLIENT else "{}\n"


def _text(said: Mapping[str, Any], *names: str) -> str:
    for name in names:
        value = said.get(name)
        if isinstance(value, str) and value and len(value) <= _LONGEST and "\0" not in value:
            return value
    return ""


def _path(text: str) -> str:
    try:
        path = os.path.expanduser(text)
        os.fsencode(path)  # half a surrogate pair names nothing
    except ValueError:
        return ""
    return path if os.path.isabs(path) else ""


def _first_root(said: Mapping[str, Any]) -> str:
    roots = said.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots else ""
    return _path(root) if isinstance(root, str) else ""
