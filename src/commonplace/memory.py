"""A user's memory as a library: typed verbs for each kind, and one search over all of them.

Never mixes users: each has a folder, a file and an index of their own, and an object is of one.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from commonplace.core.clock import utc_now
from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.owner_folders import parse_owner
from commonplace.core.values import Interval
from commonplace.journals.memory.entry import parse_kind
from commonplace.journals.memory.records import (
    PREFERENCES_ID,
    Gratitude,
    JournalEntry,
    Message,
    Preferences,
    RecordDraft,
    Todo,
)
from commonplace.services.memory.context import assemble
from commonplace.services.memory.finding import IntentAsked, MemoryFound, MemoryQuestion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from commonplace.app import App
    from commonplace.config.table import Settings
    from commonplace.core.clock import Clock
    from commonplace.core.ports import EncoderSlot
    from commonplace.journals.memory.records import Record, Role
    from commonplace.services.memory.service import MemoryService, MemoryStats


_T = TypeVar("_T")


class Memory:
    """The memory of one user; synchronous and thread-safe. Close it.

    Args:
        user_id: Any text of 1 to 128 characters; case counts.
        home: Our folder, else where settings say.
        settings: In place of those that environment and files give.
        clock: The present, aware.
        encoder: In place of the one that the settings name.
    """

    def __init__(
        self,
        user_id: str,
        *,
        home: Path | str | None = None,
        settings: Settings | None = None,
        clock: Clock = utc_now,
        encoder: EncoderSlot | None = None,
        _shared: _Shared | None = None,
    ) -> None:
        self.user_id = parse_owner(user_id)
        self._shared = _shared or _Shared(settings or _settings(home), clock, encoder)
        self._shared.take()
        self._lock = threading.Lock()
        self._service: MemoryService | None = None
        self._closed = False

    def beside(self, user_id: str) -> Memory:
        """Another user's memory in the same place; both share one model. Close it as well."""
        return Memory(user_id, _shared=self._shared)

    def save_message(
        self, role: Role, text: str, *, at: datetime | None = None, idempotency_key: str = ""
    ) -> str:
        """Keep what a user or an assistant said; its id. Raises: Invalid, Unavailable."""
        return self._save("message", at, idempotency_key, role=role, text=text)

    def save_journal(
        self,
        title: str,
        body: str,
        *,
        is_draft: bool = False,
        at: datetime | None = None,
        idempotency_key: str = "",
    ) -> str:
        """Keep a journal entry; its id. A draft is not found. Raises: Invalid, Unavailable."""
        fields = {"title": title, "body": body, "is_draft": is_draft}
        return self._save("journal", at, idempotency_key, **fields)

    def save_todo(
        self,
        title: str,
        *,
        done: bool = False,
        at: datetime | None = None,
        idempotency_key: str = "",
    ) -> str:
        """Keep something to do; its id. Raises: Invalid, Unavailable."""
        return self._save("todo", at, idempotency_key, title=title, done=done)

    def save_gratitude(
        self, text: str, *, at: datetime | None = None, idempotency_key: str = ""
    ) -> str:
        """Keep what the user is grateful for; its id. Raises: Invalid, Unavailable."""
        return self._save("gratitude", at, idempotency_key, text=text)

    def save_preferences(
        self,
        *,
        language: str | None = None,
        religion: str | None = None,
        flags: Mapping[str, Any] | None = None,
    ) -> Preferences:
        """Keep preferences; what is None stays, a flag that is None goes. Raises: Invalid."""
        self._save("preference", None, "", language=language, religion=religion, flags=flags)
        found = self.preferences()
        assert found is not None
        return found

    def edit_journal(
        self,
        ref_id: str,
        *,
        title: str | None = None,
        body: str | None = None,
        is_draft: bool | None = None,
    ) -> JournalEntry:
        """Alter an entry, finish a draft, or make it one again. Raises: NotFound, Invalid."""
        self._edit("journal", ref_id, title=title, body=body, is_draft=is_draft)
        return self.journal(ref_id)

    def edit_todo(self, ref_id: str, *, title: str | None = None, done: bool | None = None) -> Todo:
        """Alter something to do, or say that it is done. Raises: NotFound, Invalid."""
        self._edit("todo", ref_id, title=title, done=done)
        return self.todo(ref_id)

    def edit_gratitude(self, ref_id: str, text: str) -> Gratitude:
        """Put a gratitude in other words. Raises: NotFound, Invalid."""
        self._edit("gratitude", ref_id, text=text)
        return self.gratitude(ref_id)

    def message(self, ref_id: str) -> Message:
        """One message. Raises: NotFound."""
        return _as(Message, self.service.find("message", ref_id))

    def journal(self, ref_id: str) -> JournalEntry:
        """One journal entry, a draft as well. Raises: NotFound."""
        return _as(JournalEntry, self.service.find("journal", ref_id))

    def todo(self, ref_id: str) -> Todo:
        """One thing to do. Raises: NotFound."""
        return _as(Todo, self.service.find("todo", ref_id))

    def gratitude(self, ref_id: str) -> Gratitude:
        """One gratitude. Raises: NotFound."""
        return _as(Gratitude, self.service.find("gratitude", ref_id))

    def preferences(self) -> Preferences | None:
        """The preferences; None where none were kept."""
        found = self.service.store.find("preference", PREFERENCES_ID)
        return None if found is None else _as(Preferences, found)

    def messages(self, *, limit: int = 100) -> list[Message]:
        """Messages, newest first."""
        return [_as(Message, x) for x in self.records("message", limit=limit)]

    def journals(self, *, limit: int = 100) -> list[JournalEntry]:
        """Journal entries, newest first, drafts among them."""
        return [_as(JournalEntry, x) for x in self.records("journal", limit=limit)]

    def todos(self, *, limit: int = 100) -> list[Todo]:
        """Things to do, newest first, done or not."""
        return [_as(Todo, x) for x in self.records("todo", limit=limit)]

    def gratitudes(self, *, limit: int = 100) -> list[Gratitude]:
        """Gratitude, newest first."""
        return [_as(Gratitude, x) for x in self.records("gratitude", limit=limit)]

    def records(self, kind: str, *, limit: int = 100) -> Sequence[Record]:
        """Records of a kind, newest first. Raises: Invalid."""
        return self.service.list_records(parse_kind(kind), limit=limit).records

    def delete(self, kind: str, ref_id: str) -> tuple[str, ...]:
        """Delete a record for good; notes on what is not done yet. Raises: Invalid, NotFound."""
        return self.service.delete(parse_kind(kind), ref_id)

    def search(
        self,
        query: str,
        *,
        kinds: Sequence[str] = (),
        top_k: int | None = None,
        within: tuple[datetime | None, datetime | None] | None = None,
        intent: IntentAsked = "auto",
        diverse: bool = False,
    ) -> MemoryFound:
        """The best records by words and meaning, within 1,200 tokens of snippets.

        within: from an aware instant to before another. Raises: Invalid, Unavailable.
        """
        return self.service.search(
            MemoryQuestion(
                text=query,
                kinds=tuple(dict.fromkeys(parse_kind(x) for x in kinds)),
                top_k=top_k,
                within=None if within is None else _interval(*within),
                intent=intent,
                diverse=diverse,
            )
        )

    def context(self, question: str, budget_tokens: int = 1200) -> str:
        """What a prompt should hold: preferences, and the best records for a question; fenced.

        A blank question asks for the newest records. Raises: Invalid, Unavailable.
        """
        return assemble(self.service, question, budget_tokens=budget_tokens).text

    def stats(self) -> MemoryStats:
        """How much is kept, and how much of it can be found."""
        return self.service.stats()

    @property
    def service(self) -> MemoryService:
        """What works with this user's memory; opened at the first use. Raises: Unavailable."""
        with self._lock:
            if self._closed:
                raise Unavailable("This memory is closed.", hint="Open it again.")
            if self._service is None:
                self._service = self._shared.app.memory.service_of(self.user_id)
            return self._service

    def close(self) -> None:
        """Close the files, and the model where nothing else uses it; may be called twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._service is not None:
                self._service.filing().close()
                self._service.store.close()
                self._shared.app.shared.close_idle(self._service.store.owner)
        self._shared.give_back()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _save(self, kind: str, at: datetime | None, key: str, **fields: Any) -> str:
        draft = RecordDraft(kind=parse_kind(kind), fields=fields, at=at, key=key)
        return self.service.save(draft).saved.ref_id

    def _edit(self, kind: str, ref_id: str, **fields: Any) -> None:
        if not ref_id:
            raise Invalid("The id is blank.", hint="Name what is to be altered.")
        self.service.save(RecordDraft(kind=parse_kind(kind), fields=fields, ref_id=ref_id))


class _Shared:
    """What the memories of several users share: the settings, the indexes and the model."""

    def __init__(self, settings: Settings, clock: Clock, encoder: EncoderSlot | None) -> None:
        self._settings = settings
        self._encoder = encoder
        self._clock = clock
        self._lock = threading.RLock()
        self._users = 0
        self._app: App | None = None

    @property
    def app(self) -> App:
        """What is opened at the first use."""
        from commonplace.app import App

        with self._lock:
            if self._app is None:
                self._app = App(
                    self._settings, user_home=None, clock=self._clock, encoder=self._encoder
                )
                self._app.encoder.start()
            return self._app

    def take(self) -> None:
        with self._lock:
            self._users += 1

    def give_back(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self._app is not None:
                self._app.close()
                self._app = None


def _as(kind: type[_T], record: Record) -> _T:
    assert isinstance(record, kind)
    return record


def _settings(home: Path | str | None) -> Settings:
    from commonplace.config.settings import (
        read_settings,
        user_home,
    )

    flags = {"home": None if home is None else str(Path(home).absolute())}
    return read_settings(flags=flags, cwd=Path.cwd(), home=user_home())


def _interval(start: datetime | None, end: datetime | None) -> Interval:
    for at in (start, end):
        if at is not None and at.tzinfo is None:
            raise Invalid(f"Invalid time: {at} has no time zone.", hint="Give an aware datetime.")
    if start is not None and end is not None and start >= end:
        raise Invalid("Invalid time range: its end is not after its start.", hint="Swap them.")
    return Interval(start=start, end=end)
