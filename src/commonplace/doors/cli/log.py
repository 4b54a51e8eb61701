"""`commonplace log`: log what was done in the fewest words, its time in front if it was not now.

Never guesses a time: what does not read as a past one belongs to the message.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from commonplace.core.clock import utc_now
from commonplace.core.errors import Invalid
from commonplace.core.when.phrases import parse_since, parse_when
from commonplace.doors.cli.calls import load_encoder
from commonplace.doors.cli.chronicle import call, message_of, writing_options
from commonplace.doors.cli.frame import common_options, settings, show

if TYPE_CHECKING:
    from collections.abc import Sequence

_DAY_AT_MOST = timedelta(hours=25)
_DAY_AT_LEAST = timedelta(hours=23)


class Told(NamedTuple):
    """A message, and the time told in front of it; None where there is none."""

    message: str
    at: datetime | None


def read_told(text: str, *, now: datetime, zone: tzinfo) -> Told:
    """The message and, where `TIME: ` stands before it, its time.

    A day that is not over is now. A lone word for more than a day (`spring: planted`,
    `2026: a plan`) is rather a topic: it stays, as does what lies ahead or is no time.
    """
    phrase, colon, message = text.partition(": ")
    if not colon or not message.strip() or not phrase.strip():
        return Told(text, None)
    try:
        interval = parse_when(phrase, now=now, zone=zone)
        at = parse_since(phrase, now=now, zone=zone)
    except Invalid:
        return Told(text, None)
    length = interval.end - interval.start if interval.start and interval.end else None
    if at > now or length is None or (length > _DAY_AT_MOST and len(phrase.split()) == 1):
        return Told(text, None)
    running = length >= _DAY_AT_LEAST and interval.holds(now)
    return Told(message.strip(), now if running else at)


@click.command()
@click.argument("message", nargs=-1)
@writing_options
@common_options
def log(message: Sequence[str], tags: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Log what you just did, in a line.

    MESSAGE is its words; a time before the first `: ` is when it was, as in
    `commonplace log yesterday 9am: fixed the build`. Without words it is read from stdin or your
    editor. `-` reads stdin.
    """
    text = message_of(tuple(message))
    if given["at"] is None:
        told = read_told(text, now=utc_now(), zone=settings().timezone)
        text = told.message
        given["at"] = told.at.isoformat() if told.at else None
    show(
        call("add_entry", {**given, "message": text, "tags": list(tags)}, after=load_encoder),
        as_json,
    )
