"""The verbs of transcripts: list sessions, read one, delete, and let old ones go.

Values in, values out; never makes a text for a model. What is deleted leaves the index as well.
"""

from __future__ import annotations

from datetime import UTC, timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import Conflict, Invalid
from commonplace.core.text import first_words, opening
from commonplace.journals.transcripts.message import parse_ref, ref_of
from commonplace.journals.transcripts.pages import no_such
from commonplace.verbs.amend import left_notes
from commonplace.verbs.times import read_span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.present import Present
    from commonplace.core.values import Interval
    from commonplace.journals.transcripts.message import Message, SessionSummary
    from commonplace.journals.transcripts.store import TranscriptStore
    from commonplace.search.filing.filing import Filing

_AROUND = 3
"""Messages shown before the one that was named."""


class ListedSession(Struct, frozen=True, kw_only=True):
    """A session in a list; title: how the user began it."""

    session: SessionSummary
    title: str


class SessionsListed(Struct, frozen=True, kw_only=True):
    """A page of sessions, the one that went on last first; has_more: whether there are older."""

    sessions: Sequence[ListedSession]
    interval: Interval | None
    has_more: bool


class SessionRead(Struct, frozen=True, kw_only=True):
    """A part of a session; next_first: the number to go on from, 0 after the last message."""

    session: SessionSummary
    messages: Sequence[Message]
    next_first: int


class TranscriptsDeleted(Struct, frozen=True, kw_only=True):
    """What was deleted: the refs that were named, how many messages, what the caller must know."""

    refs: Sequence[str]
    messages: int
    notes: tuple[str, ...] = ()


