"""`commonplace web`: everything that is remembered, as pages in a browser of this machine."""

from __future__ import annotations

import sys

import click

from commonplace.core.text import screening
from commonplace.core.values import Answer
from commonplace.doors.cli.call_settings import home_folder, settings
from commonplace.doors.cli.options import NumberBetween, json_option, setting_option
from commonplace.doors.cli.output import show

PORT = 0


@click.command(short_help="Look at everything in your browser.")
@click.option(
    "--port",
    type=NumberBetween(0, 65535),
    default=PORT,
    help="Port to listen on (default: any that is free).",
)
@click.option("--no-open", is_flag=True, help="Print the link, and open no browser.")
@setting_option("read_only", is_flag=True, help="Show everything, and change nothing.")
@json_option
def web(port: int, no_open: bool, as_json: bool) -> None:
    """Look at everything that is remembered, in your browser.

    The page is served on this machine alone, and its link lets in one browser, once. Nothing it
    shows leaves the machine. Ctrl-C ends it.
    """
    from commonplace.doors import entry_point
    from commonplace.doors.logs import set_up_logging

    read = settings()
    set_up_logging(read, stderr=sys.stderr, foreign=True)

    def ready(url: str) -> None:
        with screening(None):  # the key in it, which we give out ourselves, is to be used
            show(Answer(text=f"Open {url}\nCtrl-C ends it.", facts={"url": url}), as_json)
        sys.stdout.flush()
        if not no_open:
            import threading
            import webbrowser

            # A browser that is slow to start holds up no page.
            threading.Thread(target=webbrowser.open, args=[url], daemon=True).start()

    entry_point("serve_web")(read, port, user_home=home_folder(), ready=ready)
