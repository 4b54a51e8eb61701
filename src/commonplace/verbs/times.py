"""How times come in as arguments of verbs; an error names the argument it came in.

Never reads a time itself: `core.when` does.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from commonplace.core.clock import render_interval
from commonplace.core.errors import Invalid
from commonplace.core.values import Interval
from commonplace.core.when.phrases import (
    parse_at,
    parse_since,
    parse_until,
    parse_when,
    read_interval,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Clock

_AT_HINT = "Use a past time such as yesterday 9am, 3 hours ago or 2026-11-03 14:30."
NO_INSTANT = ("Unknown time phrase", "Time phrase lies ahead", "No beginning")
"""How `core.when` says that words are no past time; its examples are spans of time."""

# What rooms below call what came in as some argument of a tool's.
_OTHERWISE_NAMED = re.compile(r"Invalid (?:time|message|query): ")


class Clocked(Protocol):
    """A service with a clock, and a zone in which phrases are read."""

    @property
    def clock(self) -> Clock:
        """Says which instant the present is."""
        ...

    @property
    def zone(self) -> tzinfo:
        """The owner's zone."""
        ...


def read_at(service: Clocked, at: str) -> datetime | None:
    """The instant that `at` names; None where it is blank. Raises: Invalid."""
    if not at.strip():
        return None
    with naming("at"):
        try:
            return parse_at(at, now=service.clock(), zone=service.zone)
        except Invalid as exc:
            if exc.message.startswith(NO_INSTANT):
                raise exc.as_kind(Invalid, hint=_AT_HINT) from exc
            raise


def read_as_of(service: Clocked, as_of: str) -> datetime | None:
    """The instant up to which what was written counts: the end of a phrase's time.

    None where it is blank. Raises: Invalid.
    """
    if not as_of.strip():
        return None
    with naming("as_of"):
        before = parse_until(as_of, now=service.clock(), zone=service.zone)
        render_interval(Interval(end=before), service.zone)  # what cannot be shown is refused here
        return before


def read_span(
    service: Clocked,
    since: str,
    until: str,
    *,
    when: str = "",
    names: tuple[str, str] = ("since", "until"),
) -> Interval | None:
    """The time that the phrases given have in common; None where none is given.

    Args:
        service: Whose present and zone the phrases are read in.
        since: Its start is the earliest instant.
        until: Its end is the latest one.
        when: Start and end in one phrase.
        names: What the caller calls since and until.

    Raises:
        Invalid: It names the argument of a phrase that is none.
    """
    now, zone = service.clock(), service.zone
    # Each alone first, so that an error names its argument.
    given = {
        "when": (when, parse_when),
        names[0]: (since, parse_since),
        names[1]: (until, parse_until),
    }
    named = [name for name, (phrase, _) in given.items() if phrase]
    for name in named:
        phrase, parse = given[name]
        with naming(name):
            parse(phrase, now=now, zone=zone)
    with naming(named[0] if named else "when"):
        span = read_interval(
            when=when or None, since=since or None, until=until or None, now=now, zone=zone
        )
        if span is not None:
            render_interval(span, zone)  # what the answer could not show is refused here
        return span


@contextmanager
def naming(argument: str, *, about: str = "") -> Iterator[None]:
    """Let an error about a phrase or a text begin with the argument that it came in.

    Args:
        argument: The name the caller knows it by.
        about: How the errors begin that are meant, where others may come as well.
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
