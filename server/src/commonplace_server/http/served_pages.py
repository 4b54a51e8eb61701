"""The pages of a server of many owners: each browser sees what its token's owner has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.doors.web.application import WebApplication
from commonplace.doors.web.guard import TokenEntrance

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.core.clock import Clock
    from commonplace.core.redact import Screen
    from commonplace.doors.owner_apps import OwnerApps
    from commonplace.doors.tokens import TokenFile
    from commonplace.doors.web.guard import PageLimits


def pages_for_tokens(
    apps: OwnerApps,
    *,
    tokens: TokenFile,
    knows_host: Callable[[str], bool],
    may_write: bool,
    clock: Clock,
    screen: Screen,
    prefix: str,
    limits: PageLimits,
    is_stopping: Callable[[], bool],
) -> WebApplication:
    """The ASGI application of the pages below a prefix.

    Args:
        apps: The apps of all owners.
        tokens: Who may connect.
        knows_host: Whether a Host header names the server.
        may_write: Whether anything may be changed at all.
        clock: Says what time it is.
        screen: Hides secrets in all that is shown.
        prefix: Where the pages begin.
        limits: The limits on one owner's use of the pages.
        is_stopping: Whether the server is stopping.
    """
    return WebApplication(
        apps=apps,
        entrance=TokenEntrance(tokens, may_write=may_write, clock=clock),
        knows_host=knows_host,
        clock=clock,
        screen=screen,
        shows_paths=False,
        prefix=prefix,
        limits=limits,
        is_stopping=is_stopping,
    )
