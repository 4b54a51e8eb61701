"""Shares the revocation of a token with every server of a database.

Lets nobody in: of a database it takes revocations alone, and of tokens that this home knows.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from commonplace.core.errors import CommonplaceError
from commonplace_server.background import Background

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from commonplace_server.tokens import TokenFile

_log = logging.getLogger(f"commonplace.{__name__}")

EVERY_S = 1.0
"""How soon a token that was revoked on another server is refused here."""


class NotesRevocations(Protocol):
    """A database that notes which tokens are revoked, by their hashes."""

    def revoke(self, tokens: Mapping[str, datetime]) -> None:
        """Note tokens as revoked, and when they were. Raises: Unavailable, Denied."""
        ...

    def find_revoked(self, digests: Sequence[str]) -> Mapping[str, datetime]:
        """Those of these tokens that are revoked. Raises: Unavailable, Denied."""
        ...


def share_revocations(tokens: TokenFile, database: NotesRevocations) -> None:
    """Note there what is revoked here, and revoke here what is noted there.

    So a revocation holds on whichever server it was made, and however long the database was away.
    Raises: Unavailable, Denied.
    """
    known = {token.digest: token for token in tokens.known().values()}
    if not known:
        return
    noted = database.find_revoked([*known])
    ours = {digest: x.revoked_at for digest, x in known.items() if x.revoked_at is not None}
    if fresh := {digest: at for digest, at in ours.items() if digest not in noted}:
        database.revoke(fresh)
    for digest, at in noted.items():
        if digest not in ours:
            tokens.revoke(known[digest].id, at=at)


class RevocationSharing(Background):
    """Shares revocations with the other servers of a database, each second."""

    def __init__(self, tokens: TokenFile, database: NotesRevocations) -> None:
        super().__init__("revocations")
        self._tokens = tokens
        self._database = database
        self._warned = ""

    def share(self) -> None:
        """Share them now; what fails is logged, once while it lasts."""
        try:
            share_revocations(self._tokens, self._database)
            self._warned = ""
        except CommonplaceError as exc:
            if str(exc) != self._warned:
                _log.warning("Tokens that were revoked on another server are not known: %s", exc)
            self._warned = str(exc)
        except Exception:  # noqa: BLE001  a thread's last line: answers go on without it
            _log.exception("Revocations were not shared")

    def _run(self) -> None:
        self._repeat(self.share, every_s=EVERY_S)
