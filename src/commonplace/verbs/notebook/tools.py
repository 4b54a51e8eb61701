"""The notebook in words for a model: read what is understood, write what was learned, find it.

Decides nothing about git or ranking: it reads arguments, asks the journal and the search, renders.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime  # noqa: TC003  a tool's hints are read at run time
from typing import TYPE_CHECKING, Annotated, Self

from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.core.ports import Language
from commonplace.core.values import Answer
from commonplace.core.when.phrases import parse_when
from commonplace.verbs.answers import (
    answer_of,
    as_of_facts,
    as_of_lines,
    interval_facts,
    time_lines,
)
from commonplace.verbs.notebook.lines import (
    entry_answer,
    hit_facts,
    hit_lines,
    line_facts,
    line_line,
    node_facts,
    node_lines,
    section_answer,
    synthesis_answer,
    written_answer,
)
from commonplace.verbs.replaced_since import written_over_notes
from commonplace.verbs.times import naming, read_as_of
from commonplace.verbs.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.core.values import Interval
    from commonplace.journals.notebook.journal import OverviewConflict
    from commonplace.verbs.notebook.service import NotebookService

NOTHING = "No entries found."

_GUIDE = """\
You share a notebook with everybody who works here: each section has an overview of what is \
understood now, and entries on how it came about. Read a section with journal_read before you work \
on its subject."""

_WRITING_GUIDE = """\
Write an entry of the notebook with journal_write when something was done or learned, and give a \
new overview when the understanding itself has changed."""

_VERSION = re.compile(r"[0-9a-f]{12}")


class NotebookTools:
    """The notebook's verbs with text answers; `toolset` is what doors offer."""

    def __init__(self, service: NotebookService) -> None:
        self._service = service

    @classmethod
    def toolset(cls, opens: Callable[[], Self]) -> Toolset:
        """The tools, methods of what `opens` gives at each call; listing them opens nothing."""
        return Toolset(
            name="notebook",
            guide=_GUIDE,
            writing_guide=_WRITING_GUIDE,
            tools=(
                Tool(run=cls.journal_read, title="Read a section or an entry", quotes=True),
                Tool(
                    run=cls.journal_write,
                    title="Write in the notebook",
                    effects=Effects(writes=True, repeatable=False),
                    may_expire=True,
                ),
                Tool(run=cls.journal_list_entries, title="List a section's entries", quotes=True),
                Tool(run=cls.journal_toc, title="List the notebook's sections", quotes=True),
                Tool(run=cls.journal_search, title="Search the notebook", quotes=True),
                Tool(run=cls.journal_synthesize_conflict, title="Merge two overviews"),
            ),
        ).of(opens)

    def journal_read(
        self,
        *,
        id: Annotated[str, Arg("'path', 'path#<entry id>' or 'path#<hash>'.")],  # noqa: A002  the design fixes this name
    ) -> Answer:
        """Notebook: read a section's overview, or an entry of it whole.

        Use it before you work on a subject, and before you write its overview. An overview comes
        with its version and its last entry.
        """
        service = self._service
        notebook = service.reading()
        if "#" in id:
            return entry_answer(notebook.read_entry(id), service.zone)
        section = notebook.read_section(id.strip().removeprefix("notebook:"))
        service.reads.remember(section.name, section.version, section.overview)
        from commonplace.journals.notebook.conflicts import Clashes

        notes = []
        if any(clash.section == section.name for clash in Clashes(notebook).list_open()):
            notes.append(
                "Another overview written here could not be merged with this one: `commonplace"
                f" notebook conflicts` shows both, `commonplace notebook resolve {section.name}`"
                " settles it."
            )
        replaced = notebook.list_replaced_since(section.name)
        return section_answer(section, service.zone, replaced=replaced, notes=notes)

    def journal_write(
        self,
        *,
        path: Annotated[str, Arg("The section: 'project-alpha/api-design'.")],
        entry: Annotated[str, Arg("What was done, learned or decided, and why.")],
        overview: Annotated[
            str, Arg("What is understood now, whole, if the entry has changed it.")
        ] = "",
        summary: Annotated[str, Arg("The entry in a line; else its first line.")] = "",
        work_context: Annotated[str, Arg("What kind of work it was.")] = "",
        base_version: Annotated[
            str, Arg("The overview's version that you read; else the one read here last.")
        ] = "",
        idempotency_key: Annotated[str, Arg("Same key, same entry.")] = "",
        supersedes: Annotated[str, Arg("Ref of what it replaces.")] = "",
        ends: datetime | None = None,
    ) -> Answer:
        """Notebook: add an entry to a section, and put a new overview in place if you give one.

        Use it whenever something was learned or decided. An entry alone is always accepted; an
        overview only if you have read the one that is there. Returns the entry's id.
        """
        service = self._service
        section = _section_of(path)
        # Some hosts fill in what is left out with empty texts: none of them empties an overview.
        given = overview if overview.strip() else None
        base = base_version.strip().lower() or service.reads.last(section)
        replaced = () if given is None else service.notebook.list_replaced_since(section)
        try:
            written = service.write(
                section,
                entry,
                overview=given,
                summary=summary or None,
                work_context=work_context or None,
                base_version=base or None,
                idempotency_key=idempotency_key or None,
                supersedes=supersedes,
                expires=ends,
            )
        except Conflict as exc:
            raise _with_both_texts(exc) from exc
        if given is not None and not written.repeated:
            service.reads.remember(written.entry.section, written.version, written.overview)
        notes = service.file(written)
        if not written.repeated:
            notes = (*notes, *written_over_notes(replaced, service.zone))
        return written_answer(written, with_overview=given is not None, notes=notes)

    def journal_list_entries(
        self,
        *,
        path: Annotated[str, Arg("The section.")],
        start: Annotated[int, Arg("How many of the newest to pass over.", 0, 10_000_000)] = 0,
        length: Annotated[int, Arg("How many at most.", 1, 1000)] = 10,
    ) -> Answer:
        """Notebook: list the entries of a section, newest first.

        Use it to see how an understanding came about. Read one whole with journal_read.
        """
        service = self._service
        lines = service.reading().list_entries(_section_of(path), start=start, length=length)
        return answer_of(
            [line_line(x, service.zone) for x in lines] or [NOTHING],
            lambda: {
                "path": _section_of(path),
                "start": start,
                "count": len(lines),
                "entries": [line_facts(line) for line in lines],
            },
        )

    def journal_toc(
        self,
        *,
        id: Annotated[str, Arg("The section to begin at; else the whole.")] = "",  # noqa: A002  the design fixes this name
        depth: Annotated[int, Arg("How many levels.", 1, 64)] = 1,
    ) -> Answer:
        """Notebook: list the sections below one, with how many entries each has.

        Use it to find where something belongs. A group is a folder without an overview of its own.
        """
        service = self._service
        notebook, top = service.reading(), id.strip().removeprefix("notebook:")
        nodes = notebook.toc(top, depth=depth)
        own = notebook.node(top) if top else None
        lines = [*node_lines(nodes, service.zone)]
        if own and not lines:
            lines = [*node_lines([own], service.zone), "There are no sections below it."]
        return answer_of(
            lines or ["No sections found."],
            lambda: {
                "id": id,
                "section": node_facts(own) if own else None,
                "count": len(nodes),
                "subsections": [node_facts(node) for node in nodes],
            },
        )

    def journal_search(
        self,
        *,
        work_context: Annotated[str, Arg("The kind of work you are doing.")] = "",
        content: Annotated[str, Arg("What you look for.")] = "",
        salience_threshold: Annotated[
            float, Arg("Below it an old entry must match better.", 0, 1)
        ] = 0.5,
        min_score: Annotated[
            float | None, Arg("Least score of a hit that shares no word.", -1, 1)
        ] = None,
        when: Annotated[str, Arg("Only this time: 'last week', '2026-11'.")] = "",
        as_of: Annotated[str, Arg("As known then: '3 May'.")] = "",
        limit: Annotated[int, Arg("How many at most.", 1, 100)] = 20,
        explain: Annotated[bool, Arg("Explain each score.")] = False,
    ) -> Answer:
        """Notebook: find entries and overviews by the work they came from and by what they say.

        Use it when a problem feels familiar; give both questions, or one. Returns the best first,
        with raw cosines; a fresh entry stands a little higher.
        """
        from commonplace.verbs.notebook.finding import find

        service = self._service
        service.reading()
        interval: Interval | None = None
        if when.strip():
            with naming("when"):
                interval = parse_when(when, now=service.clock(), zone=service.zone)
        before = read_as_of(service, as_of)
        hits, notes = find(
            service,
            work_context=work_context,
            content=content,
            within=interval,
            limit=min(limit, service.most),
            min_score=min_score,
            salience_threshold=salience_threshold,
            before=before,
        )
        results = [hit_facts(each.hit, each.line, each.section, explain=explain) for each in hits]
        asked = f"{content} {work_context}".strip()
        lines = [*as_of_lines(before, service.zone), *time_lines(interval, service.zone)]
        lines += [
            hit_lines(number, each.hit, facts, asked, service.zone)
            for number, (each, facts) in enumerate(zip(hits, results, strict=True), 1)
        ]
        facts = {
            "count": len(hits),
            "interval": interval_facts(interval),
            "results": results,
            **as_of_facts(before),
        }
        return answer_of(lines if hits else [*lines, NOTHING], facts, notes)

    def journal_synthesize_conflict(
        self,
        *,
        section: Annotated[str, Arg("The section whose overviews they are.")],
        version_a: Annotated[str, Arg("One overview: its text, or a version that you read.")],
        version_b: Annotated[str, Arg("The other one, likewise.")],
        work_context: Annotated[str, Arg("What kind of work led to the conflict.")] = "",
        sampler: Language | None = None,
    ) -> Answer:
        """Notebook: merge two overviews of a section into one text that keeps every line of both.

        Use it after a conflict. Your own model is asked if it may be, then a configured one, else
        they are merged by block. Read what is marked; journal_write writes it.
        """
        from commonplace.verbs.notebook.synthesis import (
            OverviewPair,
            synthesize,
        )

        name = _section_of(section)
        service = self._service
        read = service.reads.texts(name)
        known = dict(read)
        with suppress(NotFound):
            now = service.reading().read_section(name)
            known[now.version] = now.overview
        text_a, text_b = _text_of(version_a, known), _text_of(version_b, known)
        both = {_plain(text_a), _plain(text_b)}
        base = next(((v, x) for v, x in read.items() if _plain(x) not in both), None)
        sides = OverviewPair(
            section=name,
            version_a=text_a,
            version_b=text_b,
            base=base[1] if base else None,
            work_context=work_context,
        )
        made = synthesize(
            sides,
            [("client", lambda: sampler), ("llm", service.language)],
            screen=service.notebook.screen,
        )
        return synthesis_answer(made, sides, base[0] if base else None)


