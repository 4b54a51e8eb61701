"""The notebook: its sections as a tree, an overview with its history, what a sync left open."""

from __future__ import annotations

import difflib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError, Conflict, Invalid, NotFound
from commonplace.core.text import body_of, first_words
from commonplace.doors.web.visit import Redirect, WebPage, status_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.doors.web.visit import Visit
    from commonplace.journals.notebook.acts import NotebookActs
    from commonplace.journals.notebook.conflicts import OverviewClash
    from commonplace.journals.notebook.sections import EntryLine, TocNode

DEPTH = 6
"""Levels of sections that the tree shows."""

MOST = 200
"""Sections and groups on one page of the tree: of more, fewer levels are shown, then more pages."""

STEPS = 20
"""Entries of a history on one page."""

_SIDES = ("ours", "theirs")
_AROUND = 2
_BEGINNING = 120


def notebook(visit: Visit) -> WebPage:
    """The tree of sections, or what of it lies inside one."""
    wiring = visit.app.notebook
    inside, start = visit.value("in"), visit.number("start", most=1_000_000)
    values: dict[str, Any] = {"nodes": (), "clashes": (), "missing": "", "is_elsewhere": False}
    values |= {"begins": {}, "depth": 0, "has_more": False}
    try:
        found = wiring.service().reading()
        nodes = found.toc(inside, depth=DEPTH)
        depth = next((x for x in range(DEPTH, 1, -1) if len([*_walk(nodes, x)]) <= MOST), 1)
        shown = nodes[start : start + MOST]
        sections = [node.id for node in _walk(shown, depth) if node.type == "section"]
        begins = {x: visit.shown(_beginning(y)) for x, y in found.read_overviews(sections).items()}
        values |= {"nodes": shown, "depth": depth, "begins": begins}
        values["has_more"] = len(nodes) > start + MOST
        values["clashes"] = wiring.service().list_clashes()
    except NotFound as exc:
        if inside:
            raise
        values["missing"] = visit.explained(exc)
        values["is_elsewhere"] = bool(exc.place)
    values |= {"current": "notebook", "inside": inside, "start": start, "size": MOST}
    return WebPage(template="notebook.html", title=inside or "Notebook", values=values)


def _walk(nodes: Sequence[TocNode], depth: int) -> Iterator[TocNode]:
    """The nodes of a tree in its order, so many levels of them."""
    for node in nodes:
        yield node
        if depth > 1:
            yield from _walk(node.subsections, depth - 1)


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
            "problem": visit.explained(problem),
            "is_over": isinstance(problem, NotFound),
        },
        status=status_of(problem),
    )


def _steps(
    visit: Visit, found: NotebookActs, name: str, lines: Sequence[EntryLine]
) -> Iterator[dict[str, object]]:
    """Each entry with what it changed; the last of the lines is only compared with."""
    overviews = found.overviews_left_by(name, lines)
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
