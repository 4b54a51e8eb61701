"""`commonplace log`: log what was done in the fewest words, its time in front if it was not now.

Never reads a time itself: `verbs.chronicle.leading_time` does, for the page as well.
"""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from commonplace.core.clock import utc_now
from commonplace.core.errors import Invalid
from commonplace.core.values import Answer
from commonplace.doors.cli.call_settings import settings
from commonplace.doors.cli.chronicle import call, message_of, newest_events
from commonplace.doors.cli.options import expires_at, expires_option, list_form, list_options
from commonplace.doors.cli.output import show, show_list
from commonplace.doors.cli.verb_commands import verb_options
from commonplace.verbs.answers import one_line, when_of
from commonplace.verbs.chronicle.leading_time import split_time
from commonplace.verbs.chronicle.service import ChronicleService

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SHOWN = 20
"""How many entries `log` shows where it logs none."""

_SHOWN_AT_MOST = 100

_NO_TIME = "If this is no time, log it with `--at now`."


@click.command(short_help="Log what you just did, or show the log.")
@click.argument("message", nargs=-1)
@click.option(
    "-n",
    "--limit",
    type=int,
    help=f"Show the log, this many entries at most: 1 to {_SHOWN_AT_MOST} (default: {_SHOWN}).",
)
@verb_options(ChronicleService.add_entry, without=("message", "asked"))
@expires_option
@list_options
def log(
    message: Sequence[str],
    limit: int | None,
    tags: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Log what you just did, in a line, or show the log.

    MESSAGE is its words; a time before the first `: ` is when it was, as in
    `yesterday 9am: fixed the build`. Without words it is read from stdin; on a
    terminal, or with -n, the log is shown, with --tag only what has that tag. `-` reads stdin.
    """
    if limit is not None and message:
        raise Invalid("-n shows the log, and words are logged.", hint="Leave out one of them.")
    if limit is not None or (not message and sys.stdin.isatty()):
        _refuse_writing_options(given)
        shown = _SHOWN if limit is None else limit
        show_list(_without_cursor(newest_events(shown, tags), shown), as_json)
        return
    text = message_of(tuple(message))
    if given["at"] is None:
        timed = split_time(text, now=utc_now(), zone=settings().timezone, otherwise=_NO_TIME)
        text = timed.message
        given["at"] = timed.at.isoformat() if timed.at else None
    answer = call("add_entry", {**given, "message": text, "tags": list(tags)}, defers_filing=True)
    show(_with_entry(answer), as_json)


def _refuse_writing_options(given: Mapping[str, Any]) -> None:
    """Refuse what only an entry can have: without words none is written."""
    named = {**given, "expires": expires_at()}
    for name, value in named.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise Invalid(
                f"{option} is for an entry, and there are no words to log.",
                hint="Give its words: `commonplace log WORDS`.",
            )


def _without_cursor(answer: Answer, shown: int) -> Answer:
    """The answer, with a command that lists more in place of a cursor: `log` takes none."""
    if list_form() == "model":
        return answer
    facts = dict(answer.facts)
    if facts.pop("cursor", None):
        more = f"`commonplace log -n {_SHOWN_AT_MOST}` shows more."
        if shown == _SHOWN_AT_MOST:
            more = "`commonplace chronicle list` goes on with --cursor."
        facts["notes"] = [*facts.get("notes", ()), f"These are the newest {shown}. {more}"]
    return Answer(text=answer.text, facts=facts)


def _with_entry(answer: Answer) -> Answer:
    """The answer, with what was kept and when it was, as the log will show it.

    On a terminal that is all: `-1` and the log lead to the entry, not 46 characters of a ref.
    """
    facts = dict(answer.facts)
    when = when_of(datetime.fromisoformat(facts["at"]), settings().timezone)
    kept = f"{when}  {one_line(facts['message'])}"
    if not sys.stdout.isatty() or list_form() in {"model", "plain"}:
        return Answer(text=f"{answer.text}\n{kept}", facts=facts)
    kept += "".join(f" #{one_line(tag)}" for tag in facts["tags"])
    notes = facts.pop("notes", ())
    lead = "This was already logged: " if facts["repeated"] else ""
    return Answer(text=lead + kept, facts=facts).noting(notes)
