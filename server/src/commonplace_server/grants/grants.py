"""Grants: what a user allowed a client, and the tokens that the client was given for it.

Never stores the text of a code or a token, only hashes. What a client has ends with its grant, and
a grant ends with the token by which its user signed in.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import msgspec
from msgspec import Struct

from commonplace.core.clock import parse_time, render_time
from commonplace.core.errors import NotFound
from commonplace_server.grants.records import Record
from commonplace_server.tokens import KNOWN_S, LONGEST_LABEL, Token, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from commonplace.core.clock import Clock
    from commonplace_server.grants.records import KeepsRecords
    from commonplace_server.tokens import KeepsTokens, ReadsTokens, TokenOptions

CODE_LASTS = timedelta(seconds=60)
ACCESS_LASTS = timedelta(hours=1)
GRANT_LASTS = timedelta(days=90)

MOST_GRANTS = 50
MOST_CODES = 20
"""Of one user, in a space of one member; those that end first go."""

# Two requests of one client at once, as after a pause: the one that comes second is no thief.
_AT_ONCE = timedelta(seconds=10)
_ACCESS_KEPT = 2
_MOST_KNOWN = 10_000
_GRANT_ID = re.compile(r"g[0-9a-f]{12}")
_ACCESS = re.compile(r"cp_(g[0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_REFRESH = re.compile(r"cp_(g[0-9a-f]{12})_([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})")


class Allowed(Struct, frozen=True, kw_only=True):
    """What a user allowed a client.

    Args:
        owner: The user, or a space.
        member: The user, where the owner is a space; else empty.
        token_id: Of the token by which the user signed in.
        client: The client, by its id.
        name: What it calls itself, one line.
        scopes: `read`, or `read` and `write`.
        toolsets: The tools it may call; empty for those that the server offers by default.
        until: When the grant ends at the latest; None for that of every grant.
    """

    owner: str
    token_id: str
    client: str
    name: str
    scopes: tuple[str, ...]
    toolsets: tuple[str, ...] = ()
    until: datetime | None = None
    member: str = ""


class Code(NamedTuple):
    """A code that a client exchanges, once, within a minute.

    Attributes:
        allowed: What it is exchanged for.
        asked: What the client asked with, which the exchange must fit.
        record: Where it is kept.
    """

    allowed: Allowed
    asked: dict[str, Any]
    record: Record


class Issued(NamedTuple):
    """The texts that a client is given; they are kept nowhere."""

    access: str
    refresh: str
    scopes: tuple[str, ...]


class Grants:
    """The grants of a server, and the codes that lead to them. Thread-safe.

    Args:
        records: Where they are kept.
        tokens: Those of users: a grant holds no longer than its user's.
        clock: Gives the time.
        monotonic: Gives seconds.
    """

    def __init__(
        self,
        records: KeepsRecords,
        tokens: ReadsTokens,
        *,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.records = records
        self._tokens = tokens
        self._clock = clock
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Record | None, float]] = {}

    def new_code(self, allowed: Allowed, asked: dict[str, Any]) -> str:
        """A code for what a user has just allowed."""
        text = secrets.token_urlsafe(32)
        facts = {"allowed": msgspec.to_builtins(allowed), "asked": asked}
        record = Record(
            kind="code",
            key=digest_of(text),
            group=group_of(allowed.owner, allowed.member),
            facts=facts,
            until=self._clock() + CODE_LASTS,
        )
        self.records.put(record, most=MOST_CODES)
        return text

    def find_code(self, text: str) -> Code | None:
        """What a code stands for; None for one that was used, is too old, or never was.

        One that comes a second time was stolen, or is: what it was exchanged for ends.
        """
        found = self.records.find("code", [digest_of(text)])
        if not found:
            return None
        (record,) = found
        if used := record.facts.get("grant"):
            self._end(used)
            return None
        allowed = msgspec.convert(record.facts["allowed"], Allowed)
        return Code(allowed, record.facts["asked"], record)

    def exchange(self, code: Code) -> Issued | None:
        """The tokens for a code; None where it was exchanged by now, or its user signed out."""
        allowed, now = code.allowed, self._clock()
        made_id = f"g{secrets.token_hex(6)}"
        family, access, refresh = map(secrets.token_urlsafe, (16, 32, 32))
        until = min(x for x in (now + GRANT_LASTS, allowed.until) if x is not None)
        issued = _issued(made_id, family, access, refresh, allowed.scopes)
        facts = {
            **msgspec.to_builtins(allowed),
            "made": render_time(now),
            "used": render_time(now),
            "family": digest_of(family),
            "refresh": digest_of(refresh),
            "access": {digest_of(issued.access): render_time(now + ACCESS_LASTS)},
        }
        group = group_of(allowed.owner, allowed.member)
        grant = Record(kind="grant", key=made_id, group=group, facts=facts, until=until)
        if self._token_of(grant).state(now) != "valid":
            return None
        self.records.put(grant, most=MOST_GRANTS)
        # After it: a request that comes with the code again finds what to end.
        if not self.records.alter(code.record, {**code.record.facts, "grant": made_id}):
            self.records.remove(grant)
            for record in self.records.find("code", [code.record.key]):
                self._end(record.facts.get("grant", ""))
            return None
        return issued

    def find_refresh(self, text: str) -> Record | None:
        """The grant that a refresh token is for; None for any that is not its newest.

        One of the same family that was exchanged before was stolen, or is: the grant ends.
        """
        named = _REFRESH.fullmatch(text)
        grant = self._find(named[1], fresh=True) if named else None
        if named is None or grant is None or not _same(grant.facts["family"], named[2]):
            return None
        now = self._clock()
        if self._token_of(grant).state(now) != "valid":
            return None
        if _same(grant.facts["refresh"], named[3]):
            return grant
        is_former = _same(grant.facts.get("former", ""), named[3])
        if not is_former or now - parse_time(grant.facts["used"]) > _AT_ONCE:
            self._end(grant.key)
        return None

    def refresh(self, grant: Record, text: str) -> Issued | None:
        """The next tokens of a grant; None where another request was faster."""
        now = self._clock()
        named = _REFRESH.fullmatch(text)
        assert named is not None  # else it had no grant
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        scopes = tuple(grant.facts["scopes"])
        issued = _issued(grant.key, named[2], access, refresh, scopes)
        kept = [x for x in grant.facts["access"].items() if parse_time(x[1]) > now]
        newest = {digest_of(issued.access): render_time(now + ACCESS_LASTS)}
        facts = {
            **grant.facts,
            "used": render_time(now),
            "refresh": digest_of(refresh),
            "former": grant.facts["refresh"],
            "access": dict(kept[-_ACCESS_KEPT + 1 :]) | newest,
        }
        is_altered = self.records.alter(grant, facts)
        self._forget(grant.key)
        return issued if is_altered else None

    def find_access(self, text: str) -> Token | None:
        """The token that an access token stands for; None for one that is not valid."""
        named, digest = _ACCESS.fullmatch(text), digest_of(text)
        grant = self._find(named[1]) if named else None
        if named and self.records.waits and (grant is None or digest not in grant.facts["access"]):
            grant = self._find(named[1], fresh=True)  # another server has just given it out
        until = "" if grant is None else grant.facts["access"].get(digest, "")
        if grant is None or not until or parse_time(until) <= self._clock():
            return None
        return self._token_of(grant)

    def get(self, grant_id: str) -> Token | None:
        """The token that a grant stands for; None where there is none."""
        grant = self._find(grant_id)
        return None if grant is None else self._token_of(grant)

    def client_of(self, grant_id: str) -> str:
        """The id of the client that a grant is for; empty where there is none."""
        grant = self._find(grant_id)
        return "" if grant is None else str(grant.facts["client"])

    def revoke_by(self, text: str) -> None:
        """End the grant of an access token or a refresh token that was found valid."""
        if named := _ACCESS.fullmatch(text) or _REFRESH.fullmatch(text):
            self._end(named[1])

    def read(self, grant_ids: Iterable[str]) -> None:
        """Read these grants again, and the tokens of their users."""
        found = self.records.find("grant", [*grant_ids])
        at = self._monotonic()
        with self._lock:
            self._known |= {x.key: (x, at) for x in found}
        self._tokens.refresh(x.facts["token_id"] for x in found)

    def list_grants(self) -> list[tuple[Token, datetime]]:
        """All of them, as tokens, each with when its client last came for tokens."""
        return [
            (self._token_of(x), parse_time(x.facts["used"]))
            for x in self.records.list_records("grant")
        ]

    def list_valid(self, group: str) -> list[Record]:
        """Those of one user, or of one member of a space, that let a client in now."""
        found, now = self.records.list_records("grant", group), self._clock()
        return [x for x in found if self._token_of(x).state(now) == "valid"]

    def revoke(self, grant_id: str) -> Token:
        """End a grant; may be called twice. Raises: NotFound."""
        self._end(grant_id)
        token = self.get(grant_id)
        if token is None:
            raise NotFound(f"There is no grant {grant_id}.", hint="See `commonplace tokens list`.")
        return token

    def _end(self, grant_id: str) -> None:
        revoked = render_time(self._clock())
        while True:  # until no request alters it meanwhile
            grant = self._find(grant_id, fresh=True)
            if grant is None or grant.facts.get("revoked"):
                return
            if self.records.alter(grant, {**grant.facts, "access": {}, "revoked": revoked}):
                self._forget(grant_id)
                return

    def _find(self, grant_id: str, *, fresh: bool = False) -> Record | None:
        if not self.records.waits:
            return next(iter(self.records.find("grant", [grant_id])), None)
        with self._lock:
            known, at = self._known.get(grant_id, (None, -KNOWN_S))
        if not fresh and self._monotonic() - at < KNOWN_S:
            return known
        at = self._monotonic()
        found = next(iter(self.records.find("grant", [grant_id])), None)
        with self._lock:
            self._known[grant_id] = (found, at)
            while len(self._known) > _MOST_KNOWN:
                del self._known[next(iter(self._known))]
        return found

    def _forget(self, grant_id: str) -> None:
        with self._lock:
            self._known.pop(grant_id, None)

    def _token_of(self, grant: Record) -> Token:
        facts = grant.facts
        revoked = facts.get("revoked")
        revoked_at = None if revoked is None else parse_time(revoked)
        of_user = self._tokens.get(facts["token_id"])
        if revoked_at is None and (of_user is None or of_user.state(self._clock()) != "valid"):
            revoked_at = (of_user and of_user.revoked_at) or self._clock()
        return Token(
            id=grant.key,
            owner=facts["owner"],
            scopes=tuple(facts["scopes"]),
            toolsets=tuple(facts["toolsets"]),
            digest=facts["family"],
            created_at=parse_time(facts["made"]),
            expires_at=grant.until,
            revoked_at=revoked_at,
            label=facts["name"][:LONGEST_LABEL],
            member=facts["member"],
        )


class GrantedTokens:
    """The tokens of a server together with what its grants let in. Thread-safe.

    Args:
        tokens: Those that were made for users.
        grants: What users allowed clients.
    """

    def __init__(self, tokens: ReadsTokens, grants: Grants) -> None:
        self._tokens = tokens
        self._grants = grants
        self.waits = tokens.waits

    def find(self, presented: str) -> Token | None:
        """The token with this text; see `ReadsTokens`."""
        return self._grants.find_access(presented) or self._tokens.find(presented)

    def get(self, token_id: str) -> Token | None:
        """The token or grant with this id; see `ReadsTokens`."""
        return (self._grants if is_grant(token_id) else self._tokens).get(token_id)

    def find_known(self, token_id: str) -> Token | None:
        """The token with this id, where it is known; a grant never is. See `ReadsTokens`."""
        return None if is_grant(token_id) else self._tokens.find_known(token_id)

    def refresh(self, token_ids: Iterable[str]) -> None:
        """Read these again; see `ReadsTokens`."""
        named = [*token_ids]
        self._tokens.refresh(x for x in named if not is_grant(x))
        if granted := [x for x in named if is_grant(x)]:
            self._grants.read(granted)

    def check(self) -> None:
        """Find out whether they can be read at all; see `ReadsTokens`."""
        self._tokens.check()

    def was_used(self) -> bool:
        """Always: nobody is let in without a token where clients can sign in."""
        return True

    def note_use(self, token: Token) -> None:
        """Note that a token was used; that a grant was is known by its tokens, each hour's."""
        if not is_grant(token.id):
            self._tokens.note_use(token)