class TranscriptService(Struct, frozen=True, kw_only=True):
    """The transcripts of one owner, with the index over them.

    Attributes:
        filing: Keeps the index true after a deletion.
        zone: The owner's, in which phrases of time are read.
        present: Judges whether the clock may be believed.
        retain_days: How long a session is kept after its last message; 0 for ever.
        shows_paths: Whether the caller can use a path of this machine.
    """

    store: TranscriptStore
    filing: Filing
    clock: Clock
    zone: tzinfo
    present: Present
    retain_days: int = 0
    shows_paths: bool = True

    def list_sessions(
        self,
        *,
        when: str = "",
        since: str = "",
        until: str = "",
        project: str = "",
        client: str = "",
        limit: int,
        start: int = 0,
    ) -> SessionsListed:
        """Sessions with a message in a time, the one that went on last first.

        Args:
            when: A phrase; blank for any time.
            since: From the start of this phrase on.
            until: To the end of this phrase.
            project: A folder, or its name; blank for any.
            client: Where it was held; blank for any.
            limit: How many at the most.
            start: How many of the newest are left out.

        Raises:
            Invalid: A phrase that is none.
            Unavailable: The sessions cannot be read.
        """
        interval = read_span(self, since, until, when=when)
        within = {
            name: _stamp(at)
            for name, at in (
                ("since", interval and interval.start),
                ("until", interval and interval.end),
            )
            if at
        }
        found = self.store.sessions(client=client.strip(), **within)
        fitting = [x for x in found if _is_in(x.cwd, project.strip())]
        shown = fitting[start : start + limit]
        return SessionsListed(
            sessions=[ListedSession(session=x, title=self._title_of(x)) for x in shown],
            interval=interval,
            has_more=len(fitting) > start + limit,
        )

    def read_session(self, named: str, *, first: int = 0, limit: int) -> SessionRead:
        """A part of a session.

        Args:
            named: Its ref, that of one of its messages, its id, or the beginning of its id.
            first: The number of the first message; 0 for the beginning, or for a few before the
                message that was named.
            limit: How many messages at the most.

        Raises:
            NotFound: There is no such session, or no such message.
            Invalid: Two sessions begin like that.
        """
        session = self.find_session(named)
        parts = parse_ref(named)
        n = parts.n if parts else 0
        begin = first or max(n - _AROUND, 1)
        messages = self.store.read(session.client, session.name, first=begin)
        if n and not first and n not in {x.n for x in messages}:
            raise no_such(named)
        following = messages[limit].n if len(messages) > limit else 0
        return SessionRead(session=session, messages=messages[:limit], next_first=following)

    def find_session(self, named: str) -> SessionSummary:
        """The session that a person or a model named; see `read_session`."""
        parts = parse_ref(named)
        sessions = self.store.sessions(client=parts.client if parts else "")
        if parts:
            found = [x for x in sessions if x.name == parts.session]
        else:
            found = [x for x in sessions if named in {x.name, f"{x.client}/{x.name}"}]
            if not found and len(named) > 1:
                found = [x for x in sessions if f"{x.client}/{x.name}".startswith(named)] or [
                    x for x in sessions if x.name.startswith(named)
                ]
        if not found:
            raise no_such(named)
        if len(found) > 1:
            raise Invalid(
                f"{opening(named, 60)!r} is the beginning of {len(found)} sessions: "
                f"{found[0].ref}, {found[1].ref}.",
                hint="Give more of it.",
            )
        return found[0]

    def delete(self, ref: str) -> TranscriptsDeleted:
        """Delete a message or a whole session for good, from the index too.

        An import does not bring it back. Raises: NotFound, Denied, Unavailable.
        """
        parts = parse_ref(ref)
        if parts is None:
            raise no_such(ref)
        refs = self._refs_of(parts.client, parts.session, parts.n)
        count = self.store.delete(parts.client, parts.session, [parts.n] if parts.n else [])
        if not count:
            raise no_such(ref)
        notes = left_notes(self.filing.forget(refs))
        return TranscriptsDeleted(refs=[ref], messages=count, notes=notes)

    def list_old(self, days: int) -> list[SessionSummary]:
        """The sessions whose last message is older than so many days. Raises: Invalid."""
        if days < 1:
            raise Invalid(
                f"Invalid days: {days}.",
                hint="Use 1 or more, or set transcripts.retain_days.",
            )
        return [x for x in self.store.sessions() if x.last_at < self._before(days)]

    def retain(self, days: int) -> TranscriptsDeleted:
        """Delete the sessions of `list_old`, from the index too.

        What such a session goes on with is kept again.

        Raises:
            Conflict: There are some, and nothing bears out the present by the clock.
            Invalid, Unavailable.
        """
        old = self.list_old(days)
        if old:
            self.present.refuse_unless_borne_out("No session is deleted")
        refs = [ref for x in old for ref in self._refs_of(x.client, x.name)]
        gone = self.store.retain(self._before(days)) if old else []
        notes = left_notes(self.filing.forget(refs)) if refs else ()
        count = sum(x.messages for x in gone)
        return TranscriptsDeleted(refs=[x.ref for x in gone], messages=count, notes=notes)

    def retain_as_set(self) -> TranscriptsDeleted | None:
        """Delete what `transcripts.retain_days` lets go of; None where that keeps all.

        Where nothing bears out the clock nothing goes, and a note says so. Raises: Unavailable.
        """
        if not self.retain_days:
            return None
        try:
            return self.retain(self.retain_days)
        except Conflict as exc:
            return TranscriptsDeleted(refs=[], messages=0, notes=(exc.message, exc.hint))

    def _before(self, days: int) -> str:
        try:
            return _stamp(self.clock() - timedelta(days=days))
        except OverflowError:
            return ""  # before the calendar: nothing is older

    def _refs_of(self, client: str, session: str, n: int = 0) -> list[str]:
        if n:
            return [ref_of(client, session, n)]
        return [ref_of(client, session, x) for x in self.store.list_stamps(client, session)]

    def _title_of(self, session: SessionSummary) -> str:
        said = self.store.read_opening(session.client, session.name)
        return first_words(said.text) if said else ""


def _is_in(cwd: str, project: str) -> bool:
    """Whether a session's folder is, or lies in, the one that is named by its path or its name."""
    if not project:
        return True
    place = PurePath(cwd)
    if PurePath(project).is_absolute():
        return place.is_relative_to(project)
    return project.casefold() in (part.casefold() for part in place.parts)


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
