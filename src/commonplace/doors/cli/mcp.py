"""`commonplace mcp`: the MCP server over stdio.

Never prints: stdout is the protocol's alone.
"""

from __future__ import annotations

import os

# The first statement that runs: a parent that dies while we import must be noticed later.
PARENT = os.getppid()

import sys
from typing import TYPE_CHECKING

import click

from commonplace.doors import entry
from commonplace.doors.cli.frame import (
    complain,
    given_flags,
    home_folder,
    project_option,
    setting_option,
    settings,
)

if TYPE_CHECKING:
    from typing import Any


@click.command()
@setting_option("toolsets", metavar="A,B|all", help="Which tools to offer.")
@setting_option("read_only", is_flag=True, help="Offer no tool that writes.")
@project_option
@click.option("--plain", is_flag=True, help="Begin with the SDK itself, and keep no snapshot.")
@click.pass_context
def mcp(ctx: click.Context, plain: bool) -> None:
    """Serve an MCP client over stdin and stdout.

    The first answers come from a snapshot of what the SDK says; it is imported once the client is
    quiet, or calls a tool.
    """
    taken = ctx.obj or entry("begin_stdio")(PARENT)
    if not taken.fronted:
        entry("announce_stdio")()
    try:
        _take_over(taken, keep=not plain)
    except Exception as exc:
        if not taken.fronted:
            raise
        _refuse(taken, exc)


def _take_over(taken: Any, *, keep: bool) -> None:
    from commonplace.doors.logs import set_up_logging

    read = settings()
    set_up_logging(read, stderr=sys.stderr)
    entry("serve_stdio")(taken, read, user_home=home_folder(), flags=given_flags(), keep=keep)


def _refuse(taken: Any, exc: Exception) -> None:
    """Answer each further request of a fronted client with why the server cannot start."""
    from commonplace.core.errors import CommonplaceError, Unavailable
    from commonplace.doors.logs import log_failure

    error = exc if isinstance(exc, CommonplaceError) else None
    if error is None:
        log_failure(exc)
        error = Unavailable(
            f"Commonplace cannot start ({type(exc).__name__}).",
            hint="Run `commonplace doctor`, or `commonplace mcp --plain` to see why.",
        )
    complain(error, as_json=False)
    entry("refuse_stdio")(taken, error)
