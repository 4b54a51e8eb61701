"""`commonplace remember`: something that every later session is told at its start.

Never writes by itself: the private journal keeps it, under the heading that a brief tells for good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from commonplace.core.errors import Invalid
from commonplace.core.projects import is_marked, project_of
from commonplace.core.values import Answer
from commonplace.doors.cli.asking import text_input
from commonplace.doors.cli.call_settings import home_folder, settings
from commonplace.doors.cli.calls import call_tool
from commonplace.doors.cli.options import common_options, expires_option, supersedes_option
from commonplace.doors.cli.output import show_written
from commonplace.verbs.answers import one_line, shown_name
from commonplace.verbs.brief.service import CONVENTION

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(short_help="Tell every later session something.")
@click.argument("text", nargs=-1)
@click.option("--everywhere", is_flag=True, help="Tell it in every project, not in this one alone.")
@supersedes_option
@expires_option
@common_options
def remember(
    text: Sequence[str], *, everywhere: bool, supersedes: str | None, as_json: bool
) -> None:
    """Tell every later session something.

    TEXT is what it is told; without it, it is read from stdin or your editor. In a repository, or
    below a .chronicle, the sessions of that project are told, elsewhere those of every project.
    """
    words = text_input(" ".join(text) if text else None)
    project = "" if everywhere else _marked_project()
    if not words.strip():
        raise Invalid("The text is blank.", hint="Say what sessions are to know.")
    said = {"project_notes": f"{CONVENTION}{words}"} if project else {"user_context": words}
    given = {**said, "supersedes": supersedes}
    answer = call_tool("private", "process_thoughts", given, defers_filing=True)
    whose = f"of {shown_name(project)}" if project else "of every project"
    facts = {**answer.facts, "project": project, "text": words}
    notes = facts.pop("notes", ())
    lines = f"Sessions {whose} are told: {one_line(words.strip())}\n{facts['ref']}"
    show_written(Answer(lines, facts, notes), as_json)


def _marked_project() -> str:
    """The root of the project that is worked in; empty where nothing marks one."""
    folder = settings().work_folder
    found = project_of(folder, home_folder()) if folder else None
    if found is None or not (found.git or found.isolated or is_marked(found.root)):
        return ""
    return found.root
