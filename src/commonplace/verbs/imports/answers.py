"""What an import from another program would take, and what it took, in words for people.

Never imports anything: the service does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.core.clock import to_local
from commonplace.core.text import counted, counted_entries
from commonplace.core.values import Answer
from commonplace.verbs.answers import answer_of, one_line
from commonplace.verbs.imports.journals import OUTCOMES
from commonplace.verbs.imports.programs import OURS, load_importer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import tzinfo

    from commonplace.core.errors import CommonplaceError
    from commonplace.core.importer import Importer
    from commonplace.verbs.imports.service import ProgramImport, Reason
    from commonplace.verbs.imports.taking_back import ImportShares, JournalShare

_MOST_REASONS = 20
_PLACES = 2
_TITLES = {
    "export": "An export by Commonplace",
    "sessions": "Sessions of AI clients",
    "chronicle": "An export of chronicle",
    "memories": "Memories of a memory system",
    "journal-json": "The JSON journal server's file",
}
"""What is imported beside other programs' entries, by the name in its record."""


def program_answer(done: ProgramImport, zone: tzinfo, *, dry_run: bool) -> Answer:
    """What became of the entries of a program, or would; days are cut in the zone."""
    new, updated = done.counts["new"], done.counts["updated"]
    what = f"{counted_entries(updated)} in {done.into} updated" if updated else "nothing new"
    if new:
        verb = "" if dry_run else "imported "
        ends = [to_local(at, zone).date() for at in (done.first_at, done.last_at) if at]
        span = " to ".join(dict.fromkeys(map(str, ends)))
        what = f"{verb}{counted_entries(new)} into {done.into}{f', {span}' if span else ''}"
        what += f", {counted_entries(updated)} updated" if updated else ""
    return answer_of([f"{done.title}: {what}."], _facts(done, dry_run=dry_run), _notes(done))


def _notes(done: ProgramImport) -> list[str]:
    notes = []
    if there := done.counts["there"]:
        notes.append(f"There already: {counted_entries(there)}.")
    if done.undated:
        notes.append(
            f"Without a time of their own: {counted_entries(done.undated)}, at that of the file or"
            " of now."
        )
    if changed := done.changed.count:
        notes.append(
            f"Changed there and here, so left as here: {counted_entries(changed)}"
            f" ({', '.join(map(one_line, done.changed.where))})."
        )
    if deleted := done.counts["deleted here"]:
        notes.append(f"Deleted here, so not brought back: {counted_entries(deleted)}.")
    notes += [
        f"Not UTF-8, so read as {name}: {counted_entries(reason.count)} ({_first(reason)})."
        for name, reason in done.guessed.items()
    ]
    for why, reason in list(done.left_out.items())[:_MOST_REASONS]:
        where = _first(reason)
        notes.append(f"Left out: {reason.count:,}, {why}{f' ({where})' if where else ''}.")
    if (more_reasons := len(done.left_out) - _MOST_REASONS) > 0:
        notes.append(f"Left out for {counted(more_reasons, 'reason', 'reasons')} more.")
    notes += [f"Not read to its end: {error}" for error in done.failed]
    return notes


def _first(reason: Reason) -> str:
    where = ", ".join(one_line(each) for each in reason.where)
    return f"{where}, …" if where and reason.count > len(reason.where) else where


def _facts(done: ProgramImport, *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "program": done.program,
        "into": done.into,
        **{outcome.replace(" ", "_"): done.counts[outcome] for outcome in OUTCOMES},
        "undated": done.undated,
        "guessed": [
            {"read_as": name, "count": reason.count, "where": reason.where}
            for name, reason in done.guessed.items()
        ],
        "first": done.first_at.isoformat() if done.first_at else None,
        "last": done.last_at.isoformat() if done.last_at else None,
        "left_out": [
            {"why": why, "count": reason.count, "where": reason.where}
            for why, reason in done.left_out.items()
        ],
        "failed": [error.facts for error in done.failed],
    }


def source_title(source: str) -> str:
    """What was imported, by the name in its record."""
    if source in OURS:
        return load_importer(source).title
    return _TITLES.get(source, source)


def counted_shares(source: str, shares: Sequence[JournalShare]) -> str:
    """How much each journal has of an import, or how much went: `2 entries in private`."""
    return ", ".join(
        _counted(source, each.journal, each.entries) for each in shares if each.entries
    )


def _counted(source: str, journal: str, count: int) -> str:
    if journal == "transcripts":
        return f"{counted(count, 'session', 'sessions')} in {journal}"
    if (source, journal) == ("export", "notebook"):
        return "the notebook"
    return f"{counted_entries(count)} in {journal}"


def taken_back_answer(done: ImportShares) -> Answer:
    """What was taken back of an import, and what stays."""
    updated = sum(share.updated for share in done.shares)
    notes = edited_notes(done.source, done.shares)
    if updated:
        notes.append(f"It had updated {counted_entries(updated)}: they stay as they are.")
    facts = {
        "act": "deleted",
        "source": done.source,
        "journals": [share.journal for share in done.shares],
        "removed": done.entries,
        "edited": sum(share.edited_count for share in done.shares),
        "updated": updated,
    }
    what = counted_shares(done.source, done.shares) or "nothing"
    line = f"{source_title(done.source)}: removed {what}. The same import brings it all back."
    return answer_of([line], facts, [*notes, *done.notes])


def edited_notes(source: str, shares: Sequence[JournalShare]) -> list[str]:
    """Which entries of an import stay, as they were edited here; a sentence for each journal."""
    notes = []
    for share in shares:
        if share.edited_count:
            more = ", …" if share.edited_count > len(share.edited) else ""
            named = ", ".join(share.edited)
            what = _counted(source, share.journal, share.edited_count)
            notes.append(
                f"Edited, replaced or updated since, so left: {what} ({named}{more})."
                " `commonplace delete REF` removes one."
            )
    return notes


def programs_answer(
    importers: Mapping[str, tuple[Importer, Sequence[str]]],
    failed: Sequence[CommonplaceError],
    clients: Mapping[str, str],
    originals: Mapping[str, int],
) -> Answer:
    """What can be imported, and what of it is on this machine: entries of programs, and sessions.

    Importers come with where their programs keep their entries, clients with their titles, and with
    how many files with sessions those have here that have any.
    """
    width = max(map(len, [*importers, *clients]))
    lines = ["Sessions of AI clients, into transcripts:"]
    for name, title in clients.items():
        here = f": {counted(originals[name], 'file', 'files')} here" if name in originals else ""
        lines.append(f"  {name:{width}}  {title}{here}")
    lines += ["", "Entries of other programs:"]
    programs: list[dict[str, Any]] = []
    for name, (importer, paths) in importers.items():
        more = len(paths) - _PLACES
        places = ", ".join(paths[:_PLACES]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"  {name:{width}}  {one_line(places) or importer.takes}  → {importer.into}")
        programs.append({"program": name, "into": importer.into, "found": list(paths)})
    facts = {"clients": list(clients), "originals": dict(originals), "programs": programs}
    name_one = (
        "Name one: commonplace import NAME [PATH]. --all imports the sessions of all clients."
    )
    return answer_of(lines, facts, [name_one, *map(str, failed)])
