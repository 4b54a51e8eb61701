"""`commonplace timeline`: what happened, summed up by hour, day, week, month and year.

Never decides anything about the timeline: each command parses, calls one verb, shows its answer.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from commonplace.core.errors import Invalid
from commonplace.core.refs import look_up
from commonplace.core.values import Answer, Filter
from commonplace.doors import entry_point
from commonplace.doors.cli.acts import noting_import
from commonplace.doors.cli.asking import confirm, file_text, text_input
from commonplace.doors.cli.call_settings import settings
from commonplace.doors.cli.calls import call_tool, file_everything, opened
from commonplace.doors.cli.entries import list_first
from commonplace.doors.cli.options import (
    NumberBetween,
    common_options,
    expires_option,
    json_option,
    yes_option,
)
from commonplace.doors.cli.output import show, show_list, show_page, show_written
from commonplace.doors.cli.progress import show_counting
from commonplace.doors.cli.short_refs import (
    ShortRefCommand,
    find_entry,
    keep_list,
    whole_ref,
)
from commonplace.doors.cli.verb_commands import VerbCommand, verb_options
from commonplace.journals.timeline.entry import PROFILE, RAW, indexed_kinds
from commonplace.verbs.timeline.service import TimelineService

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from commonplace.app import App

call = partial(call_tool, "timeline")

_MOST_LISTED = 100

_WRITTEN = Filter(journals=("timeline",), kinds=indexed_kinds((RAW, PROFILE)))
"""All but the summaries."""


def file_timeline(app: App) -> None:
    """Roll up some of what is due, then file everything: what was just made is found by meaning."""
    app.timeline.service().keep_up()
    file_everything(app)


@click.group()
def timeline() -> None:
    """Record what happens, and read how hours, days and years went."""


@timeline.command(short_help="Record what happened.")
@click.argument("content", nargs=-1)
@click.option(
    "-p",
    "--in",
    "projects",
    multiple=True,
    metavar="NAME",
    help="A project it belongs to; may be given again.",
)
@click.option(
    "-t", "--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be given again."
)
@verb_options(TimelineService.timeline_add, without=("content",))
@expires_option
@common_options
def add(
    content: tuple[str, ...],
    projects: tuple[str, ...],
    tags: tuple[str, ...],
    metadata: dict[str, Any] | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Record what happened.

    CONTENT is its words; without them it is read from stdin or your editor. `-` reads stdin.
    --in and --tag may be given several times.
    """
    named = {"projects": list(projects), "tags": list(tags)}
    arguments = {
        **given,
        "content": text_input(" ".join(content) if content else None),
        "metadata": {**(metadata or {}), **{key: x for key, x in named.items() if x}},
    }
    show_written(call("timeline_add", arguments, defers_filing=True, within=_WRITTEN), as_json)


VerbCommand(
    "timeline",
    TimelineService.timeline_search,
    "search",
    """Find entries and summaries by words and meaning; without QUERY the newest first.

    A time in the QUERY is read out of it: `what was I working on last week`.
    """,
    short_help="Find entries and summaries by words and meaning.",
    argument=click.Argument(["query"], nargs=-1),
    files=file_timeline,
).add_to(timeline)
VerbCommand(
    "timeline",
    TimelineService.timeline_range,
    "range",
    "List what happened in a time, newest first: all, or one kind of summary.",
    takes_time=True,
    hidden=True,  # `timeline show` takes every time
).add_to(timeline)
VerbCommand(
    "timeline",
    TimelineService.timeline_context,
    "context",
    "Gather what a prompt should hold: the profile, summaries, the nearest entries.",
    short_help="Gather what a prompt should hold.",
    argument=click.Argument(["query"], nargs=-1),
    files=file_timeline,
    is_list=False,
).add_to(timeline)


