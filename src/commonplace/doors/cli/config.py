"""`commonplace config`: what is set and where it comes from, and changing the user's own file.

Never knows a setting by name: the table in `commonplace.config.table` does.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import click

from commonplace.config.settings import (
    read_user_file,
    unset_setting,
    user_file,
    write_setting,
    write_settings,
)
from commonplace.config.table import SETTINGS
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.values import Answer
from commonplace.doors.cli.call_settings import home_folder, settings, working_folder
from commonplace.doors.cli.editor import text_from_editor
from commonplace.doors.cli.options import common_options, json_option
from commonplace.doors.cli.output import show
from commonplace.doors.cli.terminal_width import terminal_size
from commonplace.doors.shown_settings import HIDDEN, find_row, overruled, text_of, value_of

if TYPE_CHECKING:
    from pathlib import Path

_text = partial(text_of, nothing="-")


@click.group()
def config() -> None:
    """Show or change settings."""


@config.command(name="show")
@common_options
def show_settings(as_json: bool) -> None:
    """Show each value and where it comes from."""
    read = settings()
    facts = {
        row.key: {
            "value": value_of(row, read),
            "origin": read.origins[row.key],
        }
        for row in SETTINGS
    }
    rows = [(key, _text(fact["value"]), fact["origin"]) for key, fact in facts.items()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1, 2)]
    if sys.stdout.isatty():  # a longer value than there is room for pushes its origin on
        widths[1] = min(widths[1], max(terminal_size().columns - widths[0] - widths[2] - 4, 1))
    lines = [f"{key:{widths[0]}}  {value:{widths[1]}}  {origin}" for key, value, origin in rows]
    show(Answer(text="\n".join(lines), facts=facts), as_json)


@config.command(name="set")
@click.argument("key")
@click.argument("value")
@json_option
def set_setting(key: str, value: str, as_json: bool) -> None:
    """Set KEY to VALUE in the user's settings file."""
    file = user_file()
    write_setting(key, value, file, cwd=working_folder(), home=home_folder())
    answer = Answer(
        text=f"Set {key} in {file}.",
        facts={
            "key": key,
            "value": HIDDEN if find_row(key).is_secret else value,
            "file": str(file),
        },
    )
    show(answer.noting(_overruled(key, file)), as_json)


@config.command(name="get")
@click.argument("key")
@common_options
def get_setting(key: str, as_json: bool) -> None:
    """Print the value of KEY, and with --json where it comes from."""
    row = find_row(key)
    read = settings()
    value = value_of(row, read)
    facts = {"key": key, "value": value, "origin": read.origins[key]}
    show(Answer(text=_text(value), facts=facts), as_json)


@config.command(name="unset", short_help="Remove KEY, so that its default holds again.")
@click.argument("key")
@json_option
def unset(key: str, as_json: bool) -> None:
    """Remove KEY from the user's settings file, so that its default holds again."""
    file = user_file()
    was_set = unset_setting(key, file)
    text = f"Removed {key} from {file}." if was_set else f"{key} is not set in {file}."
    show(Answer(text=text, facts={"key": key, "file": str(file), "was_set": was_set}), as_json)


@config.command(name="edit", short_help="Open the user's settings file in your editor.")
@json_option
def edit_file(as_json: bool) -> None:
    """Open the user's settings file in your editor; a broken one is not saved."""
    file = user_file()
    before = read_user_file(file)
    after = text_from_editor(before, lambda: settings().home, extension=".toml")
    if after is None or after == before:
        raise Invalid("Nothing was changed.", hint="Save before you leave the editor.")
    write_settings(after, file, before=before, cwd=working_folder(), home=home_folder())
    show(Answer(text=f"Saved {file}.", facts={"file": str(file)}), as_json)


@config.command()
@json_option
def path(as_json: bool) -> None:
    """Print where the user's settings file is, or would be."""
    file = str(user_file())
    show(Answer(text=file, facts={"path": file}), as_json)


def _overruled(key: str, file: Path) -> list[str]:
    """What goes before the user's file, in a sentence; nothing where the file has its way."""
    with suppress(CommonplaceError):  # another setting is wrong, and the next command says so
        return overruled(find_row(key), settings(), file)
    return []
