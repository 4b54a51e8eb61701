"""Who makes a request of the HTTP server: whether its token is let in, as whom, and what it may do.

Knows no protocol above HTTP. Never says of a token more than that it is not valid.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import anyio
import anyio.to_thread
from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Denied
from commonplace.core.spaces import is_space
from commonplace.journals.table import CONNECTOR, DEFAULT, OF_SPACES
from commonplace_server.scope import PATH
from commonplace_server.tokens import METRICS_SCOPE, id_of, is_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from commonplace.core.clock import Clock
    from commonplace.core.spaces import Member
    from commonplace.doors.host_names import HostNames
    from commonplace_server.http.issuer import Issuer
    from commonplace_server.tokens import ReadsTokens, Token

# A client behind a proxy is not on this machine. Not every proxy says so.
_FORWARDED = (
    b"forwarded",
    b"via",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-proto",
    b"x-real-ip",
    b"x-client-ip",
    b"true-client-ip",
    b"cf-connecting-ip",
)
# What a proxy such as nginx speaks by default, without a header of its own, and no MCP client does.
_OLD_HTTP = "1.0"
# A browser says so of an address that was typed, and of a page of the same origin.
_OWN_SITE = frozenset({b"none", b"same-origin"})

ToMetrics: TypeAlias = Literal["token", "loopback", "off"]


class Caller(Struct, frozen=True, kw_only=True):
    """The client of a request, as its token names it.

    Args:
        token_id: Empty for the machine's own owner, who needs no token while there are none.
        owner: Whose journals it reads and writes.
        toolsets: Those offered to it.
        may_write: Whether it may call tools that write.
        member: Who it is, where the owner is a space; else None.
    """

    token_id: str
    owner: str
    toolsets: tuple[str, ...]
    may_write: bool
    member: Member | None = None


class Offer(Struct, frozen=True, kw_only=True):
    """What a server offers its callers.

    Args:
        owner: The machine's own, for callers that need no token.
        toolsets: The most that any token may have.
        usual: The toolsets of a token that names none.
        may_write: False where no tool that writes is offered.
        has_pages: Whether browsers see the journals at `/web`.
        of_others: Toolsets of all owners but the machine's own, whose journals lie on its disk.
        metrics: Who may read `/metrics`: who has a token for that, loopback as well, or nobody.
    """

    owner: str
    toolsets: tuple[str, ...]
    usual: tuple[str, ...]
    may_write: bool
    has_pages: bool = True
    of_others: frozenset[str] = frozenset()
    metrics: ToMetrics = "token"

    def toolsets_of(self, owner: str, asked: Collection[str]) -> tuple[str, ...]:
        """Those that an owner is offered of some; a space has fewer, each of them by itself."""
        if is_space(owner):
            named = OF_SPACES if DEFAULT in asked else ()
            theirs = {*named, *(x for x in asked if x in (*OF_SPACES, CONNECTOR))}
            return tuple(x for x in self.toolsets if x in theirs)
        withheld = self.of_others if owner == self.owner else frozenset()
        usual = self.toolsets if withheld and DEFAULT in asked else asked  # of few all are usual
        return tuple(x for x in self.toolsets if x in usual and x not in withheld)


class Refusal(Exception):
    """A request that is not admitted.

    Args:
        status: Of HTTP.
        code: One of the six codes of our errors.
        message: What is wrong.
        hint: The next step.
        headers: More headers of the answer, with `_` for `-` in their names.
    """

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", **headers: str
    ) -> None:
        super().__init__(message)
        self.status = status
        self.facts = {"code": code, "message": message, "hint": hint}
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}


class Authenticator:
    """Decides for one server who makes a request, by its token. Thread-safe.

    Args:
        tokens: Those that this server made.
        names: Its own names.
        offer: What callers may have at most.
        clock: Gives the time.
        issuer: The identity provider whose tokens are let in as well; None for none.
    """

    def __init__(
        self,
        *,
        tokens: ReadsTokens,
        names: HostNames,
        offer: Offer,
        clock: Clock,
        issuer: Issuer | None = None,
    ) -> None:
        self._tokens = tokens
        self._names = names
        self._offer = offer
        self._clock = clock
        self._issuer = issuer
        self._fetching = anyio.Lock()

    async def prepare(self, headers: Mapping[bytes, bytes]) -> None:
        """Fetch what the token of a request is read by, where that is not here yet.

        Whoever needs it meanwhile waits for that one, and holds no thread.
        """
        issuer = self._issuer
        if issuer is None:
            return
        text = _bearer(headers.get(b"authorization", b""))
        if not issuer.lacks_key(text):
            return
        async with self._fetching:
            if issuer.lacks_key(text):
                await anyio.to_thread.run_sync(issuer.refresh)

    def admit(
        self, headers: Mapping[bytes, bytes], *, http_version: str, space: str = ""
    ) -> Caller:
        """Identify the caller of a request.

        Args:
            headers: Of the request, their names in lower case.
            http_version: Such as `1.1`.
            space: The only one that it may open; empty for what its token opens.

        Raises:
            Refusal: The request is not admitted.
            Unavailable: The tokens cannot be read.
        """
        self._check_names(headers)
        given = headers.get(b"authorization")
        if given is None:
            return self._without_token(headers, http_version, space)
        token = self._valid(given, space)
        caller = self._let_in(token, space)
        if token.is_own:
            self._tokens.note_use(token)
        return caller

    def admit_known(self, headers: Mapping[bytes, bytes], *, space: str = "") -> Caller | None:
        """As `admit`, by what is known of a token: None where that must be found out.

        Waits for nothing. Raises: Refusal.
        """
        presented = _bearer(headers.get(b"authorization", b""))
        token = self._tokens.find_known(id_of(presented))
        if token is None or not is_of(token, presented) or token.state(self._clock()) != "valid":
            return None
        self._check_names(headers)
        return self._let_in(token, space)

    def _let_in(self, token: Token, space: str) -> Caller:
        """The caller whom a valid token lets in. Raises: Refusal."""
        if not token.may_read:
            raise forbidden("This token opens no journal.", "Use one whose scope is read.")
        caller = self._caller(token)
        if space not in {"", caller.owner}:
            raise forbidden("This token is not for that space.", "Use one of a member of it.")
        if not caller.toolsets:
            raise forbidden(
                "None of this token's toolsets is offered here.",
                "Use another token, or start the server with --toolsets that name one of them.",
            )
        return caller

    def admit_to_metrics(self, headers: Mapping[bytes, bytes], scope: Mapping[str, Any]) -> None:
        """Let in who may read what the server counts of itself.

        Raises:
            Refusal: They may not, or nobody may.
            Unavailable: The tokens cannot be read.
        """
        who = self._offer.metrics
        if who == "off":
            raise not_found(PATH)
        self._check_names(headers)
        if who == "loopback" and _is_direct(headers, scope):
            return
        given = headers.get(b"authorization")
        if given is None:
            raise _unauthorized("A token with the scope metrics is needed.")
        token = self._own(given)
        if METRICS_SCOPE not in token.scopes:
            raise forbidden("This token may not read metrics.", "Use one with the scope metrics.")
        self._tokens.note_use(token)

    def _valid(self, authorization: bytes, space: str) -> Token:
        """The valid token that a header shows. Raises: Refusal."""
        if self._issuer is not None:
            try:
                token = self._issuer.read(_bearer(authorization), space)
            except Denied as exc:
                raise forbidden(exc.message, exc.hint) from exc
            if token is not None:
                return token
        return self._own(authorization)

    def _own(self, authorization: bytes) -> Token:
        """The valid token of this server's own that a header shows. Raises: Refusal."""
        token = self._tokens.find(_bearer(authorization))
        if token is None or token.state(self._clock()) != "valid":
            raise invalid_token()
        return token

    @property
    def waits(self) -> bool:
        """Whether what it answers may have to be waited for, as that of a database."""
        return self._tokens.waits

    def find_problem(self) -> str:
        """Say why no request can be admitted now; empty where they can."""
        try:
            self._tokens.check()
        except CommonplaceError as exc:
            return str(exc)
        return ""

    def find_shut_out(self, callers: Collection[Caller]) -> set[Caller]:
        """Those of these callers who are admitted no more. Raises: Unavailable, Denied."""
        self._tokens.check()
        self._tokens.refresh(caller.token_id for caller in callers)
        return {caller for caller in callers if not self.still_admits(caller)}

    def still_admits(self, caller: Caller) -> bool:
        """Whether the token of an open session is valid, with the rights that it had."""
        if not caller.token_id:
            return not self._asks_for_tokens
        if self._issuer is not None and self._issuer.knows(caller.token_id, self._clock()):
            return True
        return self._is_token_of(caller, self._tokens.get(caller.token_id))

    def still_admits_known(self, caller: Caller) -> bool:
        """As `still_admits`, by what is known of a token: False where that must be found out.

        Waits for nothing.
        """
        return self._is_token_of(caller, self._tokens.find_known(caller.token_id))

    def _is_token_of(self, caller: Caller, token: Token | None) -> bool:
        """Whether that is a valid token, with the rights that a caller had by it."""
        if token is None or token.state(self._clock()) != "valid":
            return False
        return self._caller(token) == caller

    def check_host(self, headers: Mapping[bytes, bytes]) -> str:
        """The Host header, where it names this server. Raises: Refusal."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._names.knows(host):
            raise Refusal(421, "denied", "This server has no such name.", "See --allow-host.")
        return host

    def _check_names(self, headers: Mapping[bytes, bytes]) -> None:
        host = self.check_host(headers)
        origin = headers.get(b"origin", b"").decode("latin-1")
        site = headers.get(b"sec-fetch-site", b"none")
        if (origin and origin.partition("://")[2] != host) or site not in _OWN_SITE:
            raise Refusal(403, "denied", "Pages of other sites are not let in.")

    def _without_token(
        self, headers: Mapping[bytes, bytes], http_version: str, space: str
    ) -> Caller:
        """The machine's own owner, as long as only this machine asks and no token was ever made."""
        is_proxied = _is_proxied(headers, http_version)
        if space or not self._names.is_loopback or is_proxied or self._asks_for_tokens:
            raise _unauthorized("A token is needed.")
        offer = self._offer
        return Caller(
            token_id="",
            owner=offer.owner,
            toolsets=offer.toolsets_of(offer.owner, offer.usual),
            may_write=offer.may_write,
        )

    @property
    def _asks_for_tokens(self) -> bool:
        """Whether nobody is let in without one."""
        return self._issuer is not None or self._tokens.was_used()

    def _caller(self, token: Token) -> Caller:
        offer = self._offer
        asked = token.toolsets or offer.usual
        return Caller(
            token_id=token.id,
            owner=token.owner,
            toolsets=offer.toolsets_of(token.owner, asked),
            may_write=token.may_write and offer.may_write,
            member=token.at_work,
        )


