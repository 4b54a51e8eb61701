"""The notebook's verbs for people alone: make it, move, sync and settle, bring in the older JSON.

Never offered to a model; decides nothing about git, and keeps the index true after each change.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.ids import key_id
from commonplace.core.text import opening
from commonplace.journals.notebook.format import KEYS
from commonplace.tools.notebook.lines import answer_of, entries
from commonplace.tools.notebook.sync_lines import clashes_answer, settled_answer, synced_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.core.values import Answer
    from commonplace.journals.notebook.conflicts import OverviewClash
    from commonplace.journals.notebook.journal import Notebook
    from commonplace.services.notebook.service import NotebookService

Tell: TypeAlias = "Callable[[int, int], None] | None"
"""Progress: called with (done, still to do)."""

_DEEPEST = 64
_FILING_S = 30.0
_MOST_NOTES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Old:
    """One entry of the older JSON. overview: the section's, with its last entry alone."""

    section: str
    text: str
    work_context: str
    at: datetime | None
    key: str
    overview: str = ""


class NotebookKeeping:
    """What a person does to a notebook; each verb answers in text and facts.

    desk: opened at the first call.
    """

    def __init__(self, desk: Callable[[], NotebookService]) -> None:
        self._desk = desk

    def init(self) -> Answer:
        """Make the notebook, or take the repository that is there. Raises: Unavailable, Denied."""
        desk = self._desk()
        notebook = desk.notebook
        adopted = notebook.exists
        folder = desk.init()
        verb = "Took the repository in" if adopted else "Made a notebook in"
        sections = len(notebook.list_sections())
        lines = [f"{verb} {folder}."]
        if adopted:
            lines.append(f"It has {sections} {'section' if sections == 1 else 'sections'}.")
        return answer_of(lines, {"folder": str(folder), "adopted": adopted, "sections": sections})

    def move(self, *, old: str, new: str, below: bool = False) -> Answer:
        """Give a section another name, its entries with it; a folder alone goes with all below it.

        below: the sections below it go along. Raises: Invalid, NotFound, Conflict, Denied,
        Unavailable.
        """
        desk = self._desk()
        moved, notes = desk.reading().move(old, new, below=below)
        notes = (*notes, *desk.filing().sweep())
        facts = {
            "old": old,
            "new": new,
            "moved": [{"old": before, "new": after} for before, after in moved],
        }
        lines = [f"Moved {before} to {after}." for before, after in moved[:_MOST_NOTES]]
        if len(moved) > _MOST_NOTES:
            lines.append(f"And {len(moved) - _MOST_NOTES} more below them.")
        return answer_of(lines, facts, notes)

    def sync(self, *, remote: str, accept_loss: bool = False) -> Answer:
        """Bring the notebook and a remote to hold the same.

        Raises: Conflict, Invalid, NotFound, Denied, Unavailable; nothing has changed then.
        """
        from commonplace.journals.notebook.sync import Sync

        desk = self._desk()
        notebook = desk.reading()
        synced = Sync(
            notebook,
            remote=remote,
            accept_loss=accept_loss,
            clock=notebook.clock,
            person=notebook.person,
        ).run()
        waiting = [x.section for x in notebook.clashes().list_open()]
        notes = [*synced.notes, *desk.filing().refresh(_FILING_S)]
        return synced_answer(synced, waiting=waiting, notes=notes)

    def conflicts(self) -> Answer:
        """The overviews that a sync could not merge. Raises: NotFound, Unavailable, Denied."""
        desk = self._desk()
        return clashes_answer(desk.reading().clashes().list_open(), desk.zone)

    def clash(self, *, section: str) -> OverviewClash:
        """The oldest overview of a section that waits. Raises: NotFound, Invalid, Unavailable."""
        return self._desk().reading().clashes().find(section)

    def resolve(self, *, clash: OverviewClash, text: str | None) -> Answer:
        """Put a text in the place of the overview, None to leave it as it is; that one is settled.

        Raises: Conflict where the overview has changed meanwhile; Invalid, Denied, Unavailable.
        """
        desk = self._desk()
        notebook = desk.reading()
        notes = notebook.clashes().settle(clash, text)
        notes = (*notes, *desk.filing().refresh(_FILING_S))
        left = [x.section for x in notebook.clashes().list_open()]
        version = notebook.read_section(clash.section).version
        return settled_answer(clash, version=version, left=left, notes=notes)

    def import_json(self, *, text: str, name: str, tell: Tell = None) -> Answer:
        """Add the entries and overviews of the older JSON file, each once however often it is read.

        An overview takes the place of an empty one alone. name: of the file, for errors.
        Raises: Invalid where it is no such file; Unavailable, Denied, Conflict.
        """
        notebook = self._desk().writing()
        notes: list[str] = []
        found = list(_parse(text, name, notes))
        added = repeated = 0
        for done, old in enumerate(found):
            if tell is not None:
                tell(done, len(found) - done)
            try:
                is_new = _import(notebook, old, notes)
            except Invalid as exc:
                notes.append(f"Left out an entry of {opening(old.section, 80)!r}: {exc.message}")
                continue
            added, repeated = added + is_new, repeated + (not is_new)
        if tell is not None:
            tell(len(found), 0)
        lines = [f"Imported {entries(added)}."]
        if repeated:
            lines.append(f"{entries(repeated)} of it had been imported before.")
        facts = {"added": added, "repeated": repeated, "left_out": len(notes)}
        return answer_of(lines, facts, _bounded(notes))


