"""The tokens of the HTTP server: whose journals each one opens, what it may do, and until when.

Never stores a token, only the hash of one, and answers alike for an unknown and a wrong one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import threading
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Literal

from commonplace.core.clock import parse_time, render_time
from commonplace.core.errors import Invalid, NotFound, Unavailable
from commonplace.core.files import locked, make_folder, may_exist, replace_file, translated
from commonplace.core.owners import parse_owner
from commonplace.core.text import nearest
from commonplace.core.when.phrases import parse_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from commonplace.core.clock import Clock

FILE = "tokens.json"
SCOPES = ("read", "write")
_FORMAT = 1
_SECRET_BYTES = 32
_TOKEN = re.compile(r"cp_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_SPAN = re.compile(r"(\d{1,5})\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

State = Literal["valid", "expired", "revoked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is known of a token. toolsets: empty for those that the server offers by itself.

    digest: the sha256 of the whole token. expires_at: None for never.
    """

    id: str
    owner: str
    scopes: tuple[str, ...]
    toolsets: tuple[str, ...]
    digest: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    @property
    def may_write(self) -> bool:
        """Whether it may call tools that write; it may always read."""
        return "write" in self.scopes

    def state(self, now: datetime) -> State:
        """Whether it is valid at that time."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "valid"


class TokenFile:
    """The tokens of one home, in a file that only its user may read. Thread-safe.

    A change that another process makes is seen at the next look: only then is the file read again.
    """

    def __init__(self, home: Path, *, clock: Clock) -> None:
        self._home = home
        self._path = home / FILE
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._tokens: Mapping[str, Token] = {}
        self._ever = False

    def create(
        self,
        owner: str,
        *,
        scopes: Sequence[str] = SCOPES,
        toolsets: Sequence[str] = (),
        expires_at: datetime | None = None,
    ) -> tuple[Token, str]:
        """A new token: its record, and its text, which is kept nowhere. Raises: Invalid."""
        made_id = secrets.token_hex(4)
        text = f"cp_{made_id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
        now = self._clock()
        token = Token(
            id=made_id,
            owner=parse_owner(owner),
            scopes=parse_scopes(scopes),
            toolsets=tuple(toolsets),
            digest=_digest(text),
            created_at=now,
            expires_at=expires_at,
        )
        if token.state(now) == "expired":
            raise Invalid("It would have expired already.", hint="Give a time that is to come.")
        make_folder(self._home)
        with locked(self._home):
            self._write([*self._read().values(), token])
        return token, text

    def revoke(self, token_id: str) -> Token:
        """Revoke a token; may be called twice. Raises: NotFound."""
        if not may_exist(self._path):
            raise _no_token(token_id, [])
        with locked(self._home):
            tokens = dict(self._read())
            if token_id not in tokens:
                raise _no_token(token_id, [*tokens])
            token = tokens[token_id]
            if token.revoked_at is None:
                token = replace(token, revoked_at=self._clock())
                # Kept: a home whose last token was revoked is not one that never had any.
                tokens[token_id] = token
                self._write([*tokens.values()])
        return token

    def list_tokens(self) -> list[Token]:
        """All that were made, the newest first, revoked and expired ones too."""
        return sorted(self.known().values(), key=lambda x: (x.created_at, x.id), reverse=True)

    def known(self) -> Mapping[str, Token]:
        """The tokens by their ids. Raises: Unavailable, Denied where the file cannot be read."""
        with self._lock:
            seen = self._look()
            if seen != self._seen:
                self._tokens = self._read()
                self._seen = seen
                self._ever = self._ever or seen is not None
            return self._tokens

    def was_used(self) -> bool:
        """Whether there is a file of tokens, or was one since this was made."""
        self.known()
        return self._ever

    def find(self, presented: str) -> Token | None:
        """The token that a client presents, valid or not; None for what was never one."""
        tokens = self.known()
        named = _TOKEN.fullmatch(presented)
        token = tokens.get(named[1]) if named else None
        # Compared even where there is none: the time taken does not tell which ids there are.
        right = hmac.compare_digest(_digest(presented), token.digest if token else _digest(""))
        return token if token is not None and right else None

    def _look(self) -> tuple[int, ...] | None:
        try:
            with translated(self._path):
                found = os.stat(self._path)
        except NotFound:
            if os.path.lexists(self._path):
                raise _unreadable(self._path, "It is a link that leads nowhere.") from None
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _read(self) -> dict[str, Token]:
        try:
            with translated(self._path):
                content = self._path.read_bytes()
        except NotFound:
            return {}
        try:
            document = json.loads(content)
            if document["version"] != _FORMAT:
                raise _unreadable(self._path, "It is of a newer version.")
            return {token.id: token for token in map(_token_of, document["tokens"])}
        except (ValueError, KeyError, TypeError, AttributeError, Invalid) as exc:
            raise _unreadable(self._path, "It is damaged.") from exc

    def _write(self, tokens: Sequence[Token]) -> None:
        document = {"version": _FORMAT, "tokens": [_facts_of(token) for token in tokens]}
        replace_file(self._path, json.dumps(document, indent=1).encode() + b"\n", mode=0o600)


def parse_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    """What a token may do: `read`, or `read` and `write`. Raises: Invalid."""
    for name in scopes:
        if name not in SCOPES:
            raise Invalid(f"Unknown scope: {name!r}.", hint="Use read, or read,write.")
    if "read" not in scopes:
        raise Invalid("A token that may not even read.", hint="Use read, or read,write.")
    return tuple(name for name in SCOPES if name in scopes)


def parse_expiry(text: str, *, now: datetime, zone: tzinfo) -> datetime:
    """When a token expires: after `90d` or `12h`, or at the end of a day. Raises: Invalid."""
    if span := _SPAN.fullmatch(text.strip().lower()):
        return now + timedelta(**{_UNITS[span[2]]: int(span[1])})
    try:
        return parse_until(text, now=now, zone=zone)
    except Invalid as exc:
        raise Invalid(f"Invalid expiry: {text!r}.", hint="Use 90d, 12h or 2027-01-01.") from exc


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _token_of(facts: Mapping[str, Any]) -> Token:
    times = {
        name: None if facts.get(name) is None else parse_time(facts[name])
        for name in ("expires_at", "revoked_at")
    }
    return Token(
        id=str(facts["id"]),
        owner=parse_owner(facts["owner"]),
        scopes=parse_scopes(facts["scopes"]),
        toolsets=tuple(str(name) for name in facts["toolsets"]),
        digest=str(facts["sha256"]),
        created_at=parse_time(facts["created_at"]),
        **times,
    )


def _facts_of(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "owner": token.owner,
        "scopes": list(token.scopes),
        "toolsets": list(token.toolsets),
        "sha256": token.digest,
        "created_at": render_time(token.created_at),
        "expires_at": None if token.expires_at is None else render_time(token.expires_at),
        "revoked_at": None if token.revoked_at is None else render_time(token.revoked_at),
    }


def _no_token(token_id: str, known: list[str]) -> NotFound:
    near = nearest(token_id, known)
    hint = f"Did you mean {near}?" if near else "See `commonplace tokens list`."
    return NotFound(f"There is no token {token_id[:40]!r}.", hint=hint)


def _unreadable(path: Path, why: str) -> Unavailable:
    return Unavailable(
        f"The file of tokens {{place}} cannot be read. {why}",
        hint="Move it away, and create the tokens again.",
        place=path,
    )
