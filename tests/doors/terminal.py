"""Calling commands as a person would: in this process, or on a terminal of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.doors.cli import main
from commonplace.doors.logs import close_logging


def run(*words, **more):
    """Call the command line in this process; no log file stays open behind it."""
    try:
        return CliRunner().invoke(main, [str(word) for word in words], **more)
    finally:
        close_logging()


def facts(*words, code=0, **more):
    """The facts a command prints with --json, after it left with this code."""
    done = run(*words, "--json", **more)
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def write(text, *words):
    """Write one thought; its ref."""
    return facts("private", "write", text, *words)["refs"][0]


def hits(query, *words):
    """The refs a search gives, best first."""
    return [hit["ref"] for hit in facts("private", "search", query, *words)["results"]]


def opened_app():
    """The app that a command here and now would open; to be closed."""
    return App(read_settings(cwd=Path.cwd(), home=Path.home()), user_home=Path.home())


def on_terminal(*words, typed="", env=None):
    """Call the command line in a process whose stdin and stderr are a terminal.

    Its code, its stdout, and what the terminal showed.
    """
    import pty

    primary, terminal = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", *words],
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=terminal,
            env={**os.environ, **(env or {})},
        )
        os.write(primary, typed.encode())
        out = process.communicate()[0]
        os.set_blocking(primary, False)
        try:
            shown = os.read(primary, 100_000)
        except BlockingIOError:
            shown = b""
        return process.returncode, out.decode(), shown.decode()
    finally:
        os.close(primary)
        os.close(terminal)
