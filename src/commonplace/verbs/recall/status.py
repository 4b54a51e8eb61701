"""What there is: each journal's entries, what is pending, the index and the encoder.

Never loads a model, and never lets one broken part hide the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.core.clock import render_instant
from commonplace.core.errors import CommonplaceError
from commonplace.core.fence import visible_line
from commonplace.core.ports import CountsKinds
from commonplace.core.text import counted
from commonplace.core.values import Answer
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.ports import Searched
    from commonplace.core.values import DocCount, EncoderState
    from commonplace.journals.private.project_copies import GoneNotes
    from commonplace.search.filing.filing import Behind, Filing
    from commonplace.verbs.backup.copies import MadeCopy
    from commonplace.verbs.imports.counts import ImportCount
    from commonplace.verbs.projects import ProjectState
    from commonplace.verbs.transcripts.safety import Safety

_HEAD = ("JOURNAL", "ENTRIES", "PENDING", "LAST WRITE")
_MEGABYTE = 1_000_000
_TIMELINE = "timeline"  # not imported from its room, which takes time even where there is none


class JournalStatus(Struct, frozen=True, kw_only=True):
    """How a journal stands in the index; counts are None where the index cannot be read.

    Attributes:
        entries: What was written or said, filed or not.
        summaries: What was made of entries: the timeline's rollups.
        client_notes: What clients noted in files of their own.
        pending: Those of all three without a vector, and what is not filed yet.
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
        zone: In which times are shown.
    """

    journals: Sequence[JournalStatus]
    index_bytes: int | None
    index_trouble: str
    encoder: EncoderState
    project: ProjectState | None
    sessions: Safety | None
    imported: Sequence[ImportCount]
    last_backup: MadeCopy | None
    gone: GoneNotes | None
    left_out: Sequence[str]
    zone: tzinfo

    @property
    def answer(self) -> Answer:
        """A line for each journal, the index's size and the encoder's state."""
        lines = [*self._journal_lines(), "", *self._lines()]
        wrong = [each.trouble for each in self.journals] + [self.index_trouble, *self.left_out]
        notes = [f"Note: {visible_line(each)}" for each in dict.fromkeys(wrong) if each]
        return Answer("\n".join([*lines, *([""] if notes else []), *notes]), self.facts)

    def facts(self) -> dict[str, Any]:
        """The same as plain data."""
        backup, gone = self.last_backup, self.gone
        return {
            "journals": [
                {
                    "journal": each.name,
                    "entries": each.entries,
                    "summaries": each.summaries,
                    "client_notes": each.client_notes,
                    "pending": each.pending,
                    "last_write": each.last_write.isoformat() if each.last_write else None,
                    "trouble": each.trouble,
                }
                for each in self.journals
            ],
            "index": {"bytes": self.index_bytes, "trouble": self.index_trouble},
            "encoder": {
                "name": self.encoder.name,
                "identity": self.encoder.identity,
                "state": self.encoder.state,
                "why": self.encoder.why,
            },
            "project": self.project.facts() if self.project else None,
            "sessions": self.sessions and _session_facts(self.sessions),
            "imported": [
                {"program": x.program, "into": x.into, "entries": x.entries, "last": x.last}
                for x in self.imported
            ],
            "last_backup": backup and {"at": backup.at.isoformat(), "path": backup.path},
            "gone": gone and {"notes": gone.count, "since": gone.since.isoformat()},
            "notes": list(self.left_out),
        }

    def _journal_lines(self) -> Iterator[str]:
        """The table of journals, and what does not fit into it."""
        rows: list[tuple[str, ...]] = [_HEAD]
        for each in self.journals:
            newest = render_instant(each.last_write, self.zone) if each.last_write else "-"
            counts = ("?" if n is None else f"{n:,}" for n in (each.entries, each.pending))
            rows.append((each.name, *counts, newest))
        # Names and times to the left, numbers to the right.
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
        for name, entries, pending, newest in rows:
            yield f"{name:{widths[0]}}  {entries:>{widths[1]}}  {pending:>{widths[2]}}  {newest}"
        for each in self.journals:
            if each.summaries:
                yield f"{each.name} has {each.summaries:,} summaries besides."
        for each in self.journals:
            if each.client_notes:
                notes = counted(each.client_notes, "note", "notes")
                yield f"{each.name} has {notes} of the clients' own besides."
        if waiting := sum(each.pending or 0 for each in self.journals):
            until = "the next search" if self.encoder.state == "ready" else "the encoder is ready"
            if waiting > policy.VECTORS_SOON and self.encoder.state == "ready":
                until = "a server or `commonplace reindex` has made its vectors"
            yield f"What is pending is found by words alone until {until}."

    def _lines(self) -> Iterator[str]:
        """All but the journals."""
        size, encoder, backup = self.index_bytes, self.encoder, self.last_backup
        yield f"Index    {'unknown' if size is None else f'{size / _MEGABYTE:.1f} MB'}"
        why = f": {encoder.why}" if encoder.why else ""
        yield f"Encoder  {encoder.identity or encoder.name}, {encoder.state}{why}"
        if backup:
            where = f"in {backup.path}" if backup.path else "downloaded from the page"
            yield visible_line(f"Backup   {render_instant(backup.at, self.zone)}, {where}")
        if self.gone:
            from commonplace.verbs.private.recovery import gone_sentence

            yield gone_sentence(self.gone, self.zone)
        yield from map(visible_line, self.project.lines() if self.project else ())
        for x in self.imported:
            yield visible_line(
                f"Imported {x.entries:,} from {x.program} into {x.into}, last {x.last[:10]}"
            )
        if self.sessions and self.sessions.sentences:
            yield from ("", *self.sessions.sentences)


def _session_facts(sessions: Safety) -> dict[str, Any]:
    return {
        "safe": sessions.safe,
        "waiting": sessions.waiting,
        "days_left": sessions.days_left,
        "left_out": [
            {"client": client, "why": kind.why, "kind": kind.kind, "count": count}
            for client, kind, count in sessions.left_out
        ],
    }


def read_index(
    filing: Filing,
    index: Searched,
    identity: str,
    *,
    there: Iterable[str],
    lost: dict[str, str],
    explained: Callable[[CommonplaceError], str],
) -> tuple[Sequence[JournalStatus], int | None, str]:
    """How each journal stands in the index, its bytes, and why it cannot be read.

    Entries that came or went are filed first. One that was edited in place is left to searches
    and servers: it counts the same.

    Args:
        filing: Keeps the index behind the journals.
        index: What is searched.
        identity: The encoder's, whose vectors count.
        there: The names of the journals that are there.
        lost: Those that cannot even be found, and why.
        explained: What is said of an error.
    """
    kinds: dict[str, list[DocCount]] = {}
    size: int | None = None
    why = ""
    try:
        filing.refresh(policy.FILING_WAIT_S)
        for each in index.count_by_kind(identity) if isinstance(index, CountsKinds) else ():
            kinds.setdefault(each.journal, []).append(each)
        size = index.bytes_on_disk()
    except CommonplaceError as exc:
        why = explained(exc)
    journals = [
        _journal_status(name, None if size is None else kinds.get(name, ()), filing.behind(), lost)
        for name in dict.fromkeys([*there, *lost, *kinds])
    ]
    return journals, size, why


def _journal_status(
    name: str,
    kinds: Sequence[DocCount] | None,
    behind: Sequence[Behind],
    lost: Mapping[str, str],
) -> JournalStatus:
    """kinds: Of its docs; None where the index cannot be read."""
    from commonplace.journals.transcripts.message import NOTE

    summed_up: frozenset[str] = frozenset()
    if name == _TIMELINE and kinds:
        from commonplace.journals.timeline.entry import ROLLUP_TYPES

        summed_up = frozenset(ROLLUP_TYPES.values())
    late = [each for each in behind if each.journal == name]
    waiting = sum(each.waiting for each in late)
    written = [each for each in kinds or () if each.kind not in {*summed_up, NOTE}]
    return JournalStatus(
        name=name,
        entries=None if kinds is None else sum(each.docs for each in written) + waiting,
        summaries=sum(each.docs for each in kinds or () if each.kind in summed_up),
        client_notes=sum(each.docs for each in kinds or () if each.kind == NOTE),
        pending=None if kinds is None else sum(each.pending for each in kinds) + waiting,
        last_write=max((each.newest for each in written if each.newest), default=None),
        trouble=lost.get(name) or next((each.why for each in late), ""),
    )
