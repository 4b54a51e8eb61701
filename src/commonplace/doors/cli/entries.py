"""`commonplace list`, `last`, `edit` and `delete`: entries of every journal, by time and by ref.

Never knows a journal: the index lists them, and `verbs.amend` corrects them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from commonplace.core.clock import render_interval
from commonplace.core.values import Answer
from commonplace.doors.cli.acts import note_written
from commonplace.doors.cli.asking import confirm, text_input
from commonplace.doors.cli.calls import check_age, check_journals, opened
from commonplace.doors.cli.options import (
    NumberBetween,
    common_options,
    list_form,
    list_options,
    no_undo_option,
    time_argument,
    yes_option,
)
from commonplace.doors.cli.output import show_list, show_page, show_written
from commonplace.doors.cli.short_refs import (
    FIRST_STEP,
    NO_ENTRIES,
    ShortRefCommand,
    find_entry,
    newest_entries,
    whole_ref,
)
from commonplace.doors.cli.verb_commands import verb_option
from commonplace.verbs.recall.tools import RecallTools

if TYPE_CHECKING:
    from commonplace.app import App
    from commonplace.core.values import Amendment, Hit


@click.command(name="list")
@time_argument
@click.option(
    "-n",
    "--limit",
    type=NumberBetween(1, 1000),
    default=20,
    show_default=True,
    help="Maximum number of entries.",
)
@verb_option(RecallTools.list_by_time, "start")
@verb_option(RecallTools.recall, "journals")
@verb_option(RecallTools.recall, "as_of")
@list_options
def list_entries(as_json: bool, **given: Any) -> None:
    """List the newest entries of all journals.

    WHEN is a time such as `yesterday` or `last week`; without it any time.
    """
    with opened() as app:
        show_list(_newest(app, **given), as_json)


@click.command(short_help="Show the newest entry whole.")
@click.argument("count", type=NumberBetween(1, 1000), default=1)
@list_options
def last(count: int, as_json: bool) -> None:
    """Show the newest entry whole, or list the newest COUNT entries of all journals."""
    with opened() as app:
        if count > 1:
            show_list(list_first(app, limit=count), as_json)
            return
        tool = app.toolset("recall").tool("open_ref")
        show_page(tool.call({"ref": whole_ref(app, "-1")}), as_json)


@click.command(cls=ShortRefCommand)
@click.argument("ref")
@click.argument("text", nargs=-1)
@no_undo_option
@yes_option
@common_options
def edit(ref: str, text: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Replace the text of any entry.

    What was there and what stands there now is shown.

    REF is a ref, its beginning, a number in the last list, or -1 for the newest entry. TEXT is the
    whole new text; without it, it is read from stdin or your editor. `-` reads stdin.
    """
    with opened(defers_filing=True) as app:
        service = app.amend
        entry = find_entry(app, ref, service.read_text)
        check_age(app, ref, entry, yes=yes)
        new = text_input(" ".join(text) if text else None, before=entry.text)
        done = service.edit(entry.ref, new, expected=entry.version)
        if done.act == "superseded":
            note_written(app, done.ref, service.read_text(done.ref).version)
        show_written(_answer(done), as_json)


@click.command(cls=ShortRefCommand, short_help="Delete any entry for good.")
@click.argument("ref")
@yes_option
@common_options
def delete(ref: str, yes: bool, as_json: bool) -> None:
    """Delete any entry for good, and every trace of its text in the index.

    REF is a ref, its beginning, a number in the last list, or -1 for the newest entry.
    """
    with opened() as app:
        service = app.amend
        entry = find_entry(app, ref, service.read_text)
        confirm(f"Delete {entry.ref} for good?", yes=yes, text=entry.words or entry.text)
        show_written(_answer(service.delete(entry.ref, expected=entry.version)), as_json)


def list_first(app: App, *, limit: int, when: str = "") -> Answer:
    """The newest, for a command that has no --start to go on with."""
    newest = _newest(app, limit=limit, when=when)
    notes = [f"These are the newest {limit}."] if when and newest.facts["next_start"] else ()
    return Answer(text=newest.text, facts={**newest.facts, "next_start": None}).noting(notes)


def _newest(
    app: App,
    *,
    limit: int,
    when: str = "",
    journals: tuple[str, ...] = (),
    start: int | None = None,
    as_of: str | None = None,
) -> Answer:
    """What was written last, whole; as a model is given it, the tool cuts and words it."""
    from commonplace.core.values import Filter
    from commonplace.verbs.answers import as_of_facts, interval_facts, text_for_model
    from commonplace.verbs.times import read_as_of

    check_journals(app, journals)
    first = start or 0
    end = first + limit
    # One more than is shown says whether there are more.
    before = read_as_of(app.recall.service(), as_of or "")
    listed = newest_entries(app, when, Filter(journals=journals, written_before=before), end + 1)
    shown = listed.hits[first:end]
    facts = {
        "interval": interval_facts(listed.interval),
        **as_of_facts(before),
        "count": len(shown),
        "entries": [facts_of(hit) for hit in shown],
        "next_start": end if len(listed.hits) > end else None,
    }
    if list_form() == "model":
        arguments = {"when": when, "limit": limit, "start": first, "as_of": as_of}
        arguments["journals"] = list(journals)
        said = text_for_model(app.toolset("recall").tool("list_by_time").call(arguments))
        return Answer(text=said, facts={**facts, "notes": list(listed.notes)})
    span = listed.interval
    during = f" of {render_interval(span, app.settings.timezone)}" if span else ""
    is_any = not (when or journals or first or before or listed.notes)
    said = f"{NO_ENTRIES} {FIRST_STEP}" if is_any else f"No entries{during} found."
    said = said if listed.is_whole else ""  # the notes say what is not known
    return Answer(said, facts, list(listed.notes))


def facts_of(hit: Hit) -> dict[str, Any]:
    """An entry of a list as plain data."""
    from commonplace.verbs.answers import chain_facts, replaced_since_facts, word_facts

    doc = hit.doc
    return {
        "ref": doc.ref,
        "at": doc.at.isoformat(),
        "text": doc.own_text,
        "journal": doc.journal,
        "kind": doc.kind,
        "tags": list(doc.own_tags),
        **word_facts(doc.word),
        **chain_facts(hit),
        **replaced_since_facts(hit.replaced_since),
    }


def _answer(done: Amendment) -> Answer:
    from commonplace.verbs.amend_answers import changed_lines

    lines = [f"{done.act.capitalize()} {done.ref}."]
    if done.act != "deleted":  # else it was shown before it went
        lines += changed_lines(done.ref, done.before, done.text)
    notes = [f"Note: {note}" for note in done.notes]
    facts: dict[str, Any] = {
        "act": done.act,
        "ref": done.ref,
        "before": done.before,
        "notes": list(done.notes),
    }
    if done.at is not None:  # else it is gone
        facts |= {"at": done.at.isoformat(), "text": done.text}
    return Answer(text="\n".join([*lines, *notes]), facts=facts)
