"""`commonplace brief`: what a session of this project is given at its start.

Never decides what a brief holds: `verbs/brief` does, for hooks and this command alike.
"""

from __future__ import annotations

from typing import Any

import click

from commonplace.core.values import Answer
from commonplace.doors.cli.call_settings import settings, working_folder
from commonplace.doors.cli.options import common_options
from commonplace.doors.cli.output import show

NOTHING = "Nothing is kept of this project yet: a session starts without a brief."
SWITCHED_OFF = "The brief is switched off: brief.tokens is 0."


@click.command()
@click.option("--client", default="claude-code", show_default=True, help="Whose session it is.")
@click.option("--session", default="", metavar="ID", help="The client's id of the session.")
@click.option("--cut", "is_cut", is_flag=True, help="As after the session was compacted.")
@common_options
def brief(client: str, session: str, is_cut: bool, as_json: bool) -> None:
    """Show what a session of this project is given at its start.

    The settings brief.* say how long it may be and what goes in.
    """
    from commonplace.doors.cli.calls import opened
    from commonplace.doors.current_brief import brief_now

    folder = str(settings().work_folder or working_folder())  # first: what is wrong with a setting
    with opened() as app:
        made, root, is_wanted = brief_now(
            app, folder, session=session, client=client, is_cut=is_cut
        )
    items: list[dict[str, Any]] = [
        {
            "part": part,
            "ref": item.ref,
            "at": item.instant.isoformat() if item.instant else None,
            "text": item.text,
        }
        for part, found in made.parts.items()
        for item in found
    ]
    text = made.text or (NOTHING if is_wanted else SWITCHED_OFF)
    facts = {"brief": made.text, "project": root, "offered": items}
    show(Answer(text=text, facts=facts), as_json, items="offered")
