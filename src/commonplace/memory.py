"""A user's memory as a library: typed verbs for each kind, and one search over all of them.

Never mixes users: each has a folder, a file and an index of their own, and an object is of one.
"""

from __future__ import annotations

import heapq
from itertools import islice, takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.core.errors import Invalid
from commonplace.journals.memory.entry import parse_id, parse_kind, parse_ref
from commonplace.journals.memory.records import (
    JOURNAL,
    KINDS,
    PREFERENCES_ID,
    ChatMessage,
    Gratitude,
    JournalEntry,
    Preferences,
    RecordDraft,
    Todo,
    ref_of,
)
from commonplace.library import MessageLibrary, check_aware, check_limit, interval_of
from commonplace.search import policy
from commonplace.verbs.memory.amend import MemoryAmender
from commonplace.verbs.memory.finding import (
    IntentAsked,
    MemoryFound,
    MemoryQuestion,
    MemoryStats,
)
from commonplace.verbs.memory.service import MemoryService

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.ports import OwnerIndex
    from commonplace.journals.memory.records import Kind, Record, Role
    from commonplace.search.filing.port import Refreshing


_PAGE = 100
_T = TypeVar("_T")


class Memory(MessageLibrary[MemoryService]):
    """The memory of one user; see `Library` for how it is opened, and for its verbs."""

    _journal = JOURNAL

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
        """Keep what a user or an assistant said; see `MessageLibrary`."""
        how = {"at": at, "key": idempotency_key, "supersedes": supersedes}
        return self._save("message", how, expires, role=role, text=text)

    def save_journal(
        self,
        title: str,
        body: str,
        *,
        is_draft: bool = False,
        at: datetime | None = None,
        idempotency_key: str = "",
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> str:
        """Keep a journal entry; its ref. A draft is not found. Raises: Invalid, Unavailable."""
        how = {"at": at, "key": idempotency_key, "supersedes": supersedes}
        return self._save("journal", how, expires, title=title, body=body, is_draft=is_draft)

    def save_todo(
        self,
        title: str,
        *,
        done: bool = False,
        at: datetime | None = None,
        idempotency_key: str = "",
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> str:
        """Keep something to do; its ref. Raises: Invalid, Unavailable."""
        how = {"at": at, "key": idempotency_key, "supersedes": supersedes}
        return self._save("todo", how, expires, title=title, done=done)

    def save_gratitude(
        self,
        text: str,
        *,
        at: datetime | None = None,
        idempotency_key: str = "",
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> str:
        """Keep what the user is grateful for; its ref. Raises: Invalid, Unavailable."""
        how = {"at": at, "key": idempotency_key, "supersedes": supersedes}
        return self._save("gratitude", how, expires, text=text)

    def save_preferences(
        self,
        *,
        language: str | None = None,
        religion: str | None = None,
        flags: Mapping[str, Any] | None = None,
    ) -> Preferences:
        """Keep preferences; what is None stays, a flag that is None goes. Raises: Invalid."""
        self._save("preference", {}, None, language=language, religion=religion, flags=flags)
        found = self.preferences()
        assert found is not None
        return found

    def edit_journal(
        self,
        ref: str,
        *,
        title: str | None = None,
        body: str | None = None,
        is_draft: bool | None = None,
    ) -> JournalEntry:
        """Alter an entry, finish a draft, or make it one again. Raises: NotFound, Invalid."""
        edited = self._edit("journal", ref, title=title, body=body, is_draft=is_draft)
        return _as(JournalEntry, edited)

    def edit_todo(self, ref: str, *, title: str | None = None, done: bool | None = None) -> Todo:
        """Alter something to do, or say that it is done. Raises: NotFound, Invalid."""
        return _as(Todo, self._edit("todo", ref, title=title, done=done))

    def message(self, ref: str) -> ChatMessage:
        """One message. Raises: NotFound."""
        return _as(ChatMessage, self.service.find("message", ref))

    def journal(self, ref: str) -> JournalEntry:
        """One journal entry, a draft as well. Raises: NotFound."""
        return _as(JournalEntry, self.service.find("journal", ref))

    def todo(self, ref: str) -> Todo:
        """One thing to do. Raises: NotFound."""
        return _as(Todo, self.service.find("todo", ref))

    def gratitude(self, ref: str) -> Gratitude:
        """One gratitude. Raises: NotFound."""
        return _as(Gratitude, self.service.find("gratitude", ref))

    def preferences(self) -> Preferences | None:
        """The preferences; None where none were kept."""
        found = self.service.store.find("preference", PREFERENCES_ID)
        return None if found is None else _as(Preferences, found)

    def messages(self, *, limit: int = 100) -> Sequence[ChatMessage]:
        """Messages, newest first."""
        return [_as(ChatMessage, x) for x in self._newest("message", limit)]

    def journals(self, *, limit: int = 100) -> Sequence[JournalEntry]:
        """Journal entries, newest first, drafts among them."""
        return [_as(JournalEntry, x) for x in self._newest("journal", limit)]

    def todos(self, *, limit: int = 100) -> Sequence[Todo]:
        """Things to do, newest first, done or not."""
        return [_as(Todo, x) for x in self._newest("todo", limit)]

    def gratitudes(self, *, limit: int = 100) -> Sequence[Gratitude]:
        """Gratitude, newest first."""
        return [_as(Gratitude, x) for x in self._newest("gratitude", limit)]

    def get(self, ref: str) -> Record:
        """The record under a ref. Raises: Invalid, NotFound."""
        return self.service.find(*parse_ref(ref))

    def list(
        self,
        *,
        kinds: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
    ) -> Sequence[Record]:
        """Records newest first, drafts among them; see `Library.list`. Raises: Invalid."""
        check_limit(limit)
        interval = interval_of(since, until)
        asked = tuple(dict.fromkeys(parse_kind(x) for x in kinds)) or KINDS
        newest = heapq.merge(*map(self._records, asked), key=attrgetter("at"), reverse=True)
        reached = takewhile(lambda x: interval.start is None or x.at >= interval.start, newest)
        return [*islice((x for x in reached if interval.holds(x.at)), limit)]

    def search(
        self,
        query: str,
        *,
        kinds: Sequence[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
        intent: IntentAsked = "auto",
        diverse: bool = False,
        unsure: bool = False,
    ) -> MemoryFound:
        """The best records by words and meaning, within 1,200 tokens of snippets.

        As `Library.search`; a limit of None is what the settings say. intent: what the question is
        for, `auto` reads it off the words; diverse: no more than a few hits of one kind; unsure:
        what is asked may have been misheard, so messages of the last 24 hours count for more.
        Raises: Invalid, Unavailable.
        """
        if limit is not None:
            check_limit(limit, most=policy.MEMORY_K_MOST)
        check_aware("as_of", as_of)
        interval = interval_of(since, until)
        return self.service.search(
            MemoryQuestion(
                text=query,
                kinds=tuple(dict.fromkeys(parse_kind(x) for x in kinds)),
                top_k=limit,
                within=interval if since or until else None,
                intent=intent,
                diverse=diverse,
                unsure=unsure,
                before=as_of,
            )
        )

    def context(self, question: str, budget_tokens: int = 1200) -> str:
        """What a prompt should hold: preferences, and the best records for a question; fenced.

        A blank question asks for the newest records. Raises: Invalid, Unavailable.
        """
        return self.service.context(question, budget_tokens=budget_tokens).text

    def stats(self) -> MemoryStats:
        """How much is kept, and how much of it can be found."""
        return self.service.stats()

    def _open(self) -> MemoryService:
        return self._app.memory.service_of(self.owner)

    def _close(self, service: MemoryService) -> None:
        service.filing().close()
        service.store.close()
        self._app.shared.close_idle(self.owner)

    def _filed(self, service: MemoryService) -> tuple[Refreshing, OwnerIndex]:
        return service.filing(), service.index()

    def _amender_of(self, service: MemoryService) -> MemoryAmender:
        return MemoryAmender(service)

    def _save(
        self, kind: Kind, how: Mapping[str, Any], expires: datetime | None, **fields: Any
    ) -> str:
        draft = RecordDraft(kind=kind, fields=fields, **how)
        return self._save_expiring(
            expires, lambda: ref_of(kind, self.service.save(draft).saved.ref_id)
        )

    def _edit(self, kind: Kind, ref: str, **fields: Any) -> Record:
        ref_id = parse_id(kind, ref)
        if not ref_id:
            raise Invalid("The ref is blank.", hint="Name what is to be altered.")
        saved = self.service.save(RecordDraft(kind=kind, fields=fields, ref_id=ref_id)).saved
        assert saved.record is not None  # what was altered is there
        return saved.record

    def _newest(self, kind: Kind, limit: int) -> Sequence[Record]:
        check_limit(limit)
        return [*islice(self._records(kind), limit)]

    def _records(self, kind: Kind) -> Iterator[Record]:
        """All of a kind, newest first, read page by page."""
        cursor = ""
        while True:
            page = self.service.list_records(kind, limit=_PAGE, cursor=cursor)
            yield from page.records
            if not (cursor := page.cursor):
                return


def _as(kind: type[_T], record: Record) -> _T:
    assert isinstance(record, kind)
    return record
