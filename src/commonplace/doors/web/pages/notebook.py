"""The notebook: its sections as a tree, an overview with its history, what a sync left open."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import Conflict, NotFound
from commonplace.doors.web.visit import Redirect, WebPage
from commonplace.journals.notebook.format import parse_file
from commonplace.journals.notebook.names import file_of
from commonplace.services.notebook.keeping import NotebookKeeping

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.doors.web.visit import Visit
    from commonplace.journals.notebook.conflicts import OverviewClash
    from commonplace.journals.notebook.journal import Notebook
    from commonplace.journals.notebook.ledger import EntryLine
    from commonplace.journals.notebook.toc import TocNode

DEPTH = 6
"""Levels of sections that the tree shows."""

STEPS = 20
"""Entries of a history on one page."""

_AROUND = 2


class Step(Struct, frozen=True, kw_only=True):
    """An entry of a section with what it changed in the overview.

    Args:
        changed: Lines of the overview, each with `+`, `-` or a blank before it; empty where the
            entry left it as it was.
    """

    entry: EntryLine
    changed: Sequence[tuple[str, str]]


def notebook(visit: Visit) -> WebPage:
    """The tree of sections."""
    wiring = visit.app.notebook
    nodes: Sequence[TocNode] = ()
    clashes: Sequence[OverviewClash] = ()
    missing = ""
    try:
        found = wiring.service().reading()
        nodes = found.toc(depth=DEPTH) if found.list_sections() else ()
        clashes = NotebookKeeping(wiring.service).conflicts()
    except NotFound as exc:
        missing = str(exc)
    return WebPage(
        template="notebook.html",
        title="Notebook",
        values={"current": "notebook", "nodes": nodes, "clashes": clashes, "missing": missing},
    )


def section(visit: Visit) -> WebPage:
    """A section: its overview, and its entries with what each changed in it."""
    name, start = visit.value("name"), visit.number("start", most=100_000)
    found = visit.app.notebook.service().reading()
    read = found.read_section(name)
    lines = found.list_entries(read.name, start=start, length=STEPS + 1)
    return WebPage(
        template="section.html",
        title=read.name,
        values={
            "current": "notebook",
            "section": read,
            "overview": visit.shown(read.overview),
            "replaced": found.list_replaced_since(read.name),
            "steps": [*_steps(visit, found, read.name, lines)][:STEPS],
            "start": start,
            "size": STEPS,
            "has_more": len(lines) > STEPS,
            "ref": f"notebook:{read.name}",
        },
    )


def clash(visit: Visit) -> WebPage:
    """Two overviews of a section side by side, and a text to settle them."""
    found = NotebookKeeping(visit.app.notebook.service).clash(section=visit.value("name"))
    text = found.ours if visit.value("begin") == "ours" else found.theirs
    return _clash_page(visit, found.section, found.ours, found.theirs, text)


def settle(visit: Visit) -> Redirect | WebPage:
    """Put a text in the place of both."""
    keeping = NotebookKeeping(visit.app.notebook.service)
    found = keeping.clash(section=visit.value("name"))
    text = visit.form.get("text", [""])[-1]
    try:
        done = keeping.resolve(clash=found, text=text)
    except Conflict as exc:
        again = keeping.clash(section=found.section)
        return _clash_page(visit, again.section, again.ours, again.theirs, text, problem=str(exc))
    return Redirect(
        to=visit.url("section", name=done.section),
        notes=(f"Settled {done.section}.", *done.notes),
    )


def _clash_page(
    visit: Visit, name: str, ours: str, theirs: str, text: str, *, problem: str = ""
) -> WebPage:
    return WebPage(
        template="clash.html",
        title=f"{name}: settle",
        values={
            "current": "notebook",
            "name": name,
            "ours": visit.shown(ours),
            "theirs": visit.shown(theirs),
            "text": text,
            "problem": problem,
        },
        status=409 if problem else 200,
    )


def _steps(visit: Visit, found: Notebook, name: str, lines: Sequence[EntryLine]) -> Iterator[Step]:
    """Each entry with what it changed; the last of the lines is only compared with."""
    overviews = [_overview_at(found, line.hash, name) for line in lines]
    for place, line in enumerate(lines):
        before = overviews[place + 1] if place + 1 < len(lines) else ""
        yield Step(entry=line, changed=_changed(visit.shown(before), visit.shown(overviews[place])))


def _overview_at(found: Notebook, commit: str, name: str) -> str:
    """The overview as a commit left it; empty where it had none under this name."""
    (blob,) = found.repo.read_blobs(commit, [file_of(name)])
    return parse_file(blob.content).overview if blob is not None and blob.kind == "blob" else ""


def _changed(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that differ, with what stands around them."""
    if before == after:
        return []
    lines = [*difflib.unified_diff(before.splitlines(), after.splitlines(), n=_AROUND, lineterm="")]
    return [("@", "…") if x.startswith("@@") else (x[0], x[1:]) for x in lines[2:]]
