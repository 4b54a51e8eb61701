"""The page of memory: what is kept of a user, by kind, with to-dos that can be ticked."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Denied, Invalid
from commonplace.core.text import opening
from commonplace.doors.web.pages.entry import ref_of
from commonplace.doors.web.visit import Redirect, UndoOffer, WebPage
from commonplace.journals.memory.entry import parse_ref, version_of
from commonplace.journals.memory.records import KINDS, JournalEntry, Record, RecordDraft, Todo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.doors.web.visit import Visit
    from commonplace.journals.memory.ports import MemoryStore
    from commonplace.journals.memory.records import Kind

LISTED = 30
"""Records on one page."""

NAMES: dict[Kind, str] = {
    "message": "Messages",
    "journal": "Journal",
    "todo": "To-dos",
    "preference": "Preferences",
    "gratitude": "Gratitude",
}
"""The heading of each kind."""

_SHOWN = 600


def memory(visit: Visit) -> WebPage:
    """The kinds of records of a user, and the records of one kind."""
    own = visit.app.settings.owner
    user = visit.value("user") or own
    kind = _kind(visit.value("kind"))
    values: dict[str, Any] = {
        "current": "memory",
        "user": user,
        "is_own": user == own,
        "own": own,
        "users": visit.app.memory.users() if visit.shows_paths else (),
        "kind": kind,
        "names": NAMES,
        "tallies": {},
        "records": (),
        "after": "",
        "is_first": not visit.value("after"),
        "may_tick": visit.visitor.may_write and user == own,
        "is_there": user != own or visit.app.memory.is_there(),
    }
    if values["is_there"]:
        with _store(visit, user) as store:
            tallies = {each.kind: each for each in store.count_kinds()}
            there = [x for x in ("todo", *KINDS) if x in tallies and tallies[x].records]
            shown = kind or (there[0] if there else None)
            values |= {"kind": shown, "tallies": tallies}
            if shown:
                page = store.list_records(shown, limit=LISTED, cursor=visit.value("after"))
                values["records"] = _lines(visit, store, page.records)
                values["after"] = page.cursor
    return WebPage(template="memory.html", title="Memory", values=values)


def tick(visit: Visit) -> Redirect:
    """Mark a to-do as done or not done, over the version that was shown."""
    kind, ref_id = parse_ref(ref_of(visit))
    if kind != "todo":
        raise Invalid(f"A {kind} cannot be ticked.", hint="Tick a to-do.")
    is_done = visit.value("done") == "1"
    draft = RecordDraft(
        kind=kind, fields={"done": is_done}, ref_id=ref_id, expected=visit.value("version")
    )
    done = visit.app.memory.service().save(draft)
    offer = None
    if (record := done.saved.record) is not None:
        fields = {
            "ref": ref_of(visit),
            "version": version_of(record),
            "done": "0" if is_done else "1",
            "from": visit.value("from"),
        }
        offer = UndoOffer(page="tick", fields=fields)
    to_do = visit.url("memory", kind="todo", after=visit.value("after"))
    return Redirect(
        to=visit.url("home") if visit.value("from") == "home" else to_do,
        notes=("Done." if is_done else "It is open again.", *done.notes),
        offer=offer,
    )


@contextmanager
def _store(visit: Visit, user: str) -> Iterator[MemoryStore]:
    """The records of a user. Raises: Denied for those of another than the token's."""
    if user == visit.app.settings.owner:
        yield visit.app.memory.journal
        return
    if not visit.shows_paths:
        raise Denied("Another user's memory is not shown.", hint="Use a token of that user.")
    with closing(visit.app.memory.store_of(user)) as store:
        yield store


def _kind(text: str) -> Kind | None:
    if not text:
        return None
    for each in KINDS:
        if each == text:
            return each
    raise Invalid(f"Unknown kind: {opening(text, 60)!r}.", hint=f"Use {', '.join(KINDS)}.")


def _lines(visit: Visit, store: MemoryStore, records: Sequence[Record]) -> list[dict[str, object]]:
    """The records as a list shows them: of a to-do whether it is done, of no other."""
    lines = []
    for each in records:
        after = store.find_successor(each.kind, each.id)
        line: dict[str, object] = {
            "record": each,
            "text": visit.shown_opening(each.text, _SHOWN),
            "version": version_of(each),
            "is_done": each.done if isinstance(each, Todo) else None,
            "is_draft": isinstance(each, JournalEntry) and each.is_draft,
            "successor": "" if after is None else after.ref,
        }
        lines.append(line)
    return lines
