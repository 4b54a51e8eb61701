"""`commonplace private`: the private journal from a terminal.

Never decides anything about the journal: each command parses, calls one tool and shows its answer.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any

import click

from commonplace.core.errors import Invalid
from commonplace.core.values import Filter
from commonplace.doors.cli.calls import (
    args_of,
    call_tool,
    check_age,
    file_everything,
    opened,
    supersedes_option,
    tool_option,
)
from commonplace.doors.cli.editor import text_from_editor
from commonplace.doors.cli.frame import (
    confirm,
    settings,
    show,
    show_list,
    show_written,
    text_input,
)
from commonplace.doors.cli.options import (
    common_options,
    expires_option,
    explain_option,
    list_options,
    no_undo_option,
    yes_option,
)
from commonplace.doors.cli.short_refs import ShortRefCommand, find_entry
from commonplace.verbs.private.for_people import delete_entry, edit_entry
from commonplace.verbs.private.tools import PrivateTools

_NO_THOUGHT = {"at", "idempotency_key", "supersedes"}
CATEGORIES: dict[str, str] = {
    name: arg.text
    for name, arg in args_of(PrivateTools.process_thoughts).items()
    if name not in _NO_THOUGHT
}
"""What each category of thought is for, as the tool tells a model."""

call = partial(call_tool, "private")

_JOURNAL = Filter(journals=("private",))
_KINDS = click.Choice(["project", "user", "both"])


def _absolute(_ctx: click.Context, _param: click.Parameter, path: str) -> str:
    """A file named from where you stand, as a shell completes it, is that file."""
    return os.path.abspath(path) if os.path.exists(path) else path


path_argument = click.argument("path", callback=_absolute)


@click.group()
def private() -> None:
    """Write and search the private journal."""


def category_options(command: Any) -> Any:
    """An option for each category of thought."""
    for category, meaning in reversed(CATEGORIES.items()):
        name = f"--{category.replace('_', '-')}"
        command = click.option(name, category, metavar="TEXT", help=meaning)(command)
    return command


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
@category_options
@click.option("--at", metavar="TIME", help="When it happened: an ISO time or 'yesterday 9am'.")
@click.option("--idempotency-key", metavar="KEY", help="The same key again writes nothing new.")
@supersedes_option
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
    if not text and not any(name in thoughts for name in CATEGORIES) and sys.stdin.isatty():
        thoughts |= _edited_thoughts(category)
    elif text or not any(name in thoughts for name in CATEGORIES):
        if category in thoughts:
            raise Invalid(f"{category} is given twice.", hint="Name another --category.")
        thoughts[category] = text_input(" ".join(text) if text else None)
    show_written(call("process_thoughts", thoughts, defers_filing=True), as_json)


def _edited_thoughts(category: str) -> dict[str, str]:
    """What was written under each heading of a template in the editor.

    Args:
        category: Where what stands above the first heading goes.

    Raises:
        Invalid: Nothing was written, or a category was given twice.
    """
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


@private.command()
@click.argument("query", nargs=-1, required=True)
@tool_option(PrivateTools.search_journal, "limit", "-n", "--limit", type=int)
@tool_option(PrivateTools.search_journal, "type", "--type", "kind", type=_KINDS)
@click.option(
    "--section",
    "sections",
    multiple=True,
    metavar="HEADING",
    help="Only entries with this heading, or another given: feelings, project_notes.",
)
@tool_option(PrivateTools.search_journal, "when", "--when", metavar="TIME")
@tool_option(PrivateTools.search_journal, "since", "--since", metavar="TIME")
@tool_option(PrivateTools.search_journal, "until", "--until", metavar="TIME")
@tool_option(PrivateTools.search_journal, "as_of", "--as-of", metavar="TIME")
@tool_option(PrivateTools.search_journal, "floor", "--floor", type=float)
@explain_option
@list_options
def search(
    query: tuple[str, ...],
    kind: str,
    sections: tuple[str, ...],
    explain: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Find entries by meaning and by words.

    QUERY is a question or a few words: commonplace private search build trouble --when "last
    week".
    """
    arguments = {
        **given,
        "query": " ".join(query),
        "type": kind,
        "sections": list(sections) or None,
        "explain": explain,
    }
    answer = call("search_journal", arguments, after=file_everything)
    show_list(answer, as_json, about=" ".join(query), explain=explain)


@private.command(name="list")
@tool_option(PrivateTools.list_recent_entries, "limit", "-n", "--limit", type=int)
@tool_option(PrivateTools.list_recent_entries, "type", "--type", "kind", type=_KINDS)
@tool_option(PrivateTools.list_recent_entries, "days", "--days", type=int)
@tool_option(PrivateTools.list_recent_entries, "when", "--when", metavar="TIME")
@list_options
def list_entries(kind: str, as_json: bool, **given: Any) -> None:
    """List the latest entries, newest first."""
    show_list(call("list_recent_entries", {**given, "type": kind}), as_json)


@private.command(cls=ShortRefCommand)
@path_argument
@common_options
def read(path: str, as_json: bool) -> None:
    """Read one entry whole.

    PATH is its path or ref, the beginning of a ref, a number in the last list, or -1 for the
    newest.
    """
    with opened() as app:
        tool = app.toolset("private").tool("read_journal_entry")
        show(
            find_entry(app, path, lambda each: tool.call({"path": each}), within=_JOURNAL), as_json
        )


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
        check_age(app, path, app.amend.service().read_text(entry.ref), yes=yes)
        new = text_input(" ".join(text) if text else None, before=entry.raw)
        service = app.private.service()
        show(edit_entry(service, entry, new), as_json)


@private.command(cls=ShortRefCommand)
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
        show(delete_entry(app.private.service(), path=entry.ref, expected=entry.version), as_json)