def _import(notebook: Notebook, old: _Old, notes: list[str]) -> bool:
    """Write one entry; whether it is new. Its overview goes with it where there is none yet."""
    overview, base = None, None
    if old.overview.strip():
        there = _overview_of(notebook, old.section)
        if there is None or not there[0].strip():
            overview, base = old.overview, there[1] if there else None
        elif there[0].strip() != old.overview.strip():
            notes.append(f"{old.section} has an overview already, and keeps it.")
    written = notebook.write(
        old.section,
        old.text,
        overview=overview,
        work_context=old.work_context or None,
        base_version=base,
        # By what is in the file alone: who imports it in another clone adds nothing to it.
        entry_id=key_id(KEYS, notebook.owner, old.key),
        at=old.at,
    )
    return not written.repeated


def _overview_of(notebook: Notebook, section: str) -> tuple[str, str] | None:
    try:
        there = notebook.read_section(section)
    except CommonplaceError:
        return None
    return there.overview, there.version


def _parse(text: str, name: str, notes: list[str]) -> Iterator[_Old]:
    """The entries of a file, oldest first, those without a time before all others."""
    try:
        whole = json.loads(text)
        sections = whole["sections"]
        found = list(_sections(sections, "", notes, depth=0))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise Invalid(
            f"{name} is no notebook in JSON: it has no 'sections' that can be read.",
            hint="Name a file that the JSON journal server wrote.",
        ) from exc
    start = datetime.min.replace(tzinfo=UTC)
    # A sort keeps the order of what is equally old.
    yield from sorted(found, key=lambda old: old.at or start)


def _sections(
    sections: Mapping[str, Any], above: str, notes: list[str], *, depth: int
) -> Iterator[_Old]:
    if depth > _DEEPEST:
        raise ValueError
    for key, section in sections.items():
        path = section.get("path") or (f"{above}/{key}" if above else key)
        overview = _text(section.get("overview"))
        olds = [_entry(path, number, x) for number, x in enumerate(section.get("entries") or [])]
        kept = [x for x in olds if x is not None]
        if len(kept) < len(olds):
            empty = entries(len(olds) - len(kept))
            notes.append(f"Left out {empty} of {opening(path, 80)!r}: there is no text.")
        if overview.strip():
            kept = _with_overview(path, overview, kept)
        yield from kept
        yield from _sections(section.get("subsections") or {}, path, notes, depth=depth + 1)


def _with_overview(path: str, overview: str, olds: Sequence[_Old]) -> list[_Old]:
    """The entries with the overview at the newest; one is made up where there is none."""
    if not olds:
        key = _key(path, "overview", overview)
        text = "Import the overview."
        made = _Old(section=path, text=text, work_context="", at=None, key=key, overview=overview)
        return [made]
    last = max(range(len(olds)), key=lambda n: (olds[n].at or datetime.min.replace(tzinfo=UTC), n))
    return [replace(x, overview=overview) if n == last else x for n, x in enumerate(olds)]


def _entry(path: str, number: int, entry: Mapping[str, Any]) -> _Old | None:
    text = _text(entry.get("content"))
    if not text.strip():
        return None
    stamp = _text(entry.get("timestamp"))
    return _Old(
        section=path,
        text=text,
        work_context=_text(entry.get("work_context")),
        at=_instant(stamp),
        key=_key(path, f"{number} {stamp}", text),
    )


def _instant(stamp: str) -> datetime | None:
    """What the JSON server wrote: an ISO time, on UTC's clock where no zone is named."""
    try:
        at = datetime.fromisoformat(stamp.strip())
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _key(path: str, stamp: str, text: str) -> str:
    said = f"{path}\n{stamp}\n{text}".encode("utf-8", "replace")
    return f"import-json {hashlib.sha256(said).hexdigest()}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _bounded(notes: Sequence[str]) -> list[str]:
    if len(notes) <= _MOST_NOTES:
        return [*notes]
    return [*notes[:_MOST_NOTES], f"{len(notes) - _MOST_NOTES} more like these."]
