"""How clients sign in, and what a server says of that to them (RFC 9728)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from msgspec import Struct

from commonplace.doors.web.consent import AsksConsent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from commonplace.doors.web.programs import KeepsPrograms
    from commonplace_server.http.issuer import Issuer
    from commonplace_server.http.relying_party import RelyingParty
    from commonplace_server.tokens import ReadsTokens

WELL_KNOWN = "/.well-known/oauth-protected-resource"

OPEN_TO_ALL = {"Access-Control-Allow-Origin": "*", "Cache-Control": "max-age=3600"}
"""Headers of what is said to everybody, pages of other sites too."""


class ProtectedResource(Struct, frozen=True, kw_only=True):
    """Where a server is reached, and who makes tokens for it.

    Attributes:
        address: Where users reach the server, with no `/` at its end.
        path: Where it speaks MCP.
        issuer: The identity provider, or the server itself.
        scopes: What a client asks it for: it asks for all of them, so none of few tools is here.
    """

    address: str
    path: str
    issuer: str
    scopes: tuple[str, ...]

    @property
    def facts(self) -> Mapping[str, Any]:
        """The server's description of itself."""
        return {
            "resource": f"{self.address}{self.path}",
            "resource_name": "Commonplace",
            "authorization_servers": [self.issuer],
            "scopes_supported": [*self.scopes],
            "bearer_methods_supported": ["header"],
        }

    @property
    def challenge(self) -> str:
        """What a refusal adds, so that a client finds out where to sign in."""
        where = f"{self.address}{WELL_KNOWN}{self.path}"
        return f'resource_metadata="{where}", scope="{" ".join(self.scopes)}"'

    def is_asked(self, method: str, path: str) -> bool:
        """Whether a request asks for the description."""
        return method == "GET" and path in (WELL_KNOWN, f"{WELL_KNOWN}{self.path}")


class LetsIn(AsksConsent, Protocol):
    """What lets clients sign in at the server itself: it asks users, and answers clients."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a client that signs in."""
        ...


class SignIn(NamedTuple):
    """How clients sign in: what sends them there, and what reads what they come back with.

    Attributes:
        tokens: Those of users, and of clients that signed in here.
        resource: Says where they sign in; None where they cannot.
        issuer: Reads the tokens of an identity provider; None where they sign in at none.
        authorization: Lets them sign in here; None where they cannot.
        programs: Those that users have let in here; None where they cannot.
        provider: Where users sign in at the pages; None where only tokens let them in.
    """

    tokens: ReadsTokens
    resource: ProtectedResource | None = None
    issuer: Issuer | None = None
    authorization: LetsIn | None = None
    programs: KeepsPrograms | None = None
    provider: RelyingParty | None = None
