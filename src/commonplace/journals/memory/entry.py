"""Owns what a record of memory may be: how it is checked, altered, addressed, indexed and shown.

Never reads a disk or a clock; every store keeps these rules by calling them.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from datetime import UTC
from typing import TYPE_CHECKING, Any, assert_never

from msgspec.structs import replace

from commonplace.core.clock import local_date, render_date, within_calendar
from commonplace.core.errors import Invalid, NotFound, has_changed
from commonplace.core.text import nearest, opening, storable, text_hash, well_formed
from commonplace.core.values import Doc, Drop, Put, superseding_tags
from commonplace.journals.memory.records import (
    JOURNAL,
    KINDS,
    ChatMessage,
    Gratitude,
    JournalEntry,
    Preferences,
    Record,
    RecordDraft,
    Todo,
    former_ref_of,
    ref_of,
)
from commonplace.journals.memory.text import normalised

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.values import Change, Filter, Hit
    from commonplace.journals.memory.records import Kind, Role

KEYS = uuid.UUID("8f0f3a5e-7c1b-5d52-9a6e-4b1d2c7e9f30")
ROLES: tuple[Role, ...] = ("user", "assistant")
FIELDS: Mapping[Kind, tuple[str, ...]] = {
    "message": ("role", "text"),
    "journal": ("title", "body", "is_draft"),
    "todo": ("title", "done"),
    "preference": ("language", "religion", "flags"),
    "gratitude": ("text",),
}
"""The fields of each kind."""

LONGEST = 1024 * 1024
LONGEST_FLAGS = 64 * 1024
SHOWN = 200
"""Characters of a journal's body, and of gratitude, that a snippet shows."""