@timeline.command(
    name="show",
    cls=ShortRefCommand,
    short_help="Show a period, and the way down to each raw entry.",
)
@click.argument("period", nargs=-1)
@click.option(
    "-d",
    "--depth",
    type=NumberBetween(0, 5),
    help="Levels to go down (default: as many as fit a page).",
)
@common_options
def show_period(period: tuple[str, ...], depth: int | None, as_json: bool) -> None:
    """Show how a period went, and the way down to each raw entry.

    PERIOD is `2026`, `2026-10`, `2026-W41`, `2026-10-07`, `2026-10-07 14`, a phrase such as `last
    week`, a ref or the beginning of one, a number in the last list, or -1 for the newest; without
    it today. Of any other time, such as `since monday` or `3 oct..9 oct`, what was written in all
    journals is listed. On a terminal each line of the way down ends with a number for `open`.
    """
    with opened() as app:
        on_terminal, commands = sys.stdout.isatty(), app.timeline_commands()
        named = " ".join(period)
        if commands.is_other_time(named):
            show_list(list_first(app, when=named, limit=_MOST_LISTED), as_json)
            return
        read = partial(commands.show, depth=depth, form="plain" if on_terminal else "fenced")
        answer = find_entry(app, named, read, within=Filter(journals=("timeline",)))
        if "down" not in answer.facts:  # an entry
            show_page(answer, as_json)
            return
        if on_terminal and not as_json:
            keep_list(_refs_below(answer.facts["down"]), settings())
        show(answer, as_json)


def _refs_below(down: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The refs on the way down, in the order in which they are numbered."""
    for each in down:
        if each["ref"]:
            yield each["ref"]
        yield from _refs_below(each["down"])


@timeline.command(short_help="Read the profile, or store a new one.")
@click.argument("text", nargs=-1)
@common_options
def profile(text: tuple[str, ...], as_json: bool) -> None:
    """Read your profile, or store a new one.

    TEXT is the whole profile; `-` reads it from stdin.
    """
    given = text_input(" ".join(text)) if text else ""
    if text and not given.strip():
        raise Invalid("Invalid text: it is blank.", hint="Write the whole profile.")
    show(call("timeline_profile", {"text": given}, defers_filing=True), as_json)


VerbCommand(
    "timeline",
    TimelineService.timeline_trends,
    "trends",
    """Compare a period with the last one and the mean, and count over time; nothing is guessed.

    Which project gains speed, and which has stalled, follows from how many entries name it.
    """,
    short_help="Compare periods, and count entries and projects over time.",
    is_list=False,
).add_to(timeline)


@timeline.command(  # hidden: `commonplace delete` takes every ref
    cls=ShortRefCommand,
    short_help="Delete an entry for good, also from every summary.",
    hidden=True,
)
@click.argument("ref")
@yes_option
@common_options
def delete(ref: str, yes: bool, as_json: bool) -> None:
    """Delete the entry under REF for good: its text, and all that was made from it.

    Summaries that held it are made again from what is left.
    """
    with opened() as app:
        ref = whole_ref(app, ref, within=_WRITTEN)
        amender = app.timeline.amender()
        entry = look_up(ref, amender.find_deletable)
        confirm(f"Delete {ref} for good?", yes=yes, text=entry.content if entry else "")
        show(look_up(ref, amender.delete_entry), as_json)


@timeline.command(name="import-memories", short_help="Add what a memory system kept.")
@click.argument("source", metavar="FILE")
@click.option("--thread", default="", metavar="NAME", help="Only the memories of this thread.")
@common_options
def import_memories(source: str, thread: str, as_json: bool) -> None:
    """Add the memories of FILE, JSON lines with `type` and `content`, each once.

    Facts become entries at their own time; of all profile memories one profile is made. `-` reads
    stdin.
    """
    text = file_text(source)
    with opened() as app:
        with (
            show_counting("Importing memories") as progress,
            noting_import(app, "timeline") as record,
        ):
            record.begin("memories")
            done = app.timeline_commands().import_memories(
                text=text,
                thread=thread,
                name="stdin" if source == "-" else source,
                noting=record.into("timeline"),
                progress=progress,
            )
        file_everything(app)
        show(done, as_json)


@timeline.command(short_help="Watch a year being rolled up, in a temporary home.")
@json_option
def demo(as_json: bool) -> None:
    """Simulate a year in a temporary home, and go from the year down to one entry.

    Nothing of yours is read or written, and nothing is left behind.
    """
    settings()  # for the log alone: the demo has settings of its own
    steps: list[dict[str, str]] = []

    def say(head: str, body: str) -> None:
        steps.append({"step": head, "text": body})
        if not as_json:
            click.secho(f"\n{head}", bold=True)
            show(Answer(text=body), as_json)

    entry_point("timeline_demo")(say)
    if as_json:
        show(Answer(text="", facts={"steps": steps}), as_json)