def _bearer(authorization: bytes) -> str:
    """The token that a header shows; empty where it shows none."""
    kind, _, presented = authorization.decode("latin-1").partition(" ")
    return presented.strip() if kind.lower() == "bearer" else ""


def _is_proxied(headers: Mapping[bytes, bytes], http_version: str) -> bool:
    """Whether a proxy says that it sends a request for somebody else."""
    return http_version == _OLD_HTTP or any(name in headers for name in _FORWARDED)


def _is_direct(headers: Mapping[bytes, bytes], scope: Mapping[str, Any]) -> bool:
    """Whether a request comes from this machine, as far as no proxy hides that it does not."""
    client = scope["client"]
    is_here = client and ipaddress.ip_address(client[0].partition("%")[0]).is_loopback
    return bool(is_here) and not _is_proxied(headers, scope["http_version"])


def not_found(known: str) -> Refusal:
    """Nothing is there. known: what is."""
    return Refusal(404, "not_found", f"There is nothing here but {known}.")


def _unauthorized(message: str, error: str = "") -> Refusal:
    reason = f', error="{error}", error_description="{message}"' if error else ""
    return Refusal(
        401,
        "denied",
        message,
        "Send `Authorization: Bearer <token>`; `commonplace tokens create` makes one.",
        WWW_Authenticate=f'Bearer realm="commonplace"{reason}',
        Connection="close",
    )


def invalid_token() -> Refusal:
    """A token is not valid, for whatever reason."""
    return _unauthorized("This token is not valid.", "invalid_token")


def forbidden(message: str, hint: str) -> Refusal:
    """A valid token does not allow that."""
    scheme = 'Bearer realm="commonplace", error="insufficient_scope"'
    challenge = f'{scheme}, error_description="{message}"'
    return Refusal(403, "denied", message, hint, WWW_Authenticate=challenge)
