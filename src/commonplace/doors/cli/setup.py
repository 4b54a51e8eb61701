"""`commonplace setup`: put server, hooks and skills into an MCP client, or take them out."""

from __future__ import annotations

import re
import sys
from typing import Any

import click

from commonplace.core.errors import Unavailable
from commonplace.doors import entry_point
from commonplace.doors.cli.call_settings import home_folder
from commonplace.doors.cli.options import json_option
from commonplace.doors.cli.output import show
from commonplace.doors.cli.progress import show_steps

_LEVELS = ("none", "read", "all")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@click.command()
@click.argument("client", required=False, type=click.Choice([*entry_point("clients")]))
@click.option(
    "--print", "only_print", is_flag=True, help="Show what to add and where; write nothing."
)
@click.option("--remove", is_flag=True, help="Take all of it out again.")
@click.option("--list", "list_all", is_flag=True, help="Say what is set up, and where.")
@click.option("--toolsets", metavar="A,B|all", help="Which tools the client is offered.")
@click.option(
    "--name",
    default="",
    metavar="NAME",
    help="What the client calls the server (commonplace).",
)
@click.option(
    "--allow",
    type=click.Choice(_LEVELS),
    help="What it may call without asking: the tools that only read, or all of ours.",
)
@json_option
def setup(
    client: str | None, *, only_print: bool, remove: bool, list_all: bool, name: str, **given: Any
) -> None:
    """Add Commonplace to an MCP client.

    A client gets the server, hooks and skills, as far as it can use them.

    What else is in the client's files stays as it is, and a backup is kept beside each. Hooks give
    each session a brief and keep its transcript; skills say when to write and how to recall.
    """
    toolsets, allow, as_json = given["toolsets"], given["allow"], given["as_json"]
    home = home_folder()
    if home is None:
        raise Unavailable("You have no home folder.", hint="Set HOME, then try again.")
    if only_print + remove + list_all > 1 or ((toolsets or allow) and (remove or list_all)):
        raise click.UsageError(
            "Use one of --print, --remove, --list; --toolsets, --allow with none of the last two."
        )
    if name and (list_all or not _NAME.fullmatch(name)):
        raise click.UsageError("--name takes 1 to 64 letters, digits, - and _; --list takes none.")
    if list_all and client is None:
        show(entry_point("list_clients")(home=home), as_json)
        return
    if client is None or list_all:
        names = ", ".join(entry_point("clients"))
        raise click.UsageError(f"Name one client ({names}), or use --list without one.")
    found = entry_point("client_setup")(client, name=name, home=home)
    if remove:
        show(found.remove(), as_json)
        return
    if allow is None and not only_print and not as_json and found.asks():
        allow = _ask(entry_point("clients")[client].title)
    if only_print:
        show(found.show(toolsets=toolsets, allow=allow), as_json)
        return
    on_step = show_steps(as_json=as_json)
    show(found.set_up(toolsets=toolsets, allow=allow, on_step=on_step), as_json)


def _ask(title: str) -> str | None:
    """What the user lets a client call without asking; None without a terminal to ask on."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    click.echo(
        f"{title} may call tools of Commonplace without asking: none; read, those that only read; "
        "all, those that write or delete too.",
        err=True,
    )
    answer: str = click.prompt(
        "Without asking", type=click.Choice(_LEVELS), default="none", err=True
    )
    return answer
