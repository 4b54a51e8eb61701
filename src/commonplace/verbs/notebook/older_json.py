"""How the file of the older JSON journal server is imported: its sections' entries and overviews.

Never keeps a time that it cannot read, and never writes over an overview.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.ids import key_id
from commonplace.core.text import counted_entries, opening
from commonplace.journals.notebook.format import KEYS, TAKEN_BACK
from commonplace.journals.notebook.names import SectionAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.notebook.acts import NotebookActs

Progress: TypeAlias = "Callable[[int, int], None] | None"
"""Called with (done, still to do)."""

_DEEPEST = 64


class OldEntry(Struct, frozen=True, kw_only=True):
    """One entry of the older JSON. overview: the section's, with its last entry alone."""

    section: str
    text: str
    work_context: str
    at: datetime | None
    key: str
    overview: str = ""


def parse_older_json(text: str, name: str) -> tuple[list[OldEntry], list[str]]:
    """The entries of a file, oldest first, those without a time before all others.

    With them a sentence for each section of which some were left out. name: of the file.
    Raises: Invalid where it is not such a file.
    """
    notes: list[str] = []
    try:
        whole = json.loads(text)
        found = list(_sections(whole["sections"], "", notes, depth=0))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        raise Invalid(
            f"{name} is not a notebook in JSON: it has no 'sections' that can be read.",
            hint="Name a file that the JSON journal server wrote.",
        ) from exc
    start = datetime.min.replace(tzinfo=UTC)
    # A sort keeps the order of what is equally old.
    return sorted(found, key=lambda old: old.at or start), notes


def import_entries(
    notebook: NotebookActs,
    entries: Sequence[OldEntry],
    left_out: list[str],
    noting: NotesImport,
    on_progress: Progress,
) -> tuple[int, int]:
    """Write entries, each once however often it is imported; how many are new, and how many not.

    left_out: gets a sentence for each that cannot be written, and each overview that is not.
    """
    added = repeated = 0
    for done, old in enumerate(entries):
        if on_progress is not None:
            on_progress(done, len(entries) - done)
        try:
            is_new = _import(notebook, old, left_out, noting)
        except Invalid as exc:
            left_out.append(f"Left out an entry of {opening(old.section, 80)!r}: {exc.message}")
        else:
            added, repeated = added + is_new, repeated + (not is_new)
    if on_progress is not None:
        on_progress(len(entries), 0)
    return added, repeated


def _import(notebook: NotebookActs, old: OldEntry, notes: list[str], noting: NotesImport) -> bool:
    """Write one entry; whether it is new. Its overview goes with it where there is none yet.

    One that was taken back is shown again.
    """
    # By what is in the file alone: an import in another clone adds nothing to it.
    entry_id = key_id(KEYS, notebook.owner, old.key)
    notebook.catch_up()
    line = next((x for x in notebook.list_by_id(entry_id) if not x.branches), None)
    if line is not None and line.expires != TAKEN_BACK:
        return False
    section = old.section if line is None else line.section
    overview, base = None, None
    if old.overview.strip():
        try:
            there = notebook.read_section(section)
        except CommonplaceError:
            there = None
        if there is None or not there.overview.strip():
            overview, base = old.overview, there.version if there else None
        elif there.overview.strip() != old.overview.strip():
            notes.append(f"{section} has an overview already, and keeps it.")
    noting.put_planned({entry_id: ""})
    is_new = True
    if line is None:
        written = notebook.write(
            old.section,
            old.text,
            overview=overview,
            work_context=old.work_context or None,
            base_version=base,
            entry_id=entry_id,
            at=old.at,
        )
        is_new = not written.repeated
    else:
        address = SectionAddress(section, entry_id)
        notebook.bring_back(address, overview=overview, base_version=base or "")
    noting.put_added({entry_id: ""} if is_new else {})
    return is_new


def _sections(
    sections: Mapping[str, Any], above: str, notes: list[str], *, depth: int
) -> Iterator[OldEntry]:
    if depth > _DEEPEST:
        raise ValueError
    for key, section in sections.items():
        path = section.get("path") or (f"{above}/{key}" if above else key)
        overview = _text(section.get("overview"))
        olds = [_entry(path, number, x) for number, x in enumerate(section.get("entries") or [])]
        kept = [x for x in olds if x is not None]
        if len(kept) < len(olds):
            empty = len(olds) - len(kept)
            notes.append(
                f"Left out {counted_entries(empty)} of {opening(path, 80)!r}: there is no text."
            )
        if overview.strip():
            kept = _with_overview(path, overview, kept)
        yield from kept
        yield from _sections(section.get("subsections") or {}, path, notes, depth=depth + 1)


def _with_overview(path: str, overview: str, olds: Sequence[OldEntry]) -> list[OldEntry]:
    """The entries with the overview at the newest; one is made up where there is none."""
    if not olds:
        key = _key(path, "overview", overview)
        text = "Import the overview."
        made = OldEntry(
            section=path, text=text, work_context="", at=None, key=key, overview=overview
        )
        return [made]
    last = max(range(len(olds)), key=lambda n: (olds[n].at or datetime.min.replace(tzinfo=UTC), n))
    return [replace(x, overview=overview) if n == last else x for n, x in enumerate(olds)]


def _entry(path: str, number: int, entry: Mapping[str, Any]) -> OldEntry | None:
    text = _text(entry.get("content"))
    if not text.strip():
        return None
    stamp = _text(entry.get("timestamp"))
    return OldEntry(
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