class TokensAndGrants:
    """Where tokens and grants are kept, for who lists and revokes them; see `KeepsTokens`."""

    def __init__(self, tokens: KeepsTokens, grants: Grants) -> None:
        self._tokens = tokens
        self._grants = grants
        self._used: dict[str, datetime] = {}

    def create(self, owner: str, **options: Unpack[TokenOptions]) -> tuple[Token, str]:
        """Make a token."""
        return self._tokens.create(owner, **options)

    def revoke(self, token_id: str) -> Token:
        """Revoke a token or a grant."""
        return (self._grants if is_grant(token_id) else self._tokens).revoke(token_id)

    def list_tokens(self) -> list[Token]:
        """All tokens and grants, the newest first."""
        tokens = self._tokens.list_tokens()  # first: a database then asks no more for each grant
        granted = self._grants.list_grants()
        self._used = {token.id: used_at for token, used_at in granted}
        every = [*tokens, *(token for token, _ in granted)]
        return sorted(every, key=lambda x: (x.created_at, x.id), reverse=True)

    def last_use(self, token: Token) -> datetime | None:
        """When one was last used; of a grant, when its client last came for tokens."""
        return self._used.get(token.id) if is_grant(token.id) else self._tokens.last_use(token)


def group_of(owner: str, member: str) -> str:
    """Whose records push each other out, and who lists them: no member those of another."""
    return f"{owner}\n{member}" if member else owner


def is_grant(token_id: str) -> bool:
    """Whether an id is that of a grant, and not of a token."""
    return _GRANT_ID.fullmatch(token_id) is not None


def _issued(
    grant_id: str, family: str, access: str, refresh: str, scopes: tuple[str, ...]
) -> Issued:
    return Issued(f"cp_{grant_id}_{access}", f"cp_{grant_id}_{family}.{refresh}", scopes)


def _same(digest: str, text: str) -> bool:
    return hmac.compare_digest(digest, digest_of(text))
