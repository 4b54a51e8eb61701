"""The order in which servers of an address are tried: the last leader first, a silent one last.

Never leaves one out.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import ConnectionTimeout

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _Made = TypeVar("_Made")

_WANTED = ("read-write", "primary")
"""Of these one server alone leads; other addresses keep the order that they give."""

_LED, _UNKNOWN, _SILENT = range(3)
_ranks: dict[tuple[str, str, str], int] = {}
"""How each server answered last, by host, address and port; the lowest is tried first."""

_noting = threading.Lock()


def connect_to_leader(conninfo: str, connect: Callable[[str], _Made]) -> _Made:
    """Connect to the server of an address that leads, each of several tried alone.

    A frozen one costs each connection its whole time limit: tried in the order of the address, a
    server of ours, which opens several, answered ten seconds after another led. Raises: as
    `connect` does, with what each of them said.
    """
    each = _single_hosts(conninfo)
    if not each:
        return connect(conninfo)
    said: list[psycopg.OperationalError] = []
    for host in sorted(each, key=lambda x: _ranks.get(x, _UNKNOWN)):
        try:
            made = connect(_only(conninfo, host))
        except psycopg.OperationalError as exc:
            _note(host, _SILENT if isinstance(exc, ConnectionTimeout) else _UNKNOWN)
            said.append(exc)
        else:
            _note(host, _LED)
            return made
    raise type(said[-1])("\n".join(map(str, said)))


def _single_hosts(conninfo: str) -> list[tuple[str, str, str]]:
    """Host, address and port of each of several servers, where the one that leads is wanted."""
    given = conninfo_to_dict(conninfo)
    if given.get("target_session_attrs") not in _WANTED:
        return []
    lists = [str(given.get(name) or "").split(",") for name in ("host", "hostaddr", "port")]
    most = max(map(len, lists))
    if most == 1 or any(len(x) not in {1, most} for x in lists):
        return []
    return list(zip(*(x * most if len(x) == 1 else x for x in lists), strict=True))


def _only(conninfo: str, host: tuple[str, str, str]) -> str:
    named: dict[str, Any] = dict(zip(("host", "hostaddr", "port"), host, strict=True))
    return make_conninfo(conninfo, **{x: value or None for x, value in named.items()})


def _note(host: tuple[str, str, str], rank: int) -> None:
    with _noting:
        _ranks[host] = rank
