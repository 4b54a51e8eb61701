"""Who is let in to the page, and what a browser may do with it.

Law: nothing is answered to a name that is not this server's, nothing changes unless a page of this
server asked for it, and no page may load, run or send anything elsewhere.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections import OrderedDict
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from commonplace.core.errors import Denied
from commonplace.core.spaces import is_space
from commonplace.doors.web.visit import Visitor
from commonplace.journals.table import JOURNALS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from commonplace.doors.web.table import PageRow
    from commonplace.doors.web.visit import Visit

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": browsers then name no origin for forms either, and each would be refused.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""The headers of every answer."""

MOST_VISITORS = 1000
"""The longest unused browser is forgotten above it."""

LONGEST_BODY = 16 * 1024 * 1024
"""The largest form, in bytes, where a server has no limit of its own."""

LONGEST_KEY = 8192
"""The largest form, in bytes, of a browser that is not signed in yet."""

LONGEST_WAIT_S = 30.0
"""How long a browser may take to send a form."""


class Rates(Protocol):
    """Counts the requests of each owner; raises RateLimitExceeded where there are too many."""

    async def agree(self, owner: str) -> None:
        """Count with other servers where that is needed; called at once before the two below."""
        ...

    def call(self, owner: str) -> AbstractContextManager[None]:
        """Count a request while it is in flight."""
        ...

    def stream(self, owner: str) -> AbstractContextManager[None]:
        """Count a stream while it is open."""
        ...


class Uncounted:
    """Admits every request, for pages that serve this machine's user alone."""

    async def agree(self, owner: str) -> None:
        """Count nothing."""

    def call(self, owner: str) -> AbstractContextManager[None]:
        """Count nothing."""
        return nullcontext()

    def stream(self, owner: str) -> AbstractContextManager[None]:
        """Count nothing."""
        return nullcontext()


class PageLimits(Struct, frozen=True, kw_only=True):
    """The limits on one owner's use of the pages.

    Attributes:
        rates: Of requests that are answered by a page, and of streams.
        drafts: Of what is sent as one types, which takes nothing from those.
    """

    rates: Rates
    drafts: Rates = Uncounted()
    body_bytes: int = LONGEST_BODY
    body_s: float = LONGEST_WAIT_S


NO_LIMITS = PageLimits(rates=Uncounted())


class Entrance(Protocol):
    """How a browser gets in that was not let in yet."""

    template: str
    """The page that says how."""

    takes_form: bool
    """Whether what lets in comes by a form of that page; else by a link, which works once."""

    waits: bool
    """Whether its answers may be waited for, as those of a database."""

    def enter(self, given: str) -> Visitor | None:
        """The visitor whom a key or token lets in; None where it does not.

        Raises: Denied for a token that is known and opens no page.
        """
        ...

    def still_admits(self, visitor: Visitor) -> bool:
        """Whether a visitor who was let in may stay."""
        ...


class LinkEntrance:
    """Lets in the browser that opens the link which the command printed; each link once."""

    template = "enter_by_link.html"
    takes_form = False
    waits = False

    def __init__(self, owner: str, *, may_write: bool) -> None:
        self._owner = owner
        self._may_write = may_write
        self._lock = threading.Lock()
        self._keys: set[str] = set()

    def new_key(self) -> str:
        """A key that lets one browser in, once."""
        key = secrets.token_urlsafe(32)
        with self._lock:
            self._keys.add(key)
        return key

    def enter(self, given: str) -> Visitor | None:
        """The visitor who has a key that was not used yet."""
        with self._lock:
            found = next((key for key in self._keys if _same(key, given)), None)
            if found is None:
                return None
            self._keys.discard(found)
        return Visitor(owner=self._owner, may_write=self._may_write, csrf=secrets.token_urlsafe(32))

    def still_admits(self, visitor: Visitor) -> bool:
        """Always: the page ends with the command."""
        return True


