"""Calling commands as a person would: in this process, or on a terminal of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from importlib import resources
from pathlib import Path

import jsonschema
from click.testing import CliRunner
from tests.doors.forked import forked_commands

from commonplace.app import App, Apps
from commonplace.config.settings import read_settings
from commonplace.doors.cli import main
from commonplace.doors.cli.json_output import VERSION
from commonplace.doors.logs import close_logging

SHAPE = jsonschema.Draft202012Validator(
    json.loads(resources.files("commonplace.doors.cli").joinpath("output.schema.json").read_text()),
    format_checker=jsonschema.FormatChecker(),
)

LATELY = r"(?:just now|\d+ minutes? ago)"
"""The age of what a test wrote itself, on a machine that may be busy."""


def run(*words, **more):
    """Call the command line in this process; no log file stays open behind it."""
    try:
        return CliRunner().invoke(main, [str(word) for word in words], **more)
    finally:
        close_logging()


def facts(*words, code=0, **more):
    """What a command prints with --json, in the documented shape, after it left with this code."""
    done = run(*words, "--json", **more)
    assert done.exit_code == code, done.output
    printed = json.loads(done.stdout)
    SHAPE.validate(printed)
    assert printed.pop("schema_version") == VERSION
    return printed


def write(text, *words):
    """Write one thought; its ref."""
    return facts("private", "write", text, *words)["refs"][0]


def hits(query, *words):
    """The refs a search gives, best first."""
    return [hit["ref"] for hit in facts("private", "search", query, *words)["items"]]


def opened_app():
    """The app that a command here and now would open; to be closed."""
    return App(read_settings(cwd=Path.cwd(), home=Path.home()), user_home=Path.home())


@contextlib.contextmanager
def serving(owner):
    """An owner's app, as a server of the home that a command would use here and now opens it."""
    apps = Apps(read_settings(cwd=Path.cwd(), home=Path.home()), user_home=Path.home())
    try:
        with apps.using(owner) as app:
            yield app
    finally:
        apps.close()


def on_screen(*words):
    """What a terminal shows of a command all of whose output is on it."""
    return on_terminal(*words, out=None)[2].replace("\r\n", "\n")


def on_terminal(*words, typed="", env=None, out=subprocess.PIPE):
    """Call the command line in a process whose stdin and stderr are a terminal.

    Its code, its stdout, and what the terminal showed; with `out=None` its stdout is there too.
    """
    with one_terminal() as call:
        environ = {"TERM": "xterm-256color", **(env or {})}
        printed = call(*words, out=out, typed=typed.encode(), env=environ)
        return call.code, printed.decode(), call.shown().decode()


@contextlib.contextmanager
def one_terminal(commands=None):
    """A terminal for several short commands, each in a process of its own: a `Terminal`.

    commands: Where these come from, if not from those of the process of the tests.
    """
    import pty

    primary, terminal = pty.openpty()
    try:
        yield Terminal(primary, terminal, commands or forked_commands())
    finally:
        os.close(primary)
        os.close(terminal)


class Terminal:
    """Takes the words of a command, and gives its stdout; `code` is that of the last one."""

    def __init__(self, primary, terminal, commands):
        self._primary, self._terminal, self._commands = primary, terminal, commands
        self.code = 0

    def __call__(self, *words, out=subprocess.PIPE, typed=b"", anew=False, env=None):
        """Call one.

        With `out=None` its stdout is the terminal; `typed` is what was typed before it reads. With
        `anew` it is a later terminal, which the system gave the same name.
        """
        os.write(self._primary, typed)
        reading, writing = os.pipe()
        streams = (self._terminal, writing if out else self._terminal, self._terminal)
        environ = {**os.environ, **(env or {})}
        command = self._commands.start(*words, streams=streams, env=environ, leads=anew)
        os.close(writing)
        with open(reading, "rb") as printed:
            said = printed.read()
        self.code = command.wait()
        return said

    def shown(self):
        """What the terminal showed since it was asked last."""
        os.set_blocking(self._primary, False)
        shown = b""
        with contextlib.suppress(BlockingIOError):
            while True:  # a read gives one buffer of it at most
                shown += os.read(self._primary, 100_000)
        os.set_blocking(self._primary, True)
        return shown
