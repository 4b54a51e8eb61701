"""What is known of the files of transcripts, in SQLite: derived, and made again when it is gone.

Imports little: a hook reads it. Holds no text of a message, and never opens a file of messages.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import NamedTuple

from commonplace.core.errors import Corrupted, Unavailable
from commonplace.db.queries import parse_queries, split_statements
from commonplace.db.sqlite import connect, empty_log, translated
from commonplace.journals.transcripts.exchanges import said_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from commonplace.journals.transcripts.files import Line
    from commonplace.journals.transcripts.message import Message

_VERSION = 3
_TABLES = frozenset({"messages", "sessions", "deleted", "origins", "changes", "left_out", "meta"})
_MOST_IDS = 5000


class FileState(NamedTuple):
    """What the catalog knows of a session and its file.

    Attributes:
        key: Of the session, for its messages.
        year: The folder that the file lies in.
        size, mtime_ns: Of the file when it was read or written last.
        last_n: The highest number given so far.
        broken: How many of its lines hold no message.
    """

    key: int
    year: str
    size: int
    mtime_ns: int
    last_n: int
    broken: int
    first_at: str = ""
    last_at: str = ""
    cwd: str = ""
    branch: str = ""
    messages: int = 0

    def with_message(self, message: Message) -> FileState:
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


class Catalog:
    """An open catalog.db. Raises of each method: Unavailable, Corrupted, by `translated`."""

    def __init__(self, path: str, busy_s: float) -> None:
        self.path = path
        self.conn = connect(path, synchronous="normal", busy_s=busy_s)
        self._inode = os.stat(path).st_ino
        with translated(path):
            self.conn.execute("PRAGMA secure_delete = ON")

    def is_current(self) -> bool:
        """Whether its path still leads to the file that is open."""
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    def close(self) -> None:
        """Close it."""
        self.conn.close()

    @property
    def is_made(self) -> bool:
        """Whether it has the tables of this version, filled from the files.

        Raises Corrupted where it is of another version, or another program's.
        """
        version = self.conn.execute("PRAGMA user_version").fetchone()[0]
        tables = {x[0] for x in self.conn.execute("SELECT name FROM sqlite_schema")}
        if version == _VERSION and tables.issuperset(_TABLES):
            return True
        if version or tables:
            raise Corrupted("The catalog {place} is of another version.", place=self.path)
        return False

    def make(self) -> None:
        """Make its tables, empty, inside a transaction."""
        for statement in split_statements(f"{_queries()['schema']};"):
            self.conn.execute(statement)
        self.put_meta("made", os.urandom(4).hex())
        self.conn.execute(f"PRAGMA user_version = {_VERSION}")

    def read_number(self, name: str) -> int:
        """A number that was kept; 0 for none."""
        found = self.rows("read_meta", name=name)
        return int(found[0][0]) if found else 0

    def put_meta(self, name: str, value: str | int) -> None:
        """Keep one value."""
        self.run("put_meta", name=name, value=value)

    def find_session(self, client: str, session: str) -> FileState | None:
        """What is known of a session."""
        found = self.rows("find_session", client=client, session=session)
        return FileState(*found[0]) if found else None

    def put_session(self, client: str, session: str, state: FileState) -> int:
        """Keep what is known of a session; its key."""
        values = state._asdict() | {"client": client, "session": session}
        return int(self.rows("put_session", **values)[0][0])

    def drop_session(self, client: str, session: str) -> None:
        """Forget a session and its messages, and note that it changed."""
        self.run("drop_session", client=client, session=session)
        self.note_change(client, session)

    def note_change(self, client: str, session: str) -> None:
        """That a session is another than before."""
        self.run("note_change", client=client, session=session)

    def put_lines(self, client: str, key: int, lines: Iterable[Line]) -> list[Message]:
        """Keep where messages lie; those whose id and number were not taken."""
        return [
            message
            for line in lines
            if (message := line.message) and self._put_message(client, key, message, line)
        ]

    def _put_message(self, client: str, key: int, message: Message, line: Line) -> bool:
        put = self.run(
            "put_message",
            client=client,
            id=message.id,
            key=key,
            role=message.role,
            at=message.at,
            says=said_by(message.text),
            n=message.n,
            start=line.start,
            length=len(line.content),
            crc=line.crc,
        )
        return put.rowcount > 0

    def known_ids(self, client: str, ids: Iterable[str]) -> set[str]:
        """Those of the ids that are kept already, in whatever session."""
        return self._ids("known_ids", client, ids)

    def deleted_ids(self, client: str, ids: Iterable[str]) -> set[str]:
        """Those of the ids that were deleted."""
        return self._ids("deleted_ids", client, ids)

    def put_deleted(self, client: str, session: str, message_id: str, n: int) -> None:
        """Keep that a message was deleted; with an empty id, a whole session."""
        self.run("put_deleted", client=client, session=session, id=message_id, n=n)

    def is_session_deleted(self, client: str, session: str) -> bool:
        """Whether a whole session was deleted."""
        return bool(self.rows("is_session_deleted", client=client, session=session))

    def last_deleted_n(self, client: str, session: str) -> int:
        """The highest number of a message of the session that was deleted; 0 for none."""
        return int(self.rows("last_deleted_n", client=client, session=session)[0][0])

    def without_deleted(self, client: str, session: str, lines: list[Line]) -> list[Line]:
        """Those of a file's lines that stay, with nothing of what was deleted."""
        if self.is_session_deleted(client, session):
            return []
        gone = self.deleted_ids(client, [x.message.id for x in lines if x.message])
        if not gone:
            return lines
        kept = [x for x in lines if not (x.message and x.message.id in gone)]
        if not any(x.message for x in kept):
            return []
        # What is left of a line may hold what was deleted.
        ids = [x.encode() for x in gone]
        return [x for x in kept if x.message or not any(own in x.content for own in ids)]

    def list_files(self) -> dict[tuple[str, str], tuple[str, int, int, int]]:
        """Year, size, mtime and broken lines of each file by client and session, oldest first."""
        return {(x[0], x[1]): x[2:] for x in self.rows("list_files")}

    def drop_origins(self, paths: Iterable[str]) -> None:
        """Forget how far originals were copied, and what was left out of them."""
        for path in paths:
            self.run("drop_origin", path=path)
            self.run("drop_left_out", path=path)

    def put_left_out(self, path: str, client: str, counts: Mapping[tuple[str, str], int]) -> None:
        """Keep what was left out of an original, in place of what was known of it."""
        self.run("drop_left_out", path=path)
        for (why, kind), count in counts.items():
            self.run("put_left_out", path=path, client=client, why=why, kind=kind, count=count)

    def erase_log(self) -> None:
        """Leave nothing in the log of what was overwritten in the file."""
        with translated(self.path):
            empty_log(self.conn)

    def _ids(self, name: str, client: str, ids: Iterable[str]) -> set[str]:
        wanted: Sequence[str] = list(ids)
        found: set[str] = set()
        for start in range(0, len(wanted), _MOST_IDS):
            some = json.dumps(wanted[start : start + _MOST_IDS])
            found.update(x[0] for x in self.rows(name, client=client, ids=some))
        return found

    def run(self, name: str, /, **values: object) -> sqlite3.Cursor:
        """Run a statement of `catalog.sql`."""
        return self.conn.execute(_queries()[name], values)

    def rows(self, name: str, /, **values: object) -> list[Any]:
        """The rows of a query of `catalog.sql`."""
        return self.run(name, **values).fetchall()


@cache
def _queries() -> dict[str, str]:
    path = os.path.join(os.path.dirname(__file__), "catalog.sql")
    try:
        with open(path, encoding="utf-8") as file:
            return parse_queries(file.read())
    except OSError as exc:
        raise Unavailable("A file of the program is missing: {place}.", place=path) from exc
