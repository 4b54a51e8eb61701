"""Postgres's errors in our words, in one place: which of the six codes each is, and what to do.

Never quotes what the server said: its words may hold a row, a statement or an address.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from commonplace.core.errors import (
    CommonplaceError,
    Denied,
    Internal,
    Invalid,
    Lost,
    Outdated,
    Unavailable,
)
from commonplace_server.postgres import quota

if TYPE_CHECKING:
    from types import TracebackType

MIGRATE_HINT = "Run `commonplace memory migrate` as the owner of the database."
_AGAIN = "Try again in a moment."


class Late(psycopg.OperationalError):
    """A server that did not answer within the deadline; the connection is closed."""


# The error to raise, what the database does (after its name), the next step.
_Explained: TypeAlias = tuple[type[CommonplaceError], str, str]

_STATES: dict[str, _Explained] = {
    "57014": (Unavailable, "took too long to answer", _AGAIN),
    "55P03": (Unavailable, "holds a lock for too long", _AGAIN),
    "53100": (Unavailable, "cannot grow: its disk is full", "Free some space, then try again."),
    "53200": (Unavailable, "has no memory left", _AGAIN),
    "53300": (Unavailable, "takes no more connections", "Let it take more, or use fewer."),
    "25006": (Unavailable, "cannot be written: it is read-only", "Name the primary server."),
    "42P01": (Unavailable, "lacks a table of memory", MIGRATE_HINT),
    "42703": (Unavailable, "lacks a column of memory", MIGRATE_HINT),
    "3F000": (Unavailable, "lacks a schema of memory", MIGRATE_HINT),
    "0P000": (Unavailable, "does not know this role", MIGRATE_HINT),
    "3D000": (Unavailable, "does not exist", "Make it, or name another one."),
    "42501": (Denied, "does not let this role do that", MIGRATE_HINT),
    # No state of Postgres: the driver's words alone say so, before there is a session.
    "TLS": (Unavailable, "has no certificate that is trusted", "Check both ends' certificates."),
    # What a plan that was kept comes upon.
    "0A000": (Unavailable, "cannot do that, or was altered meanwhile", _AGAIN),
    "40001": (Outdated, "was changed by another process meanwhile", "Read again, then write."),
    "40P01": (Outdated, "was changed by another process meanwhile", "Read again, then write."),
}
_CLASSES: dict[str, _Explained] = {
    "08": (Lost, "does not answer", "Check that it runs, then try again."),
    "22": (Invalid, "cannot hold such a value", "Use plain text."),
    "25": (Lost, "ended the transaction", _AGAIN),
    "28": (
        Denied,
        "refuses this role or its password",
        "Check both in the address, and the server's pg_hba.conf.",
    ),
    "53": (Unavailable, "has run out of something it needs", _AGAIN),
    "54": (Invalid, "cannot hold a value that large", "Store less at once."),
    "57": (Lost, "is stopping or starting", _AGAIN),
    "58": (Unavailable, "cannot read or write its disk", "Check its disk."),
    "XX": (Unavailable, "says that it is damaged", "Look into its log."),
}
_REFUSALS = {
    "TLS": re.compile("certificate|SSL was required"),
    "28000": re.compile(
        "authentication failed|no password supplied|pg_hba.conf|not permitted to log in"
        "|permission denied for database"
    ),
    "0P000": re.compile('role "[^"]*" does not exist'),
    "3D000": re.compile('database "[^"]*" does not exist'),
    "53300": re.compile("too many (clients|connections)|remaining connection slots"),
}


class TranslatedPostgres:
    """A stretch in which the driver's errors become ours.

    Args:
        name: What people call the database.
        place: Its host.
    """

    __slots__ = ("_name", "_place")

    def __init__(self, name: str, place: str) -> None:
        self._name = name
        self._place = place

    def __enter__(self) -> None:
        """Begin to watch."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise ours in place of the driver's."""
        if isinstance(exc, psycopg.Error | UnicodeError):
            # Not `from exc`: a log would print what it says, and that may quote a row.
            raise ours(exc, self._name, self._place) from None


def ours(exc: psycopg.Error | UnicodeError, name: str, place: str) -> CommonplaceError:
    """Our error for one of the driver's."""
    match exc:
        case PoolTimeout() | TooManyRequests():
            kind, what, hint = _STATES["53300"]
        case PoolClosed():
            kind, what, hint = Unavailable, "is closed", "Open it again."
        case Late():
            kind, what, hint = (
                Lost,
                "does not answer in time",
                "Check that it runs, then try again.",
            )
        case psycopg.Error(sqlstate=quota.REFUSED, diag=said):
            return quota.OverQuota.of(said.message_detail or "")
        case psycopg.Error(sqlstate=str(state)):
            kind, what, hint = _of_state(state)
        case psycopg.OperationalError():
            # Of a server's refusal of a session the driver tells no state: its words do.
            found = (state for state, words in _REFUSALS.items() if words.search(str(exc)))
            kind, what, hint = _of_state(next(found, "08006"))
        case _ if is_out_of_step(exc):
            kind, what, hint = _CLASSES["08"]
        case psycopg.DataError() | UnicodeError():
            kind, what, hint = _CLASSES["22"]
        case _:
            kind, what, hint = Internal, f"was asked wrongly: {type(exc).__name__}", ""
    return kind(f"{name} at {{place}} {what}.", hint=hint, place=place)


def is_out_of_step(exc: BaseException) -> bool:
    """Whether the driver itself says that what came is no answer to what was asked.

    A pooler that died under the tests of failover left it without a result. The connection must be
    closed: what comes later would be taken for the answer to another's question.
    """
    return isinstance(exc, psycopg.InternalError) and exc.sqlstate is None


def _of_state(state: str) -> _Explained:
    fault = (Internal, f"reports the fault {state}", "Look into its log.")
    return _STATES.get(state) or _CLASSES.get(state[:2]) or fault
