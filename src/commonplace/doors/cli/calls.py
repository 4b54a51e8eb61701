"""What commands share that call a tool: the app of a call, and the tool called as a model would.

Never knows a journal: a command names the toolset it means.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from commonplace.app import App
from commonplace.app.app import WITHOUT_MEMORY
from commonplace.core.clock import render_instant
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.former_texts import editing
from commonplace.core.redact import noting_secrets
from commonplace.core.values import Filter
from commonplace.doors.cli.acts import note_edits, noting, this_terminal
from commonplace.doors.cli.asking import confirm
from commonplace.doors.cli.call_settings import home_folder, settings
from commonplace.doors.cli.frame import Frame
from commonplace.doors.cli.options import expires_at, keeps_former, says_yes
from commonplace.doors.cli.output import say
from commonplace.doors.cli.short_refs import find_entry, is_older_than_list, terminal_name
from commonplace.search.proposed import proposal_for_people

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.time_book import TimesWithin
    from commonplace.core.values import Answer, EditableText, Interval
    from commonplace.verbs.toolset import Tool

ENCODER_WAIT_S = 10.0
"""A command waits this long for the encoder, since it ends before a background could help."""

_OF_CHRONICLE = ("log", "when")
"""Commands of chronicle's that have short names."""

_SETTLED = "; if so, `commonplace undo`, and write it again with --supersedes."

VECTORS_WAIT_S = 10.0
"""How long a command lets vectors be made that it asked for, before it ends."""


@contextmanager
def opened(
    *, defers_filing: bool = False, finishes: bool = True, names_gone: bool = True
) -> Iterator[App]:
    """The app of this call's settings, closed at the end.

    Args:
        defers_filing: Whether new entries are left to the next search or server to file.
        finishes: Whether what a killed command was forgetting is forgotten first.
        names_gone: Whether to say that notes of the project are gone; else the command does.
    """
    app = App(settings(), user_home=home_folder(), defers_filing=defers_filing)
    try:
        for note in app.finish_forgetting(within=_within()) if finishes else ():
            say(f"Note: {note}", err=True)
        for note in app.private.notes_on_gone() if names_gone else ():
            say(f"Note: {note}", err=True)
        with (
            noting_secrets() as left_out,
            editing(terminal=this_terminal(), keeps=keeps_former()) as editor,
        ):
            yield app
        note_edits(app, editor.unkept)
        _note_seen(app, [*editor.edited, *editor.unkept])
        for note in left_out.notes:  # of a verb that is no tool, whose answer has its own
            say(f"Note: {note}", err=True)
        # There is no background once a command has ended.
        app.settle(VECTORS_WAIT_S)
    finally:
        app.close()


@contextmanager
def opened_of(
    owner: str | None, *, finishes: bool = True, may_be_new: bool = False
) -> Iterator[App]:
    """The app of this call's owner or of another one, as a server opens it; closed at the end.

    Args:
        owner: The other owner's name; None for this call's own.
        finishes: Whether what a killed command was forgetting is forgotten first.
        may_be_new: Whether an owner may be named of whom nothing is kept yet.

    Raises:
        NotFound: Nothing is kept of that owner.
    """
    from commonplace.app.apps import Apps
    from commonplace.app.wiring.memory.wiring import check_known
    from commonplace.core.owner_folders import parse_owner

    with opened(finishes=finishes) as app:
        if owner is None or parse_owner(owner) == app.settings.owner:
            yield app
            return
        owner = parse_owner(owner)
        if not may_be_new:
            check_known(app.shared, owner)
        apps = Apps(app.settings, user_home=home_folder(), shared=app.shared)
        try:
            with apps.using(owner) as other:
                if finishes:
                    other.finish_forgetting()
                yield other
        finally:
            apps.close()


def _within() -> TimesWithin:
    """Whether the running command may show memories; a database is not connected to for others."""
    context = click.get_current_context(silent=True)
    if context is None:
        return "all"
    while context.parent and context.parent.parent:
        context = context.parent
    name, root = context.info_name or "", context.find_root().command
    name = root.own_name(name) if isinstance(root, Frame) else name
    return "file" if name in {*WITHOUT_MEMORY, *_OF_CHRONICLE} else "all"


def call_tool(
    toolset: str,
    name: str,
    arguments: dict[str, Any],
    *,
    after: Callable[[App], None] | None = None,
    defers_filing: bool = False,
    within: Filter | None = None,
) -> Answer:
    """Call a tool of a toolset as a model would.

    Args:
        toolset: The toolset's name in the table.
        name: The tool's.
        arguments: As a model would give them.
        after: What is done first, as a server has done it by then.
        defers_filing: Whether new entries are left to the next search or server to file.
        within: The entries that `--supersedes` can mean (default: those of the journal that is
            named as the toolset is).
    """
    with opened(defers_filing=defers_filing) as app:
        if after is not None:
            after(app)
        tool = app.toolset(toolset).tool(name)
        if not tool.effects.writes:
            return tool.call(arguments)
        return written(app, tool, arguments, within=within or Filter(journals=(toolset,)))


