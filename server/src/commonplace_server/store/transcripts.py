"""Owns one user's transcripts on Postgres: messages are kept, listed and deleted here.

Never reads a row of another user, and files nothing: a trigger writes the outbox, in the
transaction of each change.
"""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import Conflict
from commonplace.core.refs import short_number, short_ref
from commonplace.core.text import storable, well_formed
from commonplace.journals.transcripts.exchanges import Turn, exchange_of, in_exchanges, said_by
from commonplace.journals.transcripts.files import LAST
from commonplace.journals.transcripts.message import (
    JOURNAL,
    USER,
    Message,
    SessionSummary,
    instant_of,
    parse_line,
    ref_of,
    render_line,
)
from commonplace.journals.transcripts.portable import is_left_of
from commonplace.journals.transcripts.small_talk import find_opening
from commonplace.journals.transcripts.source import doc_of
from commonplace_server.postgres.database import MOVING_S
from commonplace_server.postgres.text_lists import Texts
from commonplace_server.store.entries import EntryRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.values import Doc
    from commonplace.journals.transcripts.files import Tombstone
    from commonplace_server.postgres.database import Connection, Postgres

_AT_ONCE = 500


class SessionRow(NamedTuple):
    """What is known of a session; see `FileState` of those in files."""

    year: str
    last_n: int
    first_at: str = ""
    last_at: str = ""
    cwd: str = ""
    branch: str = ""
    messages: int = 0

    def with_message(self, message: Message) -> SessionRow:
        """The same after one more message; clocks may go back."""
        at = message.at
        return self._replace(
            last_n=max(self.last_n, message.n),
            first_at=min(self.first_at, at) if self.first_at else at,
            last_at=max(self.last_at, at),
            cwd=self.cwd or message.cwd,
            branch=message.branch or self.branch,
            messages=self.messages + 1,
        )


class KeptMessage(NamedTuple):
    """A message of a session, and the one under which the index has it; None for none."""

    session: str
    message: Message
    crc: int
    exchange: int | None

    @property
    def turn(self) -> Turn:
        """What the law of exchanges asks of it."""
        return _turn_of(self.message, self.crc)


