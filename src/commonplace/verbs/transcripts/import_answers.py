"""What an import of sessions would take, and what it took, in words for people.

Never imports anything: the service does.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from commonplace.core.clock import to_local
from commonplace.core.text import counted
from commonplace.core.values import Answer
from commonplace.journals.transcripts.clients import CLIENTS
from commonplace.journals.transcripts.clients.parsing import BROKEN, UNKNOWN
from commonplace.verbs.answers import answer_of, one_line
from commonplace.verbs.transcripts.left_out import left_out_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from commonplace.verbs.transcripts.importing import ClientImport

_MOST_FAILED = 5
_MB = 1_000_000


def plan_answer(imports: Sequence[ClientImport], zone: tzinfo) -> Answer:
    """What an import would take.

    Args:
        imports: As the service counted them.
        zone: In which days are cut.
    """
    lines = [_line(each, zone, size=True) for each in imports] or ["No sessions were found."]
    return answer_of(lines, _facts(imports, dry_run=True), _notes(imports))


def import_answer(imports: Sequence[ClientImport], zone: tzinfo) -> Answer:
    """What an import took; see `plan_answer`."""
    lines = [_line(each, zone, size=False) for each in imports] or ["No sessions were found."]
    return answer_of(lines, _facts(imports, dry_run=False), _notes(imports))


def _line(each: ClientImport, zone: tzinfo, *, size: bool) -> str:
    name = CLIENTS[each.client]
    if not each.messages:
        return f"{name}: nothing new."
    count = counted(each.messages, "message", "messages")
    sessions = counted(len(each.sessions), "session", "sessions")
    days = [_day(at, zone) for at in (each.first_at, each.last_at)]
    span = days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}"
    read = f"; {_size_of(each.size)} to read" if size else ""
    verb = "" if size else "imported "
    return f"{name}: {verb}{count} of {sessions}, {span}{read}."


def _size_of(count: int) -> str:
    return f"{count / _MB:,.1f} MB" if count >= _MB else f"{count / 1000:,.1f} kB"


def _day(at: str, zone: tzinfo) -> str:
    return to_local(datetime.fromisoformat(at), zone).date().isoformat()


def _notes(imports: Sequence[ClientImport]) -> list[str]:
    notes = []
    for each in imports:
        name = CLIENTS[each.client]
        notes += left_out_sentences((each.client, kind, n) for kind, n in each.left_out.items())
        for path, why in each.failed[:_MOST_FAILED]:
            notes.append(f"{one_line(path)}: {why}")
        more = len(each.failed) - _MOST_FAILED
        if more > 0:
            notes.append(f"{counted(more, 'file', 'files')} more of {name} cannot be read.")
    return notes


def _facts(imports: Sequence[ClientImport], *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "messages": sum(each.messages for each in imports),
        "clients": [
            {
                "client": each.client,
                "messages": each.messages,
                "sessions": len(each.sessions),
                "first": each.first_at or None,
                "last": each.last_at or None,
                "bytes": each.size,
                "unknown": sum(n for x, n in each.left_out.items() if x.why == UNKNOWN.why),
                "broken": sum(n for x, n in each.left_out.items() if x.why == BROKEN.why),
                "left_out": [
                    {"why": x.why, "kind": x.kind, "count": n} for x, n in each.left_out.items()
                ],
                "failed": [path for path, _why in each.failed],
            }
            for each in imports
        ],
    }
