"""The tokens of the HTTP server: whose journals each one opens, what it may do, and until when.

Never stores the text of a token, only its hash, and answers alike for an unknown and a wrong one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, Unpack

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import parse_time, render_time
from commonplace.core.errors import CommonplaceError, Invalid, NotFound
from commonplace.core.files import make_folder, may_exist
from commonplace.core.owner_folders import parse_owner
from commonplace.core.spaces import Member, is_space, parse_space, parse_user
from commonplace.core.text import nearest, opening
from commonplace.core.when.phrases import parse_until
from commonplace_server.json_file import JsonFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from commonplace.core.clock import Clock

FILE = "tokens.json"
USES = "token-uses"
"""The folder with an empty file for each token that was used: its mtime is the last use."""

KNOWN_S = 0.9
"""How long a token or grant in a database is what it was when it was last read.

Else each request asks twice: the shortest call takes 3.1 ms in place of 4.2, and 3.6 in place of
4.6 in a session, in paired runs of 600 calls.
"""

USE_NOTED_EVERY = timedelta(hours=1)
LONGEST_LABEL = 60
SCOPES = ("read", "write")

ADMIN = "admin"
"""The scope of a member of a space who may delete what stands there; nobody else needs it."""

METRICS_SCOPE = "metrics"
"""The scope of a token that opens `/metrics`, and no journal."""

_FORMAT = 1
_WITH_MEMBERS = 2
"""The format of a file that a program without spaces would take for one of users alone."""
_SECRET_BYTES = 32
_TOOLSET = "toolset:"
_TOKEN = re.compile(r"cp_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_SPAN = re.compile(r"(\d{1,5})\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

State = Literal["valid", "expired", "revoked"]


class Token(Struct, frozen=True, kw_only=True):
    """The record of a token.

    Args:
        id: Eight hex digits, which its text begins with; of a token that an identity provider made,
            what it stands for; of one that a client was given here, that of its grant.
        owner: Whose journals it opens.
        member: Who uses it, where the owner is a space; else empty.
        scopes: `read`, or `read` and `write`, of a member `admin` too; or `metrics` alone.
        toolsets: The tools it may call; empty for those that the server offers by default.
        digest: The sha256 of its text, or of what the tokens of a grant share; empty for a
            provider's.
        created_at: When it was made.
        expires_at: Until when it is valid; None for ever.
        revoked_at: When it was revoked; None where it was not.
        label: What it is for, in the words of the user who made it; may be empty.
    """

    id: str
    owner: str
    scopes: tuple[str, ...]
    toolsets: tuple[str, ...]
    digest: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    label: str = ""
    member: str = ""

    @property
    def at_work(self) -> Member | None:
        """Who writes by it in a space; None where its owner is one person."""
        return Member(name=self.member, may_delete=ADMIN in self.scopes) if self.member else None

    @property
    def may_write(self) -> bool:
        """Whether it may call tools that write; such a token may read as well."""
        return "write" in self.scopes

    @property
    def may_read(self) -> bool:
        """Whether it opens journals at all."""
        return "read" in self.scopes

    @property
    def is_own(self) -> bool:
        """Whether a server of ours made it, and not an identity provider."""
        return bool(self.digest)

    def state(self, now: datetime) -> State:
        """Whether it is valid at that time."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "valid"


class ReadsTokens(Protocol):
    """What a server asks of its tokens. Thread-safe.

    Attributes:
        waits: Whether an answer may be waited for, as that of a database.
    """

    waits: bool

    def find(self, presented: str) -> Token | None:
        """The token with this text, valid or not; None where there is none."""
        ...

    def get(self, token_id: str) -> Token | None:
        """The token with this id; None where there is none."""
        ...

    def find_known(self, token_id: str) -> Token | None:
        """The token with this id, where `get` and `note_use` need not wait for it; else None."""
        ...

    def refresh(self, token_ids: Iterable[str]) -> None:
        """Read these anew, all at once, where they may be a little old. Raises: Unavailable."""
        ...

    def check(self) -> None:
        """Find out whether they can be read at all. Raises: Unavailable, Denied."""
        ...

    def was_used(self) -> bool:
        """Whether any was ever made."""
        ...

    def note_use(self, token: Token) -> None:
        """Note that a token was used now; writes nothing within an hour of the last time."""
        ...


