"""Owns how a memory system's memories live in a timeline: added, listed, and brought in once.

A profile is a snapshot, all else a raw entry that says which type it was. Never asks a model.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from commonplace.core.clock import render_time
from commonplace.core.errors import Invalid
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.text import json_kind, opening, well_formed
from commonplace.journals.timeline.entry import (
    MEMORY_TYPE,
    PROFILE,
    RAW,
    TimelineDraft,
    check_time,
    parse_content,
    render_metadata,
    version_of,
)
from commonplace.journals.timeline.queries import entry_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.timeline.add import AddedEntry
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.journal import TimelineJournal

PROFILE_TYPE = "profile"
MIGRATED_FROM = "memory_system"
MOST_LISTED = 10_000
_AT_ONCE = 500
_LONGEST_TYPE = 100
_TEXTS = ("content", "text", "memory")
_TYPES = ("type", "memory_type", "kind")
_TIMES = ("created_at", "timestamp", "at", "time")
_THREADS = ("thread_id", "user_id", "owner")
_KNOWN = {*_TEXTS, *_TYPES, *_TIMES, *_THREADS, "id", "metadata"}


class MemoryLine(Struct, frozen=True, kw_only=True):
    """One memory as another system had it.

    Attributes:
        at: None where it names no time.
        thread: Whose it is.
        key: The same for the same memory, however often it is read.
    """

    type: str
    content: str
    at: datetime | None
    thread: str
    key: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


class ImportedMemories(Struct, frozen=True, kw_only=True):
    """What an import came to.

    Attributes:
        profile: The snapshot made of profile memories, new or not.
    """

    added: tuple[TimelineEntry, ...]
    repeated: int
    profile: TimelineEntry | None


class MemoryBackend:
    """A memory system's storage on one owner's timeline: the design's second phase.

    Args:
        filed: Called with what was added, so that it is found at once.
    """

    def __init__(
        self,
        journal: TimelineJournal,
        *,
        filed: Callable[[Sequence[TimelineEntry]], object] = lambda _entries: None,
    ) -> None:
        self._journal = journal
        self._filed = filed

    def create_memory(
        self,
        content: str,
        type: str = "fact",  # noqa: A002  the design's name
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Keep a memory, a `profile` as a new snapshot; its id. Raises: Invalid."""
        kind = _parse_memory_type(type)
        added = self._journal.add(
            content,
            entry_type=PROFILE if kind == PROFILE_TYPE else RAW,
            metadata={**(metadata or {}), MEMORY_TYPE: kind},
        )
        self._filed([added.entry])
        return added.entry.id

    def list_memories(self, type: str | None = None, limit: int = 1000) -> list[dict[str, Any]]:  # noqa: A002  as above
        """The memories of one type, or all, newest first, as plain dicts. Raises: Invalid."""
        if not 1 <= limit <= MOST_LISTED:
            raise Invalid(f"Invalid limit: {limit}.", hint=f"Use 1 to {MOST_LISTED:,}.")
        kind = "" if type is None else _parse_memory_type(type)
        rows = self._journal.database.ask("memories", memory_type=kind, limit=limit)
        return [x.as_dict() for x in self._journal.whole_of([entry_of(row) for row in rows])]

    def import_memories(
        self,
        text: str,
        *,
        thread: str = "",
        noting: NotesImport = NOT_NOTED,
        progress: Callable[[int, int], None] | None = None,
    ) -> ImportedMemories:
        """Bring in memories from JSON lines, each once however often it is read; see `parse`.

        One profile snapshot is made of all profile memories, at the time of the newest. thread:
        only those of one thread. noting: takes what is added.
        Raises: Invalid, naming the line, before anything is written.
        """
        memories = _of_thread(list(parse_memories(text)), thread)
        profiles = [x for x in memories if x.type == PROFILE_TYPE]
        drafts = [
            TimelineDraft(content=x.content, at=x.at, metadata=x.metadata, key=x.key)
            for x in memories
            if x.type != PROFILE_TYPE
        ]
        if profiles:
            drafts.append(_profile(profiles))
        done: list[AddedEntry] = []
        for start in range(0, len(drafts), _AT_ONCE):
            some = drafts[start : start + _AT_ONCE]
            noting.put_planned(dict.fromkeys(self._journal.absent([x.key for x in some]), ""))
            added = self._journal.add_many(some)
            each = zip(some, added, strict=True)
            noting.put_added({x.key: version_of(one.entry) for x, one in each if one.is_new})
            done += added
            if progress is not None:
                progress(len(done), len(drafts) - len(done))
        new = tuple(x.entry for x in done if x.is_new)
        self._filed(new)
        return ImportedMemories(
            added=new,
            repeated=len(done) - len(new),
            profile=done[-1].entry if profiles else None,
        )


