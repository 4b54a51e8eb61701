"""Transcripts as Claude Code and Codex write them, and what our own copies of them hold."""

from __future__ import annotations

import json
import os
from pathlib import Path

from commonplace.journals.transcripts.store import TranscriptStore


def claude_line(session, number, text, *, role="user", cwd=None):
    """A line of Claude Code's transcript."""
    return json.dumps(
        {
            "type": role,
            "uuid": f"{session}-{number}",
            "sessionId": session,
            "timestamp": f"2026-11-22T10:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
            "cwd": cwd or str(Path.cwd()),
            "message": {"role": role, "content": [{"type": "text", "text": text}]},
        }
    )


def write_transcript(session, count, *, first=0, text="wind from the west"):
    """Append so many messages to the transcript of a session; its path."""
    path = Path.home() / ".claude" / "projects" / "-project" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for number in range(first, first + count):
            role = "assistant" if number % 2 else "user"
            file.write(claude_line(session, number, f"{text} {number}", role=role) + "\n")
    return path


def our_folder():
    """Where our copies are."""
    return Path.home() / ".local" / "share" / "commonplace" / "users" / "me" / "transcripts"


def kept_ids(session, client="claude-code"):
    """The ids of what is kept of a session, in its order, as its file has them and as is read."""
    store = TranscriptStore(str(our_folder()))
    ids = [message.id for message in store.read(client, session)]
    store.close()
    files = [*our_folder().glob(f"{client}/*/{session}.jsonl")]
    lines = [json.loads(x)["id"] for file in files for x in file.read_text().splitlines()]
    assert ids == lines
    return ids


def whole_lines(session, client="claude-code"):
    """The ids in a session's file as a process that was killed left it, less a torn last line."""
    files = our_folder().glob(f"{client}/*/{session}.jsonl")
    lines = [x for file in files for x in file.read_text().splitlines(keepends=True)]
    return [json.loads(line)["id"] for line in lines if line.endswith("\n")]


def ids_of(session, count):
    """The ids that a transcript of so many messages has."""
    return [f"{session}-{number}" for number in range(count)]


def spooled():
    """The paths that the spool names."""
    path = our_folder() / "spool.jsonl"
    lines = path.read_text().splitlines() if os.path.exists(path) else []
    return [json.loads(line)["path"] for line in lines]
