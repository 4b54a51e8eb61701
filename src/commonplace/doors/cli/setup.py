"""`commonplace setup`: put Commonplace into an MCP client's configuration, or show how."""

from __future__ import annotations

import click

from commonplace.core.errors import Unavailable
from commonplace.doors import entry_point
from commonplace.doors.cli.frame import home_folder, json_option, show


@click.command()
@click.argument("client", type=click.Choice([*entry_point("clients")]))
@click.option(
    "--print", "only_print", is_flag=True, help="Show what to add and where; write nothing."
)
@click.option("--toolsets", metavar="A,B|all", help="Which tools the client is offered.")
@json_option
def setup(client: str, only_print: bool, toolsets: str | None, as_json: bool) -> None:
    """Add Commonplace to an MCP client.

    Other servers in the client's file stay as they are, and a backup of the file is kept beside it.
    """
    home = home_folder()
    if home is None:
        raise Unavailable("You have no home folder.", hint="Set HOME, then try again.")
    run = entry_point("show_client_block" if only_print else "set_up_client")
    show(run(client, toolsets=toolsets, home=home), as_json)
