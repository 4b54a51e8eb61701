"""Keeps the brief's files behind the journals: what filing hears of is in the next session's brief.

Never writes truth, never fails a write, and reads a journal by nothing but its own wiring.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Drop, Put
from commonplace.verbs.brief.kept import EVERYWHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from commonplace.core.brief_item import BriefItem
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.core.values import Change
    from commonplace.search.filing.source_indexer import BackgroundStep
    from commonplace.verbs.brief.kept import BriefFiles

CLOSE_S = 1.0
"""How long closing waits for what is under way; what is not done then the next start does."""

_OF_NO_PROJECT = frozenset({"timeline"})
"""Journals of which a project's file holds nothing: a write of theirs leaves it as it is."""

_log = logging.getLogger(__name__)


@runtime_checkable
class ReadsBrief(Protocol):
    """A journal, as a brief asks it."""

    def brief_items(self, project: ProjectFolders | None) -> Sequence[BriefItem] | None:
        """What it holds newest of a project, or for None of what holds in every project.

        Newest first, without what was superseded. None where that project's cannot be found from
        here. Raises: what opening the journal raises.
        """
        ...


class BriefKeeper:
    """Keeps the files of one owner's brief. Thread-safe. Close it at the end.

    Args:
        files: The files.
        others: Gives those of the other owners, whose briefs tell of the same entries.
        journals: What is asked, by name; opened at its first use.
        project: Finds the project that is worked in; called once it is needed.
        project_at: Finds the project of a part of a journal: its name, and the scope of a doc.
        screen: What each text goes through.
        ends: When those of some entries expire that do, by ref. Raises: Unavailable.
        replaced: Those of some entries whose successor is gone, by ref.
        notice: Gives what a session must know of the project that is worked in; see `KeptBrief`.
        now: Seconds since 1970.
        aside: Whether a thread of its own does the work; else it is done at the end.
    """

    def __init__(
        self,
        files: BriefFiles,
        *,
        others: Callable[[], Iterable[BriefFiles]],
        journals: Mapping[str, ReadsBrief],
        project: Callable[[], ProjectFolders | None],
        project_at: Callable[[str, str], ProjectFolders | None],
        screen: Callable[[str], str],
        ends: Callable[[Sequence[str]], Mapping[str, float]],
        replaced: Callable[[Sequence[str]], Mapping[str, float]],
        notice: Callable[[], str],
        now: Callable[[], float],
        aside: bool,
    ) -> None:
        self._files = files
        self._others = others
        self._journals = journals
        self._find_project = project
        self._project_at = project_at
        self._screen = screen
        self._ends = ends
        self._replaced = replaced
        self._notice = notice
        self._now = now
        self._aside = aside
        self._state = threading.Lock()
        self._over = threading.Condition()
        # The journals that changed, each with the scopes where, one of them empty where that is not
        # known, or with the projects.
        self._scopes: dict[str, set[str]] = {}
        self._roots: set[tuple[str, str]] = set()
        self._step: BackgroundStep | None = None
        self._found: list[ProjectFolders | None] = []

    def changed(self, changes: Sequence[Change]) -> None:
        """Note what was written, or was found written; never raises."""
        if gone := [change.ref for change in changes if isinstance(change, Drop)]:
            self.gone(gone)
        places = {(x.doc.journal, x.doc.scope) for x in changes if isinstance(x, Put)}
        places |= {(ref.partition(":")[0], "") for ref in gone}
        with self._state:
            for journal, scope in places:
                if journal in self._journals:
                    self._scopes.setdefault(journal, set()).add(scope)
        self._ask()

    def scanned(self, source: str) -> None:
        """Have a journal read again that moved on; never raises.

        An entry that another program deleted before it was filed is no change of the index.
        """
        journal, _, scope = source.partition(":")
        if journal in self._journals:
            with self._state:
                self._scopes.setdefault(journal, set()).add(scope)
            self._ask()

    def gone(self, refs: Sequence[str]) -> str:
        """Leave no word of these entries in any file; why that failed, as a sentence, or empty."""
        try:
            changed = self._files.drop(refs)
            for each in self._others():
                each.drop(refs)
        except (CommonplaceError, OSError) as exc:
            _log.warning("The brief may still hold a deleted entry: %s", exc)
            return exc.message if isinstance(exc, CommonplaceError) else "See the log."
        with self._state:
            self._roots.update(each for each in changed if each[1] in self._journals)
        if changed:
            self._ask()
        return ""

    def set_end(self, ref: str, at: float | None) -> None:
        """Note when an entry expires, None for never. Raises: Unavailable, Denied."""
        self._files.set_end(ref, at)

    def refresh(self) -> None:
        """Read all journals again, now, for this project and for what holds in every project."""
        with self._state:
            for journal in self._journals:
                self._scopes.setdefault(journal, set()).add("")
        self._keep_noted()

    def close(self) -> None:
        """Finish what was noted; may be called twice, and waits CLOSE_S at most."""
        step = self._step
        if step is None:
            self._keep_noted()
            return
        turn = step.turn
        with self._over:
            self._over.wait_for(lambda: step.is_over(turn), CLOSE_S)
        step.close()

    def _ask(self) -> None:
        if not self._aside:
            return
        with self._state:
            if not (self._scopes or self._roots):
                return
            if self._step is None:
                from commonplace.search.filing.source_indexer import BackgroundStep

                self._step = BackgroundStep(self._keep_noted, name="brief", over=self._over)
        self._step.ask()

    def _keep_noted(self) -> None:
        with self._state:
            scopes, self._scopes = self._scopes, {}
            roots, self._roots = self._roots, set()
        if not (scopes or roots):
            return
        try:
            here = self._here()
            for journal, found in scopes.items():
                for scope in found:
                    roots |= {(root, journal) for root in self._roots_of(journal, scope, here)}
            if everywhere := {x for root, x in roots if root == EVERYWHERE}:
                self._keep(None, everywhere)
            if here is not None:
                ours = {x for root, x in roots if root == here.root} - _OF_NO_PROJECT
                if ours or scopes.keys() - _OF_NO_PROJECT:
                    self._keep(here, ours, self._notice)
            for root, journal in roots:
                self._keep_other(root, journal, here)
        except (CommonplaceError, OSError) as exc:
            _log.warning("The brief was not kept: %s", exc)
        except Exception:  # noqa: BLE001  a thread's last line: what was written stands
            _log.exception("The brief was not kept")

    def _roots_of(self, journal: str, scope: str, here: ProjectFolders | None) -> list[str]:
        """The files that tell of a part of a journal: of its project, or of what holds everywhere.

        Both, and no other project's, where it is not known which part changed.
        """
        ours = [] if here is None else [here.root]
        if not scope:
            return [EVERYWHERE, *ours]
        if here is not None and here.holds(scope):
            return ours
        there = self._project_at(journal, scope)
        return [EVERYWHERE if there is None else there.root]

    def _keep_other(self, root: str, journal: str, here: ProjectFolders | None) -> None:
        """Keep a journal's section of another project, where that has a file."""
        if root in {EVERYWHERE, "" if here is None else here.root}:
            return
        if self._files.read(root) is not None and (there := self._project_at("", root)):
            self._keep(there, [journal])

    def _here(self) -> ProjectFolders | None:
        with self._state:
            if not self._found:
                self._found.append(self._find_project())
            return self._found[0]

    def _keep(
        self,
        project: ProjectFolders | None,
        journals: Iterable[str],
        notice: Callable[[], str] | None = None,
    ) -> None:
        root = EVERYWHERE if project is None else project.root
        reads = {name: partial(self._read, name, project) for name in journals}
        self._files.refresh(root, reads, self._screen, notice)

    def _read(
        self, journal: str, project: ProjectFolders | None, _kept: Sequence[BriefItem]
    ) -> list[BriefItem] | None:
        """What a journal holds and has not expired; None where it cannot be read now."""
        try:
            found = self._journals[journal].brief_items(project)
            refs = [item.ref for item in found or ()]
            ends, replaced = self._ends(refs), self._replaced(refs)
        except CommonplaceError as exc:
            _log.warning("The brief keeps what it has of %s: %s", journal, exc)
            return None
        if found is None:
            return None
        now, kept = self._now(), []
        for item in found:
            item.expires = ends.get(item.ref, item.expires)
            if item.ref not in replaced and not (item.expires and item.expires <= now):
                kept.append(item)
        return kept
