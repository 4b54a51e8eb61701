"""`commonplace serve`: the MCP server over HTTP, for any number of users.

Prints one line when it listens; all else is the log's, on stderr.
"""

from __future__ import annotations

import sys

import click

from commonplace.doors.cli.frame import home_folder, setting_option, settings

ADDRESS = "127.0.0.1:8765"


@click.command()
@click.option("--http", default=ADDRESS, show_default=True, metavar="HOST:PORT", help="Where.")
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Another name of the server, as behind a proxy; may be given again.",
)
@setting_option("toolsets", metavar="A,B|all", help="Which tools to offer.")
@setting_option("read_only", is_flag=True, help="Offer no tool that writes.")
def serve(http: str, hosts: tuple[str, ...]) -> None:
    """Serve MCP clients over HTTP, and roll timelines up when they are due.

    Each token opens the journals of one user: see `commonplace tokens`. While there are none, only
    this machine is let in, as its owner.
    """
    from commonplace.doors.http_start import start  # noqa: PLC0415  not for --help
    from commonplace.doors.logs import set_up_logging  # noqa: PLC0415  as above

    read = settings()
    set_up_logging(read, stderr=sys.stderr, foreign=True)
    start(read, http, hosts=hosts, user_home=home_folder(), ready=_say)


def _say(address: str) -> None:
    click.echo(f"Serving on {address}")
    sys.stdout.flush()
