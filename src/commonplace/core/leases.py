"""Who of several processes does a background's work: the one that holds its lease in the index.

Never waits; an index that knows no leases is one process's alone.
"""

from __future__ import annotations

from msgspec import Struct

from commonplace.core.ports import Leasing


class Lease(Struct, frozen=True):
    """The lease of one kind of work.

    Args:
        index: What keeps it, where it can.
        name: Of the work.
        holder: This process's name.
        ttl_s: Seconds after which another may take it over, unless it is renewed.
    """

    index: object
    name: str
    holder: str
    ttl_s: float

    def take(self) -> bool:
        """Take or renew it; False while another process holds it. Raises: Unavailable."""
        index = self.index
        return not isinstance(index, Leasing) or index.take_lease(
            self.name, self.holder, self.ttl_s
        )

    def drop(self) -> None:
        """Give it back. Raises: Unavailable."""
        if isinstance(self.index, Leasing):
            self.index.drop_lease(self.name, self.holder)
