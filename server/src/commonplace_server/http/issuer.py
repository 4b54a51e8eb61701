"""What an identity provider signed: whose access and ID tokens are, by its own keys and claims.

Never asks the provider about a token: what it signed is checked here, and what is wrong with one
that it did not sign is said to nobody.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import threading
import time
import urllib.parse
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.core.errors import CommonplaceError, Denied, Invalid, Unavailable
from commonplace.core.spaces import PREFIX, parse_user
from commonplace.core.text import opening
from commonplace.doors.host_names import LOOPBACK_NAMES
from commonplace_server.tokens import ADMIN, SCOPES, Token, parse_member, toolsets_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from jwt import PyJWK

_log = logging.getLogger(f"commonplace.{__name__}")

ALGORITHMS = frozenset(
    {*(f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)), "EdDSA"}
)
"""What a token may be signed by: never a shared secret, which anybody with the public key has."""

_LONGEST = 16_384
_LEEWAY_S = 30
_KEEP_S = 600.0
_RETRY_S = 10.0
_MOST_BYTES = 1024 * 1024
_TIMEOUT_S = 10.0
_MOST_CALLERS = 10_000

_RIGHTS = {"read": ("read",), "write": SCOPES, "admin": (*SCOPES, ADMIN)}
"""What each role in a space allows at most."""


class SpaceRoles:
    """Which groups of a provider have which roles in which spaces.

    Args:
        claim: The claim of a token that names its user's groups, as a list or as one text.
        roles: Of each space by its owner: a role, and a group that has it.
    """

    def __init__(self, claim: str, roles: Collection[tuple[str, str, str]]) -> None:
        self._claim = claim
        self._roles = roles

    def rights_in(self, space: str, claims: Mapping[str, Any]) -> frozenset[str]:
        """What a user may do in a space by all of their groups; nothing for no member."""
        given = claims.get(self._claim)
        groups = {x for x in (given if isinstance(given, list) else [given]) if isinstance(x, str)}
        return frozenset(
            right
            for owner, role, group in self._roles
            if owner == space and group in groups
            for right in _RIGHTS[role]
        )


class _Key(NamedTuple):
    """A key of a provider, and what it may have signed with."""

    key: PyJWK
    algorithms: frozenset[str]


class _Signed(NamedTuple):
    """Claims that a provider signed for an audience, and that hold now."""

    claims: Mapping[str, Any]
    made: datetime
    until: datetime


class Issuer:
    """An identity provider whose access tokens are let in. Thread-safe.

    Args:
        url: Its address, which its tokens have as `iss`, with or without a `/` at its end.
        audience: What a token must be for: the address of what it opens.
        owner_claim: The claim that names whose journals it opens.
        spaces: Who is a member of which space.
        withheld: The machine's own owner, whom no token of a provider opens.
        fetch: Gives what an address answers, as JSON. Raises: Unavailable.
        monotonic: Gives seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        audience: str,
        owner_claim: str,
        spaces: SpaceRoles,
        withheld: str,
        fetch: Callable[[str], Mapping[str, Any]],
        monotonic: Callable[[], float],
    ) -> None:
        self.url = url
        self._audience = audience
        self._owner_claim = owner_claim
        self._spaces = spaces
        self._withheld = withheld
        self._fetch = fetch
        self._monotonic = monotonic
        self._keys: dict[str, _Key] = {}
        self._described: Mapping[str, Any] | None = None
        self._asked_at: float | None = None
        self._until: dict[str, datetime] = {}
        self._fetching = threading.Lock()
        self._noting = threading.Lock()  # never held for long: requests of all users wait for it

    def lacks_key(self, text: str) -> bool:
        """Whether keys must be fetched before a token can be read: its own is unknown, or old.

        Never more than once in ten seconds, as anybody can name a key that there is not. While they
        are fetched, it lacks one that is not known: it may be among them.
        """
        header = _header(text)
        if header is None:
            return False
        age = None if self._asked_at is None else self._monotonic() - self._asked_at
        if age is None or age > _KEEP_S:
            return True
        return self._key(header) is None and (age > _RETRY_S or self._fetching.locked())

    def refresh(self, *, waits: bool = False) -> None:
        """Fetch the provider's keys; where that fails, those that are known stay.

        waits: Whether it waits for another thread that fetches them; else it returns at once, so
        that a slow provider holds one thread alone.
        """
        if not self._fetching.acquire(blocking=waits):
            return
        try:
            age = None if self._asked_at is None else self._monotonic() - self._asked_at
            if age is not None and age <= _RETRY_S:
                return  # another thread has just done it
            self._asked_at = self._monotonic()
            said = self._describe()
            self._described = said
            self._keys = _keys_in(self._fetch(said["jwks_uri"]))
        except CommonplaceError as exc:
            _log.error("The keys of %s cannot be read: %s", self.url, exc)
        finally:
            self._fetching.release()

    def read(self, text: str, space: str = "") -> Token | None:
        """What a token lets in; None for one that is not valid, or not of this provider.

        Args:
            text: The token.
            space: The space that it is shown for; empty for its user's own journals.

        Raises:
            Denied: The provider made it, and what it claims opens nothing here.
        """
        signed = self._signed(text, self._audience)
        if signed is None:
            return None
        named = signed.claims.get("scope", signed.claims.get("scp"))
        token = self._token(signed, scopes_in(named), space)
        self._note(token.id, signed.until)
        return token

    def read_identity(
        self, text: str, *, client: str, nonce: str, scopes: Collection[str], space: str = ""
    ) -> Token | None:
        """What an ID token lets in that this server asked for; None for one that is not valid.

        Args:
            text: The token.
            client: The server's own id at the provider.
            nonce: What the server asked with.
            scopes: What the provider granted.
            space: The space that it is asked for; empty for its user's own journals.

        Raises:
            Denied: as `read`.
        """
        if self.lacks_key(text):
            self.refresh(waits=True)
        signed = self._signed(text, client)
        if signed is None:
            return None
        said = signed.claims
        is_only = said["aud"] in (client, [client])
        is_asked = hmac.compare_digest(_bytes(said.get("nonce")), nonce.encode())
        if not is_asked or said.get("azp", client if is_only else None) != client:
            return None
        return self._token(signed, scopes, space)

    def describe(self) -> Mapping[str, Any]:
        """What the provider says of itself (OpenID Connect Discovery). Raises: Unavailable."""
        if self._described is None:
            self.refresh(waits=True)
        if self._described is None:
            raise Unavailable(f"{self.url} does not answer.", hint="Try again in a moment.")
        return self._described

    def knows(self, token_id: str, now: datetime) -> bool:
        """Whether a token that made this id is valid still."""
        until = self._until.get(token_id)
        return until is not None and now < until

    def _signed(self, text: str, audience: str) -> _Signed | None:
        """What the provider signed for an audience; None for what it did not, or not for now."""
        import jwt

        header = _header(text)
        key = None if header is None else self._key(header)
        if header is None or key is None or header["alg"] not in key.algorithms:
            return None
        try:
            claims = jwt.decode(
                text,
                key.key.key,
                algorithms=[header["alg"]],
                audience=audience,
                issuer=[self.url, f"{self.url}/"],
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
            until = datetime.fromtimestamp(claims["exp"], UTC)
            made = datetime.fromtimestamp(claims.get("iat", claims["exp"]), UTC)
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, OSError):
            return None
        return _Signed(claims, made, until)

    def _token(self, signed: _Signed, scopes: Collection[str], space: str) -> Token:
        claims = signed.claims
        owner, member = self._owner(claims), ""
        toolsets = tuple(sorted(toolsets_in(scopes)))
        rights = tuple(x for x in SCOPES if x in scopes)
        if space:
            owner, member = space, owner
            rights = self._rights_in(space, member, claims, scopes)
        client = str(claims.get("client_id") or claims.get("azp") or "")
        # The next token of the same client for the same user goes on with what this one began.
        who = (owner, member) if member else (owner,)
        named = "\0".join((*who, client, *rights, "", *toolsets))
        return Token(
            id=f"jwt-{hashlib.sha256(named.encode()).hexdigest()[:24]}",
            owner=owner,
            member=member,
            scopes=rights,
            toolsets=toolsets,
            digest="",
            created_at=signed.made,
            expires_at=signed.until,
            label=client,
        )

    def _owner(self, claims: Mapping[str, Any]) -> str:
        """Whose journals a token opens. Raises: Denied."""
        named = claims.get(self._owner_claim)
        if not isinstance(named, str) or not named.strip():
            raise Denied(
                f"This token names no user: it has no claim {self._owner_claim}.",
                hint="Have the provider put it into its tokens, or set serve.owner_claim.",
            )
        try:
            owner = parse_user(named)
        except Invalid as exc:
            raise exc.as_kind(Denied) from exc
        if owner == self._withheld:
            raise Denied(
                f"The user {opening(owner, 60)!r} is this machine's own, and has no account.",
                hint="Set COMMONPLACE_OWNER to another name on the server.",
            )
        return owner

    def _rights_in(
        self, space: str, member: str, claims: Mapping[str, Any], scopes: Collection[str]
    ) -> tuple[str, ...]:
        """What a token allows in a space, of what its user's role there does. Raises: Denied."""
        allowed = self._spaces.rights_in(space, claims)
        if not allowed:  # whether or not there is such a space
            named = opening(space.removeprefix(PREFIX), 60)
            raise Denied(
                f"{opening(member, 60)!r} is no member of a space {named!r}.",
                hint="Ask who runs the server to let a group of yours in (serve.spaces).",
            )
        try:
            parse_member(member)
        except Invalid as exc:
            raise exc.as_kind(Denied) from exc
        return tuple(x for x in _RIGHTS["admin"] if x in allowed and x in scopes)

    def _note(self, token_id: str, until: datetime) -> None:
        with self._noting:
            known = self._until
            known[token_id] = max(until, known.get(token_id, until))
            if len(known) > _MOST_CALLERS:
                now = datetime.now(UTC)
                self._until = {x: y for x, y in known.items() if y > now}

    def _key(self, header: Mapping[str, Any]) -> _Key | None:
        """The key that a token says it was signed with, where it is for that."""
        keys, name = self._keys, header.get("kid")
        if name is None:
            return next(iter(keys.values())) if len(keys) == 1 else None
        return keys.get(name) if isinstance(name, str) else None

    def _describe(self) -> Mapping[str, Any]:
        """What the provider says of itself now. Raises: Unavailable."""
        parts = urllib.parse.urlsplit(self.url)
        host = f"{parts.scheme}://{parts.netloc}"
        failed: CommonplaceError | None = None
        for place in (
            f"{self.url}/.well-known/openid-configuration",
            f"{host}/.well-known/oauth-authorization-server{parts.path}",
        ):
            try:
                said = self._fetch(place)
            except Unavailable as exc:
                failed = exc
                continue
            address = said.get("jwks_uri")
            if str(said.get("issuer")).rstrip("/") != self.url or not isinstance(address, str):
                raise Unavailable(f"It says it is {opening(str(said.get('issuer')), 100)!r}.")
            return said
        raise failed or Unavailable("It describes itself nowhere.")


