"""`commonplace serve`: the MCP server over HTTP, for any number of users.

Prints one line when it listens; all else is the log's, on stderr.
"""

from __future__ import annotations

import sys

import click

from commonplace.core.errors import Invalid
from commonplace.core.values import Answer
from commonplace.doors.cli.call_settings import home_folder, settings
from commonplace.doors.cli.options import json_option, setting_option
from commonplace.doors.cli.output import show

ADDRESS = "127.0.0.1:8765"


@click.command()
@click.option(
    "--http", default=ADDRESS, show_default=True, metavar="HOST:PORT", help="Address to listen on."
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Another name of the server, as behind a proxy; may be given again.",
)
@setting_option("toolsets", metavar="A,B|all", help="Which tools to offer.")
@setting_option("read_only", is_flag=True, help="Offer no tool that writes.")
@setting_option("structured", is_flag=True, help="Send JSON beside the text of every result.")
@click.option(
    "--shared-only",
    "--memory-only",
    is_flag=True,
    help="Serve only what lies in the database, as a second home of it may.",
)
@click.option(
    "--claim",
    is_flag=True,
    help="Serve the journals of this home, in place of those of another home of the database.",
)
@json_option
def serve(
    *, http: str, hosts: tuple[str, ...], shared_only: bool, claim: bool, as_json: bool
) -> None:
    """Serve MCP clients over HTTP, many users at once.

    Each token opens the journals of one user: see `commonplace tokens`. While there are no tokens,
    only this machine is served, as its owner. Timelines are rolled up when they are due. Of several
    homes that share a database, one alone serves the journals that lie on its disk.
    """
    if shared_only and claim:
        raise Invalid(
            "Both --shared-only and --claim are given.",
            hint="Leave one out: with the first no journal of this home is served.",
        )
    from commonplace.doors.logs import set_up_logging
    from commonplace_server.http.start import start

    read = settings()
    set_up_logging(read, stderr=sys.stderr, foreign=True)

    def ready(url: str) -> None:
        show(Answer(text=f"Serving on {url}", facts={"url": url}), as_json)
        sys.stdout.flush()

    start(
        read,
        http,
        hosts=hosts,
        user_home=home_folder(),
        shared_only=shared_only,
        claim=claim,
        ready=ready,
    )
