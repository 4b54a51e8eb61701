"""`commonplace expire`: when an entry is to be forgotten, and what expires.

Decides nothing: `verbs.forgetting.expiry` keeps the times and forgets what is due.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from commonplace.core.clock import render_instant
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.expiring import revealed
from commonplace.core.text import first_words
from commonplace.core.values import Answer
from commonplace.doors.cli.asking import confirm
from commonplace.doors.cli.calls import opened
from commonplace.doors.cli.options import common_options, yes_option
from commonplace.doors.cli.output import show_written
from commonplace.doors.cli.short_refs import ShortRefCommand, find_entry
from commonplace.verbs.answers import coming_time, one_line, until

if TYPE_CHECKING:
    from commonplace.app import App


@click.command(cls=ShortRefCommand, short_help="Set when an entry is forgotten by itself.")
@click.argument("ref", required=False)
@click.argument("when", nargs=-1, metavar="[TIME]")
@click.option("--never", is_flag=True, help="Keep it after all.")
@click.option(
    "--now", is_flag=True, help="Say that the clock is right, and forget all that has expired."
)
@yes_option
@common_options
def expire(
    ref: str | None, when: tuple[str, ...], as_json: bool, *, never: bool, now: bool, yes: bool
) -> None:
    """Set the TIME at which an entry is forgotten by itself, or list what expires.

    REF is a ref, its beginning, a number in the last list, or -1 for the newest entry. TIME is in
    the future, such as `in 30 days`, `tomorrow` or `2027-01-01`. From then on nothing shows the
    entry, and what writes or searches next forgets it, as `commonplace forget` does. One of the
    notebook stays in git's history all the same.

    Where no other program wrote a file on this day or the day before, the clock may be wrong: what
    has expired is then only hidden, and forgotten on a later day, or at once by --now.
    """
    if now:
        if ref is not None or never:
            raise Invalid(
                "--now takes no entry.", hint="Give it alone: `commonplace expire --now`."
            )
    elif ref is not None and bool(when) == never:
        raise Invalid(
            "No time is given." if not when else "Both a time and --never are given.",
            hint="Give one: `commonplace expire REF in 30 days`, or `--never`.",
        )
    with opened(finishes=not never) as app:
        if now:
            answer = _forget_now(app, yes=yes)
        elif ref is None:
            answer = _list_expiring(app)
        elif never:
            answer = _keep(app, ref)
        else:
            answer = _set_end(app, ref, " ".join(when))
        show_written(answer, as_json)


def _list_expiring(app: App) -> Answer:
    zone = app.settings.timezone
    listed = [
        {"ref": ref, "expires": render_instant(at, zone), "text": _words_of(app, ref)}
        for ref, at in app.expiring.list_expiring()
    ]
    lines = [f"{each['expires']}  {each['ref']}  {each['text']}".rstrip() for each in listed]
    return Answer(text="\n".join(lines or ["Nothing expires."]), facts={"items": listed})


def _keep(app: App, ref: str) -> Answer:
    """Let an entry stay after all, also one that can no longer be read."""
    whole = ref
    if ref not in dict(app.expiring.list_expiring()):
        with revealed():
            whole = find_entry(app, ref, app.amend.read_kept_text).ref
    was = app.expiring.cancel(whole)
    text = f"{whole} stays." if was else f"{whole} was not going to expire."
    return Answer(text=text, facts={"ref": whole, "expires": None})


def _set_end(app: App, ref: str, phrase: str) -> Answer:
    entry = find_entry(app, ref, app.amend.read_text)
    whole = entry.ref
    at = app.expiring.read_time(phrase)
    app.expiring.expire(whole, at)
    now, zone = app.clock(), app.settings.timezone
    said = first_words(one_line(entry.words or entry.text))
    text = f"{said}\n{whole} expires {until(at, now, zone)}, {coming_time(at, now, zone)}."
    return Answer(text=text, facts={"ref": whole, "expires": render_instant(at, zone)})


def _forget_now(app: App, *, yes: bool) -> Answer:
    """Forget what has expired by the clock, whatever else bears it out."""
    now = app.clock()
    due = [ref for ref, at in app.expiring.list_expiring() if at <= now]
    shown = render_instant(now, app.settings.timezone)
    confirm(f"Is it {shown}, so that {len(due)} expired go for good?", yes=yes)
    app.present.vouch()
    app.sweep_expired()
    left = {ref for ref, _ in app.expiring.list_expiring()}
    gone = [ref for ref in due if ref not in left]
    text = "\n".join([f"Forgot {ref}." for ref in gone] or ["Nothing has expired."])
    return Answer(text=text, facts={"refs": gone, "now": shown})


def _words_of(app: App, ref: str) -> str:
    """How an entry begins, on one line; empty where it cannot be read now."""
    with suppress(CommonplaceError), revealed():
        entry = app.amend.read_kept_text(ref)
        return first_words(one_line(entry.words or entry.text))
    return ""
