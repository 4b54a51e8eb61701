"""`commonplace mcp`: the MCP server over stdio, for a start that needs all settings read first.

Never prints: stdout is the protocol's alone.
"""

from __future__ import annotations

import os

# The first statement that runs: a parent that dies while we import must be noticed later.
PARENT = os.getppid()

import click

from commonplace.doors import entry_point
from commonplace.doors.cli.call_settings import home_folder, settings
from commonplace.doors.cli.options import given_flags, project_option, setting_option


@click.command()
@setting_option("toolsets", metavar="A,B|all", help="Which tools to offer.")
@setting_option("read_only", is_flag=True, help="Offer no tool that writes.")
@setting_option("structured", is_flag=True, help="Send JSON beside the text of every result.")
@project_option
def mcp() -> None:
    """Serve an MCP client over stdin and stdout."""
    serve_client()


def serve_client() -> None:
    """Serve the client that the running command was started by, with its flags."""
    entry_point("serve_stdio")(settings(), given_flags(), parent=PARENT, user_home=home_folder())
