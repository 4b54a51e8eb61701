"""`commonplace private`: the private journal from a terminal.

Never decides anything about the journal: each command parses, calls one tool and shows its answer.
"""

from __future__ import annotations

import os
import sys

import click

from commonplace.core.errors import Invalid
from commonplace.core.values import Filter
from commonplace.doors.cli.asking import confirm, text_input
from commonplace.doors.cli.call_settings import settings
from commonplace.doors.cli.calls import call_tool, check_age, file_everything, opened
from commonplace.doors.cli.editor import text_from_editor
from commonplace.doors.cli.options import (
    common_options,
    expires_option,
    no_undo_option,
    yes_option,
)
from commonplace.doors.cli.output import show, show_written
from commonplace.doors.cli.short_refs import ShortRefCommand, find_entry
from commonplace.doors.cli.verb_commands import VerbCommand, arguments_of, verb_options
from commonplace.verbs.private.service import PrivateService

CATEGORIES = {
    name: argument.arg.text
    for name, argument in arguments_of(PrivateService.process_thoughts).items()
    if name not in {"at", "idempotency_key", "supersedes"}
}
"""What each category of thought is for, as the tool tells a model."""

_JOURNAL = Filter(journals=("private",))


def _absolute(_ctx: click.Context, _param: click.Parameter, path: str) -> str:
    """A file named from where you stand, as a shell completes it, is that file."""
    return os.path.abspath(path) if os.path.exists(path) else path


path_argument = click.argument("path", callback=_absolute)


@click.group()
def private() -> None:
    """Write and search the private journal."""


@private.command(context_settings={"token_normalize_func": lambda token: token.replace("_", "-")})
@click.argument("text", nargs=-1)
@click.option(
    "--category",
    type=click.Choice([name.replace("_", "-") for name in CATEGORIES]),
    metavar="NAME",
    default="reflections",
    show_default=True,
    callback=lambda _ctx, _param, name: name.replace("-", "_"),
    help="The category of TEXT, one of those below, such as technical-insights.",
)
@verb_options(PrivateService.process_thoughts)
@expires_option
@common_options
def write(
    text: tuple[str, ...],
    category: str,
    as_json: bool,
    **given: str | None,
) -> None:
    """Write thoughts down.

    TEXT is the thought; without it, and without a category's option, it is read from stdin, or
    your editor opens with all headings. `-` reads stdin.
    """
    thoughts = {name: value for name, value in given.items() if value is not None}
    has_thoughts = any(name in thoughts for name in CATEGORIES)
    if not text and not has_thoughts and sys.stdin.isatty():
        thoughts |= _edited_thoughts(category)
    elif text or not has_thoughts:
        if category in thoughts:
            raise Invalid(f"{category} is given twice.", hint="Name another --category.")
        thoughts[category] = text_input(" ".join(text) if text else None)
    show_written(call_tool("private", "process_thoughts", thoughts, defers_filing=True), as_json)


def _edited_thoughts(category: str) -> dict[str, str]:
    """What was written under each heading of a template in the editor. Raises: Invalid."""
    headings = {name: f"## {name.replace('_', ' ').title()}" for name in CATEGORIES}
    template = "".join(f"{heading}\n\n\n" for heading in headings.values())
    names = {heading: name for name, heading in headings.items()}
    texts: dict[str, list[str]] = {}
    at = category
    for line in (text_from_editor(template, lambda: settings().home) or "").splitlines():
        if line.strip() in names:
            at = names[line.strip()]
        else:
            texts.setdefault(at, []).append(line)
    written = {name: text for name, lines in texts.items() if (text := "\n".join(lines).strip())}
    if not written:
        raise Invalid("Nothing was written.", hint="Save the text before you leave the editor.")
    return written


VerbCommand(
    "private",
    PrivateService.search_journal,
    "search",
    """Find entries by meaning and by words.

    QUERY is a question or a few words: commonplace private search build trouble --when "last
    week".
    """,
    argument=click.Argument(["query"], nargs=-1, required=True),
    files=file_everything,
).add_to(private)
VerbCommand(
    "private",
    PrivateService.list_recent_entries,
    "list",
    f"""List the latest entries, newest first.

    WHEN is a time such as `yesterday` or `last week`; without it the last
    {arguments_of(PrivateService.list_recent_entries)["days"].default} days.
    """,
    short_help="List the latest entries, newest first.",
    takes_time=True,
).add_to(private)
VerbCommand(
    "private",
    PrivateService.read_journal_entry,
    "read",
    """Read one entry whole.

    PATH is its path or ref, the beginning of a ref, a number in the last list, or -1 for the
    newest.
    """,
    argument=click.Argument(["path"], callback=_absolute),
    within=_JOURNAL,
    is_list=False,
).add_to(private)


@private.command(cls=ShortRefCommand)
@path_argument
@click.argument("text", nargs=-1)
@no_undo_option
@yes_option
@common_options
def edit(path: str, text: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Replace the text of one entry.

    PATH is its path or ref, the beginning of a ref, a number in the last list, or -1 for the
    newest. TEXT is the whole entry, headings included; without it, the text
    is read from stdin or your editor. A frontmatter that it lacks is kept.
    """
    with opened(defers_filing=True) as app:
        entry = find_entry(app, path, app.private.journal.read_entry, within=_JOURNAL)
        check_age(app, path, app.amend.read_text(entry.ref), yes=yes)
        new = text_input(" ".join(text) if text else None, before=entry.raw)
        show(app.private.amender().edit_read(entry, new), as_json)


@private.command(cls=ShortRefCommand, hidden=True)  # `commonplace delete` takes every ref
@path_argument
@yes_option
@common_options
def delete(path: str, yes: bool, as_json: bool) -> None:
    """Delete one entry, and every trace of its text in the index.

    PATH is its path or ref, the beginning of a ref, a number in the last list, or -1 for the
    newest.
    """
    with opened() as app:
        entry = find_entry(app, path, app.private.journal.read_entry, within=_JOURNAL)
        confirm(f"Delete {entry.path} for good?", yes=yes, text=entry.text)
        show(app.private.amender().delete_read(entry.ref, expected=entry.version), as_json)
