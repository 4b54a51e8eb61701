"""The browsers that are signed in, in the database of all servers.

Never stores a cookie, nor what a browser's pages need but sealed by it: who has the rows alone can
neither come as that browser nor read a word.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping  # noqa: TC003  msgspec reads it
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Struct, field, json

from commonplace.core.errors import CommonplaceError, retried
from commonplace.core.owner_folders import parse_owner
from commonplace.db.queries import read_queries
from commonplace.doors.web.visit import UndoOffer, Visitor
from commonplace_server.postgres.database import statement

if TYPE_CHECKING:
    from psycopg import sql

    from commonplace_server.postgres.database import Postgres

MOST_OF_AN_OWNER = 100
"""The longest unused browser of a user is forgotten above it."""

_MOST_HERE = 1000
_TRIES = 5
_NONCE = 12
_log = logging.getLogger(f"commonplace.{__name__}")


class _Said(Struct):
    """What a browser's pages were shown, of which forgetting leaves nothing; see `Visitor`."""

    notes: list[str] = field(default_factory=list)
    offer: UndoOffer | None = None
    hidden: dict[str, str] = field(default_factory=dict)
    typed: dict[str, Mapping[str, str]] = field(default_factory=dict)


class _Here(NamedTuple):
    """A visitor of whom this server knows, as the database had it at a version."""

    visitor: Visitor
    version: int
    wiped: int
    kept: bytes


class _Row(NamedTuple):
    """A visitor as it lies in the database."""

    sealed: bytes
    version: int
    wiped: int
    said: bytes | None


class VisitorDatabase:
    """The browsers of all users of a database; see `KeepsVisitors`. Thread-safe.

    Args:
        database: Its owner closes it.
    """

    def __init__(self, database: Postgres) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._here: OrderedDict[str, _Here] = OrderedDict()

    def add(self, visitor: Visitor) -> str:
        """Remember a visitor; the value of its cookie. Raises: Unavailable, Denied."""
        name = base64.urlsafe_b64encode(visitor.owner.encode()).decode().rstrip("=")
        cookie = f"{name}.{secrets.token_urlsafe(32)}"
        given = _given(visitor.owner, cookie)
        sealed = _sealed(cookie, json.encode(_signed_in(visitor)))
        with self._database.owner_transaction(visitor.owner) as conn:
            conn.execute(_query("add"), {**given, "sealed": sealed})
            conn.execute(_query("trim"), {**given, "most": MOST_OF_AN_OWNER})
        return cookie

    def find(self, cookie: str) -> Visitor | None:
        """The visitor of a cookie, as its last page left it on any server; None where none is."""
        owner = _owner_of(cookie)
        row = None if owner is None else retried(lambda: self._read(owner, cookie))
        signed_in = None if row is None else _opened(cookie, row.sealed)
        if row is None or signed_in is None:
            return None
        said = b"{}" if row.said is None else _opened(cookie, row.said) or b"{}"
        with self._lock:
            here = self._here.get(cookie)
            if here is not None and here.version == row.version:
                self._here.move_to_end(cookie)
                return here.visitor
            theirs = json.decode(said, type=_Said)
            if here is None:
                visitor = json.decode(signed_in, type=Visitor)
                _note(visitor, theirs)
            else:
                visitor = here.visitor
                _note(visitor, _joined(here, theirs, is_wiped=here.wiped != row.wiped))
            self._here[cookie] = _Here(visitor, row.version, row.wiped, said)
            while len(self._here) > _MOST_HERE:
                self._here.popitem(last=False)
            return visitor

    def keep(self, cookie: str, visitor: Visitor) -> None:
        """Let every server know what the browser's next page needs; what fails is logged."""
        try:
            for _ in range(_TRIES):
                if self._is_kept(cookie, visitor):
                    return
                # Another server was faster: what it knows is joined to what is known here.
                if self.find(cookie) is None:
                    return
        except CommonplaceError as exc:
            _log.warning("Other servers do not know what a page has shown: %s", exc)

    def remove(self, cookie: str) -> None:
        """Forget a visitor; may be called twice. Raises: Unavailable, Denied."""
        with self._lock:
            self._here.pop(cookie, None)
        if (owner := _owner_of(cookie)) is not None:
            with self._database.owner_transaction(owner) as conn:
                conn.execute(_query("remove"), _given(owner, cookie))

    def have_said(self, owner: str) -> bool:
        """Whether what any browser of an owner was shown is kept. Raises: Unavailable."""
        with self._database.owner_transaction(owner, commit="soon") as conn:
            row = conn.execute(_query("have_said"), {"owner": owner}).fetchone()
        return row is not None and bool(row[0])

    def wipe(self, owner: str) -> None:
        """Take what they were shown from all browsers of an owner, and sign none out.

        Raises: Unavailable, Denied.
        """
        with self._database.owner_transaction(owner) as conn:
            conn.execute(_query("wipe"), {"owner": owner})

    def _read(self, owner: str, cookie: str) -> _Row | None:
        given = _given(owner, cookie)
        with self._database.owner_transaction(owner, commit="soon") as conn:
            row = conn.execute(_query("find"), given).fetchone()
            if row is not None and row[4]:
                conn.execute(_query("used"), given)
        if row is None:
            return None
        said = None if row[3] is None else bytes(row[3])
        return _Row(bytes(row[0]), int(row[1]), int(row[2]), said)

    def _is_kept(self, cookie: str, visitor: Visitor) -> bool:
        with self._lock:
            here = self._here.get(cookie)
            content = json.encode(_said_of(visitor))
        if here is None or here.visitor is not visitor or here.kept == content:
            return True
        given = {
            **_given(visitor.owner, cookie),
            "said": _sealed(cookie, content),
            "version": here.version,
        }
        with self._database.owner_transaction(visitor.owner, commit="soon") as conn:
            is_kept = conn.execute(_query("keep"), given).rowcount == 1
        if is_kept:
            with self._lock:
                self._here[cookie] = _Here(visitor, here.version + 1, here.wiped, content)
        return is_kept


