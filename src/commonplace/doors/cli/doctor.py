"""`commonplace doctor`: what is wrong on this machine, and its repair.

Never decides what is wrong: `doors/doctor` asks each room.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from commonplace.core.values import Answer, HealthRepairs
from commonplace.doors import entry_point
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.frame import FAILURE, common_options, show
from commonplace.doors.cli.progress import show_counting

if TYPE_CHECKING:
    from commonplace.core.values import HealthReport, Problem


@click.command()
@click.option("--repair", is_flag=True, help="Fix what can be fixed, and list what was done.")
@common_options
@click.pass_context
def doctor(ctx: click.Context, repair: bool, as_json: bool) -> None:
    """Check for problems; fix them with --repair.

    Checks the weights, the settings, the folders, every journal entry and the index. Exits with
    code 1 while there is a problem. Entries are never changed: broken ones are listed.
    """
    with opened() as app:
        checks = entry_point("doctor")(app)
        repairs = HealthRepairs()
        if repair:
            with show_counting("Making vectors") as on_progress:
                repairs = checks.repair(on_progress)
        report = checks.examine()
    report.problems.extend(x for x in repairs.failed if x not in report.problems)
    show(Answer(text=_text(report, repairs), facts=_facts(report, repairs)), as_json)
    if report.problems:
        ctx.exit(FAILURE)


def _facts(report: HealthReport, repairs: HealthRepairs) -> dict[str, object]:
    return {
        "problems": [{"where": part, **asdict(problem)} for part, problem in report.problems],
        "notes": [{"where": part, "what": note} for part, note in report.notes],
        "repaired": [{"where": part, "what": done} for part, done in repairs.done],
    }


def _text(report: HealthReport, repairs: HealthRepairs) -> str:
    before = [None, *(part for part, _ in report.notes)]
    lines = [
        f"{'' if part == last else part.capitalize():9} {note}"
        for last, (part, note) in zip(before, report.notes, strict=False)
    ]
    if repairs.done:
        lines += ["", *(f"{'Repaired':10}{part}: {done}" for part, done in repairs.done)]
    if report.problems:
        lines += ["", *(_problem_line(part, problem) for part, problem in report.problems)]
    return "\n".join([*lines, "", _verdict(report)])


def _problem_line(part: str, problem: Problem) -> str:
    return f"{'Problem':10}{part}: {problem.what} {problem.hint}".rstrip()


def _verdict(report: HealthReport) -> str:
    if not report.problems:
        return "Nothing is wrong."
    count = len(report.problems)
    repairable = sum(problem.repairable for _, problem in report.problems)
    found = f"{count} {'problem' if count == 1 else 'problems'}"
    if not repairable:
        return f"{found}."
    return f"{found}, {repairable} repairable: run `commonplace doctor --repair`."
