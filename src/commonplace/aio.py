"""The library for programs that run an event loop: every journal, each verb awaited.

Never does anything of its own: every call runs in a thread, and its types are the verb's.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import OrderedDict, deque
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from commonplace.chronicle import Chronicle
from commonplace.core.clock import utc_now
from commonplace.core.errors import Invalid
from commonplace.journals.timeline.entry import LEVELS, PROFILE, RAW, ROLLUP_TYPES, parse_level
from commonplace.library import Library
from commonplace.memory import Memory
from commonplace.notebook import Notebook
from commonplace.private import Private
from commonplace.timeline import Timeline
from commonplace.transcripts import Transcripts

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from commonplace.config.table import Settings
    from commonplace.core.clock import Clock

MOST_OPEN = 32
_LEAVING_S = 60.0

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Wrapped = TypeVar("_Wrapped", bound="Library[Any]")


class Verb(Generic[_P, _R]):
    """A method that is awaited: it runs in a thread, on the object that is wrapped.

    Args:
        function: The method of the wrapped class, whose arguments and result it has.
    """

    def __init__(self, function: Callable[Concatenate[Any, _P], _R]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    # `object`, where a coroutine usually has Any: with Any, `asyncio.gather` of verbs with
    # different results is Any to mypy.
    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(
        self, instance: _Awaited[Any], owner: type
    ) -> Callable[_P, Coroutine[object, object, _R]]: ...

    def __get__(
        self, instance: _Awaited[Any] | None, owner: type
    ) -> Self | Callable[_P, Coroutine[object, object, _R]]:
        """The method of one object; of the class itself, what it is made from."""
        if instance is None:
            return self

        @wraps(self._function)
        async def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            verb = getattr(instance.sync, self._function.__name__)
            return await _in_thread(partial(verb, *args, **kwargs))

        return call


class _Awaited(Generic[_Wrapped]):
    """An object whose verbs are awaited.

    Attributes:
        sync: The object itself, for what is not awaited.
    """

    wait = Verb(Library.wait)
    context = Verb(Library.context)
    read_text = Verb(Library.read_text)
    edit = Verb(Library.edit)
    supersede = Verb(Library.supersede)
    undo = Verb(Library.undo)
    delete = Verb(Library.delete)
    expire = Verb(Library.expire)

    def __init__(self, sync: _Wrapped) -> None:
        self.sync = sync

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self.sync.owner

    def beside(self, owner: str) -> Self:
        """The same for another owner in the same place; both share one model. Close it as well."""
        return type(self)(self.sync.beside(owner))

    async def close(self) -> None:
        """Close all files; may be called twice."""
        await _in_thread(self.sync.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncMemory(_Awaited[Memory]):
    """The memory of one user, its verbs awaited: `AsyncMemory(Memory("ann"))`."""

    save_message = Verb(Memory.save_message)
    get = Verb(Memory.get)
    list = Verb(Memory.list)
    search = Verb(Memory.search)
    save_journal = Verb(Memory.save_journal)
    save_todo = Verb(Memory.save_todo)
    save_gratitude = Verb(Memory.save_gratitude)
    save_preferences = Verb(Memory.save_preferences)
    edit_journal = Verb(Memory.edit_journal)
    edit_todo = Verb(Memory.edit_todo)
    message = Verb(Memory.message)
    journal = Verb(Memory.journal)
    todo = Verb(Memory.todo)
    gratitude = Verb(Memory.gratitude)
    preferences = Verb(Memory.preferences)
    messages = Verb(Memory.messages)
    journals = Verb(Memory.journals)
    todos = Verb(Memory.todos)
    gratitudes = Verb(Memory.gratitudes)
    stats = Verb(Memory.stats)


class AsyncTimeline(_Awaited[Timeline]):
    """The timeline of one owner, its verbs awaited: `AsyncTimeline(Timeline("ann"))`."""

    save_message = Verb(Timeline.save_message)
    get = Verb(Timeline.get)
    list = Verb(Timeline.list)
    search = Verb(Timeline.search)
    save_entry = Verb(Timeline.save_entry)
    save_profile = Verb(Timeline.save_profile)
    edit_entry = Verb(Timeline.edit_entry)
    rollup = Verb(Timeline.rollup)
    profile = Verb(Timeline.profile)
    trends = Verb(Timeline.trends)
    memories = Verb(Timeline.memories)
    roll_up = Verb(Timeline.roll_up)
    set_timezone = Verb(Timeline.set_timezone)


class AsyncPrivate(_Awaited[Private]):
    """The private journal of one owner, its verbs awaited: `AsyncPrivate(Private("ann"))`."""

    save_entry = Verb(Private.save_entry)
    get = Verb(Private.get)
    list = Verb(Private.list)
    search = Verb(Private.search)


class AsyncChronicle(_Awaited[Chronicle]):
    """The log of one owner, its verbs awaited: `AsyncChronicle(Chronicle("ann"))`."""

    save_entry = Verb(Chronicle.save_entry)
    get = Verb(Chronicle.get)
    list = Verb(Chronicle.list)
    search = Verb(Chronicle.search)
    tags = Verb(Chronicle.tags)


class AsyncNotebook(_Awaited[Notebook]):
    """The notebook of one owner, its verbs awaited: `AsyncNotebook(Notebook("ann"))`."""

    save_entry = Verb(Notebook.save_entry)
    get = Verb(Notebook.get)
    list = Verb(Notebook.list)
    search = Verb(Notebook.search)
    section = Verb(Notebook.section)
    sections = Verb(Notebook.sections)
    entries = Verb(Notebook.entries)


class AsyncTranscripts(_Awaited[Transcripts]):
    """The transcripts of one owner, awaited: `AsyncTranscripts(Transcripts("ann"))`."""

    get = Verb(Transcripts.get)
    list = Verb(Transcripts.list)
    search = Verb(Transcripts.search)
    sessions = Verb(Transcripts.sessions)
    session = Verb(Transcripts.session)


class JournalStorage:
    """The timelines of many owners by the timeline's design: its five verbs, entries as dicts.

    Args:
        home: Our folder, else where settings say.
        timezone: What cuts periods of an owner who has no zone of their own, an IANA name.
        settings: In place of those that environment and files give.
        clock: The present, aware.
        monotonic: Tells how long an owner has not been asked for, in seconds.
    """

    def __init__(
        self,
        *,
        home: Path | str | None = None,
        timezone: str | None = None,
        settings: Settings | None = None,
        clock: Clock = utc_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open = partial(Timeline, home=home, timezone=timezone, settings=settings, clock=clock)
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._timelines: OrderedDict[str, Timeline] = OrderedDict()
        self._leaving: deque[tuple[float, Timeline]] = deque()

    async def add_entry(
        self,
        thread_id: str,
        content: str,
        entry_type: str = "raw",
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Record an entry, `raw` or `profile_snapshot`; its id. Raises: Invalid, Unavailable."""
        service = await _in_thread(lambda: self.timeline(thread_id).service)
        add = partial(service.add, content, entry_type=entry_type, metadata=metadata)
        return (await _in_thread(add)).entry.id

    async def search(
        self,
        thread_id: str,
        query: str,
        time_range: tuple[datetime, datetime] | None = None,
        entry_types: Sequence[str] | None = None,
        limit: int = 10,
        *,
        as_of: datetime | None = None,
    ) -> list[dict[str, Any]]:
        """The best entries by words and meaning, each with score, similarity, by and also.

        A blank query lists, newest first. Without time_range a time in the query is read ("last
        week"). What was written at as_of or later does not count. Raises: Invalid, Unavailable.
        """
        since, until = time_range or (None, None)
        found = await _in_thread(
            lambda: self.timeline(thread_id).search(
                query,
                kinds=entry_types or (),
                since=since,
                until=until,
                limit=limit,
                as_of=as_of,
            )
        )
        return [
            {
                **hit.entry.as_dict(),
                "score": hit.score,
                "similarity": hit.similarity,
                "by": hit.by,
                "also": list(hit.also),
            }
            for hit in found.hits
        ]

    async def get_time_range(
        self, thread_id: str, start: datetime, end: datetime, rollup_level: int | None = None
    ) -> list[dict[str, Any]]:
        """What overlaps [start, end), newest first: of one level (0 raw … 5 year), or of all.

        Each says what it went into; a rollup also what it was made from, and whether it is stale.
        Of a level of rollups the period that is still open comes first, computed and marked
        `partial` in its metadata. Raises: Invalid for a time without a zone, or for no level.
        """
        kinds = _kinds_of(rollup_level)
        listed = await _in_thread(
            lambda: self.timeline(thread_id).list(
                kinds=kinds, since=start, until=end, limit=sys.maxsize
            )
        )
        return [x.as_dict() for x in listed]

    async def get_rollup(
        self, thread_id: str, period: str, timestamp: datetime | None = None
    ) -> dict[str, Any] | None:
        """The rollup of the period (`hourly` … `yearly`) that holds an instant, else of now's.

        None for a period that is still open. Raises: Invalid, Unavailable.
        """
        found = await _in_thread(lambda: self.timeline(thread_id).rollup(period, timestamp))
        return None if found is None else found.as_dict()

    async def get_profile_snapshot(self, thread_id: str) -> dict[str, Any] | None:
        """The newest profile snapshot; None where there is none."""
        found = await _in_thread(lambda: self.timeline(thread_id).profile())
        return None if found is None else found.as_dict()

    def timeline(self, thread_id: str) -> Timeline:
        """One owner's timeline, for its other verbs; do not keep or close it. Raises: Invalid."""
        with self._lock:
            found = self._timelines.pop(thread_id, None)
            if found is None:
                some = next(iter(self._timelines.values()), None)
                found = self._open(thread_id) if some is None else some.beside(thread_id)
            self._timelines[thread_id] = found
            # What has not been asked for in a while goes later: another thread may be using it.
            now = self._monotonic()
            while len(self._timelines) > MOST_OPEN:
                self._leaving.append((now, self._timelines.popitem(last=False)[1]))
            while self._leaving and now - self._leaving[0][0] > _LEAVING_S:
                self._leaving.popleft()[1].close()
            return found

    async def close(self) -> None:
        """Close all files; may be called twice."""
        await _in_thread(self._close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _close(self) -> None:
        with self._lock:
            open_ones = [*self._timelines.values(), *(each for _, each in self._leaving)]
            self._timelines.clear()
            self._leaving.clear()
        for each in open_ones:
            each.close()


async def _in_thread(call: Callable[[], _R]) -> _R:
    return await asyncio.get_running_loop().run_in_executor(None, call)


def _kinds_of(rollup_level: int | None) -> tuple[str, ...]:
    if rollup_level is None:
        return ()
    if not 0 <= rollup_level <= len(LEVELS):
        raise Invalid(f"Invalid rollup_level: {rollup_level}.", hint=f"Use 0 to {len(LEVELS)}.")
    level = parse_level(rollup_level)
    return (RAW, PROFILE) if level is None else (ROLLUP_TYPES[level],)
