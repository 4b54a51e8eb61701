"""What the SDK's handlers ask of an authorization server, answered from our grants.

Decides which clients there may be; what they may do is decided where users are asked.
"""

from __future__ import annotations

import time
from collections import deque
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    RefreshToken,
    RegistrationError,
    TokenError,
)
from mcp.shared.auth import InvalidRedirectUriError, OAuthClientInformationFull, OAuthToken

from commonplace.core.text import opening
from commonplace_server.grants.grants import ACCESS_LASTS, GRANT_LASTS
from commonplace_server.grants.records import Record
from commonplace_server.grants.redirects import MOST, find_fault, is_named
from commonplace_server.tokens import LONGEST_LABEL, SCOPES, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import AnyUrl

    from commonplace.core.clock import Clock
    from commonplace_server.grants.grants import Allowed, Grants, Issued

MOST_CLIENTS = 1000
MOST_NEW = 60
"""Clients that may register within an hour, at one server."""

PUBLIC = "none"
"""How a client proves at the token's door who it is: it does not, it has the proof of its code."""

_HOUR_S = 3600.0
_UNUSED_LASTS = timedelta(days=1)
_USED_LASTS = 2 * GRANT_LASTS
_THREADS = 8

_Found = TypeVar("_Found")


class KnownClient(OAuthClientInformationFull):
    """A client as this server knows it: without a secret, with a proof instead (PKCE)."""

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        """Any: what we do not know is left out, and the answer says what is granted."""
        return None if requested_scope is None else requested_scope.split()

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        """One that the client named, on loopback at any port. Raises: InvalidRedirectUriError."""
        named = self.redirect_uris or []
        if redirect_uri is None and len(named) == 1:
            return named[0]
        if redirect_uri is None or not any(is_named(str(redirect_uri), str(x)) for x in named):
            raise InvalidRedirectUriError("The client did not name this address to go back to.")
        return redirect_uri


class Provider:
    """The clients, codes and tokens of a server; see the SDK's provider. For one event loop.

    Args:
        grants: What users have allowed.
        clock: Gives the time.
        monotonic: Gives seconds.
    """

    def __init__(
        self,
        grants: Grants,
        *,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._grants = grants
        self._clock = clock
        self._monotonic = monotonic
        self._registered: deque[float] = deque()
        self._limiter: anyio.CapacityLimiter | None = None

    async def authorize(self, client: Any, params: AuthorizationParams) -> str:
        """Never: users are asked on a page of ours. Raises: AuthorizeError."""
        raise AuthorizeError("server_error")

    async def get_client(self, client_id: str) -> KnownClient | None:
        """A client that has registered, or that a user has let in; see the SDK's provider."""
        found = await self.in_thread(
            partial(self._grants.records.find, "client", [digest_of(client_id)])
        )
        return KnownClient.model_validate(found[0].facts) if found else None

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a client that registers, for a day unless a user lets it in.

        Raises: RegistrationError.
        """
        named = [str(x) for x in client_info.redirect_uris or []]
        faults = [fault for each in named if (fault := find_fault(each))]
        if faults or not 1 <= len(named) <= MOST:
            why = faults[0] if faults else f"name one, and {MOST} at most"
            raise RegistrationError("invalid_redirect_uri", f"An address to go back to: {why}.")
        now = self._monotonic()
        while self._registered and now - self._registered[0] > _HOUR_S:
            self._registered.popleft()
        if len(self._registered) >= MOST_NEW:
            why = "Too many clients register. Try again in an hour."
            raise RegistrationError("invalid_client_metadata", why)
        self._registered.append(now)
        # The SDK answers with the client as it is left here: without a secret.
        client_info.token_endpoint_auth_method = PUBLIC
        client_info.client_secret = client_info.client_secret_expires_at = None
        client_info.scope = " ".join(SCOPES)
        await self._keep(KnownClient.model_validate(_essence(client_info)), _UNUSED_LASTS)

    async def let_in(self, client: KnownClient, allowed: Allowed, asked: dict[str, Any]) -> str:
        """The code for a client that a user has let in, which is known from then on."""
        await self._keep(client, _USED_LASTS)
        return await self.in_thread(partial(self._grants.new_code, allowed, asked))

    async def _keep(self, client: KnownClient, lasts: timedelta) -> None:
        record = Record(
            kind="client",
            key=digest_of(str(client.client_id)),
            facts=_essence(client),
            until=self._clock() + lasts,
        )
        await self.in_thread(partial(self._grants.records.put, record, most=MOST_CLIENTS))

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """What a code stands for; None for one that is not this client's, or not valid."""
        code = await self.in_thread(partial(self._grants.find_code, authorization_code))
        if code is None or code.allowed.client != client.client_id:
            return None
        return AuthorizationCode(
            code=authorization_code,
            scopes=[*code.allowed.scopes],
            expires_at=time.time() + 1,  # one that is too old is not found
            client_id=code.allowed.client,
            code_challenge=code.asked["challenge"],
            redirect_uri=code.asked["redirect_uri"],
            redirect_uri_provided_explicitly=code.asked["named"],
            subject=code.allowed.owner,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """The tokens for a code. Raises: TokenError."""

        def exchange() -> Issued | None:
            code = self._grants.find_code(authorization_code.code)
            return None if code is None else self._grants.exchange(code)

        return _token(await self.in_thread(exchange))

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        """What a refresh token stands for; None for one that is not this client's newest."""
        grant = await self.in_thread(partial(self._grants.find_refresh, refresh_token))
        if grant is None or grant.facts["client"] != client.client_id:
            return None
        return RefreshToken(
            token=refresh_token,
            client_id=grant.facts["client"],
            scopes=[*grant.facts["scopes"]],
            subject=grant.facts["owner"],
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """The next tokens of a grant, with all its rights, as it says. Raises: TokenError."""
        text = refresh_token.token

        def refresh() -> Issued | None:
            grant = self._grants.find_refresh(text)
            return None if grant is None else self._grants.refresh(grant, text)

        return _token(await self.in_thread(refresh))

    async def load_access_token(self, token: str) -> AccessToken | None:
        """What an access token stands for; None for one that is not valid."""
        found = await self.in_thread(partial(self._grants.find_access, token))
        if found is None:
            return None
        client = await self.in_thread(partial(self._grants.client_of, found.id))
        return AccessToken(token=token, client_id=client, scopes=[*found.scopes])

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """End the grant of a token."""
        await self.in_thread(partial(self._grants.revoke_by, token.token))

    async def exchange_identity_assertion(self, client: Any, params: Any) -> OAuthToken:
        """Never: no other server is believed. Raises: TokenError."""
        raise TokenError("unsupported_grant_type")

    async def in_thread(self, do: Callable[[], _Found]) -> _Found:
        """What is asked of where grants are kept, which may be waited for."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_THREADS)
        return await anyio.to_thread.run_sync(do, limiter=self._limiter)


def _essence(client: OAuthClientInformationFull) -> dict[str, Any]:
    """What is kept of a client."""
    return {
        "client_id": client.client_id,
        "client_name": opening(client.client_name or "", LONGEST_LABEL) or None,
        "redirect_uris": [str(x) for x in client.redirect_uris or []],
        "token_endpoint_auth_method": PUBLIC,
    }


def _token(issued: Issued | None) -> OAuthToken:
    """What a client is answered. Raises: TokenError."""
    if issued is None:
        raise TokenError("invalid_grant", "It was used, or its user has ended it.")
    return OAuthToken(
        access_token=issued.access,
        refresh_token=issued.refresh,
        expires_in=int(ACCESS_LASTS.total_seconds()),
        scope=" ".join(issued.scopes),
    )
