"""`commonplace mcp`: the MCP server over stdio.

Never prints: stdout is the protocol's alone.
"""

from __future__ import annotations

import os

# The first statement that runs: a parent that dies while we import must be noticed later.
PARENT = os.getppid()

import gc  # noqa: E402  after PARENT

# Imports make many objects and no garbage; `doors.mcp` turns collection on when they are done.
gc.disable()

import sys  # noqa: E402  after PARENT

import click  # noqa: E402  after PARENT

from commonplace.app import App  # noqa: E402  after PARENT
from commonplace.doors.cli.frame import (  # noqa: E402  after PARENT
    home_folder,
    project_option,
    setting_option,
    settings,
)
from commonplace.doors.logs import set_up_logging  # noqa: E402  after PARENT


@click.command()
@setting_option("toolsets", metavar="A,B|all", help="Which tools to offer.")
@setting_option("read_only", is_flag=True, help="Offer no tool that writes.")
@project_option
def mcp() -> None:
    """Serve an MCP client over stdin and stdout."""
    read = settings()
    set_up_logging(read, stderr=sys.stderr)
    app = App(read, user_home=home_folder())
    toolsets = app.toolsets()
    from commonplace.doors.mcp import serve_stdio  # noqa: PLC0415  0.8 s, after every cheap error

    serve_stdio(toolsets, warm_up=app.warm_up, close=app.close, parent=PARENT)
