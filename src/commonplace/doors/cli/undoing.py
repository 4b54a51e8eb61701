"""`commonplace undo`: takes back what was written last in this terminal, or an entry's last edit.

Shows what goes and asks, as a deletion does. Never takes back what was edited again since.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, assert_never

import click
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Conflict, Invalid, NotFound
from commonplace.core.former_texts import FormerText
from commonplace.core.text import counted_entries
from commonplace.core.values import Answer, Filter
from commonplace.doors.cli.acts import (
    EditNotKept,
    EntriesWritten,
    ImportMade,
    WriteBegun,
    forget,
    read,
    this_terminal,
)
from commonplace.doors.cli.asking import confirm
from commonplace.doors.cli.calls import opened, opened_of
from commonplace.doors.cli.options import common_options, yes_option
from commonplace.doors.cli.output import say, show_written
from commonplace.doors.cli.progress import show_counting
from commonplace.doors.cli.short_refs import ShortRefCommand, find_entry
from commonplace.doors.cli.terminal_width import wrapped
from commonplace.verbs.amend_answers import changed_lines, first_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from commonplace.app import App
    from commonplace.config.table import Settings
    from commonplace.core.values import Amendment, EditableText
    from commonplace.doors.cli.acts import Act
    from commonplace.verbs.amend import Undo

_NEXT = "The next undo takes back what was before it."


@click.command(cls=ShortRefCommand, short_help="Take back what you wrote last.")
@click.argument("ref", required=False)
@yes_option
@common_options
def undo(ref: str | None, yes: bool, as_json: bool) -> None:
    """Take back what was written last in this terminal, and show it.

    That is the newest entry, import, edit or superseding; called again, the one before it. With
    REF, the last edit of that entry, wherever it was made: a ref, its beginning, a number in the
    last list, or -1 for the newest. A deletion is not taken back, nor what was edited again since.
    """
    with opened(defers_filing=True) as app:
        show_written(taken_back(app, ref, yes=yes), as_json)


def taken_back(app: App, ref: str | None, *, yes: bool, journal: str = "") -> Answer:
    """Take back the last edit of an entry, or what was written last here; says what that was.

    Raises:
        NotFound: There is nothing.
        Conflict: It was edited again since, or it is not known what a killed command wrote.
    """
    service = app.amend
    if ref is not None:
        within = Filter(journals=(journal,)) if journal else None
        found = find_entry(app, ref, service.find_undo, within=within)
        return _undone(app, found, yes=yes)
    while (newest := _newest(app, journal)) is not None:
        if isinstance(newest, FormerText):
            answer = _edit_undone(app, newest, yes=yes)
        else:
            answer = _act_undone(app, newest, yes=yes)
        if answer is not None:
            return answer
    where = f" in {journal}" if journal else ""
    raise NotFound(
        f"Nothing to undo: nothing was written{where} in this terminal that is still there.",
        hint="`commonplace undo REF` takes back the last edit of an entry, wherever it was made.",
    )


def _newest(app: App, journal: str) -> Act | FormerText | None:
    """What was written here last."""
    who = this_terminal()
    acts = [x for x in read(app.settings) if x.who == who and journal in {"", x.journal}]
    edits = [each for each in app.former.find(journal=journal) if each.terminal == who]
    found: list[Act | FormerText] = [*acts[-1:], *edits[:1]]
    return max(found, key=lambda each: each.at, default=None)


def _edit_undone(app: App, former: FormerText, *, yes: bool) -> Answer | None:
    """Take back an edit that was made here; None where a killed process never made it."""
    try:
        found = app.amend.find_undo(former.ref)
    except NotFound:
        _pass_over(app, former)
        return None
    except Conflict as exc:
        _pass_over(app, former)
        raise exc.extended("", hint=_NEXT) from exc
    if found.former is not None and found.former.id == former.id:
        return _undone(app, found, yes=yes)
    if found.former is None or found.former.id < former.id:
        return None
    raise Conflict(
        f"{former.ref} was edited again since, elsewhere.",
        hint=f"`commonplace undo {former.ref}` takes back the newest edit of it.",
    )


def _pass_over(app: App, former: FormerText) -> None:
    """Let an edit hold up no undo in this terminal; what was before it is still kept."""
    if any(each.id == former.id for each in app.former.find(former.ref)):
        app.former.write(replace(former, terminal=None))


def _undone(app: App, found: Undo, *, yes: bool) -> Answer:
    entry, former = found.entry, found.former
    if former is None:
        _confirm_gone([entry], yes=yes)
    else:
        changed = changed_lines(entry.ref, entry.text, former.text)
        for line in () if yes else changed:  # else the answer shows it
            say(wrapped(line, sys.stderr), err=True)
        said = "" if changed else entry.words or entry.text  # its tags or its time were edited
        confirm(f"Take back the last edit of {entry.ref}?", yes=yes, text=said, act="replace")
    return _answer(app.amend.undo(entry.ref, expected=entry.version), was_shown=not yes)


def _act_undone(app: App, act: Act, *, yes: bool) -> Answer | None:
    """Take back an entry, or an import; None where nothing of it is there."""
    match act:
        case WriteBegun():
            forget(app.settings, act)
            raise Conflict(
                f"A command that wrote into {act.journal} ended before it could note what it"
                " wrote.",
                hint=f"Look for it: `commonplace list`. {_NEXT}",
            )
        case EditNotKept():
            _name_edit(app, act)
            answer = None
        case EntriesWritten():
            answer = _entries_undone(app, act, yes=yes)
        case ImportMade():
            with _imported_into(app, act) as into, into.import_records().open(act.record).held():
                answer = _import_undone(into, app.settings, act, yes=yes)
        case _:
            assert_never(act)
    forget(app.settings, act)
    return answer


def _imported_into(app: App, act: ImportMade) -> AbstractContextManager[App]:
    """The app of the owner into whose journals it was imported."""
    if not act.owner:
        return nullcontext(app)
    return opened_of(act.owner, finishes=False, may_be_new=True)


def _name_edit(app: App, act: EditNotKept) -> None:
    """Name an edit that cannot be taken back. Raises: Conflict, unless its entry is gone."""
    with suppress(NotFound):
        entry = app.amend.read_text(act.ref)
        forget(app.settings, act)
        raise Conflict(
            f"The last edit of {entry.ref} kept nothing of what was there before.",
            hint="Edit it again. The next undo takes back what was before that edit.",
        )


def _entries_undone(app: App, act: EntriesWritten, *, yes: bool) -> Answer | None:
    service = app.amend
    there: list[EditableText] = []
    for ref, version in act.versions.items():
        try:
            entry = service.read_text(ref)
        except NotFound:
            continue
        if entry.version != version:
            forget(app.settings, act)
            raise Conflict(
                f"{entry.ref} was edited again since it was written.",
                hint=f"Delete it: `commonplace delete {entry.ref}`; or edit it. {_NEXT}",
            )
        there.append(entry)
    if not there:
        return None
    _confirm_gone(there, yes=yes)
    try:
        done = [service.take_back(each.ref, expected=each.version) for each in there]
    except Conflict as exc:
        if not any(_is_commit(each) for each in there):
            raise
        forget(app.settings, act)  # nothing else takes it out of the way
        raise exc.extended("", hint=_NEXT) from exc
    answers = [_answer(each, was_shown=not yes) for each in done]
    facts = {**answers[0].facts, "removed": len(answers)}
    return Answer(text="\n".join(each.text for each in answers), facts=facts)


@contextmanager
def _named_once(settings: Settings, act: Act, *errors: type[CommonplaceError]) -> Iterator[None]:
    """Forget an act that meets one of these errors, so that the next undo passes over it."""
    try:
        yield
    except errors as exc:
        forget(settings, act)
        raise exc.extended("", hint=_NEXT) from exc


def _import_undone(app: App, settings: Settings, act: ImportMade, *, yes: bool) -> Answer | None:
    """Take back an import; None where nothing of it is there. settings: Where it is noted."""
    from commonplace.verbs.imports.answers import (
        counted_shares,
        edited_notes,
        source_title,
        taken_back_answer,
    )

    with _named_once(settings, act, Invalid, NotFound):  # its record is gone
        taking = app.import_taking_back(act.record)
    with _named_once(settings, act, Invalid):  # or damaged
        left = taking.preview()
    edited = edited_notes(left.source, left.shares)
    for note in edited:
        say(note, err=True)
    updated = sum(share.updated for share in left.shares)
    if not left.entries and (edited or updated) and not left.is_going:
        forget(settings, act)
        why = f"it updated {counted_entries(updated)}, and an update is not taken back"
        raise Conflict(
            f"Nothing of the import can be taken back ({source_title(left.source)}):"
            f" {why if updated else 'what it added was changed since'}.",
            hint=_NEXT,
        )
    if left.entries:
        whose = f" of {act.owner!r}" if act.owner else ""
        names = f"{counted_shares(left.source, left.shares)}{whose} that were imported"
        confirm(f"Delete {names} ({source_title(left.source)}) for good?", yes=yes)
    with show_counting("Taking back entries") as progress:
        done = taking.take_back(progress, most=left.entries)
    with show_counting("Filing words"):
        app.filing.sweep()  # the summaries that are made again
    return taken_back_answer(done) if done.entries or left.is_going else None


def _confirm_gone(there: Sequence[EditableText], *, yes: bool) -> None:
    """Ask before entries go. Raises: as `confirm`."""
    names = ", ".join(entry.ref for entry in there)
    said = "\n".join(entry.words or entry.text for entry in there)
    question = f"Delete {names} for good?"
    if any(_is_commit(entry) for entry in there):
        question = f"Take back {names}? Git's history keeps it."
    confirm(question, yes=yes, text=said)


def _is_commit(entry: EditableText) -> bool:
    """Whether an entry stays in a history when it is taken back."""
    return "delete" not in entry.verbs


def _answer(done: Amendment, *, was_shown: bool) -> Answer:
    """What was taken back: an entry that is gone, or one that is as it was.

    was_shown: Whether the question showed what changes: then it is not said again.
    """
    is_gone = done.act == "deleted"
    lines = [f"Removed {done.ref}." if is_gone else f"Took back the last edit of {done.ref}."]
    changed = changed_lines(done.ref, done.before, done.text)
    lines += [] if was_shown else changed or [first_line(done.ref, done.text)]
    facts: dict[str, Any] = {
        "act": done.act,
        "ref": done.ref,
        "text": done.before if is_gone else done.text,
        "before": done.before,
        "removed": int(is_gone),
        "edited": int(not is_gone),
        "notes": [],
    }
    return Answer(text="\n".join(lines), facts=facts).noting(done.notes)
