"""What all journals of the library have in common: how they open and close, and their verbs.

Never mixes owners: an object is of one, who has a folder, files and an index of their own.
"""

from __future__ import annotations

import atexit
import os
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from datetime import MAXYEAR, MINYEAR
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar, overload

from msgspec.structs import replace

from commonplace.core.clock import micros, utc_now
from commonplace.core.errors import Invalid, NotFound, Unavailable
from commonplace.core.expiring import revealed
from commonplace.core.owner_folders import parse_owner
from commonplace.core.spaces import check_has_journal
from commonplace.core.values import Interval
from commonplace.journals.table import JOURNALS_OF_SPACES
from commonplace.search.found_entry import LibraryEntry
from commonplace.until_found import wait_until_found
from commonplace.verbs.amend import (
    delete_entry,
    edit_entry,
    ending_alike,
    supersede_entry,
    undo,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from commonplace.app import App
    from commonplace.app.process import ProcessContext
    from commonplace.config.table import Settings
    from commonplace.core.clock import Clock
    from commonplace.core.ports import AmendsRefs, EncoderSlot, OwnerIndex
    from commonplace.core.time_book import TimeBook
    from commonplace.core.values import Amendment, By, EditableText
    from commonplace.journals.memory.records import Role
    from commonplace.search.filing.port import Refreshing


class LibraryHit(LibraryEntry, Protocol):
    """An entry that a search found; score, similarity and by are None where it was listed."""

    @property
    def entry(self) -> LibraryEntry:
        """The entry whole."""
        ...

    @property
    def score(self) -> float | None:
        """How good it is, 0 to 1."""
        ...

    @property
    def similarity(self) -> float | None:
        """How near in meaning; None where words alone found it."""
        ...

    @property
    def by(self) -> By | None:
        """Whether words found it, meaning, or both."""
        ...


class LibraryFound(Protocol):
    """What a search found."""

    @property
    def hits(self) -> Sequence[LibraryHit]:
        """The best first."""
        ...

    @property
    def interval(self) -> Interval | None:
        """The time that it kept to."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """Sentences on what a reader must know."""
        ...


_Service = TypeVar("_Service")
_Face = TypeVar("_Face", bound="Library[Any]")


class Library(ABC, Generic[_Service]):
    """A journal of one owner, for programs; synchronous and thread-safe. Close it.

    Args:
        owner: Any text of 1 to 128 characters; case counts.
        home: Our folder, else where settings say.
        timezone: The zone of an owner who has none of their own, an IANA name.
        settings: In place of those that environment and files give, and of home and timezone.
        clock: The present, aware.
        encoder: In place of the one that the settings name.

    Raises:
        Invalid: That is no owner, or a space, which has no such journal.
    """

    _journal = ""
    """The name that the refs begin with."""

    def __init__(
        self,
        owner: str,
        *,
        home: Path | str | None = None,
        timezone: str | None = None,
        settings: Settings | None = None,
        clock: Clock = utc_now,
        encoder: EncoderSlot | None = None,
        _shared: SharedApp | None = None,
    ) -> None:
        self.owner = parse_owner(owner)
        check_has_journal(self.owner, self._journal, JOURNALS_OF_SPACES)
        first_zone = timezone if settings is None else None
        self._shared = _shared or SharedApp(
            settings or _settings(home, timezone),
            clock,
            encoder,
            first_zone or "",
            is_machine=settings is not None or home is None,
        )
        self._shared.take()
        self._lock = threading.Lock()
        self._service: _Service | None = None
        self._process = 0
        self._closed = False

    @overload
    def beside(self, owner: str) -> Self: ...

    @overload
    def beside(self, owner: str, journal: type[_Face]) -> _Face: ...

    def beside(self, owner: str, journal: type[Library[Any]] | None = None) -> Library[Any]:
        """The same for another owner, or another journal, in the same place, with the same model.

        Close it as well.

        Args:
            owner: Whose.
            journal: `Chronicle`, say; None for the same journal.
        """
        return (journal or type(self))(owner, _shared=self._shared)

    @abstractmethod
    def get(self, ref: str) -> LibraryEntry:
        """The entry under a ref. Raises: Invalid, NotFound."""

    @abstractmethod
    def list(
        self,
        *,
        kinds: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
    ) -> Sequence[LibraryEntry]:
        """Entries newest first, of some kinds or of all, of a time or of any. Raises: Invalid.

        Args:
            kinds: Empty for all.
            since: Not before this aware instant.
            until: Before this aware instant.
            limit: The most that are listed.
        """

    @abstractmethod
    def search(
        self,
        query: str,
        *,
        kinds: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> LibraryFound:
        """The best entries by words and meaning. Raises: Invalid, Unavailable.

        Args:
            query: A question, or a few words.
            kinds: Empty for all.
            since: Not before this aware instant.
            until: Before this aware instant.
            limit: The most hits, 1 to 100; None for as many as are usual.
            as_of: What was written at this aware instant or later does not count; None for the
                present.
        """

    @abstractmethod
    def context(self, question: str, budget_tokens: int = 1200) -> str:
        """What a prompt should hold, fenced; a blank question asks for what is new.

        Raises: Invalid, Unavailable.
        """

    def expire(self, ref: str, at: datetime | None) -> None:
        """Set when an entry is deleted; it is in no answer from then on.

        Args:
            ref: The entry's.
            at: In the future, aware; None keeps the entry after all.

        Raises:
            Invalid: The instant is past, or has no zone.
            NotFound, Unavailable.
        """
        with revealed():
            whole = self.read_text(ref).ref
        if at is None:
            self._expiring.drop([whole])
            return
        self._refuse_past(at)
        self._note_end(whole, at)

    def read_text(self, ref: str) -> EditableText:
        """The text that `edit` replaces, and its version. Raises: Invalid, NotFound."""
        return self._amender().read_text(ref)

    def edit(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Put a new text in place of an entry's; a message is superseded, and stays.

        Args:
            ref: Of the entry.
            text: The whole new text.
            expected: The version that was read; empty to replace any.

        Raises:
            Conflict: The entry has changed since it was read.
            Invalid, NotFound, Unavailable.
        """
        return self._ending_alike(
            ref, lambda: edit_entry(self._amender(), ref, text, expected=expected)
        )

    def undo(self, ref: str, *, expected: str = "") -> Amendment:
        """Take back the last edit of an entry; of one that superseded another, delete it.

        Args:
            ref: Of the entry.
            expected: The version that was read; empty to take back any.

        Raises:
            Conflict: The entry has changed since it was edited, or since it was read.
            NotFound: No text is kept that an edit replaced.
            Invalid, Unavailable.
        """
        app = self._app
        return undo(
            self._amender(),
            ref,
            former=app.former_of(self.owner),
            zone=app.settings.timezone,
            expected=expected,
        )

    def supersede(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Keep a new entry in the place of another, which stays; it expires when that one does.

        Args and raises: as `edit`.
        """
        return self._ending_alike(
            ref, lambda: supersede_entry(self._amender(), ref, text, expected=expected)
        )

    def delete(self, ref: str, *, expected: str = "") -> Amendment:
        """Delete an entry for good, every byte of it; its notes say what is not done yet.

        Args:
            ref: Of the entry.
            expected: The version that was read; empty to delete any.

        Raises:
            Conflict: The entry has changed since it was read.
            Invalid, NotFound, Unavailable.
        """
        self._sweep()
        return delete_entry(self._amender(), ref, expected=expected)

    def wait(self, timeout_s: float = 60.0) -> None:
        """Wait until words and meaning find all that was written so far, by any process.

        A write returns once its entry is on the disk; its vector may follow. What is waited for is
        all that this owner's index lacks, of other journals too.

        Args:
            timeout_s: The longest that is waited.

        Raises:
            Unavailable: There is no model, or something still waits after that time; the message
                says how much, and what else is behind.
            Invalid: A time below 0.
        """
        filing, index = self._filed(self.service)
        wait_until_found(filing, index, self._app.encoder, timeout_s)

    @property
    def service(self) -> _Service:
        """What works with this owner's journal; opened at the first use. Raises: Unavailable."""
        name = type(self).__name__
        if self._service is not None and self._process != os.getpid():  # its threads are not here
            raise Unavailable(
                f"This {name} was opened before this process was forked from another.",
                hint="Close it before the fork, or start the process by `spawn`.",
            )
        with self._lock:
            if self._closed:
                raise Unavailable(f"This {name} is closed.", hint="Open it again.")
            if self._service is None:
                self._service = self._open()
                self._process = os.getpid()
                atexit.register(self.close)
            due = self._expiring.list_due_elsewhere(self._app.clock().timestamp())
            self._forget(self._amender_of(self._service), due)
            return self._service

    def _save_expiring(self, expires: datetime | None, save: Callable[[], str]) -> str:
        """Save an entry and note when it expires; its ref. Where that is past nothing is saved."""
        if expires is not None:
            self._refuse_past(expires)
        self._sweep()
        ref = save()
        if expires is not None:
            self._note_end(ref, expires)
        return ref

    def _note_end(self, ref: str, at: datetime) -> None:
        self._expiring.keep(ref, at.timestamp())

    def _ending_alike(self, ref: str, correct: Callable[[], Amendment]) -> Amendment:
        self._sweep()
        return ending_alike(self._expiring, self._app.settings.timezone, ref, correct)

    def _refuse_past(self, at: datetime) -> None:
        if at.tzinfo is None:
            raise Invalid(f"Invalid expires: {at} has no zone.", hint="Give an aware time.")
        if at <= self._app.clock():
            raise Invalid(f"Invalid expires: {at} is past.", hint="Give a future time.")

    @cached_property
    def _expiring(self) -> TimeBook:
        return self._app.expiry_book_of(self.owner)

    @cached_property
    def _replaced(self) -> TimeBook:
        return self._app.replaced_of(self.owner)

    def _sweep(self) -> None:
        """Delete the entries that have expired, before a write; see `App.sweep_expired`.

        Where nothing bears out the clock they stay hidden. Raises: Unavailable.
        """
        due = self._expiring.list_due_here(self._app.clock().timestamp())
        if due and self._app.present.is_borne_out():
            self._forget(self._amender(), due)

    def _forget(self, amender: AmendsRefs, due: Sequence[str]) -> None:
        """Delete entries; what they had replaced stays replaced, as where a door does so."""
        with revealed():
            for ref in due:
                if ref.startswith(f"{self._journal}:"):
                    with suppress(NotFound):  # another process was faster
                        gone = amender.read_text(ref)
                        if gone.supersedes and gone.written:
                            self._replaced.keep(gone.supersedes, micros(gone.written) / 1e6)
                        amender.delete(ref)
                    self._expiring.drop([ref])

    def close(self) -> None:
        """Close the files, and the model where nothing else uses it; may be called twice.

        What a program leaves open is closed at its end: threads that ran on would find all else
        closed. In a child that was forked since nothing is: threads and files are its parent's.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._service is not None:
                atexit.unregister(self.close)
                if os.getpid() != self._process:
                    return
                self._close(self._service)
        self._shared.give_back()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _app(self) -> App:
        """What the journal is opened with."""
        return self._shared.app

    @abstractmethod
    def _open(self) -> _Service:
        """The owner's service."""

    @abstractmethod
    def _close(self, service: _Service) -> None:
        """Close what was opened, the owner's index with it."""

    @abstractmethod
    def _filed(self, service: _Service) -> tuple[Refreshing, OwnerIndex]:
        """What keeps the owner's index behind the journals, and that index."""

    def _amender(self) -> AmendsRefs:
        return self._amender_of(self.service)

    @abstractmethod
    def _amender_of(self, service: _Service) -> AmendsRefs:
        """What corrects the owner's entries."""


class MessageLibrary(Library[_Service]):
    """A journal that keeps what users and assistants say: `Memory` and `Timeline`."""

    @abstractmethod
    def save_message(
        self,
        role: Role,
        text: str,
        *,
        at: datetime | None = None,
        idempotency_key: str = "",
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> str:
        """Keep what a user or an assistant said; its ref.

        Args:
            role: Who said it.
            text: What was said.
            at: When, aware; None for now.
            idempotency_key: The same key twice is one message.
            supersedes: The ref of the entry whose place it takes; that stays, and names it.
            expires: When it is to be deleted, aware and in the future; None for never.

        Raises:
            Conflict: Another entry has taken that place.
            Invalid, NotFound, Unavailable.
        """


class SharedApp:
    """What several owners share: the settings, the indexes, the model, and the zone given.

    Args:
        is_machine: Whether the owner that the settings name has this machine's own journals, where
            the command line has them; else all of every owner lies in the home.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        encoder: EncoderSlot | None,
        first_zone: str = "",
        *,
        is_machine: bool = True,
    ) -> None:
        self.first_zone = first_zone
        self._settings = settings
        self._encoder = encoder
        self._clock = clock
        self._is_machine = is_machine
        self._lock = threading.RLock()
        self._users = 0
        self._opened: list[App | ProcessContext] = []
        self._app: App | None = None
        self._served: ProcessContext | None = None
        self._apps: dict[str, tuple[App, int]] = {}

    @property
    def app(self) -> App:
        """What is opened at the first use."""
        from commonplace.app import App
        from commonplace.app.process import ProcessContext
        from commonplace.config.settings import user_home

        with self._lock:
            if self._app is None:
                if self._is_machine:
                    ProcessContext(self._settings).check_owner()
                self._app = App(
                    self._settings,
                    user_home=user_home() if self._is_machine else None,
                    clock=self._clock,
                    encoder=self._encoder,
                )
                self._opened.append(self._app)
                self._app.encoder.start()
            return self._app

    def take_app(self, owner: str) -> App:
        """One more journal of an owner's own app, which is opened for the first one."""
        with self._lock:
            app, journals = self._apps.get(owner, (None, 0))
            app = app or self._open_app(owner)
            self._apps[owner] = (app, journals + 1)
            return app

    def give_app_back(self, owner: str) -> None:
        """One journal of it less; with the last one it is closed."""
        with self._lock:
            app, journals = self._apps.pop(owner)
            if journals > 1:
                self._apps[owner] = (app, journals - 1)
            elif app is not self._app:
                self._opened.remove(app)
                app.close()

    def _open_app(self, owner: str) -> App:
        from commonplace.app.apps import open_served
        from commonplace.app.process import ProcessContext

        machine = self.app
        if self._is_machine and owner == self._settings.owner:
            return machine
        if self._served is None:
            self._served = ProcessContext(
                replace(self._settings, owner=""), encoder=machine.encoder, serves_owners=True
            )
            self._opened.append(self._served)
        app = open_served(self._settings, owner, clock=self._clock, shared=self._served)
        self._opened.append(app)
        return app

    def take(self) -> None:
        """One more owner uses it."""
        with self._lock:
            self._users += 1

    def give_back(self) -> None:
        """One owner uses it no more; the last one closes it."""
        with self._lock:
            self._users -= 1
            if not self._users:
                while self._opened:
                    self._opened.pop().close()
                self._app = self._served = None
                self._apps.clear()


def interval_of(since: datetime | None, until: datetime | None) -> Interval:
    """The time from an aware instant to before another. Raises: Invalid."""
    for name, at in (("since", since), ("until", until)):
        check_aware(name, at)
    if since is not None and until is not None and since >= until:
        raise Invalid("Invalid until: it is not after since.", hint="Swap them.")
    return Interval(start=since, end=until)


def check_aware(name: str, at: datetime | None) -> None:
    """Raises: Invalid for an instant without a zone."""
    if at is not None and at.tzinfo is None:
        raise Invalid(f"Invalid {name}: {at} has no time zone.", hint="Give an aware datetime.")


def check_entry_time(at: datetime | None) -> None:
    """Raises: Invalid for an instant without a zone, or that some zone has no date for."""
    check_aware("at", at)
    if at is not None and not MINYEAR < at.year < MAXYEAR:
        raise Invalid(
            f"Invalid at: {at} lies at an end of the calendar.", hint="Use the years 2 to 9998."
        )


def check_limit(limit: int, *, most: int | None = None) -> None:
    """Raises: Invalid for fewer than one, and for more than are given."""
    if limit < 1 or (most is not None and limit > most):
        hint = "Use 1 or more." if most is None else f"Use 1 to {most}."
        raise Invalid(f"Invalid limit: {limit}.", hint=hint)


def _settings(home: Path | str | None, timezone: str | None) -> Settings:
    from commonplace.config.settings import read_settings, user_home

    flags = {"home": None if home is None else str(Path(home).absolute()), "timezone": timezone}
    return read_settings(flags=flags, cwd=Path.cwd(), home=user_home())
