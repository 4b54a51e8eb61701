"""`commonplace trust`: let a repository have a project log, or its notes be taken for the user's.

Never allows anything by itself: the journals remember what the user named here.
"""

from __future__ import annotations

from pathlib import Path

import click

from commonplace.core.errors import Invalid
from commonplace.doors.cli.asking import confirm
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.options import common_options, yes_option
from commonplace.doors.cli.output import say, show


@click.command()
@click.argument("path", required=False)
@click.option("--notes", is_flag=True, help="Its private notes are yours, instead of its log.")
@click.option("--list", "as_list", is_flag=True, help="List what you have allowed.")
@click.option("--revoke", is_flag=True, help="Withdraw the permission; existing logs stay.")
@yes_option
@common_options
def trust(
    *, path: str | None, notes: bool, as_list: bool, revoke: bool, yes: bool, as_json: bool
) -> None:
    """Allow a repository a project log, or take its notes for yours.

    PATH is its folder (default: the current one). Its .chronicle says what is written where; you
    allow that file as it reads now, and are asked again after a change.

    With --notes, the private notes that came along with the repository are shown, and taken for
    your own as they read now: until then they are in no brief, and are marked wherever they appear.
    """
    from commonplace.verbs.chronicle.trust import (
        allow_log,
        list_allowed,
        revoke_log,
    )

    if as_list and (revoke or path):
        raise Invalid("--list goes alone.", hint="Leave out PATH and --revoke.")
    named = Path(path).absolute() if path else None
    if notes:
        _trust_notes(named, as_list=as_list, revoke=revoke, yes=yes, as_json=as_json)
        return
    with opened() as app:
        verbs = app.chronicle.service()
        if as_list:
            show(list_allowed(verbs), as_json)
            return
        show((revoke_log if revoke else allow_log)(verbs, named), as_json)


def _trust_notes(
    named: Path | None, *, as_list: bool, revoke: bool, yes: bool, as_json: bool
) -> None:
    """Show the notes of a repository, ask, and take them for the user's; or what undoes that."""
    from commonplace.verbs.private.trust import (
        find_untrusted,
        list_trusted,
        revoke_notes,
        roots_of,
        shown_lines,
        trust_notes,
    )

    with opened() as app:
        journal = app.private.files
        if as_list:
            show(list_trusted(journal), as_json)
            return
        roots = roots_of(journal, named)
        if revoke:
            done = revoke_notes(journal, roots)
        else:
            found = find_untrusted(journal, roots)
            for line in shown_lines(journal, found):
                say(line, err=True)
            confirm("Take these notes for yours, as they read now?", yes=yes, act="trust")
            done = trust_notes(journal, roots, found)
        app.brief.refresh()  # the next search files them, as it files whatever changed
        show(done, as_json)
