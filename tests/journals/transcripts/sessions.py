"""Messages as a client's session has them, and a process that keeps some and kills itself."""

from __future__ import annotations

import signal
import subprocess
import sys

from commonplace.journals.transcripts.message import Message

_BEFORE = """
import os, signal, sys
from commonplace.journals.transcripts import catalog, files
from commonplace.journals.transcripts.store import TranscriptStore
from tests.journals.transcripts.sessions import said
store = TranscriptStore(sys.argv[1])
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def said(number: int, text: str = "", **fields) -> Message:
    """The message of a number, a minute later than the one before; user and assistant in turn."""
    at = f"2026-05-{1 + number // 1440:02}T{number // 60 % 24:02}:{number % 60:02}:00.000Z"
    role = "assistant" if number % 2 == 0 else "user"
    plain = {"id": f"id-{number}", "role": role, "at": at, "text": text or f"Words {number}."}
    return Message(**{**plain, **fields})


def texts(messages) -> list[str]:
    """What they say."""
    return [x.text for x in messages]


def run_killed(script: str, folder) -> None:
    """Run a script over a folder of transcripts until it dies, which it must.

    It finds `store`, `said`, `catalog`, `files` and `die`.
    """
    run = start(_BEFORE + script, folder)
    _, errors = run.communicate()
    assert run.returncode == -signal.SIGKILL, errors


def start(script: str, *arguments: object) -> subprocess.Popen:
    """A process that runs a script."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=_root())


def _root() -> str:
    from pathlib import Path

    return str(Path(__file__).parents[3])
