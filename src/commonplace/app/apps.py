"""The apps of many owners in one process, over what they share.

Never lets one owner reach another's folders, nor the machine user's own.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.app.app import App
from commonplace.app.process import ProcessContext
from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import Unavailable
from commonplace.core.files import make_folder
from commonplace.core.owner_folders import make_owner_folder, parse_owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from commonplace.config.table import Settings

_log = logging.getLogger(__name__)

MOST_OPEN = 64
"""How many owners' apps stay open while nobody uses them for a moment."""

MOST_EVER = 128
"""How many stay open even in that moment: owners who call in turns do not close each other's."""

MOST_AT_ALL = 192
"""How many are open at all: above it an owner who comes waits until another's is closed.

Each has up to forty files and some megabytes, and those that are to be closed still have them.
"""

MOMENT_S = 5.0

IDLE_S = 600.0
"""How long an app that nobody uses stays open."""


class _Kept(Struct):
    """An app, how many use it now, and when the last one was done."""

    app: App
    users: int = 0
    left_at: float = 0.0


class Apps:
    """An app for each owner who is served, opened when one is used and closed when idle.

    Idle ones are closed by `close_idle`, called every few seconds: no call of one owner
    waits for another's journals to be closed, unless too many are open.
    settings: the machine's own. Its owner has the machine user's folders, every other owner only
    what lies in `users/<owner>`, and nobody has a project. Thread-safe. Close it at the end.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        user_home: Path | None,
        clock: Clock = utc_now,
        shared: ProcessContext | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = _without_project(settings)
        self.shared = shared or ProcessContext(self.settings, serves_owners=True)
        self._is_alone = shared is None
        self._user_home = user_home
        self._clock = clock
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        # Places of apps that are not kept any more, or not yet: until closed, or until opened.
        self._held = 0
        self._closed = False

    @contextmanager
    def using(self, owner: str) -> Iterator[App]:
        """The app of an owner, which stays open meanwhile.

        Raises: Invalid for what is no owner, Unavailable once closed.
        """
        owner = parse_owner(owner)
        kept = self._take(owner)
        try:
            yield kept.app
        finally:
            with self._lock:
                kept.users -= 1
                kept.left_at = self._monotonic()

    def close_idle(self) -> None:
        """Close what nobody has used for a while, and the longest unused of too many."""
        with self._lock:
            now, count = self._monotonic(), len(self._kept)
            leaving = [
                self._kept.pop(owner)
                for n, (at, owner) in enumerate(self._idle())
                if n < count - MOST_EVER
                or (n < count - MOST_OPEN and at < now - MOMENT_S)
                or at < now - IDLE_S
            ]
            self._held += len(leaving)
        self._let_go(leaving)

    def count_open(self) -> int:
        """How many owners' apps are open."""
        with self._lock:
            return len(self._kept)

    def close(self) -> None:
        """Close every app, those in use as well; may be called twice."""
        with self._lock:
            self._closed = True
            leaving, self._kept = [*self._kept.values()], {}
        for each in leaving:
            _close(each.app)
        if self._is_alone:
            self.shared.close()

    def _idle(self) -> list[tuple[float, str]]:
        """Those that nobody uses, the longest unused first; within the lock."""
        return sorted((each.left_at, owner) for owner, each in self._kept.items() if not each.users)

    def _take(self, owner: str) -> _Kept:
        """The app of an owner, who is one more of those that use it."""
        with self._lock:
            if owner in self._kept:
                return self._entered(owner)
            # The owner's place is held from here on. Where that is one too many, the longest unused
            # leave, and are closed before the owner's own app is opened.
            over = len(self._kept) + self._held + 1 - MOST_AT_ALL
            leaving = [self._kept.pop(name) for _, name in self._idle()[: max(over, 0)]]
            self._held += max(len(leaving), 1)
        self._let_go(leaving[1:])
        for last in leaving[:1]:
            _close(last.app)
        with self._lock:
            self._held -= 1
            return self._entered(owner)

    def _let_go(self, leaving: Iterable[_Kept]) -> None:
        for each in leaving:
            _close(each.app)
            with self._lock:
                self._held -= 1

    def _entered(self, owner: str) -> _Kept:
        """Within the lock."""
        if self._closed:
            raise Unavailable("The server is stopping.", hint="Try again in a moment.")
        kept = self._kept.get(owner)
        if kept is None:
            kept = self._kept[owner] = _Kept(app=self._open(owner))
        kept.users += 1
        return kept

    def _open(self, owner: str) -> App:
        if owner != self.settings.owner:
            return open_served(self.settings, owner, clock=self._clock, shared=self.shared)
        return App(self.settings, user_home=self._user_home, clock=self._clock, shared=self.shared)


def open_served(settings: Settings, owner: str, *, clock: Clock, shared: ProcessContext) -> App:
    """The app of an owner other than the machine's; see `settings_of`.

    A program that keeps all in one home opens the machine's owner too, who is not noted as served.
    """
    own = settings_of(settings, owner, shared.folder_of(owner))
    if shared.serves_owners:
        make_owner_folder(settings.home / "users", owner)
    if shared.serves_owners and owner != settings.owner:
        make_folder(shared.mark_of(owner))
    return App(own, user_home=None, clock=clock, shared=shared)


def settings_of(settings: Settings, owner: str, folder: Path) -> Settings:
    """The settings of an owner whose journals all lie in one folder, and who has no project.

    settings: The machine's own.
    """
    own = _without_project(settings)
    return replace(
        own,
        owner=owner,
        private=replace(own.private, user_path=folder / "private", both_path=None),
        chronicle=replace(own.chronicle, path=folder / "chronicle" / "chronicle.db"),
        notebook=replace(
            own.notebook,
            path=None,
            author=f"{folder.name} <{folder.name}@localhost>",
        ),
    )


def _without_project(settings: Settings) -> Settings:
    return replace(
        settings, project=None, work_folder=None, private=replace(settings.private, path=None)
    )


def _close(app: App) -> None:
    try:
        app.close()
    except Exception:  # noqa: BLE001  a thread's last line: the others are still to be closed
        _log.exception("The journals of one owner were not closed in order")
