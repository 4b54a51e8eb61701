"""The library for programs that run an event loop: one wrapper, and the timeline in it.

Never does anything of its own: every call runs in a thread.
"""

from __future__ import annotations

import asyncio
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import TracebackType


class Async:
    """An object whose methods are awaited: each runs in a thread, with its own arguments.

    What is no method is handed through.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return _awaited(found) if callable(found) else found

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class JournalStorage(Async):
    """The timeline's interface as its design has it; see `commonplace.timeline.Timeline`.

    Takes what `Timeline` takes: `JournalStorage(home=…, timezone=…)`.
    """

    def __init__(self, **where: Any) -> None:
        from commonplace.timeline import Timeline

        super().__init__(Timeline(**where))


def _awaited(function: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(
            None, partial(function, *args, **kwargs)
        )

    return call
