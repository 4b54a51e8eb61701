"""How times come in as arguments of verbs; an error names the argument it came in.

Never reads a time itself: `core.when` does.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from commonplace.core.clock import render_interval
from commonplace.core.errors import Invalid
from commonplace.core.when.phrases import parse_since, parse_until, read_interval

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.values import Interval

_AT_HINT = "Use a past time such as yesterday 9am, 3 hours ago or 2026-11-03 14:30."
# What `core.when` says where its examples, spans of time, would lead astray.
_NO_INSTANT = ("Unknown time phrase", "No beginning")
# What rooms below call what came in as some argument of a tool's.
_OTHERWISE_NAMED = re.compile(r"Invalid (?:time|message): ")


class Timed(Protocol):
    """A desk that has a clock, and a zone in which phrases are read."""

    @property
    def clock(self) -> Clock:
        """Tells the present instant."""
        ...

    @property
    def zone(self) -> tzinfo:
        """The owner's zone."""
        ...


def read_at(desk: Timed, at: str) -> datetime | None:
    """The instant that `at` names; None where it is blank. Raises Invalid."""
    if not at.strip():
        return None
    with naming("at"):
        try:
            return parse_since(at, now=desk.clock(), zone=desk.zone)
        except Invalid as exc:
            if exc.message.startswith(_NO_INSTANT):
                raise Invalid(exc.message, hint=_AT_HINT) from exc
            raise


def read_span(desk: Timed, since: str, until: str) -> Interval | None:
    """The time from the start of `since` to the end of `until`; None without both.

    Raises Invalid.
    """
    now, zone = desk.clock(), desk.zone
    # Each alone first, so that an error names its argument.
    for name, phrase, parse in (("since", since, parse_since), ("until", until, parse_until)):
        if phrase:
            with naming(name):
                parse(phrase, now=now, zone=zone)
    with naming("since" if since else "until"):
        span = read_interval(
            when=None, since=since or None, until=until or None, now=now, zone=zone
        )
        if span is not None:
            render_interval(span, zone)  # what the answer could not show is refused here
        return span


@contextmanager
def naming(argument: str, *, about: str = "") -> Iterator[None]:
    """Let an error about a phrase or a text begin with the argument that it came in.

    about: how the errors begin that are meant, where others may come as well.
    """
    try:
        yield
    except Invalid as exc:
        if not exc.message.startswith(about):
            raise
        if found := _OTHERWISE_NAMED.match(exc.message):
            raise Invalid(
                f"Invalid {argument}: {exc.message[found.end() :]}", hint=exc.hint
            ) from exc
        if exc.message.startswith("Invalid "):
            raise
        reason = exc.message[:1].lower() + exc.message[1:]
        raise Invalid(f"Invalid {argument}: {reason}", hint=exc.hint) from exc