class TranscriptsPostgres:
    """One user's transcripts in a database that all users share; implements `SharedTranscripts`.

    Thread-safe.

    Args:
        database: Shared by all users of the process; its owner closes it.
        clock: When an id was first seen.
    """

    def __init__(self, database: Postgres, *, owner: str, clock: Clock) -> None:
        self._rows = EntryRows(database, owner=owner, journal=JOURNAL, clock=clock)
        self._clock = clock

    def sessions(
        self, *, since: str = "", until: str = "9999", client: str = ""
    ) -> list[SessionSummary]:
        """The sessions with a message in [since, until); see the port."""
        found = self._all("sessions", since=since, until=until, client=storable(client))
        return [SessionSummary(*x) for x in found]

    def list_names(self) -> list[tuple[str, str]]:
        """Clients and names of all sessions; see the port."""
        return [(x[0], x[1]) for x in self._all("names")]

    def find_session(self, client: str, session: str) -> SessionRow | None:
        """What is known of a session; see the port."""
        with self._rows.reading() as conn:
            found = self._session(conn, client, session)
        return found if found.messages else None

    def read(
        self, client: str, session: str, *, first: int = 1, last: int = LAST, limit: int = -1
    ) -> list[Message]:
        """The messages of a session whose numbers lie from first to last; see the port."""
        asked = {"first": first, "last": last, "limit": None if limit < 0 else limit}
        return self._messages("of_session", session=f"{client}/{session}", **asked)

    def read_around(self, client: str, session: str, n: int) -> list[Message]:
        """The message of a number, with the nearest that say something; see the port."""
        return self._messages("around", session=f"{client}/{session}", n=n)

    def read_opening(self, client: str, session: str) -> Message | None:
        """The first thing that the user said that could be the task; see the port."""
        asked = {"session": f"{client}/{session}", "role": USER}
        return find_opening(lambda limit: self._messages("first_of_role", limit=limit, **asked))

    def list_turns(self, client: str, session: str) -> list[Turn]:
        """What is known of the messages that say something; see the port."""
        with self._rows.reading() as conn:
            return [turn for turn, _ in self._turns(conn, f"{client}/{session}")]

    def refs_behind(self, number: int) -> list[str]:
        """The refs of messages and sessions with a short form; see the port."""
        found = self._all("addresses")
        refs = (f"{JOURNAL}:{session}{f'#{n}' if n else ''}" for session, n in found)
        return [ref for ref in refs if short_number(short_ref(ref)) == number]

    def get_kept(self, identities: Sequence[str]) -> list[KeptMessage]:
        """The messages with just these ids that say something, in no order."""
        return self._kept("that_say", ids=Texts(map(storable, identities)))

    def get_exchanges(self, identities: Sequence[str]) -> list[KeptMessage]:
        """The messages of all exchanges filed under these ids, session by session."""
        places = [(x[0], int(x[2])) for each in identities if (x := each.rpartition("#"))[1]]
        sessions = Texts([storable(session) for session, _ in places])
        turns = [n for _, n in places]
        return [_kept_of(row) for row in self._all("of_exchanges", sessions=sessions, turns=turns)]

    def list_kept(self) -> Iterator[KeptMessage]:
        """All messages that say something, session by session; few are held in memory."""
        session, turn = "", 0
        while found := self._kept("that_say_after", session=session, turn=turn, limit=_AT_ONCE):
            yield from found
            session, turn = found[-1].session, found[-1].message.n

    def append(
        self, client: str, session: str, messages: Sequence[Message], *, year: str = ""
    ) -> int:
        """Append those messages whose ids are neither kept nor deleted; see the port."""
        with self._rows.writing(deadline_s=MOVING_S) as conn:
            self._rows.lock(conn)
            return len(self._append(conn, client, session, messages, year))

    def new_ids(self, client: str, session: str, ids: Sequence[str]) -> set[str]:
        """Those of these ids that `append` would keep; see the port."""
        with self._rows.reading() as conn:
            return self._new_ids(conn, client, session, ids)

    def holds(self, client: str, session: str, year: int) -> bool:
        """Whether there is such a session; see the port."""
        return self.find_session(client, session) is not None

    def add_session(self, client: str, session: str, year: int, messages: Sequence[Message]) -> int:
        """Keep a session with the numbers that its messages have; see the port."""
        with self._rows.writing(deadline_s=MOVING_S) as conn:
            self._rows.lock(conn)
            if self._session(conn, client, session).messages:
                if not is_left_of(self._read_all(conn, client, session), messages):
                    raise Conflict(
                        f"There is another session {ref_of(client, session)} already.",
                        hint="Delete it, then import again.",
                    )
                return 0
            return len(self._append(conn, client, session, messages, f"{year:04}"))

    def delete(self, client: str, session: str, numbers: Sequence[int] = ()) -> int:
        """Delete messages by their numbers, or a whole session, for good; see the port."""
        with self._rows.writing(deadline_s=MOVING_S) as conn:
            self._rows.lock(conn)
            if not numbers and self._session(conn, client, session).messages:
                self._keep_keys(conn, {_session_key(client, session): ""})
            return len(self._delete(conn, client, session, numbers))

    def retain(self, before: str) -> list[SessionSummary]:
        """Delete the sessions whose last message is older; see the port."""
        if all(x.last_at >= before for x in self.sessions(until=before)):
            return []
        with self._rows.writing(deadline_s=MOVING_S) as conn:
            self._rows.lock(conn)
            # Asked again under the lock: one may have gone on since.
            asked = self._rows.ask(conn, "sessions", since="", until=before, client="")
            gone = [x for x in (SessionSummary(*row) for row in asked) if x.last_at < before]
            for each in gone:
                self._delete(conn, each.client, each.name, ())
        return gone

    def take_back(self, client: str, session: str, *, messages: int, last_n: int) -> bool:
        """Delete a session that has so many messages; see the port."""
        with self._rows.writing(deadline_s=MOVING_S) as conn:
            self._rows.lock(conn)
            state = self._session(conn, client, session)
            if (state.messages, state.last_n) != (messages, last_n) or not messages:
                return False
            gone = self._delete(conn, client, session, ())
            keys = Texts([_message_key(client, x.id) for x in gone])
            self._rows.ask(conn, "release_keys", keys=keys)
            self._rows.ask(conn, "drop_session", client=client, name=session)
            return True

    def forget_origins(self, origins: Sequence[str]) -> None:
        """Nothing: no original of a served user is followed."""

    def file_again(self, client: str, session: str, numbers: Sequence[int]) -> None:
        """Have the index take these messages up once more; see the port."""
        with self._rows.writing() as conn:
            asked = {"session": f"{client}/{session}", "turns": [*numbers]}
            self._rows.ask(conn, "file_again", **asked)

    def follow_files(self) -> int:
        """None: nobody alters rows by hand."""
        return 0

    def note_deleted(self, tombstones: Sequence[Tombstone]) -> None:
        """Keep what was deleted in files; see the port."""
        with self._rows.writing(deadline_s=MOVING_S) as conn:
            self._rows.lock(conn)
            for begin in range(0, len(tombstones), _AT_ONCE):
                self._note_deleted(conn, tombstones[begin : begin + _AT_ONCE])

    def mark(self) -> str:
        """A token that changes with every change; reads the outbox, and no entry."""
        return self._rows.mark()

    def changed_since(self, mark: str | None) -> list[str] | None:
        """The ids of all that changed after a mark; None for a mark that says not."""
        return self._rows.changed_since(mark)

    def _all(self, name: str, **asked: object) -> list[tuple[Any, ...]]:
        with self._rows.reading() as conn:
            return self._rows.ask(conn, name, **asked).fetchall()

    def _kept(self, rest: str, **asked: object) -> list[KeptMessage]:
        with self._rows.reading() as conn:
            return [*map(_kept_of, self._rows.ask(conn, "messages", rest, **asked))]

    def _messages(self, rest: str, **asked: object) -> list[Message]:
        return [x.message for x in self._kept(rest, **asked)]

    def _read_all(self, conn: Connection, client: str, session: str) -> list[Message]:
        asked = {"session": f"{client}/{session}", "first": 1, "last": LAST, "limit": None}
        return [
            _kept_of(x).message for x in self._rows.ask(conn, "messages", "of_session", **asked)
        ]

    def _session(self, conn: Connection, client: str, session: str) -> SessionRow:
        """What is known of a session; of one that is not there its last number."""
        found = self._rows.ask(conn, "session", client=client, name=session).fetchone()
        return SessionRow("", 0) if found is None else SessionRow(*found)

    def _turns(self, conn: Connection, session: str) -> list[tuple[Turn, int]]:
        """What is known of each message of a session, and under which it is filed."""
        found = self._rows.ask(conn, "turns", session=session)
        return [
            (Turn(n, crc, says, at.astimezone(UTC).date().isoformat()), exchange)
            for n, crc, says, at, exchange in found
        ]

    def _new_ids(self, conn: Connection, client: str, session: str, ids: Sequence[str]) -> set[str]:
        keys = {_message_key(client, each): each for each in ids}
        whole = _session_key(client, session)
        asked = Texts([*keys, whole])
        known = {str(x[0]) for x in self._rows.ask(conn, "known_keys", keys=asked)}
        return set() if whole in known else {keys[key] for key in keys.keys() - known}

    def _append(
        self, conn: Connection, client: str, session: str, messages: Sequence[Message], year: str
    ) -> list[Message]:
        """Those that were new, as they are kept."""
        first: dict[str, Message] = {}
        for each in messages:
            first.setdefault(each.id, each)
        ids = self._new_ids(conn, client, session, [*first])
        new = [x for x in first.values() if x.id in ids]
        if not new:
            return []
        state = self._session(conn, client, session)
        if not state.messages:
            state = SessionRow(year or new[0].at[:4], state.last_n)
        # What moves here keeps its numbers, by which others name it.
        least = state.last_n if state.messages else 0
        numbered = []
        for each in new:
            is_free = each.n > least
            numbered.append(each if is_free else each._replace(n=state.last_n + 1))
            state = state.with_message(numbered[-1])
            least = numbered[-1].n
        self._insert(conn, client, session, numbered)
        self._put_session(conn, client, session, state)
        return numbered

    def _insert(self, conn: Connection, client: str, session: str, new: Sequence[Message]) -> None:
        name = f"{client}/{session}"
        before = self._turns(conn, name)
        rows = [_row_of(client, name, x) for x in new]
        turns = [turn for row, x in zip(rows, new, strict=True) if (turn := _turn_in(row, x))]
        heads = _heads_that_differ(before, [*(turn for turn, _ in before), *turns])
        with conn.pipeline():
            for row in rows:
                exchange = heads.pop(int(str(row["turn"])), None)
                self._rows.ask(conn, "put_message", exchange=exchange, **row)
        self._regroup(conn, name, heads)
        self._keep_keys(conn, {_message_key(client, x.id): f"{name}#{x.n}" for x in new})

    def _delete(
        self, conn: Connection, client: str, session: str, numbers: Sequence[int]
    ) -> list[Message]:
        """What was deleted: these messages of a session, or all."""
        kept = self._read_all(conn, client, session)
        wanted = frozenset(numbers)
        gone = [x for x in kept if not wanted or x.n in wanted]
        if not gone:
            return []
        name = f"{client}/{session}"
        before = self._turns(conn, name)
        self._rows.delete(conn, [f"{name}#{x.n}" for x in gone])
        numbers_gone = {x.n for x in gone}
        heads = _heads_that_differ(
            before, [turn for turn, _ in before if turn.n not in numbers_gone]
        )
        self._regroup(conn, name, heads)
        old = self._session(conn, client, session)
        state = SessionRow(old.year, old.last_n)
        for each in kept:
            if each.n not in numbers_gone:
                state = state.with_message(each)
        self._put_session(conn, client, session, state)
        return gone

    def _regroup(self, conn: Connection, session: str, heads: Mapping[int, int]) -> None:
        if heads:
            asked = {"turns": [*heads], "exchanges": [*heads.values()]}
            self._rows.ask(conn, "regroup", session=session, **asked)

    def _put_session(self, conn: Connection, client: str, session: str, state: SessionRow) -> None:
        texts = {"cwd": storable(state.cwd), "branch": storable(state.branch)}
        asked = {**state._asdict(), **texts, "client": client, "name": session}
        self._rows.ask(conn, "put_session", **asked)

    def _keep_keys(self, conn: Connection, ids: Mapping[str, str]) -> None:
        asked = {"keys": Texts(ids), "ids": Texts(ids.values()), "now": self._clock()}
        self._rows.ask(conn, "keep_keys", **asked)

    def _note_deleted(self, conn: Connection, tombstones: Sequence[Tombstone]) -> None:
        self._keep_keys(
            conn,
            {
                _message_key(x.client, x.id) if x.id else _session_key(x.client, x.session): (
                    f"{x.client}/{x.session}#{x.n}" if x.id else ""
                )
                for x in tombstones
            },
        )
        last: dict[tuple[str, str], int] = {}
        for x in tombstones:
            last[x.client, x.session] = max(last.get((x.client, x.session), 0), x.n)
        for (client, session), n in last.items():
            state = self._session(conn, client, session)
            if n > state.last_n:
                self._put_session(conn, client, session, state._replace(last_n=n))


