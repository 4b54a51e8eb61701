"""The wiring of forgetting: what deletes, and every place that holds something of an owner's."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError
from commonplace.core.expiring import PENDING
from commonplace.core.former_texts import render_former
from commonplace.core.ports import CountsJournals, FindsTexts
from commonplace.core.values import NOTHING_KNOWN, Put, Since
from commonplace.journals.notebook.forget import NotebookHistory
from commonplace.verbs.forgetting.service import ForgettingService, puts
from commonplace.verbs.forgetting.shingles import shingles_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from commonplace.app.owner_context import OwnerContext
    from commonplace.app.wiring.chronicle import ChronicleWiring
    from commonplace.app.wiring.memory.wiring import MemoryWiring
    from commonplace.app.wiring.notebook import NotebookWiring
    from commonplace.app.wiring.private import PrivateWiring
    from commonplace.app.wiring.text_places import TextPlaces
    from commonplace.app.wiring.timeline import TimelineWiring
    from commonplace.app.wiring.transcripts import TranscriptWiring
    from commonplace.core.ports import Source
    from commonplace.core.time_book import TimeBook
    from commonplace.core.values import Doc, KnownSources
    from commonplace.journals.git.repo import GitRepository
    from commonplace.verbs.amend import AmendService
    from commonplace.verbs.forgetting.shingles import Shingle

_COPIES = 20
"""How many copies are named at most, the newest first."""


class ForgettingWiring(Struct, frozen=True, kw_only=True):
    """What forgetting needs of one owner's journals; nothing is opened before it is used."""

    context: OwnerContext
    amend: AmendService
    private: PrivateWiring
    chronicle: ChronicleWiring
    notebook: NotebookWiring
    timeline: TimelineWiring
    transcripts: TranscriptWiring
    memory: MemoryWiring
    places: TextPlaces
    book: TimeBook

    def service(self) -> ForgettingService:
        """What forgets this owner's entries."""
        return ForgettingService(
            amend=self.amend,
            texts=self,
            copies=self.places,
            notebook=self,
            clock=self.context.clock,
            book=self.book,
            raw=self.context.raw_files,
            skip=self.context.settings.home / "models",
            replaced=self.context.replaced,
            pending=self.context.folder.joinpath(*PENDING),
        )

    def sources(self) -> Sequence[Source]:
        """Everything that lies on this machine; see the port `OwnerTexts`."""
        whole = None if self._has_database else self.memory.whole_source()
        beside = [*self.private.other_sources(), self.private.gone_source(), *filter(None, [whole])]
        elsewhere = [each.name for each in self.elsewhere()]
        return [*(x for x in self.context.entries() if x.name not in elsewhere), *beside]

    def elsewhere(self) -> Sequence[Source]:
        """What lies in a database; see the port."""
        if not self._has_database:
            return []
        journals = (self.chronicle, self.private, self.notebook, self.timeline, self.transcripts)
        shared = [each.entries() for each in journals if each.is_shared]
        return [*filter(None, [self.memory.whole_source()]), *chain.from_iterable(shared)]

    @property
    def _has_database(self) -> bool:
        return self.context.settings.database.url is not None

    def docs_with(self, shingles: Sequence[Shingle]) -> Iterator[Doc]:
        """All docs that hold a shingle; see the port.

        Where a source's mark is exact and the one that was filed, what the index holds is all there
        is. Of every other source each entry is looked at, but for what is filed without a shingle;
        chronicle knows from one look to the next that nothing differs from what is filed.
        """
        known, held = self._find_held(shingles)
        holding = {doc.ref for doc in held}

        def without(prefix: str) -> dict[str, str]:
            stamps = known.stamps(prefix) if known is not None else {}
            return {ref: x for ref, x in stamps.items() if ref not in holding}

        since = Since(mark=None, stamps=without)
        for source in self.sources():
            if known is not None and self._is_filed(source, known):
                yield from self._docs_of(source, [x for x in held if x.journal == source.name])
            elif known is not None and self._is_chronicle(source):
                yield from _changed_and_held(source, known, held)
            else:
                yield from puts(source, since)

    def docs_elsewhere_with(self, shingles: Sequence[Shingle]) -> Iterator[Doc]:
        """All docs in a database that hold a shingle; see the port.

        Once what was written is filed its index holds all but drafts of memory, which are read.
        """
        if not self._has_database:
            return
        sources = self.elsewhere()  # what lies in files yet moves first
        stack = self.context.database_stack(self.memory.name)
        index: object = None if stack is None else stack.index
        if (
            stack is not None
            and isinstance(index, FindsTexts)
            and isinstance(index, CountsJournals)
        ):
            stack.filing.catch_up()
            held = index.docs_holding([each.phrase for each in shingles])
            said = {doc.ref for doc in held if doc.journal == self.transcripts.name}
            yield from (doc for doc in held if doc.ref not in said)
            yield from self.transcripts.read_exchanges(said) if said else ()
            sources = [self.memory.unindexed_source(index.count_by_journal())]
        yield from chain.from_iterable(puts(each, NOTHING_KNOWN) for each in sources)

    def _find_held(self, shingles: Sequence[Shingle]) -> tuple[KnownSources | None, list[Doc]]:
        """What the index knows, and its docs with a shingle; None where it cannot say."""
        index = self.context.index
        if not isinstance(index, FindsTexts):
            return None, []
        try:
            # What is filed after the marks were read makes a journal's mark another.
            known = index.known()
            docs = index.docs_holding([each.phrase for each in shingles])
        except CommonplaceError:
            return None, []
        return known, [doc for doc in docs if shingles_in(shingles, doc.text)]

    def _is_filed(self, source: Source, known: KnownSources) -> bool:
        """Whether the index surely holds all of a source, and nothing else."""
        if not source.exact_mark:
            return False
        if source.name == self.transcripts.name and self.transcripts.is_kept():
            self.transcripts.files.follow_files()  # then its mark is exact
        mark = source.mark()
        return mark != "" and known.marks.get(source.name) == mark

    def _is_chronicle(self, source: Source) -> bool:
        return source.name == self.chronicle.name and self.chronicle.is_there()

    def _docs_of(self, source: Source, held: Sequence[Doc]) -> Iterable[Doc]:
        """What stands behind docs of the index; of exchanges each message by itself."""
        if source.name != self.transcripts.name:
            return held
        return self.transcripts.read_exchanges({doc.ref for doc in held}) if held else ()

    def former_elsewhere(self) -> Iterator[str]:
        """The texts that edits replaced, of those in a database; see the port."""
        return (render_former(each).decode() for each in self.context.former.find_on_servers())

    def unfile_commits(self, refs: Sequence[str]) -> None:
        """Take refs of commits out of the index; see the port `OwnerNotebook`."""
        # Overviews that quoted the text are filed first, since only dropped docs are erased.
        self.context.filing.catch_up()
        self.context.filing.forget(refs)

    def folders(self) -> Mapping[str, Callable[[str], str]]:
        """For each journal whose scopes are folders, the folder that a scope stands for."""
        wirings = (self.private, self.chronicle, self.transcripts)
        found = {each.name: cache(each.pages().place_of) for each in wirings if each.is_there()}
        return {**found, self.private.name: cache(self._place_of_notes)}

    def _place_of_notes(self, scope: str) -> str:
        """The folder of a private scope, also of a project that only the copies know."""
        place = self.private.pages().place_of(scope)
        root = self.private.files.copies.root_of(scope) if place == scope else None
        return place if root is None else str(root.path.parent)

    @property
    def keeps_history(self) -> bool:
        """Whether git keeps the notebook; see the port."""
        return not self.notebook.is_shared

    def erase_versions(
        self, sections: Sequence[str], cut: Callable[[str], str], *, current: bool
    ) -> None:
        """Erase a text from what a database keeps of overviews; see the port."""
        self.notebook.shared.erase_versions(sections, cut, current=current)

    def history(self) -> NotebookHistory:
        """What rewrites the notebook's history; see the port."""
        return NotebookHistory(self.notebook.repository)

    def repository(self) -> GitRepository | None:
        """The notebook's; see the port."""
        in_git = self.notebook.journal.in_git if self.notebook.is_there() else None
        return in_git.repo if in_git is not None and in_git.exists else None

    def _copies(self) -> Iterator[str]:
        """The newest copies, a sentence each; none for an owner who may not see paths."""
        if not self.context.shows_paths:
            return
        newest = {made.path or str(made.at): made for made in self.places.owner.copies.each()}
        # What was made under one name took the place of what was there before.
        for made in sorted(newest.values(), key=lambda each: each.at, reverse=True)[:_COPIES]:
            where = made.path or "downloaded from the page"
            gone = ", moved or deleted since" if made.path and not made.is_there else ""
            yield f"The {made.kind} of {made.at.date().isoformat()} ({where}{gone})."

    def unreached(self) -> list[str]:
        """What cannot be reached from here; see the port."""
        return list(self._unreached())

    def _unreached(self) -> Iterator[str]:
        repo = self.repository()
        remotes = repo.git.run(["remote"]).out.decode("utf-8", "replace").split() if repo else []
        if remotes:
            yield f"Remotes of the notebook ({', '.join(remotes)}), and its other clones."
        copies = [*self._copies()]
        yield from copies
        others = "Copies of these" if copies else "Backups and exports that were made"
        yield f"{others}, and snapshots of the file system."
        yield "What AI clients keep of their sessions themselves."
        if self._has_database:
            yield "Files of the Postgres server that keeps the memories: its log, its backups."


def _changed_and_held(source: Source, known: KnownSources, held: Sequence[Doc]) -> Iterator[Doc]:
    """The docs of a source that differ from what is filed, then those of the index that do not."""
    changed = set()
    for change in source.scan(Since(mark=None, stamps=known.stamps)):
        if isinstance(change, Put):
            changed.add(change.doc.ref)
            yield change.doc
        else:
            changed.add(change.ref)
    yield from (x for x in held if x.journal == source.name and x.ref not in changed)
