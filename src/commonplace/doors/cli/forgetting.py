"""`commonplace forget`: deletes entries and every copy of their text, and prints a proof.

Decides nothing: `verbs.forgetting` plans, deletes and looks.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from commonplace.core.errors import Denied, Invalid, NotFound
from commonplace.core.inherited import INHERITED
from commonplace.core.values import Answer, Interval
from commonplace.doors.cli.asking import confirm
from commonplace.doors.cli.calls import check_journals, opened_of, time_of
from commonplace.doors.cli.frame import FAILURE
from commonplace.doors.cli.options import (
    NumberBetween,
    complete_folders,
    flag_of,
    journals_option,
    json_option,
    yes_option,
)
from commonplace.doors.cli.output import say, show, show_written
from commonplace.doors.cli.short_refs import ShortRefCommand, find_entry, keep_list
from commonplace.doors.cli.terminal_width import wrapped
from commonplace.verbs.forgetting.copies import DRAFT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.app import App
    from commonplace.core.values import Doc
    from commonplace.verbs.forgetting.service import (
        ForgettingPlan,
        ForgettingProof,
        ForgettingService,
    )

_SHOWN = 20
_NAMED = 3
_NUMBERED = 200
_OPENING = 80
_FILTERS = ("query", "when", "before", "project")


@click.command(cls=ShortRefCommand, short_help="Delete entries and every copy of their text.")
@click.argument("refs", metavar="[REF]...", nargs=-1)
@click.option("--query", metavar="WORDS", help="Entries that contain all of these words.")
@click.option("--when", metavar="TIME", help="Entries of this time: 'last week', 'before 2024'.")
@click.option("--before", hidden=True)
@click.option(
    "--project",
    metavar="FOLDER",
    shell_complete=complete_folders,
    callback=flag_of("project"),  # with a REF it says which project's journal is open, as elsewhere
    help="Entries written in this folder or below it; with a REF, the project's folder.",
)
@journals_option(help="With one of these three: only entries of this journal.")
@click.option(
    "--rewrite-history",
    "rewrites",
    is_flag=True,
    help="Take entries of the notebook out of its git history too.",
)
@click.option(
    "--keep-days",
    type=NumberBetween(0, 3650),
    default=14,
    show_default=True,
    help="With --rewrite-history: how long the former history is kept, to undo it.",
)
@click.option(
    "--with-inherited",
    type=click.Choice(["all", *INHERITED]),
    multiple=True,
    metavar="WHAT",
    help="Take it out of what replaced the entry too: all, or "
    f"{', '.join(INHERITED[:-1])} or {INHERITED[-1]}.",
)
@click.option(
    "--owner", metavar="NAME", help="Forget entries of another owner: a user, or `space:NAME`."
)
@click.option("--dry-run", is_flag=True, help="Show what would go, and delete nothing.")
@yes_option
@json_option
@click.pass_context
def forget(
    ctx: click.Context,
    /,
    refs: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **filters: Any,
) -> None:
    """Delete entries of any journal and every copy of their text, and prove that it is gone.

    REF is a ref, its beginning, a number in the last list, or -1 for the newest entry. In place of
    refs, --query, --when and --project choose the entries that fit all of them; these are listed
    with numbers before you are asked. --query looks for whole words, in any order and case, and
    never for a meaning.

    Messages of sessions that quote the text go too. Then every file of Commonplace is searched for
    the text and for any 12 words of it in a row; if any is left, the command exits with 1. Without
    a REF or a filter it finishes what was interrupted.

    What replaced an entry may have its tags, say, from it. That stays and is named, unless
    --with-inherited takes it out, by the journal's own edit.

    An entry of the notebook is a commit: --rewrite-history rewrites every branch without it.

    --owner takes the entries of a user who is served from this home or its database, or of a space,
    and searches what that owner has here and there.
    """
    days, rewrites = filters.pop("keep_days"), filters.pop("rewrites")
    inherited, owner = filters.pop("with_inherited"), filters["owner"]
    if refs:
        filters["project"] = None
    _check_filters(refs, filters)
    with opened_of(owner, finishes=False) as app:
        service = app.forgetting()
        is_filtered = any(filters[name] is not None for name in _FILTERS)
        chosen = _select(app, service, filters) if is_filtered else ()
        if not refs and not chosen:
            show(_resumed(() if dry_run else service.resume()), as_json)
            return
        named = [find_entry(app, ref, app.amend.read_kept_text).ref for ref in refs]
        wanted = named or [doc.ref for doc in chosen]
        plan = service.plan(
            wanted,
            kept_days=days if rewrites else None,
            with_inherited=INHERITED if "all" in inherited else inherited,
        )
        listed = _listed(app, chosen)
        if dry_run:
            text = "\n".join([*listed, *_plan_lines(plan, "Would forget", but=chosen)])
            show_written(Answer(text=text, facts={"dry_run": True, **_plan_facts(plan)}), as_json)
            return
        _ask(plan, listed, wanted, yes=yes)
        proof = service.carry_out(plan)
        lines = [*_plan_lines(plan, "Forgot"), *_proof_lines(proof)]
        facts = {"dry_run": False, **_plan_facts(plan), **_proof_facts(proof)}
        show_written(Answer(text="\n".join(lines), facts=facts), as_json)
    if not proof.is_clean:
        ctx.exit(FAILURE)


def _resumed(notes: Sequence[str]) -> Answer:
    """What was finished that a killed command began. Raises: Invalid where there was nothing."""
    if not notes:
        raise Invalid(
            "No entry is named.",
            hint="Give a ref, or --query, --when or --project: commonplace forget REF.",
        )
    return Answer(text="\n".join(notes), facts={"notes": list(notes)})


def _check_filters(refs: tuple[str, ...], filters: dict[str, Any]) -> None:
    given = [name for name in _FILTERS if filters[name] is not None]
    for name in given:
        if not filters[name].strip():
            raise Invalid(f"Invalid {name}: it is blank.", hint=f"Give --{name} a value.")
    if refs and (given or filters["journals"]):
        raise Invalid(
            f"Refs and --{[*given, 'journal'][0]} cannot be combined.",
            hint="Give refs or filters, not both.",
        )
    if filters["journals"] and not given:
        raise Invalid(
            "--journal alone would take everything in the journal.",
            hint="Add --query, --when or --project; `--when 'until now'` takes everything.",
        )


def _time_of(app: App, when: str | None, before: str | None) -> Interval:
    """The time by --when, less what is not before the former --before. Raises: Invalid."""
    from commonplace.core.when.phrases import parse_since
    from commonplace.verbs.times import naming

    span = time_of(app, when) or Interval()
    if before is None:
        return span
    with naming("before"):
        end = parse_since(before, now=app.clock(), zone=app.settings.timezone)
    return replace(span, end=end if span.end is None else min(span.end, end))


def _select(app: App, service: ForgettingService, filters: dict[str, Any]) -> list[Doc]:
    """The entries that fit the filters, oldest first. Raises: NotFound where none does."""
    from commonplace.verbs.forgetting.selection import EntrySelection

    check_journals(app, filters["journals"])
    taken = service.select(
        EntrySelection(
            query=filters["query"] or "",
            within=_time_of(app, filters["when"], filters["before"]),
            project=filters["project"] or "",
            journals=filters["journals"],
        )
    )
    if not taken:
        given = [f"--{name} {filters[name]!r}" for name in _FILTERS if filters[name] is not None]
        hint = "`commonplace recall` and `commonplace list` show what there is."
        if filters["owner"] is not None:  # which show nothing of another's
            hint = "`commonplace export --owner NAME FOLDER` writes out what there is."
        raise NotFound(f"No entry fits {' and '.join(given)}.", hint=hint)
    return taken


def _listed(app: App, chosen: Sequence[Doc]) -> list[str]:
    """The entries that the filters chose, numbered, so that `forget 2 5` can take some of them."""
    from commonplace.core.fence import visible
    from commonplace.core.text import opening, shown_now

    if not chosen:
        return []
    keep_list((doc.ref for doc in chosen[:_NUMBERED]), app.settings)
    zone = app.settings.timezone
    lines = [
        f"{number}. {doc.at.astimezone(zone):%Y-%m-%d %H:%M} {doc.ref}: "
        + visible(opening(" ".join(shown_now(doc.own_text).split()), _OPENING))
        for number, doc in enumerate(chosen[:_NUMBERED], 1)
    ]
    more = len(chosen) - len(lines)
    return [*lines, f"And {more} more."] if more else lines


def _ask(plan: ForgettingPlan, listed: list[str], wanted: Sequence[str], *, yes: bool) -> None:
    """Ask before a plan is carried out. Raises: Denied where nothing of it goes."""
    if not plan.entries:
        is_in_history = any(ref.startswith("notebook:") for ref in wanted)
        hint = "--rewrite-history rewrites it; or supersede it with a text that says what holds."
        raise Denied(plan.stays[0], hint=hint if is_in_history else "")
    count, first = len(plan.entries), plan.entries[0]
    what = first.ref if count == 1 else f"{count} entries, {first.ref} the first of them,"
    shown = [*listed, *_heir_lines(plan, "Would take")]
    if shown and not yes:
        say(wrapped("\n".join(shown), sys.stderr), err=True)
    confirm(f"Forget {what} for good?", yes=yes, text="" if listed else first.words or first.text)


def _plan_lines(plan: ForgettingPlan, done: str, *, but: Sequence[Doc] = ()) -> list[str]:
    """What a plan deletes or has deleted, a line each. but: entries that were listed already."""
    from commonplace.core.text import counted_entries

    listed = {doc.ref for doc in but}
    entries = [each for each in plan.entries if each.ref not in listed]
    lines = [
        f"{done} {each.ref}" + (f", which quotes {each.because}." if each.because else ".")
        for each in entries[:_SHOWN]
    ]
    if listed:
        lines.insert(0, f"{done} {len(plan.entries) - len(entries)} of these.")
    if len(entries) > _SHOWN:
        lines.append(f"{done} {len(entries) - _SHOWN} more.")
    lines += [f"{done} {each.named}." for each in plan.copies if not each.left]
    lines += _heir_lines(plan, "Would take" if done == "Would forget" else "Took")
    if plan.remade:
        lines.append(f"Made again without it: {_named(plan.remade)}.")
    if same := tuple(each.ref for each in plan.others if each.is_whole):
        lines.append(f"Says the same, and stays: {_named(same)}.")
    if near := len(plan.others) - len(same):
        lines.append(f"Shares twelve words in a row with it, and stays: {counted_entries(near)}.")
    lines += plan.stays
    left = [f"{each.named}: {each.left}" for each in plan.copies if each.left]
    return [*lines, *(f"Not reached: {each}" for each in (*left, *plan.unreached))]


def _heir_lines(plan: ForgettingPlan, done: str) -> list[str]:
    """What the entries have that took the place of those that go, and what of it goes."""
    from commonplace.core.fence import visible_line

    lines, left = [], dict[str, None]()
    for each in plan.heirs:
        for name, values in each.values.items():
            what = f"{name}: {visible_line(', '.join(values))}"
            if name in plan.with_inherited:
                lines.append(f"{done} out of {each.ref} what it has of {each.former}, {what}")
            else:
                left[name] = None
                lines.append(f"Stays in {each.ref}, inherited or given alike, {what}")
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"And {len(lines) - _SHOWN} more that were inherited or given alike."]
    if left and done == "Would take":
        lines.append(f"To take it out too: --with-inherited {' --with-inherited '.join(left)}")
    return lines


def _named(refs: tuple[str, ...], most: int = _SHOWN) -> str:
    more = f" and {len(refs) - most} more" if len(refs) > most else ""
    return ", ".join(refs[:most]) + more


def _proof_lines(proof: ForgettingProof) -> list[str]:
    history = f" and {proof.objects:,} objects of git" if proof.objects else ""
    lines = [f"Looked through {proof.files:,} files{history}, {proof.size:,} bytes."]
    for each in proof.found:
        if each.refs:
            lines.append(f"{each.place}: words that {_named(each.refs, _NAMED)} says as well.")
        elif proof.is_short:
            lines.append(f"{each.place}: the same words, which are too few to say whose.")
        else:
            lines.append(f"Still there: {each.place}")
    lines += [f"Not read: {each}" for each in proof.unread]
    if not proof.found and not proof.unread:
        lines.append("Nothing of the text is left.")
    return [*lines, *(f"Note: {note}" for note in proof.notes)]


def _plan_facts(plan: ForgettingPlan) -> dict[str, Any]:
    return {
        "items": [
            {"ref": each.ref, "journal": each.ref.partition(":")[0], "because": each.because}
            for each in plan.entries
        ],
        "drafts": [each.place for each in plan.copies if each.what == DRAFT],
        "copies": [
            {"what": each.what, "path": each.place, "left": each.left} for each in plan.copies
        ],
        "inherited": [
            {
                "ref": each.ref,
                "former": each.former,
                "what": name,
                "values": list(values),
                "goes": name in plan.with_inherited,
            }
            for each in plan.heirs
            for name, values in each.values.items()
        ],
        "made_again": list(plan.remade),
        "same_words": list(plan.same_words),
        "stays": list(plan.stays),
        "not_reached": list(plan.unreached),
    }


def _proof_facts(proof: ForgettingProof) -> dict[str, Any]:
    return {
        "clean": proof.is_clean,
        "files": proof.files,
        "objects": proof.objects,
        "bytes": proof.size,
        "found": [{"place": each.place, "refs": list(each.refs)} for each in proof.found],
        "not_read": list(proof.unread),
        "notes": list(proof.notes),
    }
