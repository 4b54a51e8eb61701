"""Replaces secrets in entries by marks, each entry through its own journal.

Never rewrites a notebook's history, another program's file, or more of an entry than the secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import Erasing
from commonplace.core.text import counted_entries
from commonplace.core.values import HealthRepairs, Problem
from commonplace.doors.doctor.secrets import holding_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.app import App

_SETTLES_S = 30.0


def repair_secrets(app: App, progress: Callable[[int, int], None] | None = None) -> HealthRepairs:
    """Replace secrets in the private journal, chronicle, the timeline, memory and transcripts.

    The former texts are erased from journals, summaries and index. What was done before a failure
    stays, and another call does the rest.
    """
    repairs = HealthRepairs()
    found = [held for held in holding_secrets(app) if held.is_repairable]
    wanted = [(held.journal, held.ref) for held in found if not held.is_summary]
    counts: dict[str, int] = {}
    for done, (part, ref) in enumerate(wanted):
        if progress is not None:
            progress(done, len(wanted))
        try:
            _REPAIRS[part](app, ref)
        except CommonplaceError as exc:
            problem = Problem(what=f"{ref}: {exc.located}", hint=exc.located_hint)
            repairs.failed.append((part, problem))
        else:
            counts[part] = counts.get(part, 0) + 1
    for part, count in counts.items():
        repairs.done.append((part, f"Replaced the secrets in {counted_entries(count)}."))
    if found:
        _erase(app, repairs)
    return repairs


def _repair_private(app: App, ref: str) -> None:
    amend = app.amend
    there = amend.read_text(ref)
    amend.edit(there.ref, app.shared.screen.shown(there.text), expected=there.version)


def _repair_chronicle(app: App, ref: str) -> None:
    event = app.chronicle.journal.read_event(ref)
    shown = app.shared.screen.shown
    secret = [tag for tag in event.tags if shown(tag) != tag]
    app.chronicle.amender().edit_entry(
        ref=event.ref,
        message=shown(event.message),
        tags=[x for tag in secret for x in (f"-{tag}", f"+{shown(tag)}")] or None,
        expected=event.stamp,
    )


def _repair_timeline(app: App, ref: str) -> None:
    from commonplace.journals.timeline.entry import version_of

    amender, screen = app.timeline.amender(), app.shared.screen
    entry = app.timeline.journal.read(ref.partition(":")[2])
    amender.update(
        entry.id,
        content=screen.shown(entry.content),
        metadata=screen.shown_values(dict(entry.metadata)),
        expected=version_of(entry),
    )


def _repair_memory(app: App, ref: str) -> None:
    from commonplace.journals.memory.entry import FIELDS, parse_ref, version_of
    from commonplace.journals.memory.records import ChatMessage, RecordDraft

    service, screen = app.memory.service(), app.shared.screen
    record = service.find(*parse_ref(ref))
    if isinstance(record, ChatMessage):
        # A message is never changed: one with the mark supersedes it, and it is deleted.
        app.amend.supersede(ref, screen.shown(record.text))
        service.delete(record.kind, record.id, expected=version_of(record))
        return
    values = {name: getattr(record, name) for name in FIELDS[record.kind]}
    fields = {name: screen.shown_values(value) for name, value in values.items()}
    if "flags" in fields:  # a save adds flags; None removes one
        fields["flags"] = {**dict.fromkeys(values["flags"]), **fields["flags"]}
    version = version_of(record)
    service.save(RecordDraft(kind=record.kind, ref_id=record.id, fields=fields, expected=version))


def _repair_transcript(app: App, ref: str) -> None:
    from commonplace.journals.transcripts.message import parse_ref

    named = parse_ref(ref)
    if named is not None:
        app.transcripts.files.replace_texts(named.client, named.session, app.shared.screen.shown)


def _erase(app: App, repairs: HealthRepairs) -> None:
    """Rebuild summaries and index without the secrets, and erase what is left of them."""
    try:
        app.filing.sweep()
        if app.timeline.is_there():
            app.timeline_commands().roll_up()
            app.filing.sweep()
            for _ in app.timeline.repair():
                pass
        app.settle(_SETTLES_S)  # an index that is being read cannot be erased
        if isinstance(app.index, Erasing):
            app.index.erase()
    except CommonplaceError as exc:
        repairs.failed.append(("index", Problem(what=exc.located, hint=exc.located_hint)))


_REPAIRS = {
    "private": _repair_private,
    "chronicle": _repair_chronicle,
    "timeline": _repair_timeline,
    "memory": _repair_memory,
    "transcripts": _repair_transcript,
}
"""One for each journal of `REPAIRED`."""
