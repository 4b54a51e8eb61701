"""`commonplace tokens`: who may connect over HTTP.

Prints a token once, when it is made; nothing can show it again.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from commonplace.core.text import screening
from commonplace.core.values import Answer
from commonplace.doors.cli.call_settings import settings
from commonplace.doors.cli.options import Respelled, json_option
from commonplace.doors.cli.output import show

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from commonplace_server.tokens import KeepsTokens, Token


_HEADER = ("ID", "USER", "LABEL", "SCOPE", "TOOLSETS", "LAST USED", "EXPIRES", "STATE")
_NO_TOKENS = "There are no tokens. Make one: `commonplace tokens create --owner NAME`."


@click.group()
def tokens() -> None:
    """Let users connect over HTTP, each with a token."""


@tokens.command(short_help="Make a token, and print it this once.")
@click.option(
    "--owner",
    "user",
    cls=Respelled,
    former=("--user",),
    metavar="NAME",
    help="Whose journals it opens.",
)
@click.option("--space", metavar="NAME", help="A space, in place of --owner.")
@click.option("--member", default="", metavar="NAME", help="The member who uses it.")
@click.option(
    "--scope",
    default="read,write",
    show_default=True,
    help="read; read,write; for a member also read,write,admin, to delete too; or metrics.",
)
@click.option(
    "--toolsets", metavar="A,B|all", help="Which tools (default: what the server offers)."
)
@click.option(
    "--expires", metavar="TIME", help="When it expires: 90d, or 2027-01-01 (default: never)."
)
@click.option("--label", default="", metavar="TEXT", help="What it is for, such as: laptop.")
@json_option
def create(
    *,
    user: str | None,
    space: str | None,
    member: str,
    scope: str,
    toolsets: str | None,
    expires: str | None,
    label: str,
    as_json: bool,
) -> None:
    """Make a token, and print it this once: only a hash of it is kept."""
    from commonplace.config.settings import parse_setting
    from commonplace_server.tokens import parse_expiry

    now = _now()
    names = () if toolsets is None else parse_setting("toolsets", toolsets)
    assert isinstance(names, tuple)
    owner = _owner_named(user, space)
    until_at = parse_expiry(expires, now=now, zone=settings().timezone) if expires else None
    with _opened() as kept:
        token, text = kept.create(
            owner,
            member=member,
            scopes=[name.strip() for name in scope.split(",") if name.strip()],
            toolsets=names,
            expires_at=until_at,
            label=label,
        )
    until = "never expires" if token.expires_at is None else f"expires {_local(token.expires_at)}"
    is_own = token.may_read and owner == settings().owner
    own = "\nIt opens this machine user's own journals." if is_own else ""
    lines = f"{_user(token)}: {','.join(token.scopes)}; {_toolsets(token)}; {until}{own}"
    shown = f"{text}\n\nFor {lines}\nIt is not shown again."
    answer = Answer(text=shown, facts={"token": text, **_facts(token, None, now)})
    with screening(None):  # what we give out ourselves is to be used
        show(answer, as_json)


@tokens.command(name="list", short_help="List the tokens, and when each was last used.")
@json_option
def list_tokens(as_json: bool) -> None:
    """List all tokens, the newest first: what each may do, its last use, and its state.

    The time of the last use is noted at most once an hour.
    """
    now = _now()
    with _opened() as kept:
        found = [(token, kept.last_use(token)) for token in kept.list_tokens()]
    rows = [_HEADER, *(_row(token, used_at, now) for token, used_at in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    facts = {"tokens": [_facts(token, used_at, now) for token, used_at in found]}
    show(Answer(text="\n".join(lines) if found else _NO_TOKENS, facts=facts), as_json)


@tokens.command(short_help="Revoke a token, at once.")
@click.argument("token_id", metavar="ID")
@json_option
def revoke(token_id: str, as_json: bool) -> None:
    """Revoke a token; a running server ends what it has open within a second.

    A program that was let in is listed by an id too. Where a database keeps the memories,
    it holds on every server of it.
    """
    with _opened() as kept:
        token = kept.revoke(token_id)
        facts = _facts(token, kept.last_use(token), _now())
    show(Answer(text=f"Revoked {token.id}.", facts=facts), as_json)


@contextmanager
def _opened() -> Iterator[KeepsTokens]:
    """The tokens of the home, or of the database that the settings name."""
    read = settings()
    if read.database.url is None:  # which imports no driver
        from commonplace.core.clock import utc_now
        from commonplace_server.grants.grants import Grants, TokensAndGrants
        from commonplace_server.grants.records import RecordFile
        from commonplace_server.tokens import TokenFile

        file, records = TokenFile(read.home, clock=utc_now), RecordFile(read.home, clock=utc_now)
        yield TokensAndGrants(file, Grants(records, file, clock=utc_now))
        return
    from commonplace_server.wiring.tokens import open_tokens

    with open_tokens(read) as kept:
        yield kept


def _now() -> datetime:
    from commonplace.core.clock import utc_now

    return utc_now()


def _row(token: Token, used_at: datetime | None, now: datetime) -> tuple[str, ...]:
    return (
        token.id,
        _user(token),
        token.label or "-",
        ",".join(token.scopes),
        _toolsets(token),
        "never" if used_at is None else _local(used_at),
        "never" if token.expires_at is None else _local(token.expires_at),
        token.state(now),
    )


def _owner_named(user: str | None, space: str | None) -> str:
    """The owner that is one user or a space. Raises: Invalid."""
    from commonplace.core.errors import Invalid
    from commonplace.core.spaces import parse_space

    if (user is None) == (space is None):
        raise Invalid(
            "A token opens the journals of one user, or of one space.",
            hint="Give --owner ann, or --space team --member ann.",
        )
    return parse_space(space) if space is not None else user or ""


def _user(token: Token) -> str:
    """Who uses a token, and in which space."""
    return f"{token.member} in {token.owner}" if token.member else token.owner


def _toolsets(token: Token) -> str:
    return ",".join(token.toolsets) or ("server's default" if token.may_read else "none")


def _local(at: datetime) -> str:
    from commonplace.core.clock import render_instant

    return render_instant(at, settings().timezone)


def _facts(token: Token, used_at: datetime | None, now: datetime) -> dict[str, object]:
    return {
        "id": token.id,
        "user": token.owner,
        "member": token.member,
        "label": token.label,
        "scope": list(token.scopes),
        "toolsets": list(token.toolsets),
        "created_at": token.created_at.isoformat(),
        "expires_at": None if token.expires_at is None else token.expires_at.isoformat(),
        "last_used_at": None if used_at is None else used_at.isoformat(),
        "state": token.state(now),
    }
