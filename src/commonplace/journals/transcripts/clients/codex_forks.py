"""What a forked rollout of Codex repeats: which lines these are, and by which ids they are known.

A fork of a session that was not paginated, and a sub-agent's, begins with a copy of its parent's
lines: with new times, and without ids or with new ones. Never leaves out what the parent lacks.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta

from commonplace.journals.transcripts.clients.packed import PACKED
from commonplace.journals.transcripts.clients.parsing import (
    Skipped,
    dict_of,
    files_below,
    instant,
    made_id,
    name_of,
)
from commonplace.journals.transcripts.message import instant_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.journals.transcripts.clients.parsing import Conversation
    from commonplace.journals.transcripts.message import Message

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TURN_STARTS = ("task_started", "turn_started")
_ARCHIVE = "archived_sessions"
_MOST_FORKS = 16
_LATEST = 1e11
"""The year 5138, in seconds."""

WRITTEN_WITHIN = timedelta(seconds=2)
"""So long after its first line a copy is written, where no turn in it has a time of its own."""


def is_agent(meta: dict[str, object]) -> bool:
    """Whether a `session_meta` is of a sub-agent's session."""
    return "subagent" in dict_of(meta.get("source")) or meta.get("thread_source") == "subagent"


class Repeated:
    """What one rollout repeats, as its lines are read one after the other.

    A copy begins with the `session_meta` of another session, or, where Codex rewrote the rollout,
    behind the own one that names the other. It ends with the first turn that was begun after the
    fork was: a turn's id has its time, and is copied as it is.

    Args:
        conversation: Of the rollout; what is found is noted there.
        said_in: What is said in another rollout, with the id of a copy of each message.
    """

    def __init__(
        self,
        conversation: Conversation,
        said_in: Callable[[str, Conversation], Iterator[tuple[Message, str]]],
    ) -> None:
        self._conversation = conversation
        self._said_in = said_in
        self._parents: list[str] = []
        self._is_from_start = False
        self._of_agent = False
        self._born = _time_of_id(conversation.session) or _seconds(conversation.at)
        self._written = ""
        self._turn_at: float | None = None
        self._counts: dict[str, int] = {}
        self._theirs: _Theirs | None = None

    def see(self, kind: object, payload: dict[str, object], at: str) -> None:
        """Notice where a copy begins, and where it ends; `at` is when the line was written."""
        now = self._conversation
        if kind == "session_meta":
            session = name_of(payload.get("id"))
            if session == now.session:
                self._is_from_start = True
                session = name_of(payload.get("forked_from_id"))
            elif not self._parents or self._parents[0] == session:
                self._of_agent = is_agent(payload)
            if session and session != now.session:
                self._written = self._written if now.in_copy else at
                self._parents.append(session)
                now.in_copy = True
        elif now.in_copy:
            begun = _turn_begun(kind, payload)
            if begun is not None:
                self._turn_at = begun
                now.in_copy = self._born is not None and begun < self._born
            elif self._turn_at is None and self._written and at:
                now.in_copy = instant_of(at) - instant_of(self._written) <= WRITTEN_WITHIN

    def known(self, message: Message | Skipped) -> Message | Skipped | None:
        """A message as it is known already, if it repeats one; None for one that is left out.

        So is what was deleted, and of a parent that is there what is left out of it as well.
        """
        now = self._conversation
        if isinstance(message, Skipped):
            return None if now.in_copy and self._found_theirs().is_there else message
        if not (now.in_copy or now.may_be_copied):
            return message
        key = made_id(message.role, message.text, *message.tools)
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if not now.in_copy:
            if self._is_from_start:
                now.copy_ids[message.id] = _copy_id(now.session, key, count)
            return message
        theirs = self._found_theirs()
        if theirs.is_deleted:
            return None
        repeated = theirs.find(made_id(message.role, theirs.screened(message.text), *message.tools))
        if repeated:
            first, now.copy_ids[first.id] = repeated
            return first._replace(text=message.text, n=0, kept="")
        at = instant(self._turn_at) or message.at
        own = _copy_id(self._parents[0], key, count)
        return message._replace(id=own, at=at, sidechain=self._of_agent)

    def close(self) -> None:
        """Close the parent's rollout, if it was read."""
        if self._theirs:
            self._theirs.close()

    def _found_theirs(self) -> _Theirs:
        """What the nearest session has said that is there: a rollout, or what we keep of it."""
        if self._theirs is None:
            self._theirs = self._find_theirs()
        return self._theirs

    def _find_theirs(self) -> _Theirs:
        now = self._conversation
        for session in dict.fromkeys(self._parents) if now.forks < _MOST_FORKS else ():
            if path := find_rollout(now.path, session):
                return _Theirs(self._said_in(path, now))
            kept = now.kept_session(session)
            if kept is None:
                return _Theirs(is_deleted=True)
            if kept:
                return _Theirs(((x, "") for x in kept), screened=now.screened)
        return _Theirs(is_there=False)


