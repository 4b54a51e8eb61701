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
from commonplace.core.values import Answer
from commonplace.doors.cli.calls import (
    args_of,
    call_tool,
    file_everything,
    load_encoder,
    opened,
    tool_option,
)
from commonplace.doors.cli.frame import (
    common_options,
    show,
    text_input,
)
from commonplace.tools.private.for_people import delete_entry, edit_entry
from commonplace.tools.private.tools import PrivateTools

_NO_THOUGHT = {"at", "idempotency_key"}
CATEGORIES: dict[str, str] = {
    name: arg.text
    for name, arg in args_of(PrivateTools.process_thoughts).items()
    if name not in _NO_THOUGHT
}
"""What each category of thought is for, as the tool tells a model."""

call = partial(call_tool, lambda app: app.private.tools.toolset)

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
@click.argument("text", required=False)
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
@click.option("--idempotency-key", metavar="KEY", help="The same key twice is one entry.")
@common_options
def write(
    text: str | None,
    category: str,
    as_json: bool,
    **given: str | None,
) -> None:
    """Write thoughts down.

    TEXT is the thought; without it, and without a category's option, it is read from stdin or
    your editor. `-` reads stdin.
    """
    thoughts = {name: value for name, value in given.items() if value is not None}
    if text is not None or not any(name in thoughts for name in CATEGORIES):
        if category in thoughts:
            raise Invalid(f"{category} is given twice.", hint="Name another --category.")
        thoughts[category] = text_input(text)
    show(call("process_thoughts", thoughts, after=load_encoder), as_json)


@private.command()
@click.argument("query")
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
@tool_option(PrivateTools.search_journal, "floor", "--floor", type=float)
@click.option("--explain", is_flag=True, help="Show what meaning and words gave to each score.")
@common_options
def search(
    query: str,
    kind: str,
    sections: tuple[str, ...],
    explain: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Find entries by meaning and by words.

    QUERY is a question or a few words: commonplace private search "build trouble" --when "last
    week".
    """
    arguments = {**given, "query": query, "type": kind, "sections": list(sections) or None}
    answer = call("search_journal", arguments, after=file_everything)
    show(_explained(answer) if explain else answer, as_json)


def _explained(answer: Answer) -> Answer:
    if not answer.facts["results"]:
        return answer
    lines = [
        f"{number}. {hit['score']:.3f} = {hit['legs']['meaning']:.3f} by meaning "
        f"(similarity {_figure(hit['similarity'])}) + {hit['legs']['words']:.3f} by words"
        for number, hit in enumerate(answer.facts["results"], 1)
    ]
    return Answer(text="\n".join([answer.text.rstrip("\n"), "", *lines]), facts=answer.facts)


def _figure(similarity: float | None) -> str:
    return "none" if similarity is None else f"{similarity:.3f}"


@private.command(name="list")
@tool_option(PrivateTools.list_recent_entries, "limit", "-n", "--limit", type=int)
@tool_option(PrivateTools.list_recent_entries, "type", "--type", "kind", type=_KINDS)
@tool_option(PrivateTools.list_recent_entries, "days", "--days", type=int)
@tool_option(PrivateTools.list_recent_entries, "when", "--when", metavar="TIME")
@common_options
def list_entries(kind: str, as_json: bool, **given: Any) -> None:
    """List the latest entries, newest first."""
    show(call("list_recent_entries", {**given, "type": kind}), as_json)


@private.command()
@path_argument
@common_options
def read(path: str, as_json: bool) -> None:
    """Read one entry whole.

    PATH is its path or its ref, from a search or a list.
    """
    show(call("read_journal_entry", {"path": path}), as_json)


@private.command()
@path_argument
@click.argument("text", required=False)
@common_options
def edit(path: str, text: str | None, as_json: bool) -> None:
    """Replace the text of one entry.

    PATH is its path or its ref. TEXT is the whole entry, headings included; without it, the text
    is read from stdin or your editor. A frontmatter that it lacks is kept.
    """
    with opened() as app:
        entry = app.private.journal.read_entry(path)
        if text is None and sys.stdin.isatty():
            edited = click.edit(entry.raw, extension=".md")
            if edited is None:
                raise Invalid("Nothing was changed.", hint="Save before you leave the editor.")
        else:
            edited = text_input(text)
        load_encoder(app)
        show(
            edit_entry(app.private.service(), path=entry.ref, text=edited, expected=entry.version),
            as_json,
        )


@private.command()
@path_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def delete(path: str, yes: bool, as_json: bool) -> None:
    """Delete one entry, and every trace of its text in the index.

    PATH is its path or its ref. It asks first.
    """
    with opened() as app:
        entry = app.private.journal.read_entry(path)
        if not yes:
            if not sys.stdin.isatty():
                raise Invalid("There is no terminal to confirm the delete on.", hint="Give --yes.")
            click.confirm(f"Delete {entry.path} for good?", abort=True, err=True)
        show(delete_entry(app.private.service(), path=entry.ref, expected=entry.version), as_json)
