"""The library for programs that run an event loop: memory and timeline, each verb awaited.

Never does anything of its own: every call runs in a thread, and its types are the verb's.
"""

from __future__ import annotations

import asyncio
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from commonplace.core.clock import utc_now
from commonplace.memory import Memory
from commonplace.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path
    from types import TracebackType

    from commonplace.config.table import Settings
    from commonplace.core.clock import Clock

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Wrapped = TypeVar("_Wrapped", bound="Memory | Timeline")


class Verb(Generic[_P, _R]):
    """A method that is awaited: it runs in a thread, on the object that is wrapped.

    Args:
        function: The method of the wrapped class, whose arguments and result it has.
    """

    def __init__(self, function: Callable[Concatenate[Any, _P], _R]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(
        self, instance: _Awaited[Any], owner: type
    ) -> Callable[_P, Coroutine[Any, Any, _R]]: ...

    def __get__(
        self, instance: _Awaited[Any] | None, owner: type
    ) -> Self | Callable[_P, Coroutine[Any, Any, _R]]:
        """The method of one object; of the class itself, what it is made from."""
        if instance is None:
            return self

        @wraps(self._function)
        async def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            bound = partial(self._function, instance.sync, *args, **kwargs)
            return await asyncio.get_running_loop().run_in_executor(None, bound)

        return call


class _Awaited(Generic[_Wrapped]):
    """An object whose verbs are awaited.

    Attributes:
        sync: The object itself, for what is not awaited.
    """

    def __init__(self, sync: _Wrapped) -> None:
        self.sync = sync

    async def close(self) -> None:
        """Close all files; may be called twice."""
        await asyncio.get_running_loop().run_in_executor(None, self.sync.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class AsyncMemory(_Awaited[Memory]):
    """The memory of one user, its verbs awaited: `AsyncMemory(Memory("ann"))`."""

    save_message = Verb(Memory.save_message)
    save_journal = Verb(Memory.save_journal)
    save_todo = Verb(Memory.save_todo)
    save_gratitude = Verb(Memory.save_gratitude)
    save_preferences = Verb(Memory.save_preferences)
    edit_journal = Verb(Memory.edit_journal)
    edit_todo = Verb(Memory.edit_todo)
    edit_gratitude = Verb(Memory.edit_gratitude)
    message = Verb(Memory.message)
    journal = Verb(Memory.journal)
    todo = Verb(Memory.todo)
    gratitude = Verb(Memory.gratitude)
    preferences = Verb(Memory.preferences)
    messages = Verb(Memory.messages)
    journals = Verb(Memory.journals)
    todos = Verb(Memory.todos)
    gratitudes = Verb(Memory.gratitudes)
    records = Verb(Memory.records)
    delete = Verb(Memory.delete)
    search = Verb(Memory.search)
    context = Verb(Memory.context)
    stats = Verb(Memory.stats)

    @property
    def user_id(self) -> str:
        """Whose it is."""
        return self.sync.user_id

    def beside(self, user_id: str) -> AsyncMemory:
        """Another user's memory in the same place; both share one model. Close it as well."""
        return AsyncMemory(self.sync.beside(user_id))


class AsyncTimeline(_Awaited[Timeline]):
    """The timelines of all owners, their verbs awaited: `AsyncTimeline(Timeline())`."""

    add_entry = Verb(Timeline.add_entry)
    add_message = Verb(Timeline.add_message)
    search = Verb(Timeline.search)
    get_entry = Verb(Timeline.get_entry)
    get_time_range = Verb(Timeline.get_time_range)
    get_rollup = Verb(Timeline.get_rollup)
    get_profile_snapshot = Verb(Timeline.get_profile_snapshot)
    update_entry = Verb(Timeline.update_entry)
    delete_entry = Verb(Timeline.delete_entry)
    context = Verb(Timeline.context)
    trends = Verb(Timeline.trends)
    memories = Verb(Timeline.memories)
    roll_up = Verb(Timeline.roll_up)
    set_timezone = Verb(Timeline.set_timezone)


class JournalStorage(AsyncTimeline):
    """The timeline's interface as its design has it; it takes what `Timeline` takes.

    Args:
        home: Our folder, else where settings say.
        timezone: What cuts periods of an owner who has no zone of their own, an IANA name.
        settings: In place of those that environment and files give.
        clock: The present, aware.
    """

    def __init__(
        self,
        *,
        home: Path | str | None = None,
        timezone: str | None = None,
        settings: Settings | None = None,
        clock: Clock = utc_now,
    ) -> None:
        super().__init__(Timeline(home=home, timezone=timezone, settings=settings, clock=clock))
