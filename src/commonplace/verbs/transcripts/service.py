"""The verbs of transcripts: list sessions, read one, delete, and let old ones go.

What is deleted leaves the index as well. An answer's facts are made when they are asked for.
"""

from __future__ import annotations

from datetime import UTC, timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Self

from msgspec import Struct

from commonplace.core.clock import render_instant
from commonplace.core.errors import Conflict, Invalid
from commonplace.core.fence import fenced, visible, visible_line
from commonplace.core.text import TOKEN_BYTES, counted, first_words, opening
from commonplace.core.values import Answer
from commonplace.journals.transcripts.exchanges import in_exchanges
from commonplace.journals.transcripts.message import JOURNAL, KIND, instant_of, parse_ref, ref_of
from commonplace.journals.transcripts.pages import SESSION, no_such
from commonplace.journals.transcripts.small_talk import task_of
from commonplace.verbs.amend import left_notes
from commonplace.verbs.answers import CAUTION, answer_of, interval_facts, shown_name, time_lines
from commonplace.verbs.times import read_span
from commonplace.verbs.toolset import Arg, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.present import Present
    from commonplace.core.values import Interval
    from commonplace.journals.transcripts.message import Message, SessionSummary
    from commonplace.journals.transcripts.ports import SessionStore
    from commonplace.search.filing.filing import Filing

_GUIDE = """\
What was said in earlier sessions is kept word for word. Where recall finds a turn of one, read on \
with read_session; list_sessions says which sessions there were."""

_AROUND = 3
"""Messages shown before the one that was named."""

_SHORTEST = 100


class SessionsFound(Struct, frozen=True, kw_only=True):
    """A page of sessions, the one that went on last first."""

    sessions: Sequence[SessionSummary]
    interval: Interval | None
    has_more: bool


class SessionRead(Struct, frozen=True, kw_only=True):
    """A part of a session; next_first: the number to go on from, 0 after the last message."""

    session: SessionSummary
    messages: Sequence[Message]
    next_first: int