class TokenOptions(TypedDict, total=False):
    """What a token is made with beside its owner; see `new_token`."""

    scopes: Sequence[str]
    toolsets: Sequence[str]
    expires_at: datetime | None
    label: str
    member: str


class KeepsTokens(Protocol):
    """Where tokens are kept, for who makes and revokes them."""

    def create(self, owner: str, **options: Unpack[TokenOptions]) -> tuple[Token, str]:
        """Make a token; its record, and its text, which is kept nowhere. Raises: as `new_token`."""
        ...

    def revoke(self, token_id: str) -> Token:
        """Revoke a token; may be called twice. Raises: NotFound."""
        ...

    def list_tokens(self) -> list[Token]:
        """All that were made, the newest first, revoked and expired ones too."""
        ...

    def last_use(self, token: Token) -> datetime | None:
        """When one that was listed was last used, to the hour; None where it never was."""
        ...


class TokenFile:
    """The tokens of one home, in a file that only its user may read. Thread-safe.

    A change that another process makes is seen at the next look: only then is the file read again.
    """

    waits = False

    def __init__(self, home: Path, *, clock: Clock) -> None:
        self._home = home
        self._file = JsonFile(
            home / FILE,
            _tokens_in,
            versions=(_FORMAT, _WITH_MEMBERS),
            named="file of tokens",
            hint="Move it away, and create the tokens again.",
        )
        self._clock = clock
        self._lock = threading.Lock()
        self._uses_noted: dict[str, datetime] = {}

    def create(self, owner: str, **options: Unpack[TokenOptions]) -> tuple[Token, str]:
        """Make a token; see `KeepsTokens`."""
        token, text = new_token(owner, now=self._clock(), **options)
        with self._file.changing():
            self._write([*self._file.read().values(), token])
        return token, text

    def revoke(self, token_id: str, *, at: datetime | None = None) -> Token:
        """Revoke a token; may be called twice. at: None for now. Raises: NotFound."""
        if not may_exist(self._file.path):
            raise no_token(token_id, [])
        with self._file.changing():
            tokens = self._file.read()
            if token_id not in tokens:
                raise no_token(token_id, [*tokens])
            token = tokens[token_id]
            if token.revoked_at is None:
                token = replace(token, revoked_at=at or self._clock())
                # Kept: a home whose last token was revoked is not one that never had any.
                tokens[token_id] = token
                self._write([*tokens.values()])
        return token

    def list_tokens(self) -> list[Token]:
        """All that were made, the newest first, revoked and expired ones too."""
        return sorted(self.known().values(), key=lambda x: (x.created_at, x.id), reverse=True)

    def known(self) -> Mapping[str, Token]:
        """The tokens by their ids.

        Raises:
            Unavailable: The file is damaged, or of a newer version.
            Denied: The file may not be read.
        """
        return self._file.known()

    def was_used(self) -> bool:
        """Whether there is a file of tokens, or was one since this was made."""
        self.known()
        return self._file.was_there

    def find(self, presented: str) -> Token | None:
        """The token with this text, valid or not; None where there is none."""
        token = self.get(id_of(presented))
        return token if is_of(token, presented) else None

    def get(self, token_id: str) -> Token | None:
        """The token with this id; None where there is none."""
        return self.known().get(token_id)

    def find_known(self, token_id: str) -> Token | None:
        """None: `get` waits for no database."""

    def refresh(self, token_ids: Iterable[str]) -> None:
        """Nothing: a look at the file is cheap enough for every question."""

    def check(self) -> None:
        """Read the file. Raises: Unavailable, Denied; see `known`."""
        self.known()

    def note_use(self, token: Token) -> None:
        """Note that a token was used now; writes nothing within an hour of the last time.

        A folder that cannot be written to costs no caller an answer: the use is then not noted.
        """
        now = self._clock()
        with self._lock:
            noted = self._uses_noted.get(token.id)
            if noted is not None and now - noted < USE_NOTED_EVERY:
                return
            self._uses_noted[token.id] = now
        path = self._home / USES / token.id
        with suppress(OSError, CommonplaceError):
            make_folder(path.parent)
            path.touch(mode=0o600)
            os.utime(path, (now.timestamp(), now.timestamp()))

    def last_use(self, token: Token) -> datetime | None:
        """When a token was last used, to the hour; None where it never was."""
        try:
            noted = os.stat(self._home / USES / token.id).st_mtime
        except OSError:
            return None
        return datetime.fromtimestamp(noted, UTC)

    def _write(self, tokens: Sequence[Token]) -> None:
        version = _WITH_MEMBERS if any(token.member for token in tokens) else _FORMAT
        document = {"version": version, "tokens": [_facts_of(token) for token in tokens]}
        self._file.write(json.dumps(document, indent=1).encode())