class BrowsersOfOwner(NamedTuple):
    """What the browsers of one owner were shown; see `ShownElsewhere`."""

    visitors: VisitorDatabase
    owner: str

    def is_there(self) -> bool:
        """Whether any of it is kept. Raises: Unavailable."""
        return self.visitors.have_said(self.owner)

    def wipe(self) -> None:
        """Take it from all of them, and sign none out. Raises: Unavailable, Denied."""
        self.visitors.wipe(self.owner)


def _signed_in(visitor: Visitor) -> Visitor:
    """A visitor to whom nothing was shown yet."""
    return Visitor(
        owner=visitor.owner,
        may_write=visitor.may_write,
        csrf=visitor.csrf,
        token_id=visitor.token_id,
        member=visitor.member,
        until=visitor.until,
    )


def _said_of(visitor: Visitor) -> _Said:
    return _Said(
        notes=visitor.notes, offer=visitor.offer, hidden=visitor.hidden, typed=visitor.typed
    )


def _note(visitor: Visitor, said: _Said) -> None:
    visitor.notes, visitor.offer = said.notes, said.offer
    visitor.hidden, visitor.typed = said.hidden, said.typed


def _joined(here: _Here, theirs: _Said, *, is_wiped: bool) -> _Said:
    """What two servers have shown: every secret behind a mark of either is known.

    is_wiped: whether what was known here was forgotten meanwhile, but what its next page says.
    """
    mine = _said_of(here.visitor)
    if is_wiped:
        former = json.decode(here.kept, type=_Said)
        is_new = (mine.notes, mine.offer) != (former.notes, former.offer)
        saying = mine if is_new else theirs
        return _Said(
            notes=saying.notes, offer=saying.offer, hidden=theirs.hidden, typed=theirs.typed
        )
    return _Said(
        notes=theirs.notes,
        offer=theirs.offer,
        hidden={**theirs.hidden, **mine.hidden},
        typed={
            form: {**theirs.typed.get(form, {}), **mine.typed.get(form, {})}
            for form in {**theirs.typed, **mine.typed}
        },
    )


def _owner_of(cookie: str) -> str | None:
    """Whose cookie it says that it is; None where it is none."""
    name, _, secret = cookie.partition(".")
    try:
        owner = base64.b64decode(name + "=" * (-len(name) % 4), b"-_", validate=True).decode()
        return parse_owner(owner) if secret else None
    except (ValueError, CommonplaceError):
        return None


def _given(owner: str, cookie: str) -> dict[str, Any]:
    return {"owner": owner, "digest": hashlib.sha256(cookie.encode()).hexdigest()}


def _key(cookie: str) -> AESGCM:
    return AESGCM(hashlib.sha256(b"sealed by " + cookie.encode()).digest())


def _sealed(cookie: str, content: bytes) -> bytes:
    nonce = os.urandom(_NONCE)
    return nonce + _key(cookie).encrypt(nonce, content, None)


def _opened(cookie: str, sealed: bytes) -> bytes | None:
    try:
        return _key(cookie).decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
    except InvalidTag:
        return None


@cache
def _query(name: str) -> sql.SQL:
    return statement(read_queries("commonplace_server.state", "visitors.sql")[name])
