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

from commonplace.core.errors import Invalid
from commonplace.doors import entry_point
from commonplace.doors.cli.frame import complain, home_folder, settings
from commonplace.doors.cli.options import given_flags, project_option, setting_option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


@click.command()
@setting_option("toolsets", metavar="A,B|all", help="Which tools to offer.")
@setting_option("read_only", is_flag=True, help="Offer no tool that writes.")
@setting_option("structured", is_flag=True, help="Send JSON beside the text of every result.")
@project_option
@click.option("--plain", is_flag=True, help="Answer by the MCP SDK from the start: slower.")
@click.pass_context
def mcp(ctx: click.Context, plain: bool) -> None:
    """Serve an MCP client over stdin and stdout.

    Start with `--plain` if the client has trouble.
    """
    session = ctx.obj or entry_point("begin_stdio")(PARENT)
    if not session.fronted:
        entry_point("announce_stdio")()
    try:
        _take_over(session, keep=not plain)
    except Exception as exc:
        if not session.fronted:
            raise
        _refuse(session, exc)


def parse_options(words: Sequence[str]) -> dict[str, object]:
    """The settings that the words after `commonplace mcp` set, by their keys. Raises: Invalid."""
    try:
        with mcp.make_context("mcp", [*words]):
            return given_flags()
    except click.UsageError as exc:
        raise Invalid(exc.format_message(), hint="Try 'commonplace mcp --help'.") from exc


def _take_over(session: Any, *, keep: bool) -> None:
    from commonplace.doors.logs import set_up_logging

    read = settings()
    set_up_logging(read, stderr=sys.stderr)
    entry_point("serve_stdio")(
        session, read, user_home=home_folder(), flags=given_flags(), keep=keep
    )


def _refuse(session: Any, exc: Exception) -> None:
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
    entry_point("refuse_stdio")(session, error)
