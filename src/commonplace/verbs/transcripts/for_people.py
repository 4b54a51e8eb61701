"""What deletions of transcripts came to, in words for people; no model is offered them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.text import counted
from commonplace.verbs.answers import answer_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import Answer
    from commonplace.journals.transcripts.message import SessionSummary
    from commonplace.verbs.transcripts.service import TranscriptsDeleted


def deleted_session_answer(done: TranscriptsDeleted) -> Answer:
    """A session or a message that is gone."""
    what = counted(done.messages, "message", "messages")
    facts = {"ref": done.refs[0], "refs": list(done.refs), "messages": done.messages}
    return answer_of([f"Deleted {done.refs[0]}, {what}."], facts, done.notes)


def retained_answer(done: TranscriptsDeleted, days: int) -> Answer:
    """The sessions that were deleted for their age."""
    line = f"Deleted {_sessions(len(done.refs))} of more than {_days(days)} ago."
    facts = {"days": days, "refs": list(done.refs), "messages": done.messages}
    return answer_of([line], facts, done.notes)


def retained_notes(done: TranscriptsDeleted | None) -> list[str]:
    """The same beside another answer; nothing where nothing went."""
    if done is None:
        return []
    went = f"Deleted {_sessions(len(done.refs))} by transcripts.retain_days."
    return [*([went] if done.refs else []), *done.notes]


def old_answer(old: Sequence[SessionSummary], days: int) -> Answer:
    """The sessions that would go."""
    line = f"Would delete {_sessions(len(old))} of more than {_days(days)} ago."
    refs = [x.ref for x in old]
    facts = {"days": days, "refs": refs, "messages": sum(x.messages for x in old)}
    return answer_of([line, *refs], facts)


def _sessions(count: int) -> str:
    return counted(count, "session", "sessions")


def _days(days: int) -> str:
    return counted(days, "day", "days")
