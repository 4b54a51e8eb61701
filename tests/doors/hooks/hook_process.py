"""Hooks as clients run them: real processes, with the client's JSON on stdin."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from tests.patience import PATIENCE_S

from commonplace.doors.hooks.hook import DEADLINE_S

COMMAND = [sys.executable, "-P", "-m", "commonplace", "hook"]


def start_hook(event, *, client="claude-code", sent=b"", cwd=None):
    """A hook's process, with all of its stdin sent and ended."""
    process = subprocess.Popen(
        [*COMMAND, event, "--client", client],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
    )
    process.stdin.write(sent if isinstance(sent, bytes) else json.dumps(sent).encode())
    process.stdin.close()
    process.stdin = None
    return process


def run_hook(event, *, client="claude-code", cwd=None, **said):
    """What a hook says on stdout; it must have ended with 0 and said nothing on stderr."""
    said = {"session_id": "s-1", "cwd": str(cwd or Path.cwd()), **said}
    return in_time(lambda: start_hook(event, client=client, sent=said, cwd=cwd))


def in_time(start):
    """What a hook says that no deadline of its own cut off, as on a machine too busy for it.

    start: begins one; called again after one that was cut off.
    """
    ends = time.monotonic() + PATIENCE_S
    while True:
        began = time.monotonic()
        process = start()
        out, err = process.communicate()
        assert (process.returncode, err or b"") == (0, b"")
        if out or time.monotonic() - began < DEADLINE_S:
            return out.decode()
        assert time.monotonic() < ends, "each of them was cut off"


def brief_of(out):
    """The context in what Claude Code, Codex or Gemini is answered; empty for none."""
    said = json.loads(out or "{}")
    return said["hookSpecificOutput"]["additionalContext"] if said else ""
