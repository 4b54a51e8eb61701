"""`commonplace tokens`: who may connect over HTTP.

Prints a token once, when it is made; nothing can show it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from commonplace.core.values import Answer
from commonplace.doors.cli.frame import json_option, settings, show

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace.doors.tokens import Token, TokenFile


@click.group()
def tokens() -> None:
    """Let users connect over HTTP, each with a token."""


@tokens.command(short_help="Make a token, and print it this once.")
@click.option("--user", required=True, metavar="NAME", help="Whose journals it opens.")
@click.option("--scope", default="read,write", show_default=True, help="read, or read,write.")
@click.option("--toolsets", metavar="A,B|all", help="Which tools; else what the server offers.")
@click.option(
    "--expires", metavar="TIME", help="After 90d, or at the end of 2027-01-01; else never."
)
@json_option
def create(user: str, scope: str, toolsets: str | None, expires: str | None, as_json: bool) -> None:
    """Make a token, and print it this once: only a hash of it is kept."""
    from commonplace.config.settings import parse_setting
    from commonplace.doors.tokens import parse_expiry

    kept = _kept()
    now = _now()
    names = () if toolsets is None else parse_setting("toolsets", toolsets)
    assert isinstance(names, tuple)
    token, text = kept.create(
        user,
        scopes=[name.strip() for name in scope.split(",") if name.strip()],
        toolsets=names,
        expires_at=(expires and parse_expiry(expires, now=now, zone=settings().timezone)) or None,
    )
    own = "\nIt opens this machine user's own journals." if user == settings().owner else ""
    lines = f"{text}\n\nFor {_line(token, now)}{own}\nIt is not shown again."
    show(Answer(text=lines, facts={"token": text, **_facts(token, now)}), as_json)


@tokens.command(name="list", short_help="List the tokens, and whether each is valid.")
@json_option
def list_tokens(as_json: bool) -> None:
    """List all tokens: for whom, what for, and whether each is still valid."""
    now = _now()
    found = _kept().list_tokens()
    lines = [f"{x.id}  {_line(x, now)}" for x in found] or ["There are no tokens."]
    facts = {"tokens": [_facts(x, now) for x in found]}
    show(Answer(text="\n".join(lines), facts=facts), as_json)


@tokens.command(short_help="Revoke a token, at once.")
@click.argument("token_id", metavar="ID")
@json_option
def revoke(token_id: str, as_json: bool) -> None:
    """Revoke a token; a running server ends what it has open within a second."""
    token = _kept().revoke(token_id)
    show(Answer(text=f"Revoked {token.id}.", facts=_facts(token, _now())), as_json)


def _kept() -> TokenFile:
    from commonplace.core.clock import utc_now
    from commonplace.doors.tokens import TokenFile

    return TokenFile(settings().home, clock=utc_now)


def _now() -> datetime:
    from commonplace.core.clock import utc_now

    return utc_now()


def _line(token: Token, now: datetime) -> str:
    from commonplace.core.clock import render_instant

    zone = settings().timezone
    until = "never" if token.expires_at is None else render_instant(token.expires_at, zone)
    toolsets = ",".join(token.toolsets) or "what the server offers"
    state = token.state(now)
    shown = "" if state == "valid" else f"  {state}"
    return f"{token.owner}: {','.join(token.scopes)}; {toolsets}; expires {until}{shown}"


def _facts(token: Token, now: datetime) -> dict[str, object]:
    return {
        "id": token.id,
        "user": token.owner,
        "scope": list(token.scopes),
        "toolsets": list(token.toolsets),
        "created_at": token.created_at.isoformat(),
        "expires_at": None if token.expires_at is None else token.expires_at.isoformat(),
        "state": token.state(now),
    }