class TranscriptService(Struct, frozen=True, kw_only=True):
    """The transcripts of one owner, with the index over them.

    Attributes:
        filing: Keeps the index true after a deletion.
        zone: The owner's, in which phrases of time are read.
        present: Judges whether the clock may be believed.
        retain_days: How long a session is kept after its last message; 0 for ever.
        shows_paths: Whether the caller can use a path of this machine.
    """

    store: SessionStore
    filing: Filing
    clock: Clock
    zone: tzinfo
    present: Present
    retain_days: int = 0
    shows_paths: bool = True

    @classmethod
    def toolset(cls, opens: Callable[[], Self]) -> Toolset:
        """The tools, methods of what `opens` gives at each call; listing them opens nothing."""
        return Toolset(
            name="transcripts",
            guide=_GUIDE,
            tools=(
                Tool(run=cls.list_sessions, title="List sessions"),
                Tool(run=cls.read_session, title="Read a session"),
            ),
        ).of(opens)

    def list_sessions(
        self,
        *,
        when: Annotated[str, Arg("Only this time: 'yesterday', 'May 2026'.")] = "",
        project: Annotated[str, Arg("Only those in this folder, by its path or name.")] = "",
        client: Annotated[str, Arg("Only those held in this client: claude-code, codex …")] = "",
        limit: Annotated[int, Arg("How many at most.", 1, 100)] = 20,
        start: Annotated[int, Arg("How many of the newest to skip.", 0, 10_000)] = 0,
    ) -> Answer:
        """Transcripts: list earlier sessions, the one that went on last first.

        Use it for 'which sessions were there'; for a subject, use recall. Returns when, in which
        project and for which task each began, and the ref for read_session.
        """
        found = self.find_sessions(
            when=when, project=project, client=client, limit=limit, start=start
        )
        titled = [(each, self.title_of(each)) for each in found.sessions]
        lines = time_lines(found.interval, self.zone, when.strip())
        lines += [CAUTION if titled else "No sessions found."]
        for number, (session, title) in enumerate(titled, start + 1):
            lines += ["", f"{number}. {self._head(session)}", fenced(title, session.ref)]
        following = start + len(titled) if found.has_more else None
        lines += ["", f"More with start {following}."] if following else []
        return answer_of(
            lines,
            lambda: {
                "interval": interval_facts(found.interval),
                "count": len(titled),
                "next_start": following,
                "entries": [
                    {
                        "at": instant_of(session.last_at).isoformat(),
                        "text": visible(title),
                        **self._session_facts(session),
                    }
                    for session, title in titled
                ],
            },
        )

    def read_session(
        self,
        *,
        ref: Annotated[str, Arg("Of the session or of a message in it, or a session's id.")],
        first: Annotated[
            int, Arg("Number of the first message; else the beginning, or around ref.", 0, 10**9)
        ] = 0,
        limit: Annotated[int, Arg("How many messages at the most.", 1, 1000)] = 20,
        budget_tokens: Annotated[
            int, Arg("Most tokens of all messages, 4 bytes each.", 200, 100_000)
        ] = 3000,
    ) -> Answer:
        """Transcripts: read what was said in an earlier session, in its order.

        Use it on a turn that recall has found, for what led to it and what came of it. Long
        messages are cut with a sign; open_ref shows one whole.
        """
        read = self.read_part(ref.strip(), first=first, limit=limit)
        session, said = read.session, _cut(read.messages, budget_tokens * TOKEN_BYTES)
        lines = [self._head(session), CAUTION]
        for message, text in said:
            when = render_instant(instant_of(message.at), self.zone)
            tools = f", tools: {', '.join(message.tools)}" if message.tools else ""
            its_ref = ref_of(session.client, session.name, message.n)
            lines += ["", fenced(text, f"{its_ref} {when} {message.author}{tools}")]
        lines += ["", f"More with first {read.next_first}."] if read.next_first else []
        return answer_of(
            lines,
            lambda: {
                "session": self._session_facts(session),
                "count": len(said),
                "next_first": read.next_first or None,
                "entries": [_message_facts(session, *each) for each in said],
            },
        )

    def find_sessions(
        self,
        *,
        when: str,
        project: str,
        client: str,
        limit: int,
        start: int,
        interval: Interval | None = None,
    ) -> SessionsFound:
        """Sessions with a message in a time, the one that went on last first.

        Args:
            when: A phrase; blank for any time.
            project: A folder, or its name; blank for any.
            client: Where it was held; blank for any.
            limit: How many at the most.
            start: How many of the newest are left out.
            interval: The time, in place of a phrase.

        Raises:
            Invalid: A phrase that is none.
            Unavailable: The sessions cannot be read.
        """
        interval = interval or read_span(self, "", "", when=when)
        ends = {"since": interval and interval.start, "until": interval and interval.end}
        within = {name: _stamp(at) for name, at in ends.items() if at}
        found = self.store.sessions(client=client.strip(), **within)
        fitting = [x for x in found if _is_in(x.cwd, project.strip())]
        end = start + limit
        return SessionsFound(
            sessions=fitting[start:end], interval=interval, has_more=len(fitting) > end
        )

    def title_of(self, session: SessionSummary) -> str:
        """The first words that say what a session was about; empty where nothing was said."""
        said = self.store.read_opening(session.client, session.name)
        return first_words(task_of(said.text)) if said else ""

    def list_places(self) -> Sequence[tuple[str, str]]:
        """The client and the folder of each session, the one that went on last first."""
        return [(x.client, x.cwd) for x in self.store.sessions()]

    def read_part(self, named: str, *, first: int = 0, limit: int) -> SessionRead:
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
        messages = self.store.read(
            session.client,
            session.name,
            first=first or max(n - _AROUND, 1),
            limit=max(limit, _AROUND + 1) + 1,  # the one that was named is among them
        )
        if n and not first and n not in {x.n for x in messages}:
            raise no_such(named)
        following = messages[limit].n if len(messages) > limit else 0
        return SessionRead(session=session, messages=messages[:limit], next_first=following)

    def find_session(self, named: str) -> SessionSummary:
        """The session that a person or a model named; see `read_part`."""
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

    def delete(self, ref: str) -> Answer:
        """Delete a message or a whole session for good, from the index too.

        An import does not bring it back. Raises: NotFound, Denied, Unavailable.
        """
        parts = parse_ref(ref)
        if parts is None:
            raise no_such(ref)
        refs = [ref] if parts.n else self._refs_of(parts.client, parts.session)
        filed = self._filed_of(parts.client, parts.session)
        count = self.store.delete(parts.client, parts.session, [parts.n] if parts.n else [])
        if not count:
            raise no_such(ref)
        # What was filed with it leaves too, and is filed again without it.
        left = filed - self._filed_of(parts.client, parts.session)
        notes = left_notes(self.filing.forget([*{*refs, *(each for each, _ in left)}]))
        numbers = [int(each.rpartition("#")[2]) for each, _ in left]
        self.store.file_again(parts.client, parts.session, numbers)
        facts = {"ref": ref, "refs": [ref], "messages": count}
        return Answer(f"Deleted {ref}, {counted(count, 'message', 'messages')}.", facts, notes)

    def list_old(self, days: int) -> list[SessionSummary]:
        """The sessions whose last message is older than so many days. Raises: Invalid."""
        if days < 1:
            raise Invalid(
                f"Invalid days: {days}.",
                hint="Use 1 or more, or set transcripts.retain_days.",
            )
        return [x for x in self.store.sessions() if x.last_at < self._before(days)]

    def plan_retaining(self, days: int) -> Answer:
        """What `retain` would delete."""
        old = self.list_old(days)
        line = f"Would delete {_sessions(old)} of more than {counted(days, 'day', 'days')} ago."
        refs = [x.ref for x in old]
        facts = {"days": days, "refs": refs, "messages": sum(x.messages for x in old)}
        return answer_of([line, *refs], facts)

    def retain(self, days: int) -> Answer:
        """Delete the sessions of `list_old`, from the index too.

        What such a session goes on with is kept again.

        Raises:
            Conflict: There are some, and nothing bears out the present by the clock.
            Invalid, Unavailable.
        """
        old = self.list_old(days)
        if old:
            self.present.refuse_unless_borne_out("No session is deleted")
        filed = {x.ref: self._refs_of(x.client, x.name) for x in old}
        gone = self.store.retain(self._before(days)) if old else []
        refs = [ref for x in gone for ref in filed.get(x.ref, ())]
        notes = left_notes(self.filing.forget(refs)) if refs else ()
        messages = sum(x.messages for x in gone)
        facts = {"days": days, "refs": [x.ref for x in gone], "messages": messages}
        line = f"Deleted {_sessions(gone)} of more than {counted(days, 'day', 'days')} ago."
        return Answer(line, facts, notes)

    def retain_as_set(self) -> list[str]:
        """Delete what `transcripts.retain_days` lets go of; sentences on what went.

        Where nothing bears out the clock nothing goes, and they say so. Raises: Unavailable.
        """
        if not self.retain_days:
            return []
        try:
            done = self.retain(self.retain_days)
        except Conflict as exc:
            return [exc.message, exc.hint]
        gone = done.facts["refs"]
        went = [f"Deleted {_sessions(gone)} by transcripts.retain_days."] if gone else []
        return [*went, *(done.notes or ())]

    def _before(self, days: int) -> str:
        try:
            return _stamp(self.clock() - timedelta(days=days))
        except OverflowError:
            return ""  # before the calendar: nothing is older

    def _refs_of(self, client: str, session: str) -> list[str]:
        return [ref_of(client, session, x.n) for x in self.store.list_turns(client, session)]

    def _filed_of(self, client: str, session: str) -> set[tuple[str, str]]:
        """Under which refs a session is filed, each with the stamp of what lies there."""
        exchanges = in_exchanges(self.store.list_turns(client, session))
        return {(ref_of(client, session, x.n), x.stamp) for x in exchanges}

    def _head(self, session: SessionSummary) -> str:
        ends = (session.first_at, session.last_at)
        span = " to ".join(dict.fromkeys(render_instant(instant_of(at), self.zone) for at in ends))
        place = f" in {self._place_of(session)}" if session.cwd else ""
        count = counted(session.messages, "message", "messages")
        return visible_line(f"{span} {session.client}{place}, {count}")

    def _place_of(self, session: SessionSummary) -> str:
        return session.cwd if self.shows_paths else shown_name(session.cwd)

    def _session_facts(self, session: SessionSummary) -> dict[str, Any]:
        return {
            "ref": session.ref,
            "journal": JOURNAL,
            "kind": SESSION,
            "client": session.client,
            "where": visible_line(self._place_of(session)),
            "branch": visible_line(session.branch),
            "messages": session.messages,
            "since": session.first_at,
            "until": session.last_at,
        }


def _message_facts(session: SessionSummary, message: Message, text: str) -> dict[str, Any]:
    return {
        "ref": ref_of(session.client, session.name, message.n),
        "journal": JOURNAL,
        "kind": KIND,
        "at": instant_of(message.at).isoformat(),
        "n": message.n,
        "author": message.author,
        "tools": [visible_line(x) for x in message.tools],
        "text": visible(text),
        "cut": text != message.text,
    }


def _cut(messages: Sequence[Message], room: int) -> list[tuple[Message, str]]:
    """What is shown of each message: the long ones give way, so that all have a part."""
    share = max(_SHORTEST, room // max(len(messages), 1))
    short = sum(len(x.text) for x in messages if len(x.text) <= share)
    long = sum(len(x.text) > share for x in messages)
    share = max(share, (room - short) // max(long, 1))
    return [(x, opening(x.text, share)) for x in messages]


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


def _sessions(found: Sequence[object]) -> str:
    return counted(len(found), "session", "sessions")