def _header(text: str) -> Mapping[str, Any] | None:
    """The header of a token that may be one of a provider; None for any other text."""
    if text.count(".") != 2 or len(text) > _LONGEST:  # noqa: PLR2004  header, claims and signature
        return None
    import jwt

    try:
        header = jwt.get_unverified_header(text)
    except (jwt.PyJWTError, ValueError, RecursionError):
        return None
    algorithm = header.get("alg")
    is_plain = isinstance(algorithm, str) and algorithm in ALGORITHMS and "crit" not in header
    return header if is_plain else None


def scopes_in(given: object) -> frozenset[str]:
    """The scopes that a provider names, as a text with spaces between (RFC 9068) or as a list."""
    if isinstance(given, str):
        return frozenset(given.split())
    return (
        frozenset(x for x in given if isinstance(x, str))
        if isinstance(given, list)
        else frozenset()
    )


def _keys_in(said: Mapping[str, Any]) -> dict[str, _Key]:
    """The keys for signatures in a set, by their names. Raises: Unavailable."""
    import jwt

    found: dict[str, _Key] = {}
    listed = said.get("keys")
    for number, each in enumerate(listed if isinstance(listed, list) else ()):
        if (
            not isinstance(each, dict)
            or each.get("use", "sig") != "sig"
            or each.get("kty") == "oct"
        ):
            continue
        try:
            key = jwt.PyJWK(each)
            algorithms = ALGORITHMS if each.get("alg") is None else ALGORITHMS & {each["alg"]}
            found[key.key_id or str(number)] = _Key(key, algorithms)
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue  # one of a kind that we do not know
    if not found:
        raise Unavailable("It has no key for signatures.")
    return found


