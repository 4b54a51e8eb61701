"""The notebook's verbs: read what is understood, write what was learned, find it; and keep it.

Each takes values and gives an `Answer`. What was read is kept in memory alone: another process has
read nothing. Decides nothing about git or ranking.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime  # noqa: TC003  a tool's hints are read at run time
from typing import TYPE_CHECKING, Annotated, Any, Self

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.errors import Invalid, NotFound
from commonplace.core.fence import visible
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.ports import Language
from commonplace.core.text import counted, counted_entries
from commonplace.core.values import Answer, Filter, Interval
from commonplace.core.when.phrases import parse_when
from commonplace.journals.notebook.format import JOURNAL, ref_of
from commonplace.journals.notebook.names import parse_address, parse_section
from commonplace.verbs.amend import look_up_former
from commonplace.verbs.answers import (
    answer_of,
    as_of_facts,
    as_of_lines,
    interval_facts,
    time_lines,
    written_over_notes,
)
from commonplace.verbs.notebook.lines import (
    branches_answer,
    clashes_answer,
    entry_answer,
    hit_lines,
    line_facts,
    line_line,
    merged_answer,
    node_facts,
    node_lines,
    results_of,
    section_answer,
    synced_answer,
    synthesis_answer,
    with_both_texts,
    written_answer,
)
from commonplace.verbs.notebook.reads import Reads
from commonplace.verbs.session import current_session
from commonplace.verbs.times import naming, read_as_of
from commonplace.verbs.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.former_texts import FormerTexts
    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.notebook.acts import NotebookActs
    from commonplace.journals.notebook.conflicts import Clashes, OverviewClash
    from commonplace.journals.notebook.journal import NotebookJournal
    from commonplace.journals.notebook.names import SectionAddress
    from commonplace.journals.notebook.sections import Section, WrittenEntry
    from commonplace.journals.notebook.shared import SharedNotebook
    from commonplace.search.filing.filing import Filing
    from commonplace.search.policy import TwoQuestionWeights
    from commonplace.search.two_questions import TwoQuestionFinder
    from commonplace.verbs.notebook.finding import NotebookHit
    from commonplace.verbs.notebook.older_json import Progress

_GUIDE = """\
You share a notebook with everybody who works here: each section has an overview of what is \
understood now, and entries on how it came about. Read a section with journal_read before you work \
on its subject."""

_WRITING_GUIDE = """\
Write an entry of the notebook with journal_write when something was done or learned, and give a \
new overview when the understanding itself has changed."""

_NOTHING = "No entries found."
_VERSION = re.compile(r"[0-9a-f]{12}")
_CUT = "There are more hits than these {most}: the setting `notebook.max_results` allows no more."
_FILING_S = 30.0
_MOST_NAMED = 20


class NotebookService(Struct, frozen=True, kw_only=True):
    """One owner's notebook with its filing, its search and its settings.

    Attributes:
        notebook: The journal, there or not; in a git repository, or in a database.
        filing: Opened when called, after a first write has made the notebook, so that the index
            follows it.
        finder: Likewise.
        clock: The present, aware.
        zone: The owner's.
        weights: How its search weighs both questions and the age of an entry.
        min_score: Least combined score of a hit that shares no word.
        most: The most entries that a search shows.
        former: Keeps the overviews that edits replace.
        is_own: The notebook lies in our own folder, so that a first write may make it.
        language: The configured model for one call, None where there is none.
        process_reads: What was read where the process serves one client.
        note_ends: Notes when entries expire, for what sweeps them.
    """

    notebook: NotebookJournal | SharedNotebook
    filing: Callable[[], Filing]
    finder: Callable[[], TwoQuestionFinder]
    clock: Clock
    zone: tzinfo
    weights: TwoQuestionWeights
    min_score: float
    most: int
    former: FormerTexts
    is_own: bool = False
    language: Callable[[], Language | None] = lambda: None
    process_reads: Reads = field(default_factory=Reads)
    note_ends: Callable[[], object] = lambda: None

    @classmethod
    def toolset(cls, opens: Callable[[], Self]) -> Toolset:
        """The tools, methods of what `opens` gives at each call; listing them opens nothing."""
        writing = Effects(writes=True, repeatable=False)
        return Toolset(
            name=JOURNAL,
            guide=_GUIDE,
            writing_guide=_WRITING_GUIDE,
            tools=(
                Tool(run=cls.journal_read, title="Read a section or an entry", quotes=True),
                Tool(
                    run=cls.journal_write,
                    title="Write in the notebook",
                    effects=writing,
                    may_expire=True,
                ),
                Tool(run=cls.journal_list_entries, title="List a section's entries", quotes=True),
                Tool(run=cls.journal_toc, title="List the notebook's sections", quotes=True),
                Tool(run=cls.journal_search, title="Search the notebook", quotes=True),
                Tool(run=cls.journal_synthesize_conflict, title="Merge two overviews"),
            ),
        ).of(opens)

    @property
    def reads(self) -> Reads:
        """What was read in the session whose call this is."""
        session = current_session()
        return self.process_reads if session is None else session.kept(Reads)

    @property
    def is_shared(self) -> bool:
        """Whether a database keeps the notebook."""
        return self.notebook.in_git is None

    def in_git(self, what: str) -> NotebookJournal:
        """The notebook in its repository, for what only git can do; what: `branches`, `sync`.

        Raises: NotFound where there is none, Invalid where a database keeps it.
        """
        return self.reading().require_git(what)

    def reading(self) -> NotebookJournal | SharedNotebook:
        """The notebook to be read. Raises: NotFound where there is none."""
        if self.is_own and not self.notebook.exists:
            raise NotFound(
                "There is no notebook yet.", hint="Write its first entry: that makes it."
            )
        return self.notebook

    def file(self, written: WrittenEntry) -> tuple[str, ...]:
        """File what was written; the notes of the filing."""
        from commonplace.journals.notebook.source import changes_of

        if written.repeated:
            return ()
        in_git = self.notebook.in_git
        changes = [] if in_git is None else changes_of(in_git, written)
        return tuple(self.filing().file(changes).notes)

    def clashes(self) -> Clashes:
        """The overviews that a sync could not merge. Raises: Invalid where there is no sync."""
        from commonplace.journals.notebook.conflicts import Clashes

        return Clashes(self.in_git("sync that left something to settle"))

    def list_clashes(self) -> Sequence[OverviewClash]:
        """Those that wait; none where there is no sync."""
        return () if self.is_shared else self.clashes().list_open()

    def journal_read(
        self,
        *,
        id: Annotated[str, Arg("'path', 'path#<entry id>' or 'path#<hash>'.")],  # noqa: A002  the design fixes this name
    ) -> Answer:
        """Notebook: read a section's overview, or an entry of it whole.

        Use it before you work on a subject, and before you write its overview. An overview comes
        with its version and its last entry.
        """
        notebook = self.reading()
        if "#" in id:
            entry = notebook.read_entry(id)
            backlinks = notebook.list_backlinks(entry.section, entry)
            return entry_answer(entry, self.zone, backlinks=backlinks)
        section = self.read_section(id)
        notes = []
        if any(clash.section == section.name for clash in self.list_clashes()):
            notes.append(
                "Another overview written here could not be merged with this one: `commonplace"
                f" notebook conflicts` shows both, `commonplace notebook resolve {section.name}`"
                " settles it."
            )
        return section_answer(
            section,
            self.zone,
            backlinks=notebook.list_backlinks(section.name),
            replaced=notebook.list_replaced_since(section.name),
            notes=notes,
        )

    def read_section(self, path: str) -> Section:
        """A section as it is; its overview counts as read here. Raises: Invalid, NotFound."""
        section = self.reading().read_section(path.strip().removeprefix("notebook:"))
        self._remember(section.name, section.version, section.overview)
        return section

    def _remember(self, section: str, version: str, overview: str) -> None:
        """Count an overview as read in this session."""
        self.reads.remember(section, version, overview)
        if (session := current_session()) is not None:
            session.note_read(section, version)

    def _last_read(self, section: str) -> str:
        """The version that was read last in this session; empty where none was."""
        session = current_session()
        elsewhere = "" if session is None else session.last_read(section)
        return elsewhere or self.reads.last(section)

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
        written, notes = self.write(
            path,
            entry,
            overview=overview,
            summary=summary,
            work_context=work_context,
            base_version=base_version,
            key=idempotency_key or None,
            supersedes=supersedes,
            ends=ends,
        )
        return written_answer(written, with_overview=bool(overview.strip()), notes=notes)

    def write(
        self,
        path: str,
        entry: str,
        *,
        overview: str = "",
        summary: str = "",
        work_context: str = "",
        base_version: str = "",
        at: datetime | None = None,
        key: str | None = None,
        supersedes: str = "",
        ends: datetime | None = None,
    ) -> tuple[WrittenEntry, tuple[str, ...]]:
        """Add an entry to a section, and put an overview in place; what was written, and notes.

        As `journal_write`; at: None for now, and for what supersedes. Raises: as that.
        """
        section, notebook = _section_of(path), self.notebook
        # Some hosts fill in what is left out with empty texts: none of them empties an overview.
        given = overview if overview.strip() else None
        replaced = () if given is None else notebook.list_replaced_since(section)
        texts: dict[str, Any] = {
            "overview": given,
            "summary": summary or None,
            "work_context": work_context or None,
            "base_version": base_version.strip() or (given and self._last_read(section)) or None,
            "expires": ends,
        }
        if not supersedes.strip():
            texts |= {"idempotency_key": key, "at": at}
        written = _written(self, section, entry, supersedes.strip(), texts)
        if ends is not None:
            self.note_ends()
        notes = self.file(written)
        if not written.repeated:
            if given is not None:
                self._remember(written.entry.section, written.version, written.overview)
            notes += written_over_notes(replaced, self.zone)
        return written, notes

    def journal_list_entries(
        self,
        *,
        path: Annotated[str, Arg("The section.")],
        start: Annotated[int, Arg("How many of the newest to pass over.", 0, 10_000_000)] = 0,
        length: Annotated[int, Arg("How many at most.", 1, 1000)] = 10,
        branch: Annotated[str, Arg("Only of this git branch; else of every local one.")] = "",
    ) -> Answer:
        """Notebook: list the entries of a section, newest first.

        Use it to see how an understanding came about. Read one whole with journal_read.
        """
        section = _section_of(path)
        lines = self.reading().list_all_entries(section, branch=branch, start=start, length=length)
        return answer_of(
            [line_line(x, self.zone) for x in lines] or [_NOTHING],
            lambda: {
                "path": section,
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
        notebook, top = self.reading(), id.strip().removeprefix("notebook:")
        own = notebook.node(top, depth=depth) if top else None
        nodes = own.subsections if own else notebook.toc(depth=depth)
        lines = [*node_lines(nodes, self.zone)]
        if own and not lines:
            lines = [*node_lines([own], self.zone), "There are no sections below it."]
        return answer_of(
            lines or ["No sections found."],
            lambda: {
                "id": id,
                "section": {**node_facts(own), "subsections": []} if own else None,
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
        branch: Annotated[str, Arg("Only of this git branch; else of every local one.")] = "",
        explain: Annotated[bool, Arg("Explain each score.")] = False,
    ) -> Answer:
        """Notebook: find entries and overviews by the work they came from and by what they say.

        Use it when a problem feels familiar; give both questions, or one. Returns the best first,
        with raw cosines; a fresh entry stands a little higher.
        """
        interval = None
        if when.strip():
            with naming("when"):
                interval = parse_when(when, now=self.clock(), zone=self.zone)
        before = read_as_of(self, as_of)
        hits, notes = self.find(
            content,
            work_context=work_context,
            within=Filter(interval=interval or Interval(), written_before=before),
            limit=limit,
            min_score=min_score,
            salience_threshold=salience_threshold,
            branch=branch,
        )
        asked = f"{content} {work_context}".strip()
        lines = [*as_of_lines(before, self.zone), *time_lines(interval, self.zone)]
        for number, hit in enumerate(hits, 1):
            lines += hit_lines(number, hit, asked=asked, zone=self.zone, explain=explain)
        return answer_of(
            lines if hits else [*lines, _NOTHING],
            lambda: {
                "count": len(hits),
                "interval": interval_facts(interval),
                "results": results_of(hits, asked, explain=explain),
                **as_of_facts(before),
            },
            notes,
        )

    def find(
        self,
        content: str,
        *,
        work_context: str = "",
        within: Filter,
        limit: int,
        min_score: float | None = None,
        salience_threshold: float = 0.5,
        branch: str = "",
    ) -> tuple[list[NotebookHit], tuple[str, ...]]:
        """The best entries and overviews for both questions, or for one, and the search's notes.

        As `journal_search`; within: of which kinds, of which time. Raises: Invalid, NotFound,
        Unavailable.
        """
        from commonplace.search.query_features import refuse_long
        from commonplace.search.two_questions import TwoQuestions
        from commonplace.verbs.notebook.finding import find

        for name, text in {"work_context": work_context, "content": content}.items():
            with naming(name):
                refuse_long(text)
        questions = TwoQuestions(
            work_context=work_context,
            content=content,
            where=replace(within, journals=(JOURNAL,)),
            limit=min(limit, self.most + 1),  # one more says whether the setting cuts
            min_score=self.min_score if min_score is None else min_score,
            salience_threshold=salience_threshold,
            weights=self.weights,
            now=self.clock(),
        )
        hits, notes = find(self.reading(), self.finder(), questions, branch=branch)
        if len(hits) > self.most:
            hits, notes = hits[: self.most], (*notes, _CUT.format(most=self.most))
        return hits, notes

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
        from commonplace.verbs.notebook.synthesis import OverviewPair, synthesize

        name = _section_of(section)
        read = self.reads.texts(name)
        known = dict(read)
        with suppress(NotFound):
            now = self.reading().read_section(name)
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
            [("client", lambda: sampler), ("llm", self.language)],
            screen=self.notebook.screen,
        )
        return synthesis_answer(made, sides, base[0] if base else None)

    # For people alone: no model is offered what follows.

    def init(self) -> Answer:
        """Make the notebook, or take the repository that is there."""
        notebook = self.notebook.in_git
        if notebook is None:
            lines = ["The notebook lies in the server's database: its first entry begins it."]
            return answer_of(lines, {"folder": "", "adopted": False, "sections": 0})
        adopted = notebook.exists
        folder = notebook.init()
        count = len(self.notebook.list_sections())
        lines = [f"{'Took the repository in' if adopted else 'Made a notebook in'} {folder}."]
        if adopted:
            lines.append(f"It has {counted(count, 'section', 'sections')}.")
        return answer_of(lines, {"folder": str(folder), "adopted": adopted, "sections": count})

    def move(self, *, old: str, new: str, below: bool = False) -> Answer:
        """Give a section another name, its entries with it; a folder alone goes with all below it.

        below: the sections below it go along.
        """
        moves = self.reading().move(old, new, below=below)
        lines = [f"Moved {before} to {after}." for before, after in moves.pairs[:_MOST_NAMED]]
        if len(moves.pairs) > _MOST_NAMED:
            lines.append(f"And {len(moves.pairs) - _MOST_NAMED} more below them.")
        moved = [{"old": before, "new": after} for before, after in moves.pairs]
        filing = self.filing()
        left = filing.refresh(_FILING_S) if self.is_shared else filing.sweep()
        notes = (*moves.notes, *left)
        return answer_of(lines, {"old": old, "new": new, "moved": moved}, notes)

    def sync(self, *, remote: str, accept_loss: bool = False) -> Answer:
        """Bring the notebook and a remote to hold the same; a sync that fails changes nothing."""
        from commonplace.journals.notebook.sync import Sync

        report = Sync(self.in_git("sync"), remote=remote, accept_loss=accept_loss).run()
        waiting = [clash.section for clash in self.list_clashes()]
        notes = (*report.notes, *self.filing().refresh(_FILING_S))
        return synced_answer(report, waiting, notes)

    def list_branches(self) -> Answer:
        """Every local branch, the notebook's own marked."""
        from commonplace.journals.notebook.branching import Branching

        return branches_answer(Branching(self.in_git("branches")).list_all(), self.zone)

    def create_branch(self, *, name: str, start: str = "") -> Answer:
        """Make a branch, and stay on the one that the notebook is on."""
        from commonplace.journals.notebook.branching import Branching

        commit = Branching(self.in_git("branches")).create(name, start=start)
        line = f"Made the branch {visible(name)} at {commit[:12]}."
        notes = self.filing().refresh(_FILING_S)
        return answer_of([line], {"branch": name, "commit": commit}, notes)

    def switch_branch(self, *, name: str, create: bool = False) -> Answer:
        """Let the notebook go to another branch. create: make that first."""
        from commonplace.journals.notebook.branching import Branching

        branching = Branching(self.in_git("branches"))
        if create:
            branching.create(name)
        notes = (*branching.switch(name), *self.filing().refresh(_FILING_S))
        return answer_of([f"The notebook is on {visible(name)} now."], {"branch": name}, notes)

    def merge_branch(self, *, name: str) -> Answer:
        """Bring what another branch holds into the one that the notebook is on."""
        from commonplace.journals.notebook.branching import Branching

        merged = Branching(self.in_git("branches")).merge(name)
        waiting = [clash.section for clash in self.list_clashes()]
        notes = (*merged.notes, *self.filing().refresh(_FILING_S))
        return merged_answer(merged, waiting, notes)

    def conflicts(self) -> Answer:
        """The overviews that a sync could not merge, each with both texts."""
        return clashes_answer(self.list_clashes(), self.zone)

    def resolve(self, clash: OverviewClash, text: str | None) -> Answer:
        """Put a text in the place of an overview, None to leave it as it is; that one is settled.

        Raises: Conflict where the overview has changed since.
        """
        clashes = self.clashes()
        notes = (*clashes.settle(clash, text), *self.filing().refresh(_FILING_S))
        version = self.reading().read_section(clash.section).version
        left = [each.section for each in clashes.list_open()]
        lines = [f"Settled {clash.section}: its overview is at version {version}."]
        if clash.section in left:
            lines.append(f"Another overview of {clash.section} waits: settle it likewise.")
        return answer_of(lines, {"section": clash.section, "version": version, "left": left}, notes)

    def import_json(
        self,
        *,
        text: str,
        name: str,
        noting: NotesImport = NOT_NOTED,
        on_progress: Progress = None,
    ) -> Answer:
        """Add the entries and overviews of the older JSON file, each once however often it is read.

        An overview takes the place of an empty one alone. name: of the file, for errors; noting:
        takes the entries that are added.
        """
        from commonplace.verbs.notebook.older_json import import_entries, parse_older_json

        found, left_out = parse_older_json(text, name)
        if self.is_own and not self.notebook.exists:
            self.init()
        added, repeated = import_entries(self.notebook, found, left_out, noting, on_progress)
        lines = [f"Imported {counted_entries(added)}."]
        if repeated:
            lines.append(f"{counted_entries(repeated)} of it had been imported before.")
        notes = left_out[:_MOST_NAMED]
        if len(left_out) > _MOST_NAMED:
            notes.append(f"{len(left_out) - _MOST_NAMED} more like these.")
        facts = {"added": added, "repeated": repeated, "left_out": len(left_out)}
        return answer_of(lines, facts, notes)


def _section_of(path: str) -> str:
    """The section as it is named in the notebook. Raises: Invalid."""
    return parse_section(path.strip().removeprefix("notebook:"))


def _written(
    service: NotebookService,
    section: str,
    entry: str,
    supersedes: str,
    how: Mapping[str, Any],
) -> WrittenEntry:
    """Write an entry, in the place of another where one is named."""
    from commonplace.journals.notebook.sections import OverviewConflict

    def supersede(ref: str) -> WrittenEntry:
        notebook = service.reading()
        return notebook.supersede(_entry_of(notebook, ref), entry, section=section, **how)

    try:
        if supersedes:
            return look_up_former(supersedes, JOURNAL, supersede)
        return service.notebook.write(section, entry, **how)
    except OverviewConflict as exc:
        raise with_both_texts(exc) from exc


def _entry_of(notebook: NotebookActs, ref: str) -> SectionAddress:
    """The entry that a ref names, to be superseded. Raises: Invalid for an overview."""
    address = parse_address(ref)
    if not address.entry:
        overview = ref_of(notebook.read_section(address.section).name)
        raise Invalid(
            f"Invalid supersedes: {overview} is an overview, whose history keeps what it was.",
            hint="Give the new overview as such.",
        )
    return address


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
