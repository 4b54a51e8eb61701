"""`commonplace chronicle`: the log of what was done, from a terminal.

Never decides anything about the log: each command parses, calls one verb and shows its answer.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commonplace.core.errors import Invalid
from commonplace.core.files import replace_file
from commonplace.core.text import counted_entries
from commonplace.core.values import Answer, Filter
from commonplace.doors.cli.acts import noting_import
from commonplace.doors.cli.asking import confirm, file_text, text_input
from commonplace.doors.cli.calls import call_tool, check_age, file_everything, opened
from commonplace.doors.cli.options import (
    common_options,
    expires_option,
    flag_of,
    json_switch,
    list_form,
    list_options,
    no_undo_option,
    project_option,
    setting_option,
    time_argument,
    yes_option,
)
from commonplace.doors.cli.output import say, show, show_list, show_written
from commonplace.doors.cli.progress import show_counting
from commonplace.doors.cli.short_refs import FIRST_STEP, ShortRefCommand, find_entry
from commonplace.doors.cli.undoing import taken_back
from commonplace.doors.cli.verb_commands import VerbCommand, verb_option, verb_options
from commonplace.verbs.answers import one_line, when_of
from commonplace.verbs.chronicle.service import ChronicleService

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.app import App
    from commonplace.verbs.chronicle.commands import ChronicleCommands, Format

call = partial(call_tool, "chronicle")

_FORMATS: dict[str, Format] = {
    "json": "json",
    "yaml": "yaml",
    "yml": "yaml",
    "markdown": "markdown",
    "md": "markdown",
}


def commands(app: App) -> ChronicleCommands:
    """The verbs that no model is offered."""
    from commonplace.verbs.chronicle.commands import ChronicleCommands

    return ChronicleCommands(app.chronicle.service())


_LOG = Filter(journals=("chronicle",))


def message_of(words: tuple[str, ...]) -> str:
    """The words as one message; without any, or for `-`, from stdin or your editor."""
    return text_input(" ".join(words) if words else None)


def newest_events(limit: int, tags: Sequence[str] = (), **given: Any) -> Answer:
    """The log, newest first; where nothing was logged yet, how to begin."""
    if tags or any(given.get(name) for name in ("when", "since", "until")):
        # A search without words is a list with a filter.
        return call("search_entries", {**given, "tags": list(tags), "limit": limit})
    answer = call("list_entries", {"limit": limit, "cursor": given.get("cursor")})
    if answer.facts["entries"] or given.get("cursor") or list_form() == "model":
        return answer
    return Answer(text=f"Nothing is logged yet. {FIRST_STEP}", facts=answer.facts)


@click.group()
def chronicle() -> None:
    """Log what was done, and ask when it was."""


@chronicle.command(hidden=True)  # `commonplace log` says it in fewer words
@click.argument("message", nargs=-1)
@verb_options(ChronicleService.add_entry, without=("message", "asked"))
@expires_option
@common_options
def add(message: tuple[str, ...], tags: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Log what was done.

    MESSAGE is its words; without them it is read from stdin or your editor. `-` reads stdin.
    """
    arguments = {**given, "message": message_of(message), "tags": list(tags)}
    show_written(call("add_entry", arguments, defers_filing=True), as_json)


