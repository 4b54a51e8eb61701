"""`commonplace setup`: put Commonplace into an MCP client's configuration, or show how.

Never decides how a client's file is edited: `doors.clients` does.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

import click

from commonplace.config.settings import parse_setting
from commonplace.core.errors import CommonplaceError, Unavailable
from commonplace.core.values import Answer
from commonplace.doors.cli.frame import home_folder, json_option, show
from commonplace.doors.setup.clients import (
    CLIENTS,
    Machine,
    own_command,
    plan_setup,
    render_block,
    write_change,
)


@click.command()
@click.argument("client", type=click.Choice([*CLIENTS]))
@click.option(
    "--print", "only_print", is_flag=True, help="Show what to add and where; write nothing."
)
@click.option("--toolsets", metavar="A,B|all", help="Which tools the client is offered.")
@json_option
def setup(client: str, only_print: bool, toolsets: str | None, as_json: bool) -> None:
    """Add Commonplace to an MCP client.

    Other servers in the client's file stay as they are, and a backup of the file is kept beside it.
    """
    chosen = CLIENTS[client]
    machine = _machine()
    command = [*own_command(sys.argv[0], sys.executable), "mcp"]
    if toolsets is not None:
        parse_setting("toolsets", toolsets)
        command += ["--toolsets", toolsets]
    file = chosen.file(machine)
    facts: dict[str, object] = {"client": client, "file": str(file), "command": command}
    if only_print:
        block = render_block(chosen, command)
        show(Answer(text=f"# {file}\n{block}", facts={**facts, "block": block}), as_json)
        return
    change = plan_setup(chosen, command, machine)
    if change is None:
        facts["primed"] = _primed(toolsets, machine)
        text = f"{chosen.title} is already set up in {file}."
        show(Answer(text=text, facts={**facts, "changed": False, "backup": None}), as_json)
        return
    backup = write_change(change, now=datetime.now(UTC))
    facts["primed"] = _primed(toolsets, machine)
    kept = f"\nThe file as it was: {backup}" if backup else ""
    text = f"Commonplace is set up for {chosen.title} in {file}.{kept}\n{chosen.afterwards}"
    facts |= {"changed": True, "backup": str(backup) if backup else None}
    show(Answer(text=text, facts=facts), as_json)


def _primed(toolsets: str | None, machine: Machine) -> bool:
    """Keep what a client is told first, so that its first session begins at once."""
    from commonplace.doors.stdio.snapshot_recorder import prime

    words = [] if toolsets is None else ["--toolsets", toolsets]
    try:
        return prime(words, flags={"toolsets": toolsets}, user_home=machine.home)
    except CommonplaceError:  # the first session begins slower, and `doctor` tells why
        return False


def _machine() -> Machine:
    home = home_folder()
    if home is None:
        raise Unavailable("You have no home folder.", hint="Set HOME, then try again.")
    return Machine(platform=sys.platform, home=home, environ=os.environ)
