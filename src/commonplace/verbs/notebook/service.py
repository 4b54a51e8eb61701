"""The notebook's service: the journal with its search, and what of it was read in a session.

Never renders, and keeps what was read in memory alone: another process has read nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from msgspec import Struct, field

from commonplace.core.errors import Invalid, NotFound
from commonplace.core.files import make_folder
from commonplace.journals.notebook.format import JOURNAL, ref_of
from commonplace.journals.notebook.names import parse_address
from commonplace.verbs.amend import look_up_former
from commonplace.verbs.session import current_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, tzinfo
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.core.former_texts import FormerTexts
    from commonplace.core.ports import Language
    from commonplace.journals.notebook.journal import Notebook, WrittenEntry
    from commonplace.search.filing.filing import Filing
    from commonplace.search.policy import TwoQuestionWeights
    from commonplace.search.two_questions import TwoQuestionFinder

_SECTIONS = 500
_TEXTS = 8
_CHARACTERS = 4_000_000


class Reads:
    """The overviews that were read over one connection. Thread-safe.

    The last eight texts of a section are kept, so that a merge can start from what both sides knew;
    of more than four million characters the versions alone, of those read longest ago.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[str, dict[str, str | None]] = OrderedDict()
        self._characters = 0

    def remember(self, section: str, version: str, text: str) -> None:
        """Note that this version of a section's overview was shown, or written, just now."""
        with self._lock:
            texts = self._texts.setdefault(section, {})
            self._characters += len(text) - len(texts.pop(version, None) or "")
            texts[version] = text
            self._texts.move_to_end(section)
            while len(texts) > _TEXTS:
                self._characters -= len(texts.pop(next(iter(texts))) or "")
            while len(self._texts) > _SECTIONS:
                gone = self._texts.popitem(last=False)[1]
                self._characters -= sum(len(each or "") for each in gone.values())
            self._thin_out()

    def last(self, section: str) -> str:
        """The version that was read last; empty where none was."""
        with self._lock:
            return next(reversed(self._texts.get(section, {})), "")

    def texts(self, section: str) -> dict[str, str]:
        """The texts that were read and are kept, by their versions, the last first."""
        with self._lock:
            kept = reversed(self._texts.get(section, {}).items())
            return {version: text for version, text in kept if text is not None}

    def _thin_out(self) -> None:
        """Forget texts, not versions, those that were read longest ago first."""
        for texts in self._texts.values():
            for version, text in texts.items():
                if self._characters <= _CHARACTERS:
                    return
                if text is not None:
                    texts[version] = None
                    self._characters -= len(text)


class NotebookService(Struct, frozen=True, kw_only=True):
    """One owner's notebook with its filing, its search and its settings.

    Attributes:
        notebook: The journal, there or not.
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

    notebook: Notebook
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

    @property
    def reads(self) -> Reads:
        """What was read in the session whose call this is."""
        session = current_session()
        return self.process_reads if session is None else session.kept(Reads)

    def reading(self) -> Notebook:
        """The notebook to be read. Raises: NotFound where there is none."""
        if self.is_own and not self.notebook.exists:
            raise NotFound(
                "There is no notebook yet.", hint="Write its first entry: that makes it."
            )
        return self.notebook

    def writing(self) -> Notebook:
        """The notebook to be written in, made where it is our own and not there yet."""
        if self.is_own and not self.notebook.exists:
            self.init()
        return self.notebook

    def write(
        self,
        section: str,
        entry: str,
        *,
        overview: str | None = None,
        summary: str | None = None,
        work_context: str | None = None,
        base_version: str | None = None,
        idempotency_key: str | None = None,
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> WrittenEntry:
        """Add an entry, in the place of another where one is named; see `Notebook.write`.

        Args:
            section: Where.
            entry: What was done or learned.
            overview: As for `Notebook.write`, like all that follows but `supersedes`.
            summary: The entry in a line.
            work_context: What kind of work it was.
            base_version: The version of the overview that was read.
            idempotency_key: The same key twice is one entry.
            supersedes: The ref of the entry whose place it takes; blank for none. Done twice it is
                one entry, whatever the key.
            expires: When the entry expires.

        Raises:
            As `Notebook.write`, and as `Notebook.supersede`.
        """
        notebook = self.writing()

        def noted(written: WrittenEntry) -> WrittenEntry:
            if expires is not None:
                self.note_ends()
            return written

        if not supersedes.strip():
            written = notebook.write(
                section,
                entry,
                overview=overview,
                summary=summary,
                work_context=work_context,
                base_version=base_version,
                idempotency_key=idempotency_key,
                expires=expires,
            )
            return noted(written)

        def write(ref: str) -> WrittenEntry:
            address = parse_address(ref)
            if not address.entry:
                overview_ref = ref_of(notebook.read_section(address.section).name)
                raise Invalid(
                    f"Invalid supersedes: {overview_ref} is an overview, whose history keeps what"
                    " it was.",
                    hint="Give the new overview as such.",
                )
            return notebook.supersede(
                address,
                entry,
                section=section,
                overview=overview,
                summary=summary,
                work_context=work_context,
                base_version=base_version,
                expires=expires,
            )

        return noted(look_up_former(supersedes, JOURNAL, write))

    def file(self, written: WrittenEntry) -> tuple[str, ...]:
        """File what was written; the notes of the filing."""
        from commonplace.journals.notebook.source import changes_of

        if written.repeated:
            return ()
        return tuple(self.filing().file(changes_of(self.notebook, written)).notes)

    def init(self) -> Path:
        """Make the repository, or take the one that is there; the folder it lies in.

        Raises: Unavailable, Denied, Invalid.
        """
        if self.is_own:
            # The notebook's own folder follows the umask; what is only ours around it does not.
            make_folder(self.notebook.folder.parent)
        return self.notebook.init()
