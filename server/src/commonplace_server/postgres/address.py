"""The address of a database, as libpq takes it, with the limits of a connection.

Never shows a password, nor a part of one.
"""

from __future__ import annotations

import re

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from commonplace.core.errors import Invalid

PROBE_S = 2
"""The shortest that libpq waits for a connection, in seconds."""

_SCHEME = re.compile(r"[a-z][\w+.-]*://", re.IGNORECASE)
_HOST = r"(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5}(?![^,/]))?"
_HOSTS_AND_NAME = re.compile(rf"(?:{_HOST}(?:,{_HOST})*)?(?:/[\w.-]*$)?", re.IGNORECASE)
_PAIR = re.compile(
    r"[\s;]*(?:(?:host|hostaddr|port|dbname|database|user|user id|uid|server|data source)"
    r"\s*=\s*[\w.,-]*(?![^\s;])|(?P<secret>password|pwd)\s*=)",
    re.IGNORECASE,
)
_LAST_PORT = 65_535

# A connection's own limits, unless the address has others.
_CONNECTING = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
    "application_name": "commonplace",
    "client_encoding": "utf8",
}


def parse_address(url: str) -> tuple[str, str, str]:
    """What libpq connects by, the database's name for people, and its host.

    Raises: Invalid.
    """
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        given = {}
    if not given:
        raise Invalid(
            "The address of the database is not one that Postgres takes.",
            hint="Use one like postgresql://role@host/name.",
        ) from None
    if _is_torn(url):
        raise Invalid(
            "The address of the database has a sign too many before or after its host.",
            hint="Percent-encode the password: %40 for @, %2F for /.",
        )
    if not all(_is_port(each) for each in str(given.get("port", "")).split(",")):
        raise Invalid(
            "The address of the database has a port that is not valid.",
            hint=f"Use a number from 1 to {_LAST_PORT}.",
        )
    host = str(given.get("host") or "localhost")
    called = f" {given['dbname']}" if given.get("dbname") else ""
    # Of several the first may be frozen, and each connection tries it before the one that leads.
    several = {"connect_timeout": str(PROBE_S)} if "," in host else {}
    conninfo = make_conninfo("", **{**_CONNECTING, **several, **given})
    return conninfo, f"The database{called}", host


def without_password(url: str) -> str:
    """An address as it may be shown, where it cannot be used and nobody knows how it is meant.

    Shown is what is no password for sure: a scheme, the name before the last @, hosts with their
    ports, the name of the database, and pairs such as `host=h`. The rest is an ellipsis.
    """
    scheme = _SCHEME.match(url)
    return _shown_pairs(url) if scheme is None else scheme[0] + _shown_place(url[scheme.end() :])


def _shown_place(rest: str) -> str:
    """Of what stands behind a scheme."""
    before_query, mark, query = rest.partition("?")
    if "@" in query:
        return "…"  # the query may be part of a password
    before, at, place = before_query.rpartition("@")
    name = re.split(r"[^\w.-]", before, maxsplit=1)[0]
    sure = _HOSTS_AND_NAME.match(place)
    assert sure is not None  # it may be empty
    return f"{name}{at}{sure[0]}{'…' if mark or sure.end() < len(place) else ''}"


def _shown_pairs(text: str) -> str:
    """The pairs at the beginning, to the first that is a password or not known."""
    end = 0
    while (pair := _PAIR.match(text, end)) is not None:
        end = pair.end()
        if pair["secret"]:
            break
    return text[:end] + ("…" if end < len(text) else "")


def _is_port(text: str) -> bool:
    """Whether libpq takes it for a port; it has one of its own where none is named."""
    return not text or bool(re.fullmatch(r"[0-9]{1,9}", text) and 1 <= int(text) <= _LAST_PORT)


def _is_torn(url: str) -> bool:
    """Whether libpq reads a part of the password as host or name: it has a bare @ or / in it."""
    scheme, _, rest = url.partition("://")
    if scheme not in {"postgresql", "postgres"}:
        return False
    before, at, after = rest.partition("?")[0].rpartition("@")
    return after.count("/") > 1 or bool(at and {"@", "/"} & {*before})
