"""`commonplace transcripts`: what was said in sessions, from a terminal.

Never decides anything about transcripts: each command parses, calls one verb, shows its answer.
"""

from __future__ import annotations

from typing import Any

import click

from commonplace.core.refs import look_up
from commonplace.core.values import Answer, Filter
from commonplace.doors.cli.asking import confirm
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.options import (
    NumberBetween,
    all_option,
    common_options,
    list_options,
    yes_option,
)
from commonplace.doors.cli.output import show, show_list
from commonplace.doors.cli.recall import file_quickly
from commonplace.doors.cli.short_refs import ShortRefCommand, find_entry
from commonplace.doors.cli.verb_commands import VerbCommand, verb_option
from commonplace.verbs.recall.tools import RecallTools
from commonplace.verbs.transcripts.service import TranscriptService

_JOURNAL = Filter(journals=("transcripts",))


@click.group()
def transcripts() -> None:
    """List, read and delete what was said in sessions."""


VerbCommand(
    "transcripts",
    TranscriptService.list_sessions,
    "list",
    """List sessions with their project and how each began, the one that went on last first.

    WHEN is a time such as `yesterday` or `May 2026`; without it any time.
    """,
    short_help="List sessions, the one that went on last first.",
    takes_time=True,
).add_to(transcripts)
VerbCommand(
    "transcripts",
    TranscriptService.read_session,
    "show",
    """Show what was said in a session, in its order.

    REF is a session's ref or id, or the beginning of one, a number in the last list, or the ref
    of a message, which is shown with what was said around it.
    """,
    short_help="Show what was said.",
    argument=click.Argument(["ref"]),
    within=_JOURNAL,
).add_to(transcripts)


@transcripts.command(short_help="Find what was said by words and meaning.")
@click.argument("query", nargs=-1, required=True)
@verb_option(RecallTools.recall, "when")
@verb_option(RecallTools.recall, "as_of")
@verb_option(RecallTools.recall, "limit", people=10)
@all_option
@list_options
def search(query: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Find what was said, in all sessions, by words and meaning.

    A time in the QUERY is read out of it. `commonplace recall` asks all journals.
    """
    words = " ".join(query)
    with opened() as app:
        if not app.transcripts.is_there():
            show(Answer(text="No sessions are kept yet.", facts={"results": []}), as_json)
            return
        file_quickly(app)
        tool = app.toolset("recall").tool("recall")
        answer = tool.call({**given, "query": words, "journals": ["transcripts"]})
        show_list(answer, as_json, about=words)


@transcripts.command(  # hidden: `commonplace delete` takes every ref
    cls=ShortRefCommand, short_help="Delete a session or a message for good.", hidden=True
)
@click.argument("ref")
@yes_option
@common_options
def delete(ref: str, yes: bool, as_json: bool) -> None:
    """Delete a session, or one message, for good; no import brings it back.

    REF is as `transcripts list` and searches show it, a session's id or the beginning of one, or a
    number in the last list.
    """
    with opened() as app:
        service = app.transcripts.service()

        def named(each: str) -> str:
            return each if "#" in each else service.find_session(each).ref

        whole = find_entry(app, ref, named, within=_JOURNAL)
        begins = look_up(whole, app.amend.read_text).text
        confirm(f"Delete {whole} for good?", yes=yes, text=begins)
        show(look_up(whole, service.delete), as_json)


@transcripts.command(short_help="Delete sessions that are older than so many days.")
@click.option(
    "--days",
    type=NumberBetween(1, 100_000),
    help="Since the last message of a session (default: transcripts.retain_days).",
)
@click.option("--dry-run", is_flag=True, help="Show what would go, and delete nothing.")
@yes_option
@common_options
def retain(days: int | None, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete the sessions whose last message is older than so many days.

    If such a session goes on, what is new in it is kept.
    """
    with opened() as app:
        service = app.transcripts.service()
        days = days or service.retain_days
        old = service.list_old(days)
        if dry_run or not old:
            show(service.plan_retaining(days), as_json)
            return
        confirm(f"Delete {len(old)} sessions for good?", yes=yes)
        show(service.retain(days), as_json)
