"""How clients sign in, as the settings say: at an identity provider, or at this server itself."""

from __future__ import annotations

import time
import urllib.parse
from typing import TYPE_CHECKING

from commonplace.config.values import split_space_role
from commonplace.core.clock import utc_now
from commonplace.core.errors import Invalid
from commonplace.doors.host_names import LOOPBACK_NAMES
from commonplace.doors.web.application import CONSENT
from commonplace_server.http.gate import WEB
from commonplace_server.http.resource import ProtectedResource, SignIn
from commonplace_server.scope import PATH
from commonplace_server.tokens import SCOPES

if TYPE_CHECKING:
    from commonplace.config.table import Settings
    from commonplace_server.grants.records import KeepsRecords
    from commonplace_server.http.authenticator import Offer
    from commonplace_server.http.issuer import Issuer
    from commonplace_server.http.relying_party import RelyingParty
    from commonplace_server.tokens import ReadsTokens

_ADDRESS_HINT = (
    "Set serve.address to where users reach this server, such as https://memory.example.org."
)


def read_sign_in(
    settings: Settings, tokens: ReadsTokens, records: KeepsRecords, offer: Offer
) -> SignIn:
    """How clients sign in, if they can. Raises: Invalid."""
    serve = settings.serve
    if serve.spaces and serve.issuer is None:
        raise Invalid(
            "serve.spaces names groups of an identity provider, and serve.issuer names none.",
            hint="Set serve.issuer too, or give members tokens of this server (`commonplace tokens"
            " create --space`) and take serve.spaces out.",
        )
    if serve.client_id and serve.issuer is None:
        raise Invalid(
            "serve.client_id is this server's id at an identity provider, and serve.issuer names"
            " none.",
            hint="Set serve.issuer too, or take serve.client_id out.",
        )
    if serve.client_secret and not serve.client_id:
        raise Invalid(
            "serve.client_secret is set, and serve.client_id does not say whose it is.",
            hint="Set serve.client_id too, or take serve.client_secret out.",
        )
    if serve.sign_in:
        return _at_this_server(settings, tokens, records, offer)
    if serve.issuer is None:
        return SignIn(tokens)
    if serve.address is None:
        raise Invalid(
            "The identity provider has no address to make tokens for.", hint=_ADDRESS_HINT
        )
    from commonplace_server.http.issuer import Issuer, SpaceRoles, fetch_json

    audience = serve.audience or f"{serve.address}{PATH}"
    issuer = Issuer(
        serve.issuer,
        audience=audience,
        owner_claim=serve.owner_claim,
        spaces=SpaceRoles(serve.groups_claim, [*map(split_space_role, serve.spaces)]),
        withheld=settings.owner,
        fetch=fetch_json,
        monotonic=time.monotonic,
    )
    return SignIn(
        resource=_resource(serve.address, serve.issuer),
        tokens=tokens,
        issuer=issuer,
        provider=_relying_party(settings, issuer, audience) if offer.has_pages else None,
    )


def _relying_party(settings: Settings, issuer: Issuer, audience: str) -> RelyingParty | None:
    """What users of the provider sign in at the pages by, if they can. Raises: Invalid."""
    serve = settings.serve
    if not serve.client_id:
        return None
    from commonplace_server.http.issuer import fetch_json
    from commonplace_server.http.relying_party import RelyingParty

    settled = (issuer.url, serve.client_id, serve.owner_claim, serve.groups_claim, settings.owner)
    return RelyingParty(
        issuer,
        client=serve.client_id,
        secret=serve.client_secret or "",
        address=_safe_address("serve.client_id", settings),
        web=WEB,
        resource=audience,
        settled="\0".join((*settled, *serve.spaces)),
        fetch=fetch_json,
    )


def _safe_address(needed_by: str, settings: Settings) -> str:
    """Where browsers are sent back to. Raises: Invalid."""
    address = settings.serve.address
    parts = urllib.parse.urlsplit(address or "")
    is_safe = parts.scheme == "https" or parts.hostname in LOOPBACK_NAMES
    if address is None or not is_safe or parts.path:
        shown = "not set" if address is None else repr(address)
        raise Invalid(
            f"{needed_by} needs an address with https and no path; serve.address is {shown}.",
            hint=_ADDRESS_HINT,
        )
    return address


def _at_this_server(
    settings: Settings, tokens: ReadsTokens, records: KeepsRecords, offer: Offer
) -> SignIn:
    """What lets clients sign in here. Raises: Invalid."""
    if settings.serve.issuer is not None:
        raise Invalid(
            "serve.issuer and serve.sign_in are both set: users sign in at one place.",
            hint="Take out one of them.",
        )
    address = _safe_address("serve.sign_in", settings)
    from commonplace_server.grants.documents import ClientDocuments, DocumentFetcher
    from commonplace_server.grants.grants import GrantedTokens, Grants
    from commonplace_server.grants.programs import Programs
    from commonplace_server.mcp.authorization import AuthorizationServer

    grants = Grants(records, tokens, clock=utc_now)
    return SignIn(
        resource=_resource(address, address),
        authorization=AuthorizationServer(
            address=address,
            path=PATH,
            consent=f"{WEB}{CONSENT}",
            grants=grants,
            tokens=tokens,
            documents=ClientDocuments(DocumentFetcher()),
            toolsets=offer.toolsets,
            clock=utc_now,
        ),
        tokens=GrantedTokens(tokens, grants),
        programs=Programs(grants),
    )


def _resource(address: str, issuer: str) -> ProtectedResource:
    return ProtectedResource(address=address, path=PATH, issuer=issuer, scopes=SCOPES)