def new_token(
    owner: str,
    *,
    now: datetime,
    scopes: Sequence[str] = SCOPES,
    toolsets: Sequence[str] = (),
    expires_at: datetime | None = None,
    label: str = "",
    member: str = "",
) -> tuple[Token, str]:
    """A token that is kept nowhere yet, and its text.

    Args:
        owner: Whose journals it opens.
        now: When it is made.
        scopes: `read`, or `read` and `write`; or `metrics` alone.
        toolsets: The tools it may call; empty for those the server offers by default.
        expires_at: Until when it is valid; None for ever.
        label: What it is for, one line.
        member: Who uses it, where the owner is a space.

    Raises:
        Invalid: The owner, the member, a scope or the label is malformed, a space is named without
            a member or a member without a space, or it would have expired already.
    """
    owner = parse_space(owner) if is_space(owner) else parse_user(owner)
    if is_space(owner) and not member:
        raise Invalid(
            f"{opening(owner, 60)!r} is a space, not a user.",
            hint="Say who uses it: --member ann.",
        )
    if member and not is_space(owner):
        raise Invalid(
            f"{opening(owner, 60)!r} is one user, and has no members.",
            hint="Name a space: --space team.",
        )
    made_id = secrets.token_hex(4)
    text = f"cp_{made_id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    token = Token(
        id=made_id,
        owner=owner,
        member=parse_member(member) if member else "",
        scopes=parse_scopes(scopes, is_member=bool(member)),
        toolsets=tuple(toolsets),
        digest=digest_of(text),
        created_at=now,
        expires_at=expires_at,
        label=parse_label(label),
    )
    if token.state(now) == "expired":
        raise Invalid("It would have expired already.", hint="Give a time that is to come.")
    return token, text


def id_of(presented: str) -> str:
    """The id that the text of a token begins with; empty where it is no token's text."""
    named = _TOKEN.fullmatch(presented)
    return named[1] if named else ""


def is_of(token: Token | None, presented: str) -> bool:
    """Whether that is the text of a token.

    Compared even where there is none: the time taken does not tell which ids there are.
    """
    right = hmac.compare_digest(digest_of(presented), token.digest if token else digest_of(""))
    return token is not None and right


def parse_scopes(scopes: Sequence[str], *, is_member: bool = False) -> tuple[str, ...]:
    """What a token may do: `read`, or `read` and `write`; or `metrics` alone.

    Of a member of a space `admin` as well, who may delete there. Raises: Invalid.
    """
    if [*scopes] == [METRICS_SCOPE]:
        return (METRICS_SCOPE,)
    if METRICS_SCOPE in scopes:
        raise Invalid(
            "No token opens journals and metrics both.", hint="Make one for each: --scope metrics."
        )
    known = (*SCOPES, ADMIN) if is_member else SCOPES
    for name in scopes:
        if name == ADMIN and not is_member:
            raise Invalid(
                "The scope admin is for members of a space.",
                hint="Use read, or read,write; or name a space: --space team --member ann.",
            )
        if name not in known:
            raise Invalid(f"Unknown scope: {name!r}.", hint="Use read, or read,write; or metrics.")
    if "read" not in scopes:
        raise Invalid("A token that may not even read.", hint="Use read, or read,write.")
    if ADMIN in scopes and "write" not in scopes:
        raise Invalid("The scope admin needs write too.", hint="Use read,write,admin.")
    return tuple(name for name in known if name in scopes)


