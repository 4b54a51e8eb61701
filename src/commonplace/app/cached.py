"""What is wired at its first use, and once, however many threads ask for it first.

Knows nothing of what is wired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast, overload

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from typing import Any, Self

_T = TypeVar("_T")


class Wires(Protocol):
    """Something that is wired: wiring is held while a part of it is made.

    All that belongs to one owner shares one such lock, so that no two of them wait for each other.
    """

    @property
    def wiring(self) -> threading.RLock:
        """The lock."""
        ...


class locked_cached_property(Generic[_T]):  # noqa: N801  read as a decorator
    """A property that is made at its first use and kept.

    `functools.cached_property` makes it twice for two threads since Python 3.12, and before that
    lets every owner wait for any other's.
    """

    def __init__(self, make: Callable[[Any], _T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: Wires, owner: type | None = None) -> _T: ...

    def __get__(self, instance: Wires | None, owner: type | None = None) -> _T | Self:
        """Make it, unless it is there; afterwards the instance's own attribute is found first."""
        if instance is None:
            return self
        with instance.wiring:
            kept = instance.__dict__
            if self._name not in kept:
                kept[self._name] = self._make(instance)
            found: _T = kept[self._name]
            return found


class _AtFirstUse:
    """Stands for something that is opened when one of its attributes is first asked for."""

    def __init__(self, open_it: Callable[[], object]) -> None:
        self._open = open_it

    def __getattr__(self, name: str) -> object:
        return getattr(self._open(), name)


def at_first_use(open_it: Callable[[], _T]) -> _T:
    """What `open_it` returns, opened when it is first used; a list or a write may never need it.

    Args:
        open_it: Returns the same thing at each call.
    """
    return cast("_T", _AtFirstUse(open_it))
