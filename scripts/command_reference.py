"""The reference of all commands and their options, as Markdown and as manual pages.

Made from the commands themselves; never says what a help does not.
"""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from commonplace.doors.cli import COMMANDS, TWINS
from commonplace.doors.cli import main as cli

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAN = Path("docs") / "man"
_NO_BREAK = "\b\n"
"""Begins a paragraph whose lines click does not join."""


class CommandHelp(NamedTuple):
    """What the help of a command says.

    Attributes:
        path: As it is typed, such as `commonplace log`.
        usage: What is typed behind that.
        paragraphs: What it does.
        options: Each with its spellings and what it does.
        hidden: Whether another command does the same.
        example: A call of it; empty for none.
    """

    path: str
    usage: str
    paragraphs: Sequence[str]
    options: Sequence[tuple[str, str]]
    hidden: bool
    example: str = ""


def helps_of(name: str) -> list[CommandHelp]:
    """The help of a command, then of each below it."""
    # With the settings of a real call: a command keeps the help option that it first made.
    root = click.Context(cli, info_name="commonplace", **cli.context_settings)
    command = cli.get_command(root, name)
    assert command is not None
    found = list(_helps(command, click.Context(command, info_name=name, parent=root)))
    if example := COMMANDS[name].example:
        found[0] = found[0]._replace(example=f"commonplace {example}")
    return found


def commands_text() -> str:
    """All commands as Markdown, in the groups of `commonplace --help`."""
    lines: list[str] = []
    for group, names in cli.groups().items():
        lines += ["", f"## {group}"]
        for name in names:
            found = helps_of(name)
            for each in found:
                lines += [] if each.hidden else _markdown(each)
            lines += _markdown_of_hidden([each for each in found if each.hidden])
    lines += ["", "## Other names", "", "| name | stands for |", "|---|---|"]
    lines += [f"| `{name}` | `{full}` |" for name, full in TWINS.items()]
    return "\n".join([*lines[1:], ""])


def manual_pages(version: str) -> dict[Path, str]:
    """A page for `commonplace` and one for each of its commands, by their files."""
    pages = {MAN / "commonplace.1": _overview(version)}
    for name in COMMANDS:
        parts = [x for each in helps_of(name) for x in _roff(each)]
        head = _head(f"commonplace-{name}", COMMANDS[name].summary, version)
        pages[MAN / f"commonplace-{name}.1"] = "\n".join([*head, *parts, *_TAIL])
    return pages


def _helps(command: click.Command, ctx: click.Context) -> Iterator[CommandHelp]:
    options = [
        record
        for each in command.get_params(ctx)
        if isinstance(each, click.Option) and (record := each.get_help_record(ctx))
    ]
    yield CommandHelp(
        path=ctx.command_path,
        usage=" ".join(command.collect_usage_pieces(ctx)),
        paragraphs=cleandoc(command.help or "").replace(_NO_BREAK, "").split("\n\n"),
        options=[x for x in options if "--help" not in x[0]],
        hidden=command.hidden,
    )
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            assert below is not None
            yield from _helps(below, click.Context(below, info_name=name, parent=ctx))


def _markdown(said: CommandHelp) -> Iterator[str]:
    yield from ("", f"### `{said.path}`", "", f"`{said.path} {said.usage}`".replace(" `", "`"))
    for paragraph in said.paragraphs:
        yield from ("", " ".join(paragraph.split()))
    if said.options:
        yield from ("", "| option | what |", "|---|---|")
        for spelled, what in said.options:
            yield f"| `{_cell(spelled)}` | {_cell(what)} |"
    if said.example:
        yield from ("", "```sh", said.example, "```")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _markdown_of_hidden(hidden: Sequence[CommandHelp]) -> Iterator[str]:
    if hidden:
        names = ", ".join(f"`{each.path}`" for each in hidden)
        yield from ("", f"No help lists them any more, and they work as they did: {names}.")


def _head(name: str, summary: str, version: str) -> list[str]:
    title = name.upper()
    return [
        f'.TH "{title}" 1 "" "Commonplace {version}" "Commonplace"',
        ".SH NAME",
        _line(f"{name} - {summary}").replace(" - ", " \\- ", 1),
    ]


_TAIL = [".SH SEE ALSO", ".BR commonplace (1)", ""]


def _overview(version: str) -> str:
    lines = _head("commonplace", cleandoc(cli.help or ""), version)
    lines += [".SH SYNOPSIS", ".B commonplace", "COMMAND [OPTIONS] [ARGS]..."]
    for group, names in cli.groups().items():
        lines.append(f'.SH "{group.upper()}"')
        for name in names:
            lines += [".TP", f".BR commonplace\\-{name} (1)", _line(COMMANDS[name].summary)]
    lines.append('.SH "OTHER WORDS"')
    for name, full in TWINS.items():
        lines += [".TP", f".B {name}", _line(full)]
    return "\n".join([*lines, ""])


def _roff(said: CommandHelp) -> Iterator[str]:
    yield f'.SH "{said.path.upper()}"'
    yield from (f".B {_line(said.path)}", _line(said.usage))
    for paragraph in said.paragraphs:
        yield from (".PP", _line(" ".join(paragraph.split())))
    for spelled, what in said.options:
        yield from (".TP", f".B {_line(spelled)}", _line(" ".join(what.split())))
    if said.example:
        yield from (".PP", "Example:", ".PP", ".nf", _line(f"    {said.example}"), ".fi")


def _line(text: str) -> str:
    """A line of a page: what roff would read as its own is written out."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