DONE = "done"
_LONGEST_WORD = 200
_TYPES = {
    type(None): "null",
    bool: "a boolean",
    str: "text",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
_ID = re.compile("[!-~]+")
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_NEVER_KEPT = "Quotes, support cards and overlay transcripts are never kept."


def parse_kind(text: str) -> Kind:
    """The kind that a text names. Raises: Invalid."""
    for kind in KINDS:
        if text == kind:
            return kind
    near = nearest(text, list(KINDS))
    guess = f"Did you mean {near}? " if near else ""
    raise Invalid(
        f"Invalid kind: {opening(text, 60)!r}. {_NEVER_KEPT}",
        hint=f"{guess}Use one of {', '.join(KINDS)}.",
    )


def parse_ref(ref: str) -> tuple[Kind, str]:
    """The kind and id that an address names. Raises: Invalid."""
    kind, slash, ref_id = well_formed(ref).removeprefix(f"{JOURNAL}:").partition("/")
    if not ref.startswith(f"{JOURNAL}:") or not slash or not ref_id:
        raise Invalid(
            f"Invalid ref: {opening(ref, 100)!r}.", hint=f"Use one like {JOURNAL}:todo/<id>."
        )
    return parse_kind(kind), ref_id


def parse_id(kind: Kind, text: str) -> str:
    """The id that a text names, alone or as the address of a record of this kind.

    Raises: Invalid for an address of another kind.
    """
    text = well_formed(text.strip())
    if not text.startswith(f"{JOURNAL}:"):
        return text
    named, ref_id = parse_ref(text)
    if named != kind:
        raise Invalid(f"{opening(text, 100)!r} is not a {kind}.", hint=f"Use the kind {named}.")
    return ref_id


def not_found(kind: Kind, ref_id: str) -> NotFound:
    """The error for a record that is not there."""
    return NotFound(
        f"No {kind} {opening(ref_id, 100)!r}.",
        hint="Use a ref as a search or a list has shown it.",
    )


def may_be_id(text: str) -> bool:
    """Whether a text can be the id of a record: printable ASCII, as a ref holds it whole."""
    return _ID.fullmatch(text) is not None


def version_of(record: Record) -> str:
    """What says whether a record still says what was read, however often it was saved since."""
    if isinstance(record, ChatMessage):
        return text_hash(repr(record))
    return text_hash(repr(replace(record, updated=record.at)))


def refuse_other_version(record: Record, expected: str) -> None:
    """Refuse a record that has changed since it was read. Raises: Conflict.

    Args:
        record: As it is now.
        expected: The version that was read.
    """
    if version_of(record) != expected:
        raise has_changed(record.ref)


def apply_draft(old: Record | None, draft: RecordDraft, *, ref_id: str, now: datetime) -> Record:
    """The record that a draft makes: of what there was, and of what it gives.

    Raises: Invalid for what cannot be kept; messages say the field, never the text. Conflict where
    the old record is another than the one that the draft expects.
    """
    if old is not None and draft.expected:
        refuse_other_version(old, draft.expected)
    fields = _checked(draft, is_new=old is None)
    at = draft.at or (now if old is None else old.at)
    if at.tzinfo is None:
        raise Invalid(f"Invalid at: {at} has no time zone.", hint="Add one, such as Z or +02:00.")
    with within_calendar(str(at)):
        at = at.astimezone(UTC)
    if old is None:
        return _new_record(draft, fields, ref_id, at, now)
    match old:
        case ChatMessage():
            raise Invalid(
                "A message is never altered.",
                hint="Delete it, and save what was said as a new one.",
            )
        case Preferences():
            flags = {**old.flags, **fields.pop("flags", {})}
            kept = {name: x for name, x in flags.items() if x is not None}
            render_flags(kept)
            return replace(old, **fields, flags=kept, updated=now)
        case JournalEntry() | Todo() | Gratitude():
            written = old.written or (old.at if at != old.at else None)
            altered = replace(old, **fields, at=at, updated=now, written=written)
            return _refuse_blank_entry(altered) if isinstance(altered, JournalEntry) else altered
    assert_never(old)


def _new_record(
    draft: RecordDraft, fields: dict[str, Any], ref_id: str, at: datetime, now: datetime
) -> Record:
    written = None if at == now else now
    whose: dict[str, Any] = {
        "id": ref_id,
        "at": at,
        "supersedes": draft.supersedes,
        "written": written,
    }
    match draft.kind:
        case "message":
            return ChatMessage(**whose, **fields)
        case "journal":
            defaults = {"title": "", "body": "", "is_draft": False}
            return _refuse_blank_entry(JournalEntry(**whose, updated=now, **{**defaults, **fields}))
        case "todo":
            return Todo(**whose, updated=now, **{"done": False, **fields})
        case "gratitude":
            return Gratitude(**whose, updated=now, **fields)
        case "preference":
            flags = {name: x for name, x in fields.pop("flags", {}).items() if x is not None}
            defaults = {"language": "en", "religion": None}
            return Preferences(at=at, updated=now, flags=flags, **{**defaults, **fields})
    assert_never(draft.kind)


def inherited(former: Record) -> dict[str, Any]:
    """The fields, less its text, that a record has from the one whose place it takes.

    Raises: Invalid for preferences, which are altered by name.
    """
    match former:
        case ChatMessage():
            return {"role": former.role}
        case JournalEntry():
            return {"title": former.title, "is_draft": former.is_draft}
        case Todo():
            return {"done": former.done}
        case Gratitude():
            return {}
        case Preferences():
            raise Invalid(
                "The preferences are names and values, and no text.",
                hint="Save the ones that change, with memory_upsert or `memory add preference`.",
            )
    assert_never(former)


def _refuse_blank_entry(entry: JournalEntry) -> JournalEntry:
    if not entry.title.strip() and not entry.body.strip():
        raise Invalid("Invalid journal: title and body are blank.", hint="Give one of them.")
    return entry


def _checked(draft: RecordDraft, *, is_new: bool) -> dict[str, Any]:
    known = FIELDS[draft.kind]
    fields = {name: x for name, x in draft.fields.items() if x is not None}
    for name in fields:
        if name not in known:
            raise Invalid(
                f"A {draft.kind} has no field {opening(name, 60)!r}.",
                hint=f"Give {', '.join(known)}.",
            )
    needed = {"message": ("role", "text"), "todo": ("title",), "gratitude": ("text",)}
    for name in needed.get(draft.kind, ()) if is_new else ():
        if name not in fields:
            raise Invalid(f"A {draft.kind} needs a {name}.", hint=f"Give {name}.")
    return {name: _parsed(draft.kind, name, x) for name, x in fields.items()}


def _parsed(kind: Kind, name: str, value: Any) -> Any:
    match name:
        case "is_draft" | "done":
            if not isinstance(value, bool):
                raise Invalid(
                    f"Invalid {name}: expected true or false, got {_type_of(value)}.",
                    hint="Use true or false.",
                )
            return value
        case "flags":
            if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
                raise Invalid(
                    f"Invalid flags: expected a JSON object with names, got {_type_of(value)}.",
                    hint="Use an object of names and values.",
                )
            return json.loads(render_flags(value))
        case "role":
            return parse_role(value)
        case "language" | "religion":
            return _parsed_text(name, value, most=_LONGEST_WORD)
        case _:
            may_be_blank = kind == "journal"
            return _parsed_text(name, value, most=LONGEST, may_be_blank=may_be_blank)


def parse_role(value: object) -> Role:
    """Who said something. Raises: Invalid."""
    for role in ROLES:
        if value == role:
            return role
    raise Invalid(
        f"Invalid role: {opening(str(value), 40)!r}. Only what users and assistants say is kept.",
        hint=f"Use {' or '.join(ROLES)}.",
    )


def _parsed_text(name: str, value: Any, *, most: int, may_be_blank: bool = False) -> str:
    if not isinstance(value, str):
        raise Invalid(
            f"Invalid {name}: expected text, got {_type_of(value)}.",
            hint="Use text.",
        )
    if not value.strip() and not may_be_blank:
        raise Invalid(f"Invalid {name}: it is blank.", hint="Write something.")
    if len(value) > most or len(value.encode("utf-8", "replace")) > most:
        raise Invalid(
            f"Invalid {name}: {len(value):,} characters.",
            hint=f"Use at most {most:,} bytes of UTF-8.",
        )
    # What some database cannot hold is shown as the sign for it in every one.
    return storable(value)


def render_flags(flags: Mapping[str, Any]) -> str:
    """Flags as they are stored: JSON, keys in order. Raises: Invalid for what JSON cannot hold."""
    try:
        text = json.dumps(flags, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        raise Invalid(
            "Invalid flags: JSON cannot hold them.", hint="Use texts, numbers, lists and objects."
        ) from exc
    if len(text) > LONGEST_FLAGS:
        raise Invalid(f"Invalid flags: {len(text):,} characters.", hint="Use fewer of them.")
    return _NUL.sub("\\1\ufffd", well_formed(text))


def open_todos(within: Filter) -> Filter:
    """The filter that admits only the open to-dos among those that another admits."""
    return replace(within, journals=(JOURNAL,), kinds=("todo",), excluded_tags=(DONE,))


def open_first(hits: Sequence[Hit]) -> list[Hit]:
    """To-dos keep their places among the hits, and the open ones take the first of these."""
    todos = [hit for hit in hits if (hit.doc.journal, hit.doc.kind) == (JOURNAL, "todo")]
    order = iter(sorted(todos, key=lambda hit: DONE in hit.doc.tags))
    known = {hit.doc.ref for hit in todos}
    return [next(order) if hit.doc.ref in known else hit for hit in hits]


def searchable_text(record: Record) -> str:
    """What of a record is searched and encoded; empty for what is never found, such as a draft."""
    match record:
        case ChatMessage():
            # Another program may have kept what a system said before the table refused it.
            return normalised(record.text) if record.role in ROLES else ""
        case Gratitude():
            return normalised(record.text)
        case Todo():
            return normalised(record.title)
        case JournalEntry():
            parts = (normalised(record.title), normalised(record.body))
            return "" if record.is_draft else "\n\n".join(part for part in parts if part)
        case Preferences():
            return record.text
    assert_never(record)


def snippet_of(record: Record) -> str:
    """What a search shows of a record. Source: memory design, section 7."""
    match record:
        case ChatMessage():
            return f"({record.role}) {normalised(record.text)}"
        case JournalEntry():
            title, body = normalised(record.title), opening(normalised(record.body), SHOWN)
            return "\n".join(part for part in (title, body) if part)
        case Todo() | Preferences():
            return searchable_text(record)
        case Gratitude():
            return opening(searchable_text(record), SHOWN)
    assert_never(record)


def change_of(record: Record, zone: tzinfo = UTC) -> Change:
    """What the index should hold of a record. zone: Whose date it bears in words."""
    ref = record.ref
    text = searchable_text(record)
    if not text.strip() or not may_be_id(record.id):
        return Drop(ref)
    is_done = isinstance(record, Todo) and record.done
    link = superseding_tags(former_ref_of(record))
    return Put(
        Doc(
            ref=ref,
            journal=JOURNAL,
            scope="",
            kind=record.kind,
            at=record.at,
            text=text,
            stamp=text_hash(f"{record.at.isoformat()}\n{is_done}\n{text}" + "".join(link)),
            tags=(*((DONE,) if is_done else ()), *link),
            dated=render_date(local_date(record.at, zone)),
            # What was said in a day is one conversation: its messages lend each other context.
            session=f"{JOURNAL}:{local_date(record.at, UTC).isoformat()}"
            if isinstance(record, ChatMessage)
            else "",
            written=record.written,
        )
    )


def kept_of(record: Record) -> Change:
    """What is kept of a record, though no index may hold it: of a draft too."""
    change = change_of(record)
    if isinstance(change, Put) or not record.text.strip() or not may_be_id(record.id):
        return change
    return Put(
        Doc(
            ref=record.ref,
            journal=JOURNAL,
            scope="",
            kind=record.kind,
            at=record.at,
            text=record.text,
            stamp=text_hash(record.text),
        )
    )


def change_now(kind: str, ref_id: str, record: Record | None, zone: tzinfo = UTC) -> Change:
    """What the index should hold of what changed: a record as it is now, or None for none."""
    return Drop(ref_of(kind, ref_id)) if record is None else change_of(record, zone)


def _type_of(value: Any) -> str:
    return _TYPES.get(type(value), "another type")
