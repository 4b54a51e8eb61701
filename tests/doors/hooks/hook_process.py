"""Hooks as clients run them: real processes, with the client's JSON on stdin."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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
    process = start_hook(event, client=client, sent=said, cwd=cwd)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    return out.decode()


def brief_of(out):
    """The context in what Claude Code, Codex or Gemini is answered; empty for none."""
    return json.loads(out)["hookSpecificOutput"]["additionalContext"] if out.strip() else ""
