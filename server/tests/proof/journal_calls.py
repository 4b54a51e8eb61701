"""What proofs call on servers: a row a journal, its writes, its reads and what a text becomes in it.

Another journal joins by its row here and its name in `IN_DATABASE`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping  # noqa: TC003  msgspec reads it
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import httpx2
from msgspec import Struct
from server.tests.http_world import bearer
from tests.patience import PATIENCE_S

from commonplace.app.process import IN_DATABASE

if TYPE_CHECKING:
    from typing import Self

TOOLSETS = "private,chronicle,recall,notebook,timeline,memory,memory-write,connector"

Call = tuple[str, dict[str, Any]]
"""A tool and its arguments; TEXT, KEY, AT, WORD and REF stand for what a test puts there."""

YEAR = "2025"
"""That of every AT: what was written at another time, at that of the call, is of no year."""


class JournalCalls(Struct, frozen=True, kw_only=True):
    """How one journal is written and read over HTTP.

    Attributes:
        name: The journal's.
        writes: Each makes an entry of TEXT; the first takes a KEY, by which it is one entry.
        reads: Each shows the entry in which the WORD stands, whose ref is REF.
        by_now: Likewise, but what they answer depends on the time of the call.
        lists: Together they show the newest entries.
        keeps_time: Whether what supersedes an entry has the time of the former.
    """

    name: str
    writes: tuple[Call, ...]
    reads: tuple[Call, ...]
    lists: tuple[Call, ...]
    by_now: tuple[Call, ...] = ()
    keeps_time: bool = False


EVERYWHERE: tuple[Call, ...] = (
    ("recall", {"query": "WORD", "limit": 20}),
    ("open_ref", {"ref": "REF"}),
    ("list_by_time", {"when": YEAR, "limit": 100}),
    ("search", {"query": "WORD"}),
    ("fetch", {"id": "REF"}),
)

ALL = (
    JournalCalls(
        name="memory",
        keeps_time=True,
        writes=(
            (
                "memory_save",
                {"kind": "todo", "title": "TEXT", "at": "AT", "idempotency_key": "KEY"},
            ),
            ("memory_save", {"kind": "journal", "title": "Quay", "body": "TEXT", "at": "AT"}),
            ("memory_save", {"kind": "gratitude", "text": "TEXT", "at": "AT"}),
            ("memory_save", {"kind": "message", "role": "user", "text": "TEXT", "at": "AT"}),
        ),
        reads=(("memory_search", {"query": "WORD", "top_k": 50}),),
        lists=tuple(
            ("memory_list", {"kind": x, "limit": 100})
            for x in ("todo", "journal", "gratitude", "message")
        ),
    ),
    JournalCalls(
        name="chronicle",
        writes=(
            ("add_entry", {"message": "TEXT", "at": "AT", "idempotency_key": "KEY"}),
            ("add_entry", {"message": "TEXT", "tags": ["gate", "Tide"], "at": "AT"}),
            ("remember_this", {"activity": "TEXT", "context": "At the harbour."}),
        ),
        reads=(("search_entries", {"text": "WORD", "limit": 50}),),
        by_now=(
            ("find_when_i", {"what": "WORD"}),
            ("what_was_i_doing", {"timeframe": "2025-03-04"}),
        ),
        lists=(("list_entries", {"limit": 100}),),
    ),
    JournalCalls(
        name="private",
        writes=(
            ("process_thoughts", {"reflections": "TEXT", "at": "AT", "idempotency_key": "KEY"}),
            ("process_thoughts", {"observations": "TEXT", "at": "AT", "expires": "in 90 days"}),
        ),
        reads=(
            ("search_journal", {"query": "WORD", "limit": 50}),
            ("read_journal_entry", {"path": "REF"}),
        ),
        by_now=(("read_recent_entries", {"limit": 100}),),
        lists=(("list_recent_entries", {"limit": 100, "when": YEAR}),),
    ),
    JournalCalls(
        name="notebook",
        writes=(
            ("journal_write", {"path": "quay", "entry": "TEXT", "idempotency_key": "KEY"}),
            ("journal_write", {"path": "quay/gate", "entry": "TEXT"}),
        ),
        reads=(("journal_search", {"content": "WORD"}),),
        by_now=(("journal_read", {"id": "REF"}),),
        lists=(("journal_list_entries", {"path": "quay", "length": 100}),),
    ),
    JournalCalls(
        name="timeline",
        writes=(("timeline_add", {"content": "TEXT", "at": "AT", "idempotency_key": "KEY"}),),
        reads=(("timeline_search", {"query": "WORD", "limit": 50}),),
        by_now=(("timeline_context", {"query": "WORD", "budget_tokens": 9000}),),
        lists=(("timeline_range", {"when": YEAR, "level": "raw", "limit": 100}),),
    ),
)

ROWS = tuple(row for row in ALL if row.name in IN_DATABASE)
"""Those that lie in the database, which every server has alike."""


def filled(call: Call, **given: str) -> Call:
    """A call with what is to stand in it."""

    def put(value: Any) -> Any:
        if isinstance(value, str):
            for name, text in given.items():
                value = value.replace(name, text)
        return value

    tool, arguments = call
    return tool, {name: put(value) for name, value in arguments.items()}


class Told(Struct, frozen=True, kw_only=True):
    """What a call was answered: its status, and its facts."""

    status: int
    facts: Mapping[str, Any]

    @property
    def is_done(self) -> bool:
        """Whether it did what it was asked."""
        return self.status == 200

    @property
    def ref(self) -> str:
        """The ref of what it wrote."""
        found = self.facts.get("ref") or self.facts.get("ref_id") or (self.facts["refs"] or [""])[0]
        assert isinstance(found, str)
        return found

    @property
    def text(self) -> str:
        """All of it in one text."""
        return json.dumps(self.facts, ensure_ascii=False)


class Caller:
    """A user of a server, or of a proxy before some, by the plain API. Close it."""

    def __init__(self, base: str, token: str, *, patience_s: float = PATIENCE_S) -> None:
        self.base = base
        self._http = httpx2.Client(timeout=patience_s, headers=bearer(token))

    @cached_property
    def tools(self) -> frozenset[str]:
        """What it is offered."""
        said = self._http.get(f"{self.base}/api/v1/openapi.json").json()
        return frozenset(path.rpartition("/")[2] for path in said["paths"])

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Told:
        """What a tool answers."""
        answer = self._http.post(f"{self.base}/api/v1/tools/{tool}", json=arguments)
        return Told(status=answer.status_code, facts=answer.json())

    def done(self, call: Call) -> Told:
        """What a call answers that must not fail."""
        told = self.call(*call)
        assert told.is_done, (call, told)
        return told

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()


_NAMED = re.compile(
    r'(?<="cursor": ")[^"]+'
    r"|(?:memory|chronicle|private|timeline|notebook):[^\s\"\\)\]>,]+"  # refs
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # ids
    r"|\b[0-9a-f]{12,64}\b"  # versions
)
_OF_NOW = re.compile(
    r"(?!2025)20\d\d-\d\d-\d\d(?:[T ][\d:.]+)?(?:Z|[+-]\d\d:\d\d)?"
    r'|"(?:score|similarity|duration_ms)": [\d.]+'  # the newer weighs more
)


class Naming:
    """Gives each ref, id, version and cursor the number of its first appearance, and leaves out what time it is."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def plain(self, told: Told) -> str:
        """What was told, alike on every server that was asked the same."""
        text = json.dumps([told.status, told.facts], ensure_ascii=False, sort_keys=True)
        numbered = _NAMED.sub(self._numbered, unquote(text))
        return _OF_NOW.sub("now", numbered)

    def _numbered(self, found: re.Match[str]) -> str:
        return self._numbers.setdefault(found[0], f"#{len(self._numbers)}")
