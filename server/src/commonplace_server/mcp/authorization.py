"""The small authorization server: the SDK's own handlers over our grants, and what a user is asked.

Decides what a client may be and what it is given; the protocol is the SDK's.
"""

from __future__ import annotations

import json
import logging
import time
import urllib.parse
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.revoke import RevocationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import ClientAuthenticator
from mcp.server.auth.provider import AuthorizationParams, AuthorizeError, construct_redirect_uri
from mcp.server.auth.routes import cors_middleware
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import OAuthMetadata
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from commonplace.core.errors import CommonplaceError, Denied, Invalid
from commonplace.core.fence import visible_line
from commonplace.core.text import opening
from commonplace.doors.web.consent import ConsentQuestion
from commonplace_server.grants.documents import is_document_address
from commonplace_server.grants.grants import GRANT_LASTS, Allowed
from commonplace_server.grants.redirects import MOST, find_fault, origin_of, place_of
from commonplace_server.mcp.provider import PUBLIC, KnownClient, Provider
from commonplace_server.scope import METADATA, REGISTER, REVOKE, TOKENS
from commonplace_server.tokens import LONGEST_LABEL, SCOPES, toolsets_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.types import Receive, Scope, Send

    from commonplace.core.clock import Clock
    from commonplace.doors.web.visit import Visitor
    from commonplace_server.grants.documents import ClientDocuments
    from commonplace_server.grants.grants import Grants
    from commonplace_server.tokens import ReadsTokens, Token

_LONGEST_STATE = 4096
_CHALLENGE = 43
_SENTINEL = "commonplace:asks"
# A second one would be read by one of two, and not by the other.
_ONCE = frozenset(
    "client_id redirect_uri response_type code_challenge code_challenge_method state scope"
    " resource grant_type code code_verifier refresh_token token client_secret".split()
)
_NO_STORE = {"Cache-Control": "no-store"}
_log = logging.getLogger(f"commonplace.{__name__}")


class _Asked(NamedTuple):
    """What a client asks a user for, once all of it was found right."""

    client: KnownClient
    params: AuthorizationParams


