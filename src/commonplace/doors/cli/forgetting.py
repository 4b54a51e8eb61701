"""`commonplace forget`: entries go with whatever holds their text, and a proof is printed.

Decides nothing: `services.forgetting` plans, deletes and looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from commonplace.core.errors import Denied, Invalid
from commonplace.core.values import Answer
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.frame import FAILURE, common_options, confirm, show, yes_option
from commonplace.doors.cli.short_refs import ShortRefCommand, find_entry

if TYPE_CHECKING:
    from commonplace.services.forgetting.service import ForgettingPlan, ForgettingProof

_SHOWN = 20


@click.command(cls=ShortRefCommand, short_help="Delete entries and whatever holds their text.")
@click.argument("refs", metavar="REF...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Show what would go, and delete nothing.")
@yes_option
@common_options
@click.pass_context
def forget(
    ctx: click.Context, refs: tuple[str, ...], dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Delete entries of any journal with whatever holds their text, and prove it.

    REF is a ref, its beginning, a number in the last list, or -1 for the newest entry. What was
    said in sessions in the same words goes too. Then every file of ours is looked through for the
    text and for each 12 words of it; where any is left, the command ends with 1. Without a REF
    it goes on with what was interrupted.
    """
    with opened() as app:
        service = app.forgetting()
        if not refs:
            notes = () if dry_run else service.resume()
            if not notes:
                raise Invalid("No entry is named.", hint="Give a ref: commonplace forget REF.")
            show(Answer(text="\n".join(notes), facts={"notes": list(notes)}), as_json)
            return
        named = [find_entry(app, ref, app.amend.service().read_text).ref for ref in refs]
        plan = service.plan(named)
        if dry_run:
            text = "\n".join(_plan_lines(plan, "Would forget"))
            show(Answer(text=text, facts={"dry_run": True, **_plan_facts(plan)}), as_json)
            return
        if not plan.entries:
            raise Denied(plan.stays[0], hint="Supersede it with a text that says what holds.")
        count = len(plan.entries)
        first = plan.entries[0]
        what = first.ref if count == 1 else f"{count} entries, {first.ref} the first of them,"
        confirm(f"Forget {what} for good?", yes=yes, text=first.text)
        proof = service.carry_out(plan)
        lines = [*_plan_lines(plan, "Forgot"), *_proof_lines(proof)]
        facts = {"dry_run": False, **_plan_facts(plan), **_proof_facts(proof)}
        show(Answer(text="\n".join(lines), facts=facts), as_json)
    if not proof.is_clean:
        ctx.exit(FAILURE)


def _plan_lines(plan: ForgettingPlan, done: str) -> list[str]:
    lines = [
        f"{done} {each.ref}" + (f", which quotes {each.because}." if each.because else ".")
        for each in plan.entries[:_SHOWN]
    ]
    if len(plan.entries) > _SHOWN:
        lines.append(f"{done} {len(plan.entries) - _SHOWN} more.")
    lines += [f"{done} the draft {path}." for path in plan.drafts]
    if plan.remade:
        lines.append(f"Made again without it: {_named(plan.remade)}.")
    if plan.same_words:
        lines.append(f"Says the same words, and stays: {_named(plan.same_words)}.")
    lines += plan.stays
    return [*lines, *(f"Not reached: {each}" for each in plan.unreached)]


def _named(refs: tuple[str, ...]) -> str:
    more = f" and {len(refs) - _SHOWN} more" if len(refs) > _SHOWN else ""
    return ", ".join(refs[:_SHOWN]) + more


def _proof_lines(proof: ForgettingProof) -> list[str]:
    history = f" and {proof.objects:,} objects of git" if proof.objects else ""
    lines = [f"Looked through {proof.files:,} files{history}, {proof.size:,} bytes."]
    for each in proof.found:
        if each.refs:
            lines.append(f"{each.place}: words that {_named(each.refs)} says as well.")
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
        "drafts": [str(path) for path in plan.drafts],
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