def parse_member(text: str) -> str:
    """A user whom every journal can name as an author, git's commits too. Raises: Invalid."""
    member = parse_user(text)
    if {"<", ">"} & {*member}:
        raise Invalid(
            f"Invalid member: {opening(member, 60)!r} holds < or >, as no author of a commit does.",
            hint="Use the name alone: --member ann.",
        )
    return member


def toolsets_in(scopes: Iterable[str]) -> set[str]:
    """The toolsets that the scopes of a client name, as `toolset:memory`."""
    return {x.removeprefix(_TOOLSET) for x in scopes if x.startswith(_TOOLSET)}


def parse_label(text: str) -> str:
    """What a token is for: one line of at most 60 characters. Raises: Invalid."""
    label = text.strip()
    if len(label) > LONGEST_LABEL or not label.isprintable():
        raise Invalid(
            f"Invalid label: {text[:LONGEST_LABEL]!r}.",
            hint=f"Use one line of at most {LONGEST_LABEL} characters.",
        )
    return label


def parse_expiry(text: str, *, now: datetime, zone: tzinfo) -> datetime:
    """Parse when a token expires.

    Args:
        text: `90d`, `12h`, or a day such as `2027-01-01`, at whose end it expires.
        now: Where spans begin.
        zone: Of the day.

    Raises:
        Invalid: It is none of these.
    """
    if span := _SPAN.fullmatch(text.strip().lower()):
        return now + timedelta(**{_UNITS[span[2]]: int(span[1])})
    try:
        return parse_until(text, now=now, zone=zone)
    except Invalid as exc:
        raise Invalid(f"Invalid expiry: {text!r}.", hint="Use 90d, 12h or 2027-01-01.") from exc


def digest_of(text: str) -> str:
    """What is kept of a text that opens something: its sha256, in hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _tokens_in(document: Mapping[str, Any]) -> dict[str, Token]:
    return {token.id: token for token in map(_token_of, document["tokens"])}


def _token_of(facts: Mapping[str, Any]) -> Token:
    times = {
        name: None if facts.get(name) is None else parse_time(facts[name])
        for name in ("expires_at", "revoked_at")
    }
    member = str(facts.get("member", ""))
    return Token(
        id=str(facts["id"]),
        owner=parse_owner(facts["owner"]),
        member=member,
        scopes=parse_scopes(facts["scopes"], is_member=bool(member)),
        toolsets=tuple(str(name) for name in facts["toolsets"]),
        digest=str(facts["sha256"]),
        created_at=parse_time(facts["created_at"]),
        label=str(facts.get("label", "")),
        **times,
    )


def _facts_of(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "owner": token.owner,
        **({"member": token.member} if token.member else {}),
        "label": token.label,
        "scopes": list(token.scopes),
        "toolsets": list(token.toolsets),
        "sha256": token.digest,
        "created_at": render_time(token.created_at),
        "expires_at": None if token.expires_at is None else render_time(token.expires_at),
        "revoked_at": None if token.revoked_at is None else render_time(token.revoked_at),
    }


def no_token(token_id: str, known: Sequence[str]) -> NotFound:
    """That there is no such token, with the nearest that there is."""
    near = nearest(token_id, [*known])
    hint = f"Did you mean {near}?" if near else "See `commonplace tokens list`."
    return NotFound(f"There is no token {opening(token_id, 40)!r}.", hint=hint)