def fetch_json(
    address: str, form: Mapping[str, str] | None = None, authorization: str = ""
) -> Mapping[str, Any]:
    """What an address of a provider answers.

    Args:
        address: With https, or of this machine.
        form: Sent there by POST; None for GET.
        authorization: What the header of this name holds; empty for none.

    Raises:
        Denied: It refuses what was sent.
        Unavailable: It gives no answer that can be read, or none in time.
    """
    import httpx2

    body, ends = bytearray(), time.monotonic() + _TIMEOUT_S
    shown = repr(opening(address, 100))
    try:
        check_safe(address)
        # As it comes over the wire: what is packed may unfold to any size.
        headers = {"User-Agent": "commonplace", "Accept-Encoding": "identity"}
        headers |= {"Accept": "application/json"}
        headers |= {"Authorization": authorization} if authorization else {}
        method = "GET" if form is None else "POST"
        with httpx2.stream(
            method, address, data=form, headers=headers, timeout=_TIMEOUT_S, follow_redirects=False
        ) as answer:
            is_refused = form is not None and answer.is_client_error
            if not is_refused:
                answer.raise_for_status()
            for part in answer.iter_raw():
                body += part
                if len(body) > _MOST_BYTES or time.monotonic() > ends:
                    raise Unavailable(f"{shown} answers too much, or too slowly.")
        said = json.loads(body)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError) as exc:
        raise Unavailable(f"{shown} gave no answer: {type(exc).__name__}.") from exc
    if not isinstance(said, dict):
        raise Unavailable(f"{shown} answers with no object.")
    if is_refused:
        raise Denied(f"{shown} refuses: {opening(repr(said.get('error')), 60)}.")
    return said


def check_safe(address: str) -> None:
    """Refuse an address without https that is not one of this machine. Raises: Unavailable."""
    try:
        parts = urllib.parse.urlsplit(address)
    except ValueError as exc:
        raise Unavailable(f"{opening(address, 100)!r} is no address.") from exc
    is_here = parts.scheme == "http" and parts.hostname in LOOPBACK_NAMES
    if parts.scheme != "https" and not is_here:
        raise Unavailable(f"{opening(address, 100)!r} is no address with https.")


def _bytes(text: object) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else b""
