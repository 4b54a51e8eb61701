"""What a command takes from people: a text from words, stdin or an editor, and a yes.

Never writes what it took, and asks nothing where there is no terminal.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal, TypeAlias

import click

from commonplace.core.errors import Invalid
from commonplace.core.text import shown_now
from commonplace.doors.cli.call_settings import settings
from commonplace.doors.cli.output import say

_Act: TypeAlias = Literal["delete", "replace", "trust"]


def text_input(argument: str | None, *, before: str = "") -> str:
    """The text a command is about: its argument; stdin for `-` or in a pipe; else from $EDITOR.

    Raises:
        Invalid: Stdin is not UTF-8, or nothing was saved in the editor.
        Unavailable: The editor cannot be used.
    """
    if argument is not None and argument != "-":
        return argument
    if argument is None and sys.stdin.isatty():
        from commonplace.doors.cli.editor import text_from_editor

        written = text_from_editor(before, lambda: settings().home)
        if written is None:
            done = "changed" if before else "written"
            raise Invalid(f"Nothing was {done}.", hint="Save the text before you leave the editor.")
        return written
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Invalid("The text on stdin is not UTF-8.", hint="Convert it first.") from exc


def file_text(source: str, *, hint: str = "Name another file, or convert it.") -> str:
    """The text of a file, or of stdin for `-`. Raises: NotFound, Invalid where it is not UTF-8."""
    if source == "-":
        return text_input("-")
    from commonplace.core.files import translated

    with translated(source):
        content = Path(source).read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Invalid(f"{source} is not UTF-8.", hint=hint) from exc


def confirm(question: str, *, yes: bool, text: str = "", act: _Act = "delete") -> None:
    """Ask before something is lost, or believed; every command that does so asks by this.

    Args:
        question: What is about to be done, as a question.
        yes: Whether --yes was given: nothing is asked.
        text: Of what would be lost; its beginning is shown in any case: a ref says little.
        act: What is done to it.

    Raises:
        Invalid: There is no terminal to ask on.
        click.Abort: The answer is no.
    """
    if not yes and not sys.stdin.isatty():
        raise Invalid(f"Refusing to {act} without confirmation: {question}", hint="Pass --yes.")
    from commonplace.core.fence import visible
    from commonplace.doors.cli.terminal_width import cut, terminal_size, wrapped

    if begins := visible(" ".join(shown_now(text).split())):
        say(cut(begins, terminal_size().columns), err=True)
    if yes:
        return
    try:
        asked = wrapped(shown_now(f"{question} [y/N]"), sys.stderr)
        agreed = click.confirm(asked, err=True, show_default=False)
    except click.Abort:
        click.echo(err=True)  # Ctrl-C leaves the cursor behind the question
        raise
    if not agreed:
        say(f"Nothing was {act.removesuffix('e')}ed.", err=True)
        raise click.Abort
