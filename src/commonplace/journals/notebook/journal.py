"""Owns the notebook: sections whose files hold what is understood now, entries that are commits.

Never says "written" before the branch holds it, and never loses what other people wrote there.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import make_folder
from commonplace.core.redact import Screen
from commonplace.core.spaces import author_at_work, is_space
from commonplace.journals.git.commit import render_person
from commonplace.journals.git.history import parse_commit
from commonplace.journals.git.repo import init_repository
from commonplace.journals.git.run import LONG_TIMEOUT_S
from commonplace.journals.notebook.acts import NotebookActs
from commonplace.journals.notebook.commit_drafts import Signature
from commonplace.journals.notebook.format import (
    DEFAULT_AUTHOR,
    parse_file,
    parse_message,
    person_of,
)
from commonplace.journals.notebook.names import file_of
from commonplace.journals.notebook.reader import NotebookReader
from commonplace.journals.notebook.write import NotebookWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime, tzinfo
    from pathlib import Path

    from commonplace.journals.notebook.format import NotebookEntry
    from commonplace.journals.notebook.sections import EntryLine

_log = logging.getLogger(__name__)

# As git guesses: so many in one of 256 folders are about 6,700 loose objects.
_SAMPLE = "17"
_MANY = 27


class NotebookJournal(NotebookReader, NotebookActs):
    """One owner's notebook in one git repository. Thread-safe; several processes may write.

    Its verbs raise Invalid, NotFound, Conflict, Denied or Unavailable where they are refused.

    Args:
        folder: Its work tree, there or not.
        ledger: A file of ours, derived from the history.
        owner: Whose it is.
        zone: The owner's.
        clock: The present, aware.
        author: Of commits, as `Name <address>`; None for the user that git knows.
        is_own: It lies in our own folder, so that a first write makes it.
        auto_gc: Pack the repository in the background when it is due.
        random_bytes: Returns so many random bytes.
        screen: What every text goes through that is written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        ledger: Path,
        owner: str,
        zone: tzinfo,
        clock: Callable[[], datetime],
        author: str | None = None,
        is_own: bool = False,
        auto_gc: bool = True,
        random_bytes: Callable[[int], bytes] = os.urandom,
        screen: Screen | None = None,
    ) -> None:
        NotebookReader.__init__(
            self, folder, ledger=ledger, zone=zone, clock=clock, names_authors=is_space(owner)
        )
        NotebookActs.__init__(
            self, owner=owner, clock=clock, screen=screen or Screen(), random_bytes=random_bytes
        )
        self._author = author
        self._is_own = is_own
        self._auto_gc = auto_gc
        self._packing: threading.Thread | None = None
        self._person = ""

    @property
    def in_git(self) -> NotebookJournal:
        """This one."""
        return self

    def require_git(self, what: str) -> NotebookJournal:
        """This one: it can do all that git can."""
        return self

    def init(self) -> Path:
        """Make the repository, or take the one that is there as it is; the folder it lies in."""
        if self._is_own:
            # Its own folder follows the umask; what is only ours around it does not.
            make_folder(self.folder.parent)
        return init_repository(self.folder).folder

    def signature(self) -> Signature:
        """Who commits, now. Raises: Invalid where the setting cannot be meant."""
        person = self._person
        if member := author_at_work():
            person = render_person(person_of(member))
        elif not person:
            person = render_person(self._author or self.repo.identity() or DEFAULT_AUTHOR)
            self._person = person
        return Signature(person=person, now=self.clock(), zone=self.zone)

    @property
    def _writer(self) -> NotebookWriter:
        if self._is_own and not self.exists:
            self.init()
        return NotebookWriter(self, self.signature)

    def pack(self) -> None:
        """Pack the objects, and write the commit-graph with which a section's history is found.

        Takes seconds; readers and writers go on beside it. What a branch, a reflog or the last two
        weeks hold stays.
        """
        self.repo.git.run(["gc", "--quiet"], timeout_s=LONG_TIMEOUT_S)
        graph = ["commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"]
        self.repo.git.run(graph, timeout_s=LONG_TIMEOUT_S)

    def _pack_if_due(self) -> None:
        """Pack in the background where many objects lie loose, one time at once in this process."""
        is_due = False
        with contextlib.suppress(OSError):
            is_due = len(os.listdir(self.repo.common_dir / "objects" / _SAMPLE)) >= _MANY
        if not is_due or (self._packing is not None and self._packing.is_alive()):
            return

        def pack() -> None:
            try:
                self.pack()
            except CommonplaceError as exc:
                _log.warning("The notebook was not packed: %s", exc)

        self._packing = threading.Thread(target=pack, name="pack notebook", daemon=True)
        self._packing.start()

    def _wrote(self) -> None:
        if self._auto_gc:
            self._pack_if_due()

    def _key_owner(self) -> str:
        # Two clones that took the same key wrote two entries: a sync kept only one of them.
        return f"{self.owner} {self.repo.clone_id()}"

    def catch_up(self) -> None:
        """Read what the branch holds by now."""
        self.ledger.catch_up()

    def list_by_id(self, entry_id: str) -> list[EntryLine]:
        """The entry with an id, of this branch or another; see `NotebookActs`."""
        return self.ledger.by_id(entry_id) or self.branches.by_id(entry_id)

    def find_successor(self, entry_id: str) -> EntryLine | None:
        """The entry that took the place of one; see `NotebookActs`."""
        return self.ledger.find_successor(entry_id)

    def find_former(self, entry_id: str) -> EntryLine | None:
        """The entry that another names as replaced; see `NotebookActs`."""
        return self.ledger.find_former(entry_id)

    def find_around(self, entry: NotebookEntry) -> tuple[EntryLine | None, EntryLine | None]:
        """The entries before and after one, in its section."""
        return self.ledger.around(entry.section, entry.id)

    def overviews_left_by(self, section: str, lines: Sequence[EntryLine]) -> list[str]:
        """The overview of a section as each entry left it; none under a former name."""
        found = []
        for line in lines:
            (blob,) = self.repo.read_blobs(line.hash, [file_of(section)])
            is_there = blob is not None and blob.kind == "blob"
            found.append(parse_file(blob.content).overview if blob and is_there else "")
        return found

    def _list_expired_successors(self, entry_id: str) -> Sequence[str]:
        return self.ledger.list_expired_successors(entry_id)

    def _overviews_around(self, entry: NotebookEntry) -> tuple[str, str]:
        """The overview of an entry's section before its commit, and as that left it."""
        (blob,) = self.repo.read_objects([entry.hash])
        if blob is None:
            return "", ""
        commit = parse_commit(entry.hash, blob.content)
        path = file_of(parse_message(commit.message).section or entry.section)
        parent = commit.parents[0] if commit.parents else ""
        files = [self.repo.read_blobs(each, [path])[0] for each in (parent, entry.hash)]
        before, made = ("" if x is None else parse_file(x.content).overview for x in files)
        return before, made
