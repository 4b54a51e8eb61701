"""The page of memory: what is kept of a user, by kind, with to-dos that can be ticked."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Denied, Invalid
from commonplace.core.text import opening
from commonplace.doors.web.pages.entry import ref_of
from commonplace.doors.web.visit import Redirect, UndoOffer, WebPage
from commonplace.journals.memory.entry import parse_ref, version_of
from commonplace.journals.memory.records import JournalEntry, Record, RecordDraft, Todo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.doors.web.visit import Visit
    from commonplace.journals.memory.ports import MemoryStore
    from commonplace.journals.memory.records import Kind

LISTED = 30
"""Records on one page."""

NEWEST = 7
"""Records of each kind on the page of all."""

NAMES: dict[Kind, str] = {
    "todo": "To-dos",
    "preference": "Preferences",
    "journal": "Journal",
    "gratitude": "Gratitude",
    "message": "Messages",
}
"""The heading of each kind, in the order in which they are shown."""

_SHOWN = 600


def memory(visit: Visit) -> WebPage:
    """What is kept of a user: the newest of each kind, or all of one."""
    own = visit.app.settings.owner
    user = visit.value("user") or own
    kind = _kind(visit.value("kind"))
    values: dict[str, Any] = {
        "current": "memory",
        "user": user,
        "is_own": user == own,
        "has_others": visit.shows_paths,
        "kind": kind,
        "names": NAMES,
        "parts": [],
        "after": "",
        "is_first": not visit.value("after"),
        "may_tick": visit.visitor.may_write and user == own,
    }
    if user != own or visit.app.memory.is_there():
        with _store(visit, user) as store:
            counts = {x.kind: x.records for x in store.count_kinds() if x.records}
            if kind:
                page = store.list_records(kind, limit=LISTED, cursor=visit.value("after"))
                lines = _lines(visit, store, page.records)
                values["parts"] = [(kind, counts.get(kind, 0), lines)] if lines else []
                values["after"] = page.cursor
            else:
                there = [x for x in NAMES if x in counts]
                values["parts"] = [(x, counts[x], _newest(visit, store, x)) for x in there]
    return WebPage(template="memory.html", title="Memory", values=values)


def users(visit: Visit) -> WebPage:
    """The other users of this machine who have a memory."""
    own = visit.app.settings.owner
    others = [name for name in visit.app.memory.users() if name != own]
    values = {"current": "memory", "users": others}
    return WebPage(template="users.html", title="Memory of other users", values=values)


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
    pages = {"home": visit.url("home"), "todo": visit.url("memory", kind="todo")}
    return Redirect(
        to=pages.get(visit.value("from"), visit.url("memory")),
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
    for each in NAMES:
        if each == text:
            return each
    raise Invalid(f"Unknown kind: {opening(text, 60)!r}.", hint=f"Use {', '.join(NAMES)}.")


def _newest(visit: Visit, store: MemoryStore, kind: Kind) -> list[dict[str, Any]]:
    """The newest of a kind; of to-dos those that are open before those that are done."""
    lines = _lines(visit, store, store.list_records(kind, limit=LISTED).records)
    return sorted(lines, key=lambda line: bool(line["is_done"]))[:NEWEST]


def _lines(visit: Visit, store: MemoryStore, records: Sequence[Record]) -> list[dict[str, Any]]:
    """The records as a list shows them: of a to-do whether it is done, of no other."""
    lines = []
    for each in records:
        after = store.find_successor(each.kind, each.id)
        line: dict[str, Any] = {
            "record": each,
            "text": visit.shown_opening(each.text, _SHOWN),
            "version": version_of(each),
            "is_done": each.done if isinstance(each, Todo) else None,
            "is_draft": isinstance(each, JournalEntry) and each.is_draft,
            "successor": "" if after is None else after.ref,
        }
        lines.append(line)
    return lines
