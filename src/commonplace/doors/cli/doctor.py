"""`commonplace doctor`: what is wrong on this machine, and its repair.

Never decides what is wrong: `doors.checkup` asks each room.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from commonplace.core.values import Answer
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.frame import FAILURE, common_options, show
from commonplace.doors.cli.progress import show_counting

if TYPE_CHECKING:
    from commonplace.core.values import Problem
    from commonplace.doors.doctor.checks import Repairs, Report


@click.command()
@click.option("--repair", is_flag=True, help="Mend what can be mended, and say what was done.")
@common_options
@click.pass_context
def doctor(ctx: click.Context, repair: bool, as_json: bool) -> None:
    """Look for what is wrong, and mend it.

    Looks at the weights, the settings, our folders, every journal entry and the index. Leaves with
    1 while anything is wrong. An entry is never altered: a broken one is named.
    """
    from commonplace.doors.doctor.checks import Doctor, Repairs

    with opened() as app:
        checkup = Doctor(app)
        mended = Repairs()
        if repair:
            with show_counting("Making vectors") as tell:
                mended = checkup.repair(tell)
        report = checkup.examine()
    report.problems.extend(x for x in mended.failed if x not in report.problems)
    show(Answer(text=_text(report, mended), facts=_facts(report, mended)), as_json)
    if report.problems:
        ctx.exit(FAILURE)


def _facts(report: Report, mended: Repairs) -> dict[str, object]:
    return {
        "problems": [{"where": part, **asdict(problem)} for part, problem in report.problems],
        "notes": [{"where": part, "what": note} for part, note in report.notes],
        "repaired": [{"where": part, "what": done} for part, done in mended.done],
    }


def _text(report: Report, mended: Repairs) -> str:
    before = [None, *(part for part, _ in report.notes)]
    lines = [
        f"{'' if part == last else part.capitalize():10}{note}"
        for last, (part, note) in zip(before, report.notes, strict=False)
    ]
    if mended.done:
        lines += ["", *(f"{'Repaired':10}{part}: {done}" for part, done in mended.done)]
    if report.problems:
        lines += ["", *(_problem_line(part, problem) for part, problem in report.problems)]
    return "\n".join([*lines, "", _verdict(report)])


def _problem_line(part: str, problem: Problem) -> str:
    return f"{'Problem':10}{part}: {problem.what} {problem.hint}".rstrip()


def _verdict(report: Report) -> str:
    if not report.problems:
        return "Nothing is wrong."
    count = len(report.problems)
    repairable = sum(problem.repairable for _, problem in report.problems)
    found = f"{count} {'problem' if count == 1 else 'problems'}"
    if not repairable:
        return f"{found}."
    return f"{found}, {repairable} repairable: run `commonplace doctor --repair`."