class TranscriptDocs:
    """One user's messages, each by itself, as the timeline follows them; see `KeepsEntries`."""

    def __init__(self, store: TranscriptsPostgres, zone: tzinfo) -> None:
        self._store = store
        self._zone = zone

    def mark(self) -> str:
        """A token that changes with every change; reads the outbox, and no entry."""
        return self._store.mark()

    def changed_since(self, mark: str | None) -> list[str] | None:
        """The ids of all that changed after a mark; None for a mark that says not."""
        return self._store.changed_since(mark)

    def get_many(self, identities: Sequence[str]) -> list[Doc]:
        """The docs of those of these messages that say something, in no order."""
        return [self._doc_of([x]) for x in self._store.get_kept(identities)]

    def list_all(self) -> Iterator[Doc]:
        """The docs of all that say something; few are held in memory."""
        return (self._doc_of([x]) for x in self._store.list_kept())

    def exchanges_of(self, identities: Sequence[str]) -> Mapping[str, Doc]:
        """The docs of the exchanges that are filed under these ids, by them; see `ReadsDocs`."""
        found = self._store.get_exchanges(identities)
        groups = groupby(found, key=lambda x: (x.session, x.exchange))
        return {f"{session}#{n}": self._doc_of([*said]) for (session, n), said in groups}

    def _doc_of(self, kept: Sequence[KeptMessage]) -> Doc:
        exchange = exchange_of([x.turn for x in kept])
        client, _, session = kept[0].session.partition("/")
        head = next(x.message for x in kept if x.message.n == exchange.n)
        said = [x.message for x in kept]
        return doc_of((client, session), head, said, exchange.stamp, self._zone)