class AuthorizationServer:
    """Lets clients sign in here, each by the consent of a user of ours. For one event loop.

    Args:
        address: Where users reach the server, which is the issuer's name too.
        path: Where it speaks MCP: what all tokens are for is `address` with it.
        consent: Where users are asked, from the server's root.
        grants: What users have allowed.
        tokens: The tokens of users.
        documents: What clients with an address say of themselves.
        toolsets: Those that may be granted.
        clock: Gives the time.
        monotonic: Gives seconds.
    """

    def __init__(
        self,
        *,
        address: str,
        path: str,
        consent: str,
        grants: Grants,
        tokens: ReadsTokens,
        documents: ClientDocuments,
        toolsets: Sequence[str],
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address = address
        self._resources = {f"{address}{path}", address}
        self._consent = consent
        self._provider = Provider(grants, clock=clock, monotonic=monotonic)
        self._tokens = tokens
        self._documents = documents
        self._toolsets = toolsets
        self._warned = ""
        self._inside = Starlette(
            routes=self._routes(), exception_handlers={CommonplaceError: self._cannot_now}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a client, which has no cookie and no token."""
        await self._inside(scope, receive, send)

    def _routes(self) -> list[Route]:
        provider = self._provider
        authenticator = ClientAuthenticator(provider)
        options = ClientRegistrationOptions(enabled=True)
        answers: dict[str, Callable[[Request], Awaitable[Response]]] = {
            TOKENS: self._checked(TokenHandler(provider, authenticator).handle),
            REGISTER: RegistrationHandler(provider, options).handle,
            REVOKE: self._checked(RevocationHandler(provider, authenticator).handle),
        }
        return [
            Route(METADATA, cors_middleware(self._metadata, ["GET"]), methods=["GET", "OPTIONS"]),
            *(
                Route(path, cors_middleware(answer, ["POST"]), methods=["POST", "OPTIONS"])
                for path, answer in answers.items()
            ),
        ]

    async def _metadata(self, _request: Request) -> Response:
        at = self._address
        said = OAuthMetadata.model_validate(
            {
                "issuer": at,
                "authorization_endpoint": f"{at}{self._consent}",
                "token_endpoint": f"{at}{TOKENS}",
                "registration_endpoint": f"{at}{REGISTER}",
                "revocation_endpoint": f"{at}{REVOKE}",
                "revocation_endpoint_auth_methods_supported": ["none"],
                "scopes_supported": [*SCOPES],
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
                "client_id_metadata_document_supported": True,
                "authorization_response_iss_parameter_supported": True,
            }
        )
        return JSONResponse(
            said.model_dump(mode="json", exclude_none=True),
            headers={"Cache-Control": "max-age=3600"},
        )

    def _checked(
        self, handle: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """What the SDK does not look at: a field that comes twice, and what a token is for."""

        async def answer(request: Request) -> Response:
            kind = request.headers.get("content-type", "")
            if not kind.startswith("application/x-www-form-urlencoded"):
                return _refused("invalid_request", "It is not a form.")
            given = [(name, str(value)) for name, value in (await request.form()).multi_items()]
            if _repeated(given):
                return _refused("invalid_request", "A field comes twice.")
            resource = dict(given).get("resource")
            if resource is not None and not self._is_ours(resource):
                return _refused("invalid_target", "This server makes tokens for itself alone.")
            return await handle(_with_secret(request, given))

        return answer

    async def _cannot_now(self, _request: Request, error: Exception) -> Response:
        """What is answered while nothing can be read of clients and grants; the log says why.

        Each reason once: strangers may ask as often as they like.
        """
        if str(error) != self._warned:
            _log.error("No client can sign in: %s", error)
        self._warned = str(error)
        return JSONResponse({"error": "temporarily_unavailable"}, 503, headers=_NO_STORE)

    def _is_ours(self, resource: str) -> bool:
        return resource.rstrip("/") in self._resources

    async def ask(self, visitor: Visitor, query: str) -> ConsentQuestion:
        """What a user is asked, whom a client has sent here. Raises: Invalid, Unavailable."""
        asked = await self._read(query)
        place = str(asked.params.redirect_uri)
        of_user = await self._token_of(visitor)
        scopes, toolsets = self._asked_for(asked, of_user)
        client_id = str(asked.client.client_id)
        is_described = is_document_address(client_id)
        return ConsentQuestion(
            name=_name_of(asked.client),
            described_at=urllib.parse.urlsplit(client_id).hostname or "" if is_described else "",
            goes_to=place_of(place),
            leads_to=origin_of(place),
            may_write="write" in scopes,
            may_delete=not of_user.member,  # a member deletes as an admin alone, and not by others
            toolsets=toolsets,
            has_connector=not toolsets and "connector" in self._toolsets,
            days=GRANT_LASTS.days,
        )

    async def answer(self, visitor: Visitor, query: str, form: Mapping[str, Sequence[str]]) -> str:
        """Where a user goes who has answered, with a code or without. Raises: as `ask`."""
        asked = await self._read(query)
        said = {name: values[-1] for name, values in form.items()}
        back = str(asked.params.redirect_uri)
        known = {"state": asked.params.state, "iss": self._address}
        if said.get("do") != "allow":
            return construct_redirect_uri(back, error="access_denied", **known)
        of_user = await self._token_of(visitor)
        scopes, toolsets = self._asked_for(asked, of_user)
        if said.get("tools") == "connector" and not toolsets:
            toolsets = ("connector",)
        allowed = Allowed(
            owner=of_user.owner,
            member=of_user.member,
            token_id=of_user.id,
            client=str(asked.client.client_id),
            name=_name_of(asked.client)[:LONGEST_LABEL],
            scopes=tuple(x for x in scopes if x == "read" or said.get("write") == "1"),
            toolsets=toolsets,
            until=of_user.expires_at,
        )
        exchanged = {
            "challenge": asked.params.code_challenge,
            "redirect_uri": back,
            "named": asked.params.redirect_uri_provided_explicitly,
        }
        code = await self._provider.let_in(asked.client, allowed, exchanged)
        return construct_redirect_uri(back, code=code, **known)

    async def _token_of(self, visitor: Visitor) -> Token:
        """The token by which a user has signed in. Raises: Denied."""
        found = await self._provider.in_thread(partial(self._tokens.get, visitor.token_id))
        if found is None:
            raise Denied("You are not signed in.", hint="Sign in again.")
        return found

    async def _read(self, query: str) -> _Asked:
        """What a client asks, read by the SDK. Raises: Invalid, Unavailable."""
        given = urllib.parse.parse_qsl(query, keep_blank_values=True)
        if _repeated(given):
            raise Invalid(
                "The program sends a field of its request twice.",
                hint="Start again in the program.",
            )
        client_id = dict(given).get("client_id", "")
        described = None
        if is_document_address(client_id):  # its own words, where it is not here whole
            described = _described(await self._documents.read(client_id))
        capture = _Capture(self._provider, described, self._check)
        request = Request(
            {"type": "http", "method": "GET", "query_string": query.encode(), "headers": []}
        )
        answer = await AuthorizationHandler(capture).handle(request)  # type: ignore[arg-type]
        if capture.asked is None:
            why = _why(answer)
            raise Invalid(
                f"This server cannot do what the program asks: {visible_line(opening(why, 200))}",
                hint="Start again there; if that fails, remove this server there and add it again.",
            )
        return capture.asked

    def _check(self, client: KnownClient, params: AuthorizationParams) -> None:
        """Refuse what the SDK lets pass. Raises: AuthorizeError."""
        if fault := find_fault(str(params.redirect_uri)):
            raise AuthorizeError("invalid_request", f"The address to go back to: {fault}.")
        challenge = params.code_challenge
        if (
            len(challenge) != _CHALLENGE
            or not challenge.replace("-", "").replace("_", "").isalnum()
        ):
            raise AuthorizeError("invalid_request", "The code challenge is not one of S256.")
        if params.resource is not None and not self._is_ours(params.resource):
            raise AuthorizeError("invalid_target", "It asks for tokens of another server.")
        if len(params.state or "") > _LONGEST_STATE:
            raise AuthorizeError("invalid_request", "Its state is too long.")

    def _asked_for(self, asked: _Asked, of_user: Token) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The rights and toolsets that may be granted of those that are asked for."""
        named = asked.params.scopes or []
        wants = [x for x in SCOPES if x in named] or [*SCOPES]
        scopes = tuple(x for x in SCOPES if x == "read" or (x in wants and of_user.may_write))
        chosen = toolsets_in(named)
        return scopes, tuple(x for x in self._toolsets if x in chosen)


class _Capture:
    """What the SDK's handler asks: the client, and then what to do, which is to ask the user."""

    def __init__(
        self,
        provider: Provider,
        described: KnownClient | None,
        check: Callable[[KnownClient, AuthorizationParams], None],
    ) -> None:
        self._provider = provider
        self._check = check
        self._described = described
        self.asked: _Asked | None = None

    async def get_client(self, client_id: str) -> KnownClient | None:
        """The client, by its document or as it has registered."""
        return self._described or await self._provider.get_client(client_id)

    async def authorize(self, client: KnownClient, params: AuthorizationParams) -> str:
        """Note what is asked, once it was found right. Raises: AuthorizeError."""
        self._check(client, params)
        self.asked = _Asked(client, params)
        return _SENTINEL


def _described(said: Mapping[str, Any]) -> KnownClient:
    """The client that a document describes. Raises: Invalid."""
    method = said.get("token_endpoint_auth_method", "none")
    named = said.get("redirect_uris")
    if method not in (PUBLIC, "private_key_jwt"):
        raise Invalid("The program's own document wants a secret, which no document can keep.")
    if not isinstance(named, list) or not 1 <= len(named) <= MOST:
        raise Invalid("The program's own document names no address to go back to.")
    name = said.get("client_name")
    try:
        return KnownClient.model_validate(
            {
                "client_id": said["client_id"],
                "client_name": name if isinstance(name, str) else None,
                "redirect_uris": named,
                # Of the ways that it may have: the one that we say we take.
                "token_endpoint_auth_method": PUBLIC,
            }
        )
    except ValidationError as exc:
        raise Invalid("The program's own document has a malformed address in it.") from exc


def _name_of(client: KnownClient) -> str:
    """What a client calls itself, on one line, with all that hides written out."""
    name = " ".join((client.client_name or "").split())
    return visible_line(opening(name, LONGEST_LABEL)) or "A program without a name"


def _repeated(given: Sequence[tuple[str, Any]]) -> bool:
    return any(number > 1 for name, number in Counter(x for x, _ in given).items() if name in _ONCE)


def _with_secret(request: Request, given: Sequence[tuple[str, Any]]) -> Request:
    """A request whose form has the empty secret that the SDK asks of one who revokes."""
    body = urllib.parse.urlencode({"client_secret": "", **dict(given)}).encode()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    kind = (b"content-type", b"application/x-www-form-urlencoded")
    scope = {**request.scope, "headers": [kind]}
    return Request(scope, receive)


def _refused(error: str, why: str) -> Response:
    return JSONResponse({"error": error, "error_description": why}, 400, headers=_NO_STORE)


def _why(answer: Response) -> str:
    """What the SDK says is wrong: in its body, or in the address that it would send a user to."""
    place = answer.headers.get("location")
    if place is None:
        said = json.loads(bytes(answer.body))
    else:
        said = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(place).query))
    return str(said.get("error_description") or said.get("error") or "it does not say what")