@chronicle.command(name="list", short_help="List what was done, newest first.")
@time_argument
@verb_option(ChronicleService.list_entries, "limit")
@verb_options(
    ChronicleService.search_entries, without=("text", "when", "as_of", "limit", "explain")
)
@list_options
def list_entries(limit: int, tags: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """List what was done, newest first.

    WHEN is a time such as `yesterday` or `last week`; without it any time.
    """
    show_list(newest_events(limit, tags, **given), as_json)


VerbCommand(
    "chronicle",
    ChronicleService.search_entries,
    "search",
    "Find entries by words and meaning, best first; without TEXT the newest first.",
    short_help="Find entries by words and meaning, best first.",
    argument=click.Argument(["text"], nargs=-1),
    files=file_everything,
).add_to(chronicle)
when = VerbCommand(
    "chronicle",
    ChronicleService.find_when_i,
    "when",
    """Find when you did something, in the log of what was done.

    WHAT is what you did, or a question: `last deploy`, `when did I first use rust`, `how often did
    I deploy this month`.
    """,
    short_help="Find when you last, first or ever did something.",
    argument=click.Argument(["what"], nargs=-1, required=True),
    files=file_everything,
).command()


@chronicle.command(cls=ShortRefCommand)
@click.argument("id")
@click.argument("text", nargs=-1)
@click.option(
    "-t",
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="Replaces the tags; +TAG adds one, -TAG removes one, '' removes all.",
)
@click.option("--at", metavar="TIME", help="When it really was.")
@no_undo_option
@yes_option
@common_options
def edit(
    id: str,  # noqa: A002  the name that help shows
    text: tuple[str, ...],
    yes: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Change an entry's message, tags or time.

    ID is its id or ref, the beginning of it, a number in the last list, or -1 for the newest.
    Without TEXT, --tag and --at the message is read from
    stdin, or from your editor. `-` reads stdin.
    """
    with opened(defers_filing=True) as app:
        entry = find_entry(app, id, app.chronicle.journal.read_event, within=_LOG)
        check_age(app, id, app.amend.read_text(entry.ref), yes=yes)
        named = given["tags"] or given["at"]
        message = None
        if text or not named:
            message = text_input(" ".join(text) if text else None, before=entry.message)
        answer = app.chronicle.amender().edit_entry(
            ref=entry.id,
            message=message,
            tags=given["tags"] or None,
            at=given["at"],
            expected=entry.stamp,
            before=entry.message,
        )
        show(answer, as_json)


@chronicle.command(cls=ShortRefCommand, hidden=True)  # `commonplace delete` takes every ref
@click.argument("id")
@yes_option
@common_options
def delete(id: str, yes: bool, as_json: bool) -> None:  # noqa: A002  the name that help shows
    """Delete an entry, and every trace of its text in the index.

    ID is its id or ref, the beginning of it, a number in the last list, or -1 for the newest.
    """
    with opened() as app:
        entry = find_entry(app, id, app.chronicle.journal.read_event, within=_LOG)
        named = f"{one_line(entry.id)} of {when_of(entry.at, app.settings.timezone)}"
        confirm(f"Delete {named} for good?", yes=yes, text=entry.message)
        show(app.chronicle.amender().delete_entry(ref=entry.id, expected=entry.stamp), as_json)


@chronicle.command(
    cls=ShortRefCommand, short_help="Take back what you wrote last in the log.", hidden=True
)
@click.argument("id", required=False)
@yes_option
@common_options
def undo(id: str | None, yes: bool, as_json: bool) -> None:  # noqa: A002  the name that help shows
    """Take back what was written last into the log in this terminal, and show it.

    As `commonplace undo`, of the log alone: the newest entry, edit, superseding or import. Of an
    import all goes that was not edited since.
    """
    with opened() as app:
        show(taken_back(app, id, yes=yes, journal="chronicle"), as_json)


@chronicle.command()
@click.option("-n", "--limit", type=int, help="Maximum number (default: all).")
@common_options
def tags(limit: int | None, as_json: bool) -> None:
    """List the tags, the most frequent first."""
    with opened() as app:
        show(commands(app).list_tags(limit=limit), as_json, items="tags")


@chronicle.command(short_help="Write the entries as chronicle itself exports them.")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice([*_FORMATS]),
    help="Format (default: yaml, or json with --json).",
)
@click.option("-o", "--output", metavar="FILE", help="File to write (default: stdout).")
@verb_option(ChronicleService.search_entries, "when")
@verb_option(ChronicleService.search_entries, "since")
@verb_option(ChronicleService.search_entries, "until")
@verb_option(ChronicleService.search_entries, "tags")
@project_option
@json_switch
def export(
    form: str | None,
    output: str | None,
    tags: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Write the entries as chronicle itself exports them, newest first.

    With --json and a FILE, a summary of what was written is output as JSON.
    """
    file = None if output in {None, "-"} else Path(str(output))
    if as_json and file is None and _FORMATS[form or "json"] != "json":
        raise Invalid(f"--json and --format {form} contradict.", hint="Name a FILE with --output.")
    chosen = _FORMATS[form or ("json" if as_json and file is None else "yaml")]
    with opened() as app:
        answer = commands(app).export(form=chosen, tags=tags, **given)
        if file is None:
            say(answer.text.removesuffix("\n"))  # for chronicle, so in no line wrapped
            return
        with suppress(OSError):  # it is not there yet
            if os.path.samefile(file, app.chronicle.journal.path):
                raise Invalid(f"{file} is chronicle's own database.", hint="Name another file.")
        replace_file(file, answer.text.encode())
        text = f"Exported {counted_entries(answer.facts['count'])} to {file}."
        show(Answer(text=text, facts={**answer.facts, "file": str(file)}), as_json)


@chronicle.command(name="import", short_help="Add the entries of an export or a Markdown tree.")
@click.argument("source", metavar="FILE")
@common_options
def import_entries(source: str, as_json: bool) -> None:
    """Add the entries of an export, or of a Markdown tree, each once however often it is read.

    FILE is a JSON, YAML or Markdown export, `-` for stdin, or the folder of a Markdown tree.
    """
    path = Path(source)
    is_tree = source != "-" and os.path.isdir(path)
    text = None if is_tree else file_text(source, hint="Name an export of chronicle's.")

    name = "stdin" if source == "-" else source
    with opened() as app:
        verbs = commands(app)
        with (
            show_counting("Importing entries") as progress,
            noting_import(app, "chronicle") as record,
        ):
            record.begin("chronicle")
            noting = record.into("chronicle")
            if text is None:
                answer = verbs.import_tree(path, noting=noting, progress=progress)
            else:
                answer = verbs.import_export(text, name=name, noting=noting, progress=progress)
        show(verbs.filed(answer), as_json)


@chronicle.command(short_help="Bring an older database to the newest layout.")
@common_options
def upgrade(as_json: bool) -> None:
    """Bring an older database to the newest layout; the original is kept beside it."""
    with opened() as app:
        verbs = commands(app)
        with show_counting("Upgrading"):
            answer = verbs.upgrade()
        show(verbs.filed(answer), as_json)


@chronicle.command(short_help="Serve an MCP client with the log alone, over stdin and stdout.")
@click.argument(
    "serve",
    type=click.Choice(["serve"]),
    required=False,
    callback=lambda ctx, param, _: flag_of("toolsets")(ctx, param, "chronicle"),
)
@setting_option("read_only", is_flag=True, help="Offer no tool that writes.")
@setting_option("structured", is_flag=True, help="Send JSON beside the text of every result.")
@project_option
def mcp(serve: str) -> None:  # noqa: ARG001  it may be said, and says nothing
    """Serve an MCP client with the log alone, over stdin and stdout.

    The same as `commonplace mcp --toolsets chronicle`; the word `serve` may be left out.
    """
    from commonplace.doors.cli.mcp import serve_client

    serve_client()
