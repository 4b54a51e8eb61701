"""The values of a user's memory: records of five kinds, and what is said about keeping them.

Never reads a disk: how a record is checked, merged and indexed stands in `entry`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from msgspec import Struct, field

from commonplace.journals.memory.text import normalised

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

# `supersedes`: the id of the record whose place another took; empty for none. `written`: when it
# was written down, where that is not the time it is of.
Kind: TypeAlias = Literal["message", "journal", "todo", "preference", "gratitude"]
Role: TypeAlias = Literal["user", "assistant"]

JOURNAL = "memory"
KINDS: tuple[Kind, ...] = ("message", "journal", "todo", "preference", "gratitude")
PREFERENCES_ID = "preferences"
"""The id of the one record of preferences that a user has."""


def ref_of(kind: str, ref_id: str) -> str:
    """The address of a record: `memory:todo/<id>`."""
    return f"{JOURNAL}:{kind}/{ref_id}"


class _Addressed:
    """What has a kind and an id, and so an address."""

    __slots__ = ()
    kind: Kind
    id: str

    @property
    def ref(self) -> str:
        """Its address: `memory:<kind>/<id>`."""
        return ref_of(self.kind, self.id)


class ChatMessage(Struct, _Addressed, frozen=True, kw_only=True):
    """What was said in a chat; never altered."""

    id: str
    role: Role
    text: str
    at: datetime
    kind: Literal["message"] = "message"
    supersedes: str = ""
    written: datetime | None = None


class JournalEntry(Struct, _Addressed, frozen=True, kw_only=True):
    """An entry of a user's journal; a draft is kept and never found."""

    id: str
    title: str
    body: str
    is_draft: bool
    at: datetime
    updated: datetime
    kind: Literal["journal"] = "journal"
    supersedes: str = ""
    written: datetime | None = None

    @property
    def text(self) -> str:
        """Title and body, as they were written."""
        return "\n\n".join(part for part in (self.title, self.body) if part.strip())


class Todo(Struct, _Addressed, frozen=True, kw_only=True):
    """Something to do; it is found by its title, done or not."""

    id: str
    title: str
    done: bool
    at: datetime
    updated: datetime
    kind: Literal["todo"] = "todo"
    supersedes: str = ""
    written: datetime | None = None

    @property
    def text(self) -> str:
        """Its title."""
        return self.title


class Gratitude(Struct, _Addressed, frozen=True, kw_only=True):
    """What a user is grateful for."""

    id: str
    text: str
    at: datetime
    updated: datetime
    kind: Literal["gratitude"] = "gratitude"
    supersedes: str = ""
    written: datetime | None = None


class Preferences(Struct, _Addressed, frozen=True, kw_only=True):
    """What a user prefers.

    Attributes:
        flags: Anything that JSON holds, by name.
    """

    language: str
    religion: str | None
    flags: Mapping[str, Any]
    at: datetime
    updated: datetime
    id: str = PREFERENCES_ID
    kind: Literal["preference"] = "preference"
    supersedes: ClassVar[str] = ""
    written: ClassVar[datetime | None] = None

    @property
    def text(self) -> str:
        """All of them in one line: `language=en; tone=calm`."""
        given = {**self.flags, "language": self.language, "religion": self.religion}
        names = ("language", "religion", *sorted(self.flags))
        shown = {
            name: x if isinstance(x, str) else json.dumps(x, ensure_ascii=False)
            for name, x in given.items()
            if x is not None
        }
        return normalised("; ".join(f"{name}={shown[name]}" for name in names if name in shown))


Record: TypeAlias = ChatMessage | JournalEntry | Todo | Gratitude | Preferences


def former_ref_of(record: Record) -> str:
    """The address of the record whose place this one took; empty for none."""
    return ref_of(record.kind, record.supersedes) if record.supersedes else ""


class RecordDraft(Struct, frozen=True, kw_only=True):
    """What is to be kept.

    Attributes:
        fields: By name, as the kind has them; what is absent stays.
        ref_id: Of what is altered; empty for a new one.
        at: None for now.
        key: The same twice is one.
        supersedes: The id of the record of this kind whose place a new one takes.
        expected: The version that is altered, as `version_of` gives it; empty for any.
    """

    kind: Kind
    fields: Mapping[str, Any]
    ref_id: str = ""
    at: datetime | None = None
    key: str = ""
    supersedes: str = ""
    expected: str = ""


class Saved(Struct, frozen=True, kw_only=True):
    """A record that is kept.

    Attributes:
        is_new: False where it was altered, or its key had kept it before.
        record: None for one that its key had kept and that was deleted since: it does not come
            back.
    """

    ref_id: str
    record: Record | None
    is_new: bool


class Records(Struct, frozen=True, kw_only=True):
    """Records newest first, and where the next ones begin; cursor is empty at the end."""

    records: tuple[Record, ...]
    cursor: str = ""


class KindCount(Struct, frozen=True, kw_only=True):
    """How many records of a kind a user has, drafts among them, and the time of the newest."""

    kind: Kind
    records: int
    drafts: int
    newest: datetime | None


class Call(Struct, frozen=True, kw_only=True):
    """One call of a tool, as the log keeps it: no text that anybody wrote is in it.

    Attributes:
        status: `ok`, or the code of an error.
        filters: Kinds, instants and names of choices.
    """

    tool: str
    status: str
    duration_ms: int
    top_k_effective: int
    filters: Mapping[str, Any] = field(default_factory=dict)
    at: datetime | None = None