def written(
    app: App,
    tool: Tool,
    arguments: Mapping[str, Any],
    *,
    within: Filter | None,
    is_own: bool = True,
) -> Answer:
    """Call a tool that may write, with what `--supersedes` and `--expires` name.

    Args:
        app: Of this call.
        tool: The tool.
        arguments: As a model would give them; `supersedes` may be a short form of a ref.
        within: The entries that `supersedes` can mean; None where it has no short form.
        is_own: Whether it writes for the owner, whose `undo` takes it back.

    Raises:
        Invalid: The time cannot be read, or is past; then nothing is written.
        As `find_entry` and the tool.
    """
    named = arguments.get("supersedes")
    if not named or within is None:
        return _noted(app, tool, arguments, within, is_own=is_own)

    def replace(ref: str) -> Answer:
        former = _entry_of(app, ref)
        if former is not None:
            check_age(app, named, former, yes=says_yes())
        answer = _noted(app, tool, {**arguments, "supersedes": ref}, within, is_own=is_own)
        if former is None:
            return answer
        from commonplace.verbs.amend_answers import first_line

        line = first_line(former.ref, former.text)
        return answer.noting([f"It takes the place of: {line}"])

    return find_entry(app, named, replace, within=within)


def _noted(
    app: App, tool: Tool, given: Mapping[str, Any], within: Filter | None, *, is_own: bool
) -> Answer:
    """Call a tool that may write, with `--expires`, and note what it wrote, for `undo`."""
    phrase = expires_at()
    with (
        noting(app, within.journals[0] if within is not None else "") as note,
        editing(terminal=this_terminal(), keeps=keeps_former()) as editor,
    ):
        if phrase is None:
            answer = tool.call(given)
        else:
            answer = app.write_expiring(phrase, lambda at: tool.call(given, ends=at))
        is_known = answer.facts.get("repeated") or not answer.facts.get("is_new", True)
        is_edit = editor.edited or editor.unkept
        note({} if is_known or is_edit or not is_own else answer.written)
    note_edits(app, editor.unkept)
    _note_seen(app, answer.written if is_own else ())
    return answer.with_notes(lambda note: proposal_for_people(note, _SETTLED))


def _note_seen(app: App, refs: Collection[str]) -> None:
    """Note what was written on a terminal as seen by its owner: an assistant's call has none."""
    if refs and terminal_name():
        app.seen_marks.keep_written(refs, app.clock())


def check_age(app: App, named: str, entry: EditableText, *, yes: bool) -> None:
    """Ask before a number changes an entry that is older than the last list; see `confirm`."""
    if is_older_than_list(named, entry, app.settings):
        confirm(
            f"{named} is {entry.ref}, which is older than the last list. Go on?",
            yes=yes,
            text=entry.words or entry.text,
            act="replace",
        )


def _entry_of(app: App, ref: str) -> EditableText | None:
    """What a ref of the owner's own journals leads to, before it is replaced; else None."""
    with suppress(CommonplaceError):
        return app.amend.read_text(ref)
    return None


def load_encoder(app: App) -> None:
    """Wait for the encoder as long as a command may."""
    app.encoder.start()
    app.encoder.get(ENCODER_WAIT_S)


def file_everything(app: App) -> None:
    """Wait for the encoder, and file every change, edits in place included.

    Vectors that are missing, of what was filed without an encoder, are made meanwhile.
    """
    load_encoder(app)
    app.filing.sweep()
    app.filing.wake()


def check_journals(app: App, names: Sequence[str]) -> None:
    """Raises Invalid for a name that no journal has, with the nearest one."""
    from commonplace.verbs.answers import unknown_name

    known = [each.name for each in app.journals]
    for name in names:
        if name not in known:
            raise unknown_name(f"Unknown journal: {name!r}.", name, known)


def time_of(app: App, when: str | None, *, since: str | None = None) -> Interval | None:
    """The time that --when and the former --since have in common; None without. Raises: Invalid."""
    from commonplace.core.when.phrases import read_interval
    from commonplace.verbs.times import naming

    with naming("when" if when else "since"):
        now, zone = app.clock(), app.settings.timezone
        return read_interval(when=when, since=since, until=None, now=now, zone=zone)


def start_of(app: App, when: str | None, since: str | None) -> datetime | None:
    """Where a time begins that goes on until now, by --when or the former --since; None for any.

    Raises: Invalid, also for a time that has ended: what came later would be taken with it.
    """
    span = time_of(app, when, since=since)
    if span is None:
        return None
    if span.start is None:
        raise Invalid(f"Invalid when: {when!r} has no beginning.", hint="Use one: 'since 2026'.")
    if span.end is not None and span.end < app.clock():
        begins = render_instant(span.start, app.settings.timezone).removesuffix(" 00:00")
        raise Invalid(
            f"Invalid when: {when!r} has ended, and all that is newer is taken too.",
            hint=f"If that is meant: --when 'since {begins}'.",
        )
    return span.start
