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

import gc  # noqa: E402  after PARENT
import sys  # noqa: E402  after PARENT
from contextlib import contextmanager  # noqa: E402  after PARENT
from typing import TYPE_CHECKING  # noqa: E402  after PARENT

import click  # noqa: E402  after PARENT

from commonplace.doors.cli.frame import (  # noqa: E402  after PARENT
    home_folder,
    project_option,
    setting_option,
    settings,
)
from commonplace.doors.logs import set_up_logging  # noqa: E402  after PARENT

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command()
@setting_option("toolsets", metavar="A,B|all", help="Which tools to offer.")
@setting_option("read_only", is_flag=True, help="Offer no tool that writes.")
@project_option
def mcp() -> None:
    """Serve an MCP client over stdin and stdout."""
    read = settings()
    set_up_logging(read, stderr=sys.stderr)
    with _uncollected():
        from commonplace.app import App  # noqa: PLC0415  imported without collection

        app = App(read, user_home=home_folder())
        toolsets = app.toolsets()
        from commonplace.doors.mcp import (  # noqa: PLC0415  0.8 s, after every cheap error
            serve_stdio,
        )

    serve_stdio(toolsets, warm_up=app.warm_up, close=app.close, parent=PARENT)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Import without garbage collection: many objects, no garbage, 30 ms of 700."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
