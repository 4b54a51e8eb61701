"""`commonplace hook`: its help, and the same answer for those who call it through `main`.

Never serves a client: `__main__` hands over to `doors/hooks` before this is imported.
"""

from __future__ import annotations

import os
import sys

import click

from commonplace.doors import entry_point


@click.command()
@click.argument("event", type=click.Choice([*entry_point("hook_events")]))
@click.option("--client", default="claude-code", show_default=True, help="Which client calls.")
def hook(event: str, client: str) -> None:
    """Serve a hook of a client, whose JSON is read from stdin.

    Clients call this when a session starts, pauses and ends. It copies what is new of the session's
    transcript, answers session-start with the brief, and always exits with 0.
    """
    sent = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
    click.echo(entry_point("answer_hook")(event, client, sent, os.environ), nl=False)