class KeepsVisitors(Protocol):
    """The browsers that were let in, each known by a cookie. Thread-safe."""

    def add(self, visitor: Visitor) -> str:
        """Remember a visitor; returns the value of its cookie."""
        ...

    def find(self, cookie: str) -> Visitor | None:
        """The visitor of a cookie; None where there is none."""
        ...

    def keep(self, cookie: str, visitor: Visitor) -> None:
        """Keep what a page has changed of a visitor; raises nothing."""
        ...

    def remove(self, cookie: str) -> None:
        """Forget a visitor; may be called twice."""
        ...


class Visitors:
    """The browsers of one server, which are forgotten with it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Visitor] = OrderedDict()

    def add(self, visitor: Visitor) -> str:
        """Remember a visitor; returns the value of its cookie."""
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            self._known[cookie] = visitor
            while len(self._known) > MOST_VISITORS:
                self._known.popitem(last=False)
        return cookie

    def find(self, cookie: str) -> Visitor | None:
        """The visitor of a cookie; None where there is none."""
        with self._lock:
            found = self._known.get(cookie)
            if found is not None:
                self._known.move_to_end(cookie)
            return found

    def keep(self, cookie: str, visitor: Visitor) -> None:
        """Nothing: every page of a browser has the same visitor."""

    def remove(self, cookie: str) -> None:
        """Forget a visitor; may be called twice."""
        with self._lock:
            self._known.pop(cookie, None)


def check_host(host: str, knows: Callable[[str], bool]) -> None:
    """Refuse a request to another site's name for this address (DNS rebinding). Raises: Denied."""
    if not knows(host):
        raise Denied("This server has no such name.", hint="Use the link that the command printed.")


def check_origin(headers: Mapping[str, str], host: str) -> None:
    """Refuse what a page of another site asks to be changed. Raises: Denied."""
    origin = headers.get("origin")
    if origin is not None:
        own = origin.partition("://")[2] == host
    else:
        own = headers.get("sec-fetch-site") in {"same-origin", "none"}
    if not own or headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise Denied("Pages of other sites may change nothing here.")


def is_over_tls(scheme: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser speaks TLS, to this server or to a proxy in front of it that says so."""
    return "https" in {scheme, headers.get("x-forwarded-proto", "").strip().lower()}


def check_form(row: PageRow, visitor: Visitor, given: str) -> None:
    """Refuse a form that no page of this visitor has shown, or that may change nothing."""
    if not row.is_readers:
        check_writes(visitor)
    check_csrf(visitor, given)


def check_csrf(visitor: Visitor, given: str) -> None:
    """Refuse a form that no page of this visitor has shown. Raises: Denied."""
    if not _same(visitor.csrf, given):
        raise Denied(
            "This form is of an earlier visit.", hint="Load the page again, and send it once more."
        )


def left_out_of(visitor: Visitor | None) -> set[str]:
    """The journals whose pages a visitor is not shown: in a space those that name no author."""
    is_shared = visitor is not None and is_space(visitor.owner)
    return {x.name for x in JOURNALS if not x.names_authors} if is_shared else set()


def check_place(row: PageRow, visit: Visit) -> None:
    """Refuse pages of the machine to users it serves, and one person's journals to a space.

    Raises: Denied.
    """
    journal = row.path.split("/")[1]
    if journal in left_out_of(visit.visitor):
        raise Denied(f"A space has no {journal}.", hint="Sign in with your own token for yours.")
    if row.is_machines and not visit.shows_paths:
        raise Denied("This is about the whole machine.", hint="Ask who runs the server.")


def check_writes(visitor: Visitor) -> None:
    """Refuse a change, or a page that begins one, to who may only read. Raises: Denied."""
    if not visitor.may_write:
        raise Denied(
            "Nothing can be changed from here.",
            hint="Start it without --read-only, or use a token that may write.",
        )


def _same(kept: str, given: str) -> bool:
    return hmac.compare_digest(kept.encode(), given.encode("utf-8", "surrogatepass"))
