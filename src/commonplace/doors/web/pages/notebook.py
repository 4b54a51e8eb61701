"""The notebook: its sections as a tree, an overview with its history, what a sync left open."""

from __future__ import annotations

import difflib
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Conflict, Invalid, NotFound, Unavailable
from commonplace.core.text import body_of, first_words
from commonplace.doors.web.visit import Redirect, WebPage
from commonplace.journals.notebook.format import parse_file
from commonplace.journals.notebook.names import file_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.doors.web.visit import Visit
    from commonplace.journals.notebook.conflicts import OverviewClash
    from commonplace.journals.notebook.journal import NotebookJournal
    from commonplace.journals.notebook.ledger import EntryLine
    from commonplace.journals.notebook.reader import TocNode

DEPTH = 6
"""Levels of sections that the tree shows."""

BEGINNINGS = 300
"""Sections of which the tree shows how their overview begins."""

STEPS = 20
"""Entries of a history on one page."""

_SIDES = ("ours", "theirs")
_AROUND = 2
_BEGINNING = 120


def notebook(visit: Visit) -> WebPage:
    """The tree of sections."""
    wiring = visit.app.notebook
    nodes: Sequence[TocNode] = ()
    clashes: Sequence[OverviewClash] = ()
    missing, is_elsewhere = "", False
    begins: dict[str, str] = {}
    try:
        found = wiring.service().reading()
        nodes = found.toc(depth=DEPTH)
        overviews = found.read_overviews([*islice(_sections(nodes), BEGINNINGS)])
        begins = {name: visit.shown(_beginning(text)) for name, text in overviews.items()}
        clashes = wiring.service().clashes().list_open()
    except NotFound as exc:
        missing = exc.explained(shows_paths=visit.shows_paths)
        is_elsewhere = bool(exc.place)
    return WebPage(
        template="notebook.html",
        title="Notebook",
        values={
            "current": "notebook",
            "nodes": nodes,
            "begins": begins,
            "clashes": clashes,
            "missing": missing,
            "is_elsewhere": is_elsewhere,
        },
    )


def _sections(nodes: Sequence[TocNode]) -> Iterator[str]:
    """The names of the sections of a tree, in its order."""
    for node in nodes:
        if node.type == "section":
            yield node.id
        yield from _sections(node.subsections)


def _beginning(overview: str) -> str:
    """The first line of an overview below its headings."""
    lines = body_of(overview).strip().splitlines()
    return first_words(lines[0], _BEGINNING) if lines else ""


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
            "backlinks": found.list_backlinks(read.name),
            "steps": [*_steps(visit, found, read.name, lines)][:STEPS],
            "start": start,
            "size": STEPS,
            "has_more": len(lines) > STEPS,
            "ref": f"notebook:{read.name}",
        },
    )


def clash(visit: Visit) -> WebPage | Redirect:
    """Two overviews side by side and a text to settle them; the section where none wait."""
    service = visit.app.notebook.service()
    try:
        found = service.clashes().find(visit.value("name"))
    except NotFound:
        read = service.reading().read_section(visit.value("name"))
        return Redirect(
            to=visit.url("section", name=read.name),
            notes=("No two versions of it wait to be settled: this is what holds.",),
        )
    begin = visit.value("begin") if visit.value("begin") in _SIDES else "theirs"
    return _clash_page(visit, found, getattr(found, begin), begin=begin)


def settle(visit: Visit) -> Redirect | WebPage:
    """Put one of both, or a text, in the place of both, if they are those that were shown.

    What was typed stays.
    """
    service = visit.app.notebook.service()
    name = visit.value("name")
    text = visit.typed_text(f"settle:{name}")
    found: OverviewClash | None = None
    try:
        found = service.clashes().find(name)
        if (found.version, found.our_version) != (visit.value("theirs"), visit.value("ours")):
            raise Conflict(
                f"The texts of {found.section} have changed since you opened the page.",
                hint="Read what they say now, then save once more.",
            )
        if visit.value("keep") in _SIDES:
            text = getattr(found, visit.value("keep"))
        if not text.strip():
            raise Invalid("The text is empty.", hint="Write what holds from now on.")
        done = service.resolve(found, text)
    except CommonplaceError as exc:
        # The form is shown again with what was typed, whatever went wrong, so that nothing is lost.
        with suppress(CommonplaceError):
            found = service.clashes().find(name)
        return _clash_page(visit, found, text, problem=exc)
    return Redirect(
        to=visit.url("section", name=found.section),
        notes=(f"Settled {found.section}.", *(done.notes or ())),
    )


def _clash_page(
    visit: Visit,
    found: OverviewClash | None,
    text: str,
    *,
    begin: str = "",
    problem: CommonplaceError | None = None,
) -> WebPage:
    """The form of a clash; without the clash where it is over, or cannot be read now.

    begin: Which of its texts the form begins with: `ours` or `theirs`; blank for what was typed.
    """
    name = visit.value("name") if found is None else found.section
    return WebPage(
        template="clash.html",
        title=f"{name}: settle",
        values={
            "current": "notebook",
            "name": name,
            "clash": found,
            "ours": visit.shown(found.ours) if found else "",
            "theirs": visit.shown(found.theirs) if found else "",
            "text": visit.form_text(f"settle:{name}", text),
            "begin": begin,
            "problem": problem.explained(shows_paths=visit.shows_paths) if problem else "",
            "is_over": isinstance(problem, NotFound),
        },
        status=(503 if isinstance(problem, Unavailable) else 409) if problem else 200,
    )


def _steps(
    visit: Visit, found: NotebookJournal, name: str, lines: Sequence[EntryLine]
) -> Iterator[dict[str, object]]:
    """Each entry with what it changed; the last of the lines is only compared with."""
    overviews = []
    for line in lines:
        (blob,) = found.repo.read_blobs(line.hash, [file_of(name)])  # none under a former name
        is_there = blob is not None and blob.kind == "blob"
        overviews.append(parse_file(blob.content).overview if blob and is_there else "")
    for place, line in enumerate(lines):
        before = overviews[place + 1] if place + 1 < len(lines) else ""
        now = visit.shown(overviews[place])
        yield {"entry": line, "changed": _changed(visit.shown(before), now)}


def _changed(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that differ, with what stands around them."""
    if before == after:
        return []
    lines = [*difflib.unified_diff(before.splitlines(), after.splitlines(), n=_AROUND, lineterm="")]
    return [("@", "…") if x.startswith("@@") else (x[0], x[1:]) for x in lines[2:]]
