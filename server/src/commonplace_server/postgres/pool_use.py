"""How busy a pool of connections is, as `/metrics` shows it.

Asks no server.
"""

from __future__ import annotations

from typing import NamedTuple


class PoolUse(NamedTuple):
    """How busy a pool is.

    Attributes:
        open: Connections that are open.
        in_use: Those of them that are handed out.
        waits: How often one was waited for, since the start.
        wait_s: How long, in all.
    """

    open: int
    in_use: int
    waits: int
    wait_s: float
