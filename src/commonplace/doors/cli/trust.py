"""`commonplace trust`: let a repository have the project log that it asks for.

Never allows anything by itself: the journal remembers what the user named here.
"""

from __future__ import annotations

from pathlib import Path

import click

from commonplace.core.errors import Invalid
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.frame import common_options, show


@click.command()
@click.argument("path", required=False)
@click.option("--list", "as_list", is_flag=True, help="List what you have allowed.")
@click.option("--revoke", is_flag=True, help="Withdraw the permission; existing logs stay.")
@common_options
def trust(path: str | None, as_list: bool, revoke: bool, as_json: bool) -> None:
    """Allow a repository to have a project log.

    PATH is its folder (default: the current one). Its .chronicle says what is written where; you
    allow that file as it reads now, and are asked again after a change.
    """
    from commonplace.tools.chronicle.trust import (
        allow_log,
        list_allowed,
        revoke_log,
    )

    if as_list and (revoke or path):
        raise Invalid("--list goes alone.", hint="Leave out PATH and --revoke.")
    named = Path(path).absolute() if path else None
    with opened() as app:
        service = app.chronicle.service()
        if as_list:
            show(list_allowed(service), as_json)
            return
        show((revoke_log if revoke else allow_log)(service, named), as_json)
