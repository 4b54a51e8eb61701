"""Owns which users of a database a worker has to look at, and which worker has which in hand.

Never sees a text: across users its role is shown times and counts, and as a user when what comes
next of that user is due.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec import Struct

from commonplace.db.queries import read_queries
from commonplace.journals.timeline.model_texts import MOST_FAILURES
from commonplace.journals.timeline.retention import ARCHIVED, NAMES
from commonplace.journals.transcripts.message import instant_of
from commonplace_server.postgres.database import statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from psycopg import sql

    from commonplace.journals.timeline.retention import Retention
    from commonplace_server.postgres.database import Connection, Postgres

_ASKED_AT_ONCE = 1_000
_EARLIEST = datetime(1, 1, 1, tzinfo=UTC)


class LeasedUser(Struct, frozen=True, kw_only=True):
    """A user whom a worker has in hand.

    Attributes:
        owner: Who it is.
        changes: How often anything of theirs had changed by then.
        until: When another worker may take over.
    """

    owner: str
    changes: int
    until: datetime


class UpkeepSettings(Struct, frozen=True, kw_only=True):
    """By what it is judged when the upkeep of a user is due.

    Attributes:
        retention: How long a timeline is kept.
        session_days: How long sessions are; 0 for ever.
        undo_days: How long what edits replaced is.
        asks_model: Whether summaries wait for a language model.
    """

    retention: Retention
    session_days: int
    undo_days: float
    asks_model: bool


class DueUsers:
    """What waits of all users; of two workers who lease a user one is given them. Thread-safe.

    Args:
        database: Opened as the worker's role, or as the users' to ask when one's upkeep is due.
    """

    def __init__(self, database: Postgres) -> None:
        self._database = database
        self._worker = uuid4()

    def lease_unseen(self, limit: int, *, rest_s: float, seconds: float) -> list[LeasedUser]:
        """Take users of whom something changed at least so long ago. Raises: Unavailable."""
        return self._lease("lease_unseen", limit=limit, rest_s=rest_s, seconds=seconds)

    def lease_upkeep(self, limit: int, *, now: datetime, seconds: float) -> list[LeasedUser]:
        """Take users whose upkeep is due. Raises: Unavailable."""
        return self._lease("lease_upkeep", limit=limit, now=now, seconds=seconds)

    def note_seen(self, user: LeasedUser, *, now: datetime, rest_s: float) -> None:
        """A user was looked at: their upkeep is to be judged. Raises: Unavailable.

        rest_s: How long after their last upkeep, at the least.
        """
        self._run("note_seen", user, changes=user.changes, now=now, rest_s=rest_s)

    def note_upkeep(
        self, user: LeasedUser, *, next_at: datetime | None, kept_up_at: datetime | None
    ) -> None:
        """When the next upkeep is due, and when the last was, if there was. Raises: Unavailable."""
        self._run("note_upkeep", user, next_at=next_at, kept_up_at=kept_up_at)

    def put_off(self, user: LeasedUser, *, rest_s: float) -> None:
        """Let any worker have a user again, after so long. Raises: Unavailable."""
        self._run("put_off", user, rest_s=rest_s)

    def ask_for_all(self, now: datetime) -> None:
        """Have the upkeep of everybody be judged again. Raises: Unavailable."""
        # Some at a time: a write waits at its commit for the row of its user.
        users, after = [""], ""
        while users:
            asked = {"now": now, "after": after, "limit": _ASKED_AT_ONCE}
            with self._database.across(commit="soon") as conn:
                users = [str(row[0]) for row in conn.execute(_query("ask_for_some"), asked)]
            after = max(users, default="")

    def has_changed(self, user: LeasedUser) -> bool:
        """Whether anything of a user's changed since they were leased. Raises: Unavailable."""
        with self._database.owner_transaction(user.owner) as conn:
            (has_changed,) = _row(conn, "has_changed", user.owner, changes=user.changes)
        return bool(has_changed)

    def feeds(self, owner: str, journals: Sequence[str]) -> bool:
        """Whether a user has anything in one of these journals, or a timeline already.

        Raises: Unavailable.
        """
        with self._database.owner_transaction(owner) as conn:
            (found,) = _row(conn, "feeds", owner, journals=list(journals))
        return bool(found)

    def next_upkeep(
        self, owner: str, by: UpkeepSettings, now: datetime, *, after: datetime | None = None
    ) -> datetime | None:
        """When the upkeep of a user is due next; None for never.

        after: Only what is due later than that counts. Of what grows old only the oldest of a kind
        is looked at. Raises: Unavailable.
        """
        after = after or _EARLIEST
        with self._database.owner_transaction(owner) as conn:
            times = [
                *_row(conn, "next_end", owner, after=after),
                *_retained_until(conn, owner, by.retention),
            ]
            # What another program wrote may be no time.
            with suppress(ValueError):
                (edit,) = _row(conn, "oldest_former", owner)
                times.append(_after(_instant_of_edit(edit or ""), timedelta(days=by.undo_days)))
            if by.session_days:
                (last_at,) = _row(conn, "oldest_session", owner)
                with suppress(ValueError):
                    last = instant_of(last_at or "")
                    times.append(_after(last, timedelta(days=by.session_days)))
            if by.asks_model and _row(conn, "waits_for_words", owner, most=MOST_FAILURES)[0]:
                times.append(now)
        return min((x for x in times if x is not None and x > after), default=None)

    def _lease(self, name: str, **asked: object) -> list[LeasedUser]:
        with self._database.across() as conn:
            rows = conn.execute(_query(name), {**asked, "worker": self._worker}).fetchall()
        return [LeasedUser(owner=owner, changes=changes, until=at) for owner, changes, at in rows]

    def _run(self, name: str, user: LeasedUser, **values: object) -> None:
        asked = {"owner": user.owner, "worker": self._worker, "until": user.until, **values}
        with self._database.across() as conn:
            conn.execute(_query(name), asked)


def _retained_until(
    conn: Connection, owner: str, retention: Retention
) -> Iterator[datetime | None]:
    """When the oldest of each level of a timeline is to be archived, and deleted."""
    keep = {level: retention.of(level) for level in range(len(NAMES))}
    asked = [
        (level, state) for level, kept in keep.items() if kept for state in ("active", "archived")
    ]
    if not asked:
        return
    given = {"levels": [x for x, _ in asked], "states": [x for _, x in asked]}
    for level, state, at in conn.execute(_query("oldest"), {"owner": owner, **given}):
        kept = keep[level]
        if at is not None and kept is not None:
            yield _after(at, kept + (ARCHIVED if state == "archived" else timedelta()))


def _instant_of_edit(identity: str) -> datetime:
    """When an edit was made: its id is a UUIDv7. Raises: ValueError for another text."""
    return datetime.fromtimestamp(int(identity.replace("-", "")[:12], 16) / 1000, UTC)


def _after(at: datetime, length: timedelta) -> datetime | None:
    """An instant so much later; None beyond the calendar."""
    with suppress(OverflowError):
        return at + length
    return None


def _row(conn: Connection, name: str, owner: str, **values: object) -> tuple[Any, ...]:
    row = conn.execute(_query(name), {"owner": owner, **values}).fetchone()
    assert row is not None  # each gives one
    return row


@cache
def _query(name: str) -> sql.SQL:
    return statement(read_queries("commonplace_server.store", "due_users.sql")[name])