def _section_of(path: str) -> str:
    """The section as it is named in the notebook. Raises: Invalid."""
    from commonplace.journals.notebook.names import parse_section

    return parse_section(path.strip().removeprefix("notebook:"))


def _with_both_texts(exc: Conflict) -> Conflict:
    """A conflict of overviews with both texts: the writer needs both, and loses none.

    An error of ours holds no text of a journal elsewhere; here it goes to its writer alone.
    """
    from commonplace.journals.notebook.journal import OverviewConflict

    if not isinstance(exc, OverviewConflict):
        return exc
    if not exc.base_version:
        return Conflict(
            f"The overview of {exc.section} was not read here; nothing was written.",
            hint=(
                f"Read {exc.section} with journal_read, then write again; or give the version that"
                " you read as base_version. In a terminal `commonplace notebook read"
                f" {exc.section}` shows it, and --base-version takes it. An entry without an"
                " overview needs no reading."
            ),
        )
    return Conflict(
        _both(exc),
        hint=(
            "merge both texts (journal_synthesize_conflict helps), then write again with"
            f" base_version {exc.version} (in a terminal: --base-version {exc.version}). The entry"
            " alone, without an overview, can be written at once."
        ),
    )


def _both(exc: OverviewConflict) -> str:
    """Both texts, each after its version."""
    from commonplace.core.fence import fenced
    from commonplace.journals.notebook.format import version_of

    since = f"since you read it (version {exc.base_version})"
    return "\n\n".join(
        [
            f"The overview of {exc.section} has changed {since}; nothing was written.",
            fenced(exc.current, f"version {exc.version}, which is there now"),
            fenced(exc.yours, f"version {version_of(exc.yours)}, which you wanted to write"),
            "Next:",
        ]
    )


def _text_of(version: str, known: dict[str, str]) -> str:
    """A version's text: given as it is, or one that is known by its 12 hex digits."""
    mark = version.strip().lower()
    if not _VERSION.fullmatch(mark):
        return version
    if mark not in known:
        raise Invalid(
            f"Version {mark} is not known here.", hint="Give the text of the overview instead."
        )
    return known[mark]


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip("\n")
