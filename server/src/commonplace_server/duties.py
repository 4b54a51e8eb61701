"""Does several duties of one user, of which none waits for another that fails.

Knows nothing of what they are.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def each_duty() -> Iterator[Callable[[Callable[[], object]], None]]:
    """Gives what does a duty; the first error of any is raised once all had their turn."""
    failed: list[Exception] = []

    def do(duty: Callable[[], object]) -> None:
        try:
            duty()
        except Exception as exc:  # noqa: BLE001  raised at the end
            failed.append(exc)

    yield do
    if failed:
        raise failed[0]