def parse_memories(text: str) -> Iterator[MemoryLine]:
    """Memories from JSON lines, blank ones aside, in their order.

    A line is an object with `content` (or `text`, `memory`), and may have `type` (else `fact`),
    `created_at` (or `timestamp`, `at`: ISO 8601, on UTC's clock where no zone is named), `id`,
    `thread_id` (or `user_id`) and `metadata`; other keys go into the metadata.
    Raises: Invalid, naming the line.
    """
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield _memory(json.loads(line))
        except Invalid as exc:
            raise exc.as_kind(Invalid, prefix=f"Line {number}: ") from exc
        except (ValueError, RecursionError) as exc:
            raise Invalid(
                f"Line {number} is not JSON.", hint="Give one JSON object a line."
            ) from exc


def _memory(fields: object) -> MemoryLine:
    if not isinstance(fields, dict):
        raise Invalid(
            f"Expected a JSON object, got {json_kind(fields)}.",
            hint='Use {"type": "fact", "content": "…"}.',
        )
    content = parse_content(str(_first(fields, _TEXTS) or ""))
    kind = _parse_memory_type(str(_first(fields, _TYPES) or "fact"))
    at = _instant(_first(fields, _TIMES))
    own = fields.get("metadata")
    rest = {key: value for key, value in fields.items() if key not in _KNOWN}
    metadata = {
        "migrated_from": MIGRATED_FROM,
        **rest,
        **(own if isinstance(own, dict) else {}),
        MEMORY_TYPE: kind,
    }
    name = fields.get("id")
    if name is not None:
        metadata["memory_id"] = name
    render_metadata(metadata)
    thread = str(_first(fields, _THREADS) or "")
    when = "" if at is None else render_time(at)
    said = str(name) if name is not None else f"{kind}\n{when}\n{content}"
    digest = hashlib.sha256(well_formed(f"{thread}\n{said}").encode()).hexdigest()
    return MemoryLine(
        type=kind, content=content, at=at, thread=thread, key=f"memory {digest}", metadata=metadata
    )


def _first(fields: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((fields[key] for key in keys if fields.get(key) not in (None, "")), None)


def _instant(value: object) -> datetime | None:
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(str(value).strip())
        # A time that UTC cannot express has no place in a calendar of ours.
        return check_time((at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC))
    except (ValueError, OverflowError) as exc:
        raise Invalid(
            f"Invalid time: {opening(str(value), 60)!r}.", hint="Use ISO 8601, or leave it out."
        ) from exc


def _parse_memory_type(text: str) -> str:
    kind = " ".join(text.split()).lower()
    if not kind or len(kind) > _LONGEST_TYPE:
        raise Invalid(
            f"Invalid type: {opening(text, 60)!r}.",
            hint=f"Use profile, fact or another name of at most {_LONGEST_TYPE} characters.",
        )
    return well_formed(kind)


def _of_thread(memories: list[MemoryLine], thread: str) -> list[MemoryLine]:
    """Those of one thread; of a file that knows one alone, all. Raises: Invalid."""
    threads = sorted({x.thread for x in memories})
    if thread:
        return [x for x in memories if x.thread == thread]
    if len(threads) > 1:
        named = ", ".join(repr(opening(x, 40)) for x in threads[:5])
        raise Invalid(
            f"The memories are of {len(threads)} threads: {named}.", hint="Name one with --thread."
        )
    return memories


def _profile(memories: Sequence[MemoryLine]) -> TimelineDraft:
    """One snapshot of all profile memories, the oldest first, each said once."""
    start = datetime.min.replace(tzinfo=UTC)
    ordered = sorted(memories, key=lambda x: x.at or start)
    content = "\n".join(dict.fromkeys(x.content.strip() for x in ordered))
    digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
    newest = ordered[-1]
    return TimelineDraft(
        content=parse_content(content),
        entry_type=PROFILE,
        at=newest.at,
        metadata={
            MEMORY_TYPE: PROFILE_TYPE,
            "migrated_from": newest.metadata["migrated_from"],
            "memories": len(ordered),
        },
        key=f"profile {digest}",
    )
