"""The server as a client of its identity provider, at which users of its pages sign in.

Keeps nothing between the way there and the way back: state, nonce and verifier are made of a secret
that the browser's cookie alone holds, so that any server answers what only that browser began.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import re
import secrets
import urllib.parse
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio
import anyio.to_thread
from msgspec.structs import replace

from commonplace.core.errors import Denied, Unavailable
from commonplace.core.fence import visible_line
from commonplace.core.text import opening
from commonplace.doors.web.elsewhere import BACK, Begun
from commonplace_server.http.issuer import check_safe, scopes_in
from commonplace_server.scope import space_in
from commonplace_server.tokens import ADMIN, SCOPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from commonplace_server.http.issuer import Issuer
    from commonplace_server.tokens import Token

_log = logging.getLogger(f"commonplace.{__name__}")

_THREADS = 8
"""How many sign-ins may wait for the provider at once."""
_DEADLINE_S = 15.0
_LONGEST_CODE = 4096
_AGAIN = "Sign in again."
_MARK = 16
"""So many characters of its state tell one sign-in of a browser from another."""
_Said = TypeVar("_Said")


class Fetches(Protocol):
    """What asks a provider; see `issuer.fetch_json`."""

    def __call__(
        self, address: str, form: Mapping[str, str] | None = None, authorization: str = ""
    ) -> Mapping[str, Any]:
        """What an address answers. Raises: Denied, Unavailable."""
        ...


class RelyingParty:
    """What the server is to its provider. For one event loop.

    Args:
        issuer: The provider.
        client: The server's id there.
        secret: What it shows with that; empty where the provider wants none.
        address: Where users reach the server, with no `/` at its end.
        web: Where its pages begin.
        resource: What it asks rights to, as programs do.
        settled: The settings by which users are let in: who signed in by others is signed out.
        fetch: Asks the provider.
        deadline_s: How long it may take.
    """

    def __init__(
        self,
        issuer: Issuer,
        *,
        client: str,
        secret: str,
        address: str,
        web: str,
        resource: str,
        settled: str,
        fetch: Fetches,
        deadline_s: float = _DEADLINE_S,
    ) -> None:
        self.host = urllib.parse.urlsplit(issuer.url).netloc
        self.address = address
        self.mark = f"web-{hashlib.sha256(settled.encode()).hexdigest()[:8]}-"
        """What the ids of its users' visits begin with."""
        self._issuer = issuer
        self._client = client
        self._secret = secret
        self._back = f"{address}{web}{BACK}"
        self._resource = resource
        self._fetch = fetch
        self._deadline_s = deadline_s
        self._asking: anyio.CapacityLimiter | None = None

    async def begin(self, query: str) -> Begun:
        """Where a browser signs in, and what it shows when it comes back.

        Args:
            query: `space=team` for a space; else empty.

        Raises:
            Invalid: It names no space.
            Unavailable: The provider does not answer.
        """
        space = space_in(query)
        named = base64.urlsafe_b64encode(space.encode()).decode().rstrip("=")
        cookie = f"{secrets.token_urlsafe(32)}.{named}"
        said = await self._asked(self._issuer.describe)
        place, known = said.get("authorization_endpoint"), said.get("scopes_supported")
        if not isinstance(place, str):
            raise Unavailable(f"{self.host} lets nobody sign in: it has no page for it.")
        check_safe(place)
        # A provider may refuse a scope that it does not know.
        may_delete = bool(space) and isinstance(known, list) and ADMIN in known
        scopes = ("openid", *SCOPES, *((ADMIN,) if may_delete else ()))
        asked = {
            "response_type": "code",
            "client_id": self._client,
            "redirect_uri": self._back,
            "scope": " ".join(scopes),
            "resource": self._resource,
            "state": _made_of(cookie, "state"),
            "nonce": _made_of(cookie, "nonce"),
            "code_challenge": _digest(_made_of(cookie, "verifier")),
            "code_challenge_method": "S256",
        }
        joint = "&" if "?" in place else "?"
        to = f"{place}{joint}{urllib.parse.urlencode(asked)}"
        return Begun(to, cookie, asked["state"][:_MARK])

    def mark_in(self, query: str) -> str:
        """The mark of the sign-in that a browser comes back from; see `SignsInElsewhere`."""
        mark = _said_in(query).get("state", "")[:_MARK]
        return mark if re.fullmatch(r"[\w-]+", mark, re.ASCII) else ""

    async def finish(self, cookie: str, query: str) -> Token:
        """What the user is let in by whose browser comes back.

        Args:
            cookie: What `begin` gave this browser; empty where it has none.
            query: What the provider sent it back with.

        Raises:
            Denied: It was not begun there, or the provider or this server lets the user in to
                nothing.
            Unavailable: The provider does not answer.
        """
        code, space = self._code_in(cookie, query), _space_of(cookie)
        return await self._asked(partial(self._identify, code, cookie, space))

    def _identify(self, code: str, cookie: str, space: str) -> Token:
        """What a code lets in. Raises: as `finish`."""
        answer = self._exchange(code, cookie)
        text, granted = answer.get("id_token"), answer.get("scope")
        # What is not said is what was asked for (RFC 6749).
        scopes = frozenset(SCOPES) if granted is None else scopes_in(granted)
        if "read" not in scopes:
            raise Denied(
                f"{self.host} gave this server no right to read.",
                hint="Ask who runs the server to have it grant the scopes read and write.",
            )
        token = self._issuer.read_identity(
            text if isinstance(text, str) else "",
            client=self._client,
            nonce=_made_of(cookie, "nonce"),
            scopes=scopes,
            space=space,
        )
        if token is None:
            _log.warning("An ID token of %s is not valid for %s.", self.host, self._client)
            raise Denied(f"{self.host} did not say who you are in a way that counts.", hint=_AGAIN)
        return replace(token, id=f"{self.mark}{token.id.rpartition('-')[2]}")

    def _code_in(self, cookie: str, query: str) -> str:
        """The code that the browser which began comes back with. Raises: Denied."""
        said = _said_in(query)
        state = said.get("state", "").encode("utf-8", "surrogatepass")
        is_begun = hmac.compare_digest(state, _made_of(cookie, "state").encode())
        if not cookie or not is_begun:
            raise Denied(
                "This sign-in was not begun in this browser, or it took too long.", hint=_AGAIN
            )
        if said.get("iss", self._issuer.url).rstrip("/") != self._issuer.url:
            raise Denied("Another provider than this server's sent you here.", hint=_AGAIN)
        if "error" in said:
            why = visible_line(opening(said["error"], 60))
            detail = visible_line(opening(said.get("error_description", ""), 200))
            _log.warning("%s lets nobody sign in here: %s %s", self.host, why, detail)
            raise Denied(f"{self.host} did not sign you in: {why}.", hint=_AGAIN)
        code = said.get("code", "")
        if not 0 < len(code) <= _LONGEST_CODE:
            raise Denied(f"{self.host} sent you back with nothing.", hint=_AGAIN)
        return code

    def _exchange(self, code: str, cookie: str) -> Mapping[str, Any]:
        """What the provider gives for a code. Raises: Denied, Unavailable."""
        said = self._issuer.describe()
        place, ways = said.get("token_endpoint"), said.get("token_endpoint_auth_methods_supported")
        if not isinstance(place, str):
            raise Unavailable(f"{self.host} exchanges no codes.")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._back,
            "code_verifier": _made_of(cookie, "verifier"),
        }
        is_basic = self._secret and (not isinstance(ways, list) or "client_secret_basic" in ways)
        authorization = ""
        if is_basic:
            pair = ":".join(map(urllib.parse.quote_plus, (self._client, self._secret)))
            authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form["client_id"] = self._client
            form |= {"client_secret": self._secret} if self._secret else {}
        try:
            return self._fetch(place, form, authorization)
        except Denied as exc:
            _log.warning("The sign-in of a user is refused: %s", exc)
            raise Denied(f"{self.host} did not take the sign-in back.", hint=_AGAIN) from exc

    async def _asked(self, ask: Callable[[], _Said]) -> _Said:
        """What a provider is asked for: in a thread, and for so long at most."""
        if self._asking is None:
            self._asking = anyio.CapacityLimiter(_THREADS)
        run = partial(anyio.to_thread.run_sync, limiter=self._asking, abandon_on_cancel=True)
        try:
            with anyio.fail_after(self._deadline_s):
                return await run(ask)
        except TimeoutError as exc:
            raise Unavailable(f"{self.host} takes too long to answer.", hint=_AGAIN) from exc


def _said_in(query: str) -> dict[str, str]:
    """What a query says; nothing where it says a thing twice, or too much."""
    try:
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, max_num_fields=20)
    except ValueError:
        return {}
    said = dict(pairs)
    return said if len(said) == len(pairs) else {}


def _made_of(cookie: str, use: str) -> str:
    """What a browser's secret becomes for one use; nobody finds the secret by it."""
    return _digest(f"{use}\0{cookie}")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _space_of(cookie: str) -> str:
    """The space that a browser asked for; empty for its user's own journals. Raises: Denied."""
    named = cookie.partition(".")[2]
    try:
        return base64.urlsafe_b64decode(named + "=" * (-len(named) % 4)).decode()
    except ValueError as exc:
        raise Denied("This sign-in was not begun in this browser.", hint=_AGAIN) from exc
