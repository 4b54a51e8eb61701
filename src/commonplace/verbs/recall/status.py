"""What there is: each journal's entries, what is pending, the index and the encoder.

Never loads a model, and never lets one broken part hide the others.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import Tallying
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.ports import Searched
    from commonplace.core.values import EncoderState, Tally
    from commonplace.journals.private.project_copies import GoneNotes
    from commonplace.search.filing.filing import Filing
    from commonplace.verbs.backup.copies import MadeCopy
    from commonplace.verbs.imports.counts import ImportCount
    from commonplace.verbs.projects import ProjectService, ProjectState
    from commonplace.verbs.transcripts.safety import Safety


_TIMELINE = "timeline"  # not imported from its room, which takes time even where there is none


class JournalStatus(Struct, frozen=True, kw_only=True):
    """How a journal stands in the index; counts are None where the index cannot be read.

    Attributes:
        entries: Those the index knows after a look at the journals: what was written or said.
        summaries: What was made of entries: the timeline's rollups.
        client_notes: What clients noted in files of their own.
        pending: Those of all three without a vector.
        last_write: When the newest entry was; a summary bears the end of its period.
        trouble: Why not all of it is in the index; empty where it is.
    """

    name: str
    entries: int | None
    summaries: int
    client_notes: int
    pending: int | None
    last_write: datetime | None
    trouble: str


class RecallStatus(Struct, frozen=True, kw_only=True):
    """The state of all journals, the index and the encoder.

    Attributes:
        index_bytes: None where the index cannot be read.
        index_trouble: Why it cannot; empty where it can.
        project: None where there is none, or its private journal is not known.
        sessions: None where they cannot be read, or the owner may not know.
        imported: How much was ever imported from other programs.
        last_backup: None where none was noted, or the owner may not see paths.
        gone: What is gone of the project's notes; None for nothing.
        left_out: What project files asked for and did not get.
    """

    journals: tuple[JournalStatus, ...]
    index_bytes: int | None
    index_trouble: str
    encoder: EncoderState
    project: ProjectState | None
    sessions: Safety | None
    imported: Sequence[ImportCount]
    last_backup: MadeCopy | None
    gone: GoneNotes | None
    left_out: tuple[str, ...]


class StatusService(Struct, frozen=True, kw_only=True):
    """What tells the state of all journals of one owner; opens none but to follow it.

    Attributes:
        journals: The names of those that are there.
        lost: The journals that cannot even be found, and why.
        project: The project that work is done in; answers None where there is none.
        sessions: How many sessions of this machine's clients are safe; answers None where the
            owner may not know.
        imported: How much was ever imported from other programs.
        last_backup: The newest backup; answers None where none was noted.
        gone: What is gone of the project's notes; answers None for nothing.
        left_out: What project files asked for and did not get.
    """

    filing: Filing
    index: Searched
    journals: Sequence[str]
    lost: Mapping[str, str]
    encoder: Callable[[], EncoderState]
    zone: tzinfo
    shows_paths: bool
    project: Callable[[], ProjectService | None]
    sessions: Callable[[], Safety | None]
    imported: Callable[[], Sequence[ImportCount]]
    last_backup: Callable[[], MadeCopy | None]
    gone: Callable[[], GoneNotes | None]
    left_out: tuple[str, ...]

    def read(self) -> RecallStatus:
        """The state of each journal, the index and the encoder; never raises for a part.

        Entries that came or went are filed first. One that was edited in place is left to searches
        and servers: it counts the same.
        """
        encoder = self.encoder()
        trouble: dict[str, str] = {}
        tallies: dict[str, list[Tally]] = {}
        size: int | None = None
        try:
            self.filing.refresh(policy.FILING_WAIT_S)
            if isinstance(self.index, Tallying):
                for each in self.index.tally(encoder.identity):
                    tallies.setdefault(each.journal, []).append(each)
            size = self.index.counts(encoder.identity).bytes
        except CommonplaceError as exc:
            trouble["index"] = exc.explained(shows_paths=self.shows_paths)
        trouble |= {each.journal: each.why for each in reversed(self.filing.behind())}
        trouble |= self.lost
        names = dict.fromkeys([*self.journals, *self.lost, *tallies])
        return RecallStatus(
            journals=tuple(
                _journal_status(
                    name,
                    None if size is None else tallies.get(name, ()),
                    trouble=trouble.get(name, ""),
                )
                for name in names
            ),
            index_bytes=size,
            index_trouble=trouble.get("index", ""),
            encoder=encoder,
            project=self._project(),
            sessions=self._sessions(),
            imported=self.imported(),
            last_backup=self.last_backup(),
            gone=self._gone(),
            left_out=self.left_out,
        )

    def _sessions(self) -> Safety | None:
        try:
            return self.sessions()
        except (CommonplaceError, OSError):
            return None

    def _gone(self) -> GoneNotes | None:
        with suppress(CommonplaceError):  # the private journal is named above
            return self.gone()
        return None

    def _project(self) -> ProjectState | None:
        with suppress(CommonplaceError):  # the private journal, if it is that, is named above
            project = self.project()
            return project.state() if project else None
        return None


def _journal_status(name: str, tallies: Sequence[Tally] | None, *, trouble: str) -> JournalStatus:
    """tallies: Of its kinds of docs; None where the index cannot be read."""
    from commonplace.journals.transcripts.message import NOTE

    summed_up: frozenset[str] = frozenset()
    if name == _TIMELINE and tallies:
        from commonplace.journals.timeline.entry import ROLLUP_TYPES

        summed_up = frozenset(ROLLUP_TYPES.values())
    written = [each for each in tallies or () if each.kind not in {*summed_up, NOTE}]
    return JournalStatus(
        name=name,
        entries=None if tallies is None else sum(each.docs for each in written),
        summaries=sum(each.docs for each in tallies or () if each.kind in summed_up),
        client_notes=sum(each.docs for each in tallies or () if each.kind == NOTE),
        pending=None if tallies is None else sum(each.pending for each in tallies),
        last_write=max((each.newest for each in written if each.newest), default=None),
        trouble=trouble,
    )