def _heads_that_differ(before: Sequence[tuple[Turn, int]], after: Iterable[Turn]) -> dict[int, int]:
    """Under which messages those of a session are filed now, of all whose doc is another.

    before: what it was, each with the message under which it is filed.
    """
    was: dict[int, list[int]] = {}
    for turn, head in before:
        was.setdefault(head, []).append(turn.n)
    is_now = {x.n: [*x.numbers] for x in in_exchanges(after)}
    others = {n for n in was.keys() | is_now.keys() if was.get(n) != is_now.get(n)}
    heads = {n: head for head, numbers in is_now.items() for n in numbers}
    # One that leads no exchange any more is filed with another, and its doc leaves.
    return {n: head for n, head in heads.items() if head in others or n in others}


def _turn_of(message: Message, crc: int) -> Turn:
    return Turn(message.n, crc, said_by(message.text), message.at[:10])


def _turn_in(row: Mapping[str, object], message: Message) -> Turn | None:
    """What the law of exchanges asks of a new message; None where it says nothing."""
    return _turn_of(message, int(str(row["crc"]))) if row["says"] else None


def _row_of(client: str, session: str, message: Message) -> dict[str, object]:
    """What is written of a message; what Postgres's text cannot hold stands in `more` too."""
    line = render_line(client, message)
    message = parse_line(line) or message  # as a file would have it
    whole = {name: getattr(message, name) for name in ("text", "cwd", "tools")}
    kept = {
        "text": storable(message.text),
        "cwd": storable(message.cwd),
        "tools": tuple(map(storable, message.tools)),
    }
    rest = {
        "id": message.id,
        "parent": message.parent,
        "branch": message.branch,
        "kept": message.kept,
        "sidechain": message.sidechain,
    }
    more = {name: value for name, value in rest.items() if value}
    more |= {name: value for name, value in whole.items() if value != kept[name]}
    at = instant_of(message.at)
    return {
        "id": f"{session}#{message.n}",
        "session": session,
        "turn": message.n,
        "role": message.role,
        "at": at,
        "written_at": at,
        "scope": kept["cwd"],
        "body": kept["text"],
        "tags": Texts(kept["tools"]),
        "more": json.dumps(more),
        "says": said_by(message.text),
        "crc": zlib.crc32(line.rstrip(b"\n")),
    }


def _kept_of(row: tuple[Any, ...]) -> KeptMessage:
    session, turn, role, at, scope, body, tags, more, crc, exchange = row
    known = {"text": body, "cwd": scope, "tools": tags, **json.loads(more)}
    known["tools"] = tuple(known["tools"])
    message = Message(**known, role=role, at=_time_of(at), n=turn)
    return KeptMessage(session, message, crc, exchange)


def _time_of(at: datetime) -> str:
    """A time as messages have it."""
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def _message_key(client: str, message_id: str) -> str:
    return sha256_hex(well_formed(f"message\0{client}\0{message_id}").encode())


def _session_key(client: str, session: str) -> str:
    return sha256_hex(f"session\0{client}\0{session}".encode())
