"""How a browser signs in at another server's pages, and comes back.

Knows nothing of identity providers and their protocols: who serves the pages says where a browser
goes, and whom it lets in that comes back. Sends nobody to a place that a request named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from starlette.responses import RedirectResponse

from commonplace.core.errors import CommonplaceError
from commonplace.doors.protocol import RateLimitExceeded
from commonplace.doors.web.visit import Address

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from commonplace.doors.web.guard import Rates
    from commonplace.doors.web.visit import Visitor

BEGIN = "/sign-in"
BACK = "/signed-in"
"""Where a browser is sent, and where it comes back to, below where the pages begin."""

_LASTS_S = 600
"""How long a browser may take to sign in."""
_STRANGERS = "\0sign-in"
"""The owner under whom all who sign in are counted: no user has such a name."""
_OWN = frozenset({"none", "same-origin"})


class Begun(NamedTuple):
    """A sign-in that was begun.

    Attributes:
        place: Where the browser goes.
        cookie: What it shows when it comes back, and nobody else has.
        mark: What tells it from another that the same browser began; letters, digits, - and _.
    """

    place: str
    cookie: str
    mark: str


class SignsInElsewhere(Protocol):
    """Where users sign in who have no token of the server.

    Attributes:
        host: Where that is, in words.
        address: Where users reach the server itself.
    """

    host: str
    address: str

    async def begin(self, query: str) -> Begun:
        """Begin a sign-in for what a query asks. Raises: Invalid, Unavailable."""
        ...

    def mark_in(self, query: str) -> str:
        """The mark of the sign-in that a browser comes back from; empty where it says none."""
        ...

    async def finish(self, cookie: str, query: str) -> Visitor:
        """The visitor whose browser comes back.

        cookie: What `begin` gave this browser; empty where it has none.
        Raises: Denied, Unavailable.
        """
        ...


class Elsewhere:
    """Answers browsers that go there, and that come back.

    Args:
        place: Where users sign in.
        path: Where the pages begin.
        rates: Counts all who sign in as one.
        refuse: The page that lets in, with why it did not, and the query of another try.
        welcome: Lets a visitor's browser in that came by this scheme, whatever a proxy says.
    """

    def __init__(
        self,
        place: SignsInElsewhere,
        path: str,
        rates: Rates,
        refuse: Callable[[CommonplaceError | RateLimitExceeded | None, str], Response],
        welcome: Callable[[Request, Visitor, str], Awaitable[Response]],
    ) -> None:
        self.host = place.host
        self._place = place
        self._path = path
        self._rates = rates
        self._refuse = refuse
        self._welcome = welcome
        self._is_safe = place.address.startswith("https:")

    def link(self, after: str) -> Address:
        """What begins a sign-in, with its query: by the name at which the browser comes back."""
        return Address(f"{self._place.address}{self._path}{BEGIN}{after}")

    async def begin(self, request: Request) -> Response:
        """Send a browser there; from another site's link only once its user has pressed ours."""
        query = request.url.query
        if request.headers.get("sec-fetch-site", "none") not in _OWN:
            return self._refuse(None, query)
        try:
            with self._rates.call(_STRANGERS):
                begun = await self._place.begin(query)
        except (CommonplaceError, RateLimitExceeded) as exc:
            return self._refuse(exc, "")
        response = RedirectResponse(begun.place, status_code=303)
        response.set_cookie(
            self._cookie(request, begun.mark),
            begun.cookie,
            max_age=_LASTS_S,
            path=self._cookie_path,
            httponly=True,
            samesite="lax",  # it comes with a browser that another site sends back
            secure=self._is_safe,
        )
        return response

    async def come_back(self, request: Request) -> Response:
        """Let in who comes back, once: what was begun is over with it."""
        query = request.url.query
        name = self._cookie(request, self._place.mark_in(query))
        try:
            with self._rates.call(_STRANGERS):
                visitor = await self._place.finish(request.cookies.get(name, ""), query)
        except (CommonplaceError, RateLimitExceeded) as exc:
            return self._refuse(exc, "")
        response = await self._welcome(request, visitor, "https" if self._is_safe else "http")
        response.delete_cookie(
            name, path=self._cookie_path, httponly=True, samesite="lax", secure=self._is_safe
        )
        return response

    @property
    def _cookie_path(self) -> str:
        return "/" if self._is_safe else f"{self._path}/"

    def _cookie(self, request: Request, mark: str) -> str:
        """The name of a sign-in's cookie: with https one that no other host of the domain can set.

        Each has its own, so that of two tabs neither ends what the other began.
        """
        if self._is_safe:
            return f"__Host-commonplace-sign-in-{mark}"
        return f"commonplace-sign-in-{request.url.port or request.url.scheme}-{mark}"
