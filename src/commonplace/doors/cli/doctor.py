"""`commonplace doctor`: what is wrong on this machine, and its repair.

Never decides what is wrong: `doors/doctor` asks each room.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from commonplace.core.errors import CommonplaceError
from commonplace.core.text import counted
from commonplace.core.values import Answer, HealthRepairs
from commonplace.doors import entry_point
from commonplace.doors.cli.asking import confirm
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.frame import FAILURE
from commonplace.doors.cli.options import common_options
from commonplace.doors.cli.output import show
from commonplace.doors.cli.progress import show_counting
from commonplace.doors.last_examination import keep_examination

if TYPE_CHECKING:
    from commonplace.core.values import HealthReport

_LEAD = len("Repaired  ")


@click.command()
@click.option("--repair", is_flag=True, help="Fix what can be fixed, and list what was done.")
@click.option("--secrets", is_flag=True, help="Look for secrets in every journal instead.")
@click.option("--yes", is_flag=True, help="Do not ask before --secrets --repair.")
@common_options
@click.pass_context
def doctor(ctx: click.Context, repair: bool, secrets: bool, yes: bool, as_json: bool) -> None:
    """Check for problems; fix them with --repair.

    Checks the weights, the settings, the folders, every journal entry and the index. Exits with
    code 1 while there is a problem. Broken entries are listed and never changed. Only --secrets
    --repair changes entries: it replaces each secret by a mark, after asking.
    """
    with opened(finishes=False, names_gone=False) as app:
        with suppress(CommonplaceError):  # the report lists it with the other problems
            app.finish_forgetting()
        repairs = HealthRepairs()
        checks = entry_point("doctor")(app)
        if repair and secrets:
            confirm(
                "Replace the secrets in your entries with marks, for good?",
                yes=yes,
                text="--secrets lists what would be changed.",
                act="replace",
            )
            with show_counting("Replacing secrets") as on_progress:
                repairs = entry_point("repair_secrets")(app, on_progress)
        elif repair:
            with show_counting("Making vectors") as on_progress:
                repairs = checks.repair(on_progress)
        report = entry_point("find_secrets")(app) if secrets else checks.examine()
        if not secrets:
            keep_examination(app, report)
    report.problems.extend(x for x in repairs.failed if x not in report.problems)
    text = _text(report, repairs, flags="--secrets --repair" if secrets else "--repair")
    show(Answer(text=text, facts=_facts(report, repairs)), as_json)
    if report.problems:
        ctx.exit(FAILURE)


def _facts(report: HealthReport, repairs: HealthRepairs) -> dict[str, object]:
    return {
        "problems": [{"where": part, **asdict(problem)} for part, problem in report.problems],
        "notes": [{"where": part, "what": note} for part, note in report.notes],
        "repaired": [{"where": part, "what": done} for part, done in repairs.done],
    }


def _text(report: HealthReport, repairs: HealthRepairs, *, flags: str) -> str:
    names = [part.capitalize() for part, _ in report.notes]
    lead = max(map(len, names), default=0) + 2
    before = [None, *(part for part, _ in report.notes)]
    lines = [
        f"{'' if part == last else part.capitalize():{lead}}{note}"
        for last, (part, note) in zip(before, report.notes, strict=False)
    ]
    if repairs.done:
        lines += ["", *(f"{'Repaired':{_LEAD}}{part}: {done}" for part, done in repairs.done)]
    if report.problems:
        lines.append("")
        for part, problem in report.problems:
            said = f"{part}: {problem.what} {problem.hint}".rstrip()
            lines.append(f"{'Problem':{_LEAD}}{said}")
    return "\n".join([*lines, "", _verdict(report, flags)])


def _verdict(report: HealthReport, flags: str) -> str:
    if not report.problems:
        return "Nothing is wrong."
    repairable = sum(problem.repairable for _, problem in report.problems)
    found = counted(len(report.problems), "problem", "problems")
    if not repairable:
        return f"{found}."
    return f"{found}, {repairable} repairable: run `commonplace doctor {flags}`."