class _Theirs:
    """What a parent has said, in its order, and how far it has been repeated.

    Of each message the id is known that a copy of it has where that is kept alone; `screened` gives
    a text as it stands in these messages.
    """

    def __init__(
        self,
        said: Iterator[tuple[Message, str]] | None = None,
        *,
        screened: Callable[[str], str] = str,
        is_there: bool = True,
        is_deleted: bool = False,
    ) -> None:
        self.screened = screened
        self.is_there = is_there
        self.is_deleted = is_deleted
        self._said = said or iter(())
        self._next = 0
        self._read = 0
        self._passed: dict[str, list[tuple[int, Message, str]]] = {}

    def find(self, key: str) -> tuple[Message, str] | None:
        """The first message of these words behind those that were found before; None for none.

        A fork may lack some: of a sub-agent's the calls, or the beginning.
        """
        for place, message, copy_id in self._passed.get(key, ()):
            if place >= self._next:
                self._next = place + 1
                return message, copy_id
        for message, copy_id in self._said:
            place, self._read = self._read, self._read + 1
            theirs = made_id(message.role, message.text, *message.tools)
            slim = message._replace(text="")
            if theirs == key:
                self._next = place + 1
                return slim, copy_id
            self._passed.setdefault(theirs, []).append((place, slim, copy_id))
        return None

    def close(self) -> None:
        """Read no more."""
        close = getattr(self._said, "close", None)
        if close:
            close()


def find_rollout(path: str, session: str) -> str:
    """The rollout of another session that lies with this one; empty where it is not there.

    It is looked for beside it, in the folders of the days about the one in its id, and in the
    archive; where its id has no time, in all folders of days.
    """
    if not path or not _UUID.fullmatch(session):
        return ""
    root = os.path.dirname(os.path.abspath(path))
    folders = [root]
    while os.path.basename(root).isdigit():
        root = os.path.dirname(root)
    beside = os.path.dirname(root)
    roots = dict.fromkeys([root, *(os.path.join(beside, x) for x in ("sessions", _ARCHIVE))])
    begun = _time_of_id(session)
    for place in roots:
        folders.append(place)
        for days in (-1, 0, 1) if begun is not None else ():
            day = datetime.fromtimestamp(begun or 0, UTC) + timedelta(days=days)
            folders.append(os.path.join(place, f"{day:%Y}", f"{day:%m}", f"{day:%d}"))
    ends = (f"-{session}.jsonl", f"-{session}.jsonl{PACKED}")
    for folder in dict.fromkeys(folders):
        if found := _ending_in(folder, ends):
            return found
    if begun is None:
        return next((x for place in roots for x in files_below(place, *ends)), "")
    return ""


def _ending_in(folder: str, ends: tuple[str, ...]) -> str:
    try:
        with os.scandir(folder) as entries:
            found = [x.path for x in entries if x.name.endswith(ends) and x.is_file()]
    except OSError:
        return ""
    return min(found, default="")  # the plain one before the packed


def _copy_id(session: str, key: str, count: int) -> str:
    """The id of a message of a session that is not there, the same in each copy of it.

    It is made of the key of its words, and of how often they were said up to here.
    """
    return made_id("copy", session, key, str(count))


def _turn_begun(kind: object, payload: dict[str, object]) -> float | None:
    """When the turn was begun that a line tells of, in seconds; None where it tells of none."""
    is_start = kind == "event_msg" and payload.get("type") in _TURN_STARTS
    if not is_start and kind != "turn_context":
        return None
    return _time_of_id(name_of(payload.get("turn_id"))) or _seconds(
        instant(payload.get("started_at"))
    )


def _time_of_id(own: str) -> float | None:
    """The time in a UUID of version 7, in seconds; None for another id, and beyond the calendar."""
    found = _UUID.fullmatch(own)
    if not found or found[1] != "7":
        return None
    seconds = int(own[:8] + own[9:13], 16) / 1000
    return seconds if seconds < _LATEST else None


def _seconds(at: str) -> float | None:
    return instant_of(at).timestamp() if at else None
