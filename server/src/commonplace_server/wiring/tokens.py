"""The wiring of tokens in the database that the settings name.

What a home has in its file moves into the database, before anything is asked there.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.clock import utc_now
from commonplace.core.errors import CommonplaceError
from commonplace_server.background import Background
from commonplace_server.grants.grants import Grants, TokensAndGrants
from commonplace_server.postgres.database import Postgres
from commonplace_server.state.sign_ins import RecordDatabase
from commonplace_server.state.tokens import TokenDatabase
from commonplace_server.tokens import TokenFile
from commonplace_server.wiring.addresses import address_in
from commonplace_server.wiring.schema import check_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.config.table import Settings

_CONNECTIONS = 4
_AGAIN_S = 1.0
_log = logging.getLogger(f"commonplace.{__name__}")


class ServedTokens(NamedTuple):
    """The tokens that a server asks, where they lie, and what moves those of its home there."""

    tokens: TokenDatabase
    database: Postgres
    move: TokenMove


@contextmanager
def open_tokens(settings: Settings) -> Iterator[TokensAndGrants]:
    """Where tokens are made, and listed and revoked with grants. Raises: Unavailable, Denied."""
    kept = TokenFile(settings.home, clock=utc_now)
    with _open_database(settings) as database:
        tokens = TokenDatabase(database, clock=utc_now)
        tokens.take_over(kept)
        grants = Grants(RecordDatabase(database, clock=utc_now), tokens, clock=utc_now)
        yield TokensAndGrants(tokens, grants)
        # What was revoked there is so in the file, should that ever be read again.
        tokens.take_over(kept)


@contextmanager
def open_served_tokens(settings: Settings) -> Iterator[ServedTokens]:
    """The tokens of a server of a database, which may be started while that is away."""
    kept = TokenFile(settings.home, clock=utc_now)
    # Its errors are shown to those whose token may be false.
    with _open_database(settings, has_name=False) as database:
        tokens = TokenDatabase(database, clock=utc_now)
        move = TokenMove(kept, tokens)
        move.move()
        yield ServedTokens(tokens, database, move)


@contextmanager
def _open_database(settings: Settings, *, has_name: bool = True) -> Iterator[Postgres]:
    url = address_in(settings, "url")
    database = Postgres(url, check=check_database, most=_CONNECTIONS, has_name=has_name)
    try:
        yield database
    finally:
        database.close()


class TokenMove(Background):
    """Moves the tokens of a home's file into the database, once that answers."""

    def __init__(self, kept: TokenFile, tokens: TokenDatabase) -> None:
        super().__init__("tokens")
        self._kept = kept
        self._tokens = tokens
        self._warned = ""

    def move(self) -> None:
        """Move them now; what fails is logged, once while it lasts."""
        try:
            if added := self._tokens.take_over(self._kept):
                _log.info("%d tokens of this home moved into the database", added)
            self._stopping.set()
        except CommonplaceError as exc:
            if str(exc) != self._warned:
                _log.warning("The tokens of this home are not in the database yet: %s", exc)
            self._warned = str(exc)
        except Exception:  # noqa: BLE001  a thread's last line: answers go on without it
            _log.exception("The tokens of this home were not moved")

    def _run(self) -> None:
        self._repeat(self.move, every_s=_AGAIN_S)
