"""Transcripts as the real clients write them, in few words; for the tests of those that read them."""

from __future__ import annotations

import json
from itertools import count

_number = count(1)
DAY_MS = 1_795_341_600_000
"""The first second of `clock`."""


def clock(second):
    """A time of one day, by the seconds since ten o'clock."""
    return f"2026-11-22T10:{second // 60:02}:{second % 60:02}.000Z"


def claude_line(text, *, role="user", own=None, second=0, content=None, **more):
    """A line of Claude Code's: what a user typed, or what an assistant said."""
    message = {"role": role, "content": text if content is None else content}
    if role == "assistant" and content is None:
        message["content"] = [{"type": "text", "text": text}]
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": role,
        "message": message,
        "uuid": own or f"00000000-0000-4000-8000-{next(_number):012}",
        "timestamp": clock(second),
        "cwd": "/home/ann/shop",
        "sessionId": "s1",
        "gitBranch": "main",
        **more,
    }


def codex_item(payload, *, second=0, kind="response_item"):
    """A line of Codex's."""
    return {"timestamp": clock(second), "type": kind, "payload": payload}


def codex_meta(session="s1", **more):
    """The first line of a rollout."""
    meta = {"id": session, "timestamp": clock(0), "cwd": "/home/ann/shop", "source": "cli"}
    return codex_item({**meta, "git": {"branch": "main"}, **more}, kind="session_meta")


def codex_message(*texts, role="user", own="", second=1, **more):
    """A message of a rollout, of one text or several."""
    kind = "input_text" if role == "user" else "output_text"
    content = [{"type": kind, "text": text} for text in texts]
    payload = {"type": "message", "role": role, "content": content, **more}
    return codex_item(payload | ({"id": own} if own else {}), second=second)


def codex_turn(began, *, second, uuid="{:08x}-{:04x}-7000-8000-000000000001"):
    """The line with which a turn begins, whose id holds when it did; both in seconds."""
    at = DAY_MS + began * 1000
    payload = {"type": "task_started", "turn_id": uuid.format(at >> 16, at & 0xFFFF)}
    return codex_item({**payload, "started_at": at // 1000}, second=second, kind="event_msg")


def codex_session(second, own=1):
    """The id of a session that was begun at a second."""
    at = DAY_MS + second * 1000
    return f"{at >> 16:08x}-{at & 0xFFFF:04x}-7000-8000-{own:012}"


def write_lines(path, *lines):
    """A file of lines of JSON; its path as text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return str(path)


def add_lines(path, *lines):
    """The same file, grown by more lines."""
    with open(path, "ab") as file:
        file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
