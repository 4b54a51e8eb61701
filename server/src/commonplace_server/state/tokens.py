"""The tokens of all servers of a database, in a table of it; those of one home are in `TokenFile`.

Never stores the text of a token, only its hash. What a server knows of a token it knows for less
than a second, so that one that was revoked is refused by every server within that time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from datetime import UTC
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from commonplace.core.errors import CommonplaceError, Conflict, retried
from commonplace.db.queries import read_queries
from commonplace_server.postgres.database import statement
from commonplace_server.postgres.text_lists import Texts
from commonplace_server.tokens import (
    KNOWN_S,
    USE_NOTED_EVERY,
    Token,
    TokenOptions,
    id_of,
    is_of,
    new_token,
    no_token,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from psycopg import sql

    from commonplace.core.clock import Clock
    from commonplace_server.postgres.database import Postgres
    from commonplace_server.tokens import TokenFile

_MOST_KNOWN = 10_000
_TRIES = 8

_log = logging.getLogger(f"commonplace.{__name__}")


class _KnownToken(NamedTuple):
    """What was read of a token, and when that was asked for; None where there is none."""

    token: Token | None
    used_at: datetime | None
    at: float


class TokenDatabase:
    """The tokens of a database. Thread-safe.

    Args:
        database: Its owner closes it.
        clock: By which tokens are made, and their uses noted.
        monotonic: Gives seconds.
    """

    waits = True

    def __init__(
        self,
        database: Postgres,
        *,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._clock = clock
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _KnownToken] = OrderedDict()
        self._ever = False
        self._warned = ""

    def create(self, owner: str, **options: Unpack[TokenOptions]) -> tuple[Token, str]:
        """Make a token; see `KeepsTokens`."""
        for _ in range(_TRIES):  # of a million tokens each 4,000th id that is drawn is taken
            token, text = new_token(owner, now=self._clock(), **options)
            if self._add(token, None):
                return token, text
        raise Conflict("No id is free for a token.", hint="Try again.")

    def revoke(self, token_id: str) -> Token:
        """Revoke a token, for every server; may be called twice. Raises: NotFound."""
        token = self._read([token_id]).get(token_id)
        if token is None:
            with self._database.across() as conn:
                known = [str(row[0]) for row in conn.execute(_query("ids"))]
            raise no_token(token_id, known)
        self.note_revoked(token, self._clock())
        return self._read([token_id])[token_id]

    def note_revoked(self, token: Token, at: datetime) -> None:
        """Note a token of the database as revoked; one that is stays so since it was."""
        with self._database.across() as conn:
            conn.execute(_query("revoke"), {"digest": token.digest, "at": at})
        with self._lock:
            self._known.pop(token.id, None)

    def list_tokens(self) -> list[Token]:
        """All that were made, the newest first, revoked and expired ones too."""
        return self._keep("all")

    def find(self, presented: str) -> Token | None:
        """The token with this text, valid or not; None where there is none."""
        named = id_of(presented)
        token = self.get(named) if named else None
        return token if is_of(token, presented) else None

    def get(self, token_id: str) -> Token | None:
        """The token with this id, as it was within the last second; None where there is none."""
        known = self._find(token_id)
        return self._read([token_id]).get(token_id) if known is None else known.token

    def find_known(self, token_id: str) -> Token | None:
        """The token with this id, where it was read just now and its use noted within the hour."""
        known = self._find(token_id)
        is_noted = known is not None and _is_noted(known.used_at, self._clock())
        return known.token if known is not None and is_noted else None

    def _find(self, token_id: str) -> _KnownToken | None:
        """What is known of a token for less than a second; None where it must be asked for."""
        with self._lock:
            known = self._known.get(token_id)
        is_new = known is not None and self._monotonic() - known.at < KNOWN_S
        return known if is_new else None

    def refresh(self, token_ids: Iterable[str]) -> None:
        """Read these tokens now, in one question. Raises: Unavailable, Denied."""
        if named := [*dict.fromkeys(each for each in token_ids if each)]:
            self._read(named)

    def check(self) -> None:
        """Nothing: whether the database can be used is looked at for itself."""

    def was_used(self) -> bool:
        """Whether any token was ever made; True while that cannot be found out."""
        if not self._ever:
            try:
                with self._database.across() as conn:
                    self._ever = bool(_first(conn.execute(_query("any")).fetchone()))
                self._warned = ""
            except CommonplaceError as exc:
                if str(exc) != self._warned:
                    _log.warning("Nobody is let in without a token: %s", exc)
                self._warned = str(exc)
                return True
        return self._ever

    def note_use(self, token: Token) -> None:
        """Note that a token was used now; within an hour of the last time nothing is written."""
        now = self._clock()
        with self._lock:
            known = self._known.get(token.id)
            if known is None or _is_noted(known.used_at, now):
                return
            self._known[token.id] = known._replace(used_at=now)
        try:
            with self._database.across() as conn:
                given = {"id": token.id, "at": now, "every": USE_NOTED_EVERY}
                conn.execute(_query("used"), given)
        except CommonplaceError as exc:
            _log.warning("The use of a token was not noted: %s", exc)

    def last_use(self, token: Token) -> datetime | None:
        """When a token was last used, to the hour, as it was last read; None where it never was."""
        with self._lock:
            known = self._known.get(token.id)
        return None if known is None else known.used_at

    def take_over(self, kept: TokenFile) -> int:
        """Add the tokens that a home has in its file; returns how many were not here.

        What is revoked in one of both is revoked in both then, so that no token that was revoked
        opens anything where the file is read again.

        Raises: Unavailable, Denied.
        """
        theirs = {token.id: token for token in kept.list_tokens()}
        ours = self._read([*theirs])
        added = [x for name, x in theirs.items() if name not in ours]
        for token in added:
            self._add(token, kept.last_use(token))
        for token in self._read([*theirs]).values():
            same = theirs[token.id]
            if same.digest != token.digest:
                _log.warning("The token %s of this home is another one in the database", token.id)
            elif token.revoked_at is None and same.revoked_at is not None:
                self.note_revoked(token, same.revoked_at)
            elif token.revoked_at is not None and same.revoked_at is None:
                kept.revoke(token.id, at=token.revoked_at)
        return len(added)

    def _add(self, token: Token, used_at: datetime | None) -> bool:
        given = {
            "id": token.id,
            "owner": token.owner,
            "scopes": Texts(token.scopes),
            "toolsets": Texts(token.toolsets),
            "digest": token.digest,
            "created_at": token.created_at,
            "expires_at": token.expires_at,
            "label": token.label,
            "member": token.member,
            "used_at": used_at,
        }
        with self._database.across() as conn:
            return conn.execute(_query("add"), given).rowcount == 1

    def _read(self, token_ids: Sequence[str]) -> dict[str, Token]:
        return {token.id: token for token in self._keep("of_ids", ids=Texts(token_ids))}

    def _keep(self, query: str, **given: Any) -> list[Token]:
        """Read tokens, and know them for a while."""

        def ask() -> list[tuple[Any, ...]]:
            with self._database.across() as conn:
                return conn.execute(_query(query), given).fetchall()

        at = self._monotonic()  # before it is asked: one may be revoked while it is read
        rows = retried(ask)
        found = [(_token_of(row), _utc(row[-1])) for row in rows]
        with self._lock:
            for token, used_at in found:
                self._known[token.id] = _KnownToken(token, used_at, at)
                self._known.move_to_end(token.id)
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return [token for token, _ in found]


def _token_of(row: tuple[Any, ...]) -> Token:
    return Token(
        id=str(row[0]),
        owner=str(row[1]),
        scopes=tuple(row[2]),
        toolsets=tuple(row[3]),
        digest=str(row[4]),
        created_at=row[5].astimezone(UTC),
        expires_at=_utc(row[6]),
        revoked_at=_utc(row[7]),
        label=str(row[8]),
        member=str(row[9]),
    )


def _is_noted(used_at: datetime | None, now: datetime) -> bool:
    """Whether a use at this time needs no note: there was one within the hour."""
    return used_at is not None and now - used_at < USE_NOTED_EVERY


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC)


def _first(row: tuple[Any, ...] | None) -> Any:
    assert row is not None
    return row[0]


@cache
def _query(name: str) -> sql.SQL:
    return statement(read_queries("commonplace_server.state", "tokens.sql")[name])
