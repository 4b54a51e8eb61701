"""The apps of many owners, as the doors that serve them ask for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from commonplace.app import App


class OwnerApps(Protocol):
    """The apps of all owners; see `commonplace.app`."""

    def using(self, owner: str) -> AbstractContextManager[App]:
        """One owner's app, kept open while this is entered."""
        ...
