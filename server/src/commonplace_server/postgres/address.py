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

_SECRET_PAIR = re.compile(r"((?:pass\w*|pwd)(?:[=:\s]|%3d)\s*).*", re.IGNORECASE | re.DOTALL)
_BEFORE_HOST = re.compile(r":(?!//).*(?=@)", re.DOTALL)
_BEHIND_COLON = re.compile(r":(?!//)(?!\d{1,5}(?:[/?,]|$)).+", re.DOTALL)

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
    host = str(given.get("host") or "localhost")
    called = f" {given['dbname']}" if given.get("dbname") else ""
    # Of several the first may be frozen, and each connection tries it before the one that leads.
    several = {"connect_timeout": str(PROBE_S)} if "," in host else {}
    conninfo = make_conninfo("", **{**_CONNECTING, **several, **given})
    return conninfo, f"The database{called}", host


def without_password(url: str) -> str:
    """An address as it may be shown where libpq does not take it, so that nobody can parse it.

    What stands where a password may stand is left out: from the first colon after the scheme to the
    last @, or to the end where a port does not follow; and all behind a word such as `password=`.
    """
    shown = _BEFORE_HOST.sub("", _SECRET_PAIR.sub(r"\1…", url))
    return _BEHIND_COLON.sub(":…", shown)


def _is_torn(url: str) -> bool:
    """Whether libpq reads a part of the password as host or name: it has a bare @ or / in it."""
    scheme, _, rest = url.partition("://")
    if scheme not in {"postgresql", "postgres"}:
        return False
    before, at, after = rest.partition("?")[0].rpartition("@")
    return after.count("/") > 1 or bool(at and {"@", "/"} & {*before})
