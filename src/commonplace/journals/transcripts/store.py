"""What was said in sessions, kept in files of our own: appended, read, and deleted for good.

The files are the truth and the catalog is derived; imports little, since a hook reads it. Never
touches an original file, and never knows the index.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from contextlib import suppress
from types import MappingProxyType
from typing import TypeVar

from commonplace.core.errors import Corrupted, Denied, Unavailable
from commonplace.core.files import make_folder, translated
from commonplace.core.redact import Screen
from commonplace.core.refs import short_number, short_ref
from commonplace.core.standstill import PROCESS
from commonplace.db.sqlite import transaction
from commonplace.db.sqlite import translated as translated_sqlite
from commonplace.journals.transcripts import files
from commonplace.journals.transcripts.catalog import Catalog, FileState
from commonplace.journals.transcripts.clients.parsing import Skipped
from commonplace.journals.transcripts.exchanges import Turn
from commonplace.journals.transcripts.message import (
    USER,
    Message,
    SessionSummary,
    check_messages,
    ref_of,
    render_line,
    session_name,
    time_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

CATALOG = "catalog.db"

_LATE_S = 86_400
_EVER = "9999"
_DELETED_SIZE = "deleted_size"
_NOTHING = FileState(key=0, year="", size=0, mtime_ns=0, last_n=0, broken=0)

_T = TypeVar("_T")


class TranscriptStore:
    """The transcripts of one owner, there or not; nothing is made before the first append.

    Thread-safe, and safe beside other processes: one writes at a time.

    Args:
        folder: Where they lie.
        busy_s: How long a lock of another process is waited for.
        screen: What every text goes through that is kept.
        clock: Seconds since the epoch: what is copied long after it was said bears both times;
            None for the time it was said alone.
    """

    def __init__(
        self,
        folder: str,
        *,
        busy_s: float = 30.0,
        screen: Screen | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.folder = folder
        self._clock = clock
        self._screen = screen or Screen()
        self._busy_s = busy_s
        self._path = os.path.join(folder, CATALOG)
        self._tombstones = os.path.join(folder, files.TOMBSTONES)
        self._lock = threading.RLock()
        self._catalog: Catalog | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever kept."""
        return os.path.isdir(self.folder)

    def close(self) -> None:
        """Close the catalog; it is opened again when it is needed. May be called twice."""
        with self._lock:
            if self._catalog is not None:
                self._catalog.close()
                self._catalog = None

    def append(
        self,
        client: str,
        session: str,
        messages: Sequence[Message],
        *,
        origin: str = "",
        offset: int = 0,
        fingerprint: str = "",
        left_out: Mapping[Skipped, int] = MappingProxyType({}),
    ) -> int:
        """Append those messages whose ids are neither kept nor deleted; how many. They are on disk.

        With them it is noted how far their original is copied, by which fingerprint it is known,
        and what of it was left out. A session's id is hostile. Raises: Invalid for what cannot be
        kept; Denied, Unavailable: nothing was kept that a later call would repeat.
        """
        check_messages(client, messages)
        texts = self._screen.copied_all([message.text for message in messages])
        # A session has few branches, and each is screened once.
        branches = {x.branch: self._screen.copied(x.branch) for x in messages if x.branch}
        messages = [
            x._replace(text=y, branch=branches.get(x.branch, ""))
            for x, y in zip(messages, texts, strict=True)
        ]
        if self._clock is not None:
            now = self._clock()
            kept, lately = time_of(now), time_of(now - _LATE_S)
            messages = [x._replace(kept="" if x.at >= lately else kept) for x in messages]
        make_folder(self.folder)

        def do(catalog: Catalog) -> int:
            count = self._append(catalog, client, session_name(session), messages)
            if origin:
                catalog.run("put_origin", path=origin, offset=offset, fingerprint=fingerprint)
                counts = {(x.why, self._screen.copied(x.kind)): n for x, n in left_out.items()}
                catalog.put_left_out(origin, client, counts)
            return count

        return self._write(do)

    def new_ids(self, client: str, session: str, ids: Sequence[str]) -> set[str]:
        """Those of these ids that `append` would keep."""

        def do(catalog: Catalog) -> set[str]:
            if catalog.is_session_deleted(client, session_name(session)):
                return set()
            return {*ids} - catalog.known_ids(client, ids) - catalog.deleted_ids(client, ids)

        found = self._read(do)
        return {*ids} if found is None else found

    def read_kept(self, client: str, session: str) -> list[Message] | None:
        """The messages of a session by the client's id of it; None where it was deleted whole."""
        name = session_name(session)
        gone = self._read(lambda catalog: catalog.is_session_deleted(client, name))
        return None if gone else self.read(client, name)

    def screened(self, text: str) -> str:
        """A text as `append` keeps it."""
        return self._screen.copied(text)

    def copied_to(self, origin: str) -> tuple[int, str]:
        """How far an original file was copied, and its fingerprint then; (0, "") for never."""
        found = self._rows("read_origin", path=origin)
        return found[0] if found else (0, "")

    def list_left_out(self, origin: str) -> dict[Skipped, int]:
        """What was left out of an original as far as it was copied, and how often."""
        return {skipped: count for _client, skipped, count in self.list_all_left_out(origin)}

    def list_all_left_out(self, origin: str = "") -> list[tuple[str, Skipped, int]]:
        """Client, kind and number of all that was left out, by client, the most frequent first."""
        found = self._rows("list_left_out", path=origin)
        return [(client, Skipped(why, kind), count) for client, why, kind, count in found]

    def sessions(
        self, *, since: str = "", until: str = _EVER, client: str = ""
    ) -> list[SessionSummary]:
        """The sessions with a message in [since, until), the one that went on last first."""
        found = self._rows("list_sessions", since=since, until=until, client=client)
        return [SessionSummary(*x) for x in found]

    def find_session(self, client: str, session: str) -> FileState | None:
        """What is known of a session; None where there is none."""
        return self._read(lambda catalog: catalog.find_session(client, session))

    def read(
        self, client: str, session: str, *, first: int = 1, last: int = files.LAST, limit: int = -1
    ) -> list[Message]:
        """The messages of a session whose numbers lie from first to last, in their order."""
        return self._read_rows(client, session, "list_rows", first=first, last=last, limit=limit)

    def read_around(self, client: str, session: str, n: int) -> list[Message]:
        """The message of a number, with the nearest before and after it that say something."""
        return self._read_rows(client, session, "list_around", n=n)

    def read_opening(self, client: str, session: str) -> Message | None:
        """The first thing that the user said in a session that could be its task.

        Of a session without one, such as of "hi" alone, the first thing at all.
        """
        from commonplace.journals.transcripts.small_talk import find_opening

        return find_opening(
            lambda limit: self._read_rows(
                client, session, "first_rows_of_role", role=USER, limit=limit
            )
        )

    def list_in(self, folders: Sequence[str], limit: int) -> list[SessionSummary]:
        """The sessions that began in one of these folders or below, the last to go on first."""
        found = self._rows("list_in", folders=json.dumps([*folders]), limit=limit)
        return [SessionSummary(*x) for x in found]

    def read_last(self, client: str, session: str, role: str, limit: int) -> list[Message]:
        """The last things that were said in a role, in their order."""
        found = self._read_rows(client, session, "last_rows_of_role", role=role, limit=limit)
        return found[::-1]

    def delete(self, client: str, session: str, numbers: Sequence[int] = ()) -> int:
        """Delete messages by their numbers, or a whole session, for good; how many messages.

        They are never kept again, whatever original still has them; of a whole session nothing
        that it goes on with either.
        """
        return self._delete(lambda _: [(client, session)], numbers, for_good=True)

    def replace_texts(self, client: str, session: str, shown: Callable[[str], str]) -> int:
        """Replace texts and branches by what `shown` returns; how many messages changed.

        Everything else of a message stays, its number and its id included. Raises: Unavailable,
        Denied; then nothing was changed.
        """

        def do(catalog: Catalog) -> int:
            state = self._settle(catalog, client, session)
            if state is None:
                return 0
            path = files.path_of(self.folder, client, state.year, session)
            found = files.read_lines(path)
            lines = [x.content for x in found]
            count = 0
            for place, line in enumerate(found):
                if (old := line.message) is None:
                    continue
                new = old._replace(text=shown(old.text), branch=shown(old.branch))
                if new != old:
                    lines[place] = render_line(client, new)
                    count += 1
            if count:
                files.rewrite(path, b"".join(lines))
                self._load(catalog, client, session, state.year)
            return count

        count = self._write(do)
        self._read(lambda catalog: catalog.erase_log())
        return count

    def retain(self, before: str) -> list[SessionSummary]:
        """Delete the sessions whose last message is older; those that were. See `is_time`.

        What such a session goes on with is kept again.
        """
        gone: list[SessionSummary] = []

        def choose(catalog: Catalog) -> list[tuple[str, str]]:
            asked = catalog.rows("list_sessions", since="", until=_EVER, client="")
            gone[:] = (x for x in (SessionSummary(*row) for row in asked) if x.last_at < before)
            return [(x.client, x.name) for x in gone]

        if self._read(choose):
            # Chosen again under the lock: one may have gone on since.
            self._delete(choose, (), for_good=False)
        return gone

    def forget_origins(self, origins: Sequence[str]) -> None:
        """Have originals read from their beginning by the next copy. Raises: Unavailable."""
        if origins and self.exists:
            self._write(lambda catalog: catalog.drop_origins(origins))

    def take_back(self, client: str, session: str, *, messages: int, last_n: int) -> bool:
        """Delete a session that has so many messages; whether it was there, and no longer.

        The next copy keeps it again. Raises: Denied, Unavailable.
        """

        def do(catalog: Catalog) -> bool:
            state = self._settle(catalog, client, session)
            if state is None or (state.messages, state.last_n) != (messages, last_n):
                return False
            files.rewrite(files.path_of(self.folder, client, state.year, session), b"")
            catalog.drop_session(client, session)
            return True

        gone = self._write(do)
        self._read(lambda catalog: catalog.erase_log())
        return gone

    def hand_over(
        self,
        take: Callable[[str, str, str, Sequence[Message]], None],
        note_deleted: Callable[[Sequence[files.Tombstone]], None],
    ) -> list[str]:
        """Give away what was deleted, then each session by client, name and year.

        Its file goes when `take` returns, unless it has broken lines; what says what was deleted
        goes with the last. No other process writes until the end.
        Returns the files that stay. Raises: as these, Denied, Unavailable.
        """

        def do(catalog: Catalog) -> list[str]:
            lines = files.read_lines(self._tombstones) if self._deleted_size() else ()
            note_deleted([x for x in map(files.parse_tombstone, (y.content for y in lines)) if x])
            stay: list[str] = []
            while True:
                for client, session in self._list_altered(catalog):
                    self._settle(catalog, client, session)
                known = catalog.list_files()
                places = {x: files.path_of(self.folder, x[0], known[x][0], x[1]) for x in known}
                given = {x: path for x, path in places.items() if path not in stay}
                if not given:
                    if not stay:  # later another process may have noted more there
                        with translated(self._tombstones), suppress(FileNotFoundError):
                            os.unlink(self._tombstones)
                    return stay
                for (client, session), path in given.items():
                    found = files.read_lines(path)
                    said = [x.message for x in found if x.message]
                    take(client, session, known[client, session][0], said)
                    if len(said) < len(found):
                        stay.append(path)
                        continue
                    files.rewrite(path, b"")
                    catalog.drop_session(client, session)

        return self._write(do) if self.exists else []

    def mark(self) -> str:
        """A token that changes when something was kept or deleted, or a file came or went.

        Waits for no lock, reads no message, and never raises.
        """
        try:
            if not self.exists:
                return ""
            places = [(x.path, x.stat().st_mtime_ns) for *_, x in files.list_years(self.folder)]
            places.append((files.TOMBSTONES, self._deleted_size()))
            ((made, seq),) = self._rows("read_mark") or [("", 0)]
        except (Unavailable, Denied, OSError) as exc:
            return f"unreadable {type(exc).__name__}"
        return f"{made}.{seq} {zlib.crc32(repr(places).encode()):08x}"

    def changed_since(self, mark: str) -> list[tuple[str, str]] | None:
        """Clients and names of the sessions that changed since a mark; None where any may have."""
        made, _, seq = mark.partition(" ")[0].partition(".")
        if not seq.isdigit():
            return None

        def do(catalog: Catalog) -> list[tuple[str, str]] | None:
            is_same = catalog.rows("read_mark")[0][0] == made
            return catalog.rows("list_changed", since=int(seq)) if is_same else None

        return self._read(do)

    def list_turns(self, client: str, session: str) -> list[Turn]:
        """What is known of the messages of a session that say something, in their order."""

        def do(catalog: Catalog) -> list[Turn]:
            state = catalog.find_session(client, session)
            found = catalog.rows("list_turns", key=state.key) if state else ()
            return [Turn(*x) for x in found]

        return self._read(do) or []

    def refs_behind(self, number: int) -> list[str]:
        """The refs of messages and sessions with a short form; see `core.ports.FindsShortRefs`."""
        refs = (ref_of(*each) for each in self._rows("list_addresses"))
        return [ref for ref in refs if short_number(short_ref(ref)) == number]

    def list_names(self) -> list[tuple[str, str]]:
        """Clients and names of all sessions, the one that began first first."""
        return self._read(lambda catalog: [*catalog.list_files()]) or []

    def file_again(self, client: str, session: str, numbers: Sequence[int]) -> None:
        """Nothing: the index sees which files changed."""

    def follow_files(self) -> int:
        """Read again what people altered, laid here or removed by hand; how many files.

        Also finishes what a process that was killed began to delete.
        """
        if not self._read(lambda x: self._list_altered(x) or self._has_tombstones(x)):
            return 0

        def do(catalog: Catalog) -> int:
            altered = self._list_altered(catalog)
            for client, session in altered:
                self._settle(catalog, client, session)
            return len(altered)

        return self._write(do)

    def check(self) -> files.StoreState:
        """What is not as it should be; changes nothing but a catalog that is not there."""
        known = self._read(lambda catalog: catalog.list_files()) or {}
        unread = len(self._read(self._list_altered) or [])
        broken = {
            files.path_of(self.folder, client, state[0], session): state[3]
            for (client, session), state in known.items()
            if state[3]
        }
        found = [*files.list_files(self.folder)] if self.exists else []
        twice = [
            files.path_of(self.folder, x.client, x.year, x.session)
            for x in found
            if x.year != known.get((x.client, x.session), (x.year,))[0]
        ]
        paths = [self.folder, self._path, self._tombstones]
        open_paths = files.list_open(self.folder, paths, found)
        return files.StoreState(len(known), broken, unread, twice, open_paths)

    def remake_catalog(self) -> None:
        """Make the catalog again from the files."""
        if self.exists:
            with self._lock:
                self._remake()

    def _read(self, do: Callable[[Catalog], _T]) -> _T | None:
        """What the catalog answers; None where nothing was ever kept."""
        with self._lock:
            if not self.exists:
                return None
            try:
                with translated_sqlite(self._path):
                    return do(self._opened())
            except Corrupted:
                self._remake()
                with translated_sqlite(self._path):
                    return do(self._opened())

    def _write(self, do: Callable[[Catalog], _T]) -> _T:
        with self._lock:
            try:
                return self._write_once(do)
            except Corrupted:
                self._remake()
                return self._write_once(do)

    def _write_once(self, do: Callable[[Catalog], _T]) -> _T:
        for _ in range(3):
            catalog = self._opened()
            with translated_sqlite(self._path), transaction(catalog.conn):
                # One that was removed or made again while we waited is not the one that counts.
                if catalog.is_current():
                    PROCESS.refuse()  # the catalog is derived, what it guards is not
                    self._take_tombstones(catalog)
                    return do(catalog)
        raise Unavailable(
            "The catalog {place} is replaced again and again.",
            hint="End what replaces it, then try again.",
            place=self._path,
        )

    def _opened(self) -> Catalog:
        if self._catalog is not None and self._catalog.is_current():
            return self._catalog
        self.close()
        catalog = Catalog(self._path, self._busy_s)
        try:
            with translated_sqlite(self._path):
                if not catalog.is_made:
                    with transaction(catalog.conn):
                        self._fill(catalog)
        except BaseException:
            catalog.close()
            raise
        self._catalog = catalog
        return catalog

    def _fill(self, catalog: Catalog) -> None:
        if catalog.is_made:
            return  # another process was first
        catalog.make()
        self._take_tombstones(catalog)
        for client, session in self._list_altered(catalog):
            self._settle(catalog, client, session)

    def _remake(self) -> None:
        self.close()
        for end in ("", "-wal", "-shm"):
            with translated(self._path):
                try:
                    os.unlink(self._path + end)
                except FileNotFoundError:
                    continue
        self._opened()

    def _append(
        self, catalog: Catalog, client: str, session: str, messages: Sequence[Message]
    ) -> int:
        if not messages or catalog.is_session_deleted(client, session):
            return 0
        state = self._settle(catalog, client, session)
        ids = [x.id for x in messages]
        known = catalog.known_ids(client, ids) | catalog.deleted_ids(client, ids)
        first: dict[str, Message] = {}
        for x in messages:
            first.setdefault(x.id, x)
        new = [x for x in first.values() if x.id not in known]
        if not new:
            return 0
        if state is None:
            last_n = catalog.last_deleted_n(client, session)
            state = _NOTHING._replace(year=new[0].at[:4], last_n=last_n)
        new = [x._replace(n=n) for n, x in enumerate(new, state.last_n + 1)]
        lines = [render_line(client, x) for x in new]
        path = files.path_of(self.folder, client, state.year, session)
        start, size, mtime_ns = files.append(path, b"".join(lines))
        read = []
        for line, message in zip(lines, new, strict=True):
            read.append(files.Line(start, line, message))
            state = state.with_message(message)
            start += len(line)
        key = catalog.put_session(client, session, state._replace(size=size, mtime_ns=mtime_ns))
        catalog.put_lines(client, key, read)
        catalog.note_change(client, session)
        return len(new)

    def _delete(
        self,
        choose: Callable[[Catalog], Sequence[tuple[str, str]]],
        numbers: Sequence[int],
        *,
        for_good: bool,
    ) -> int:
        if not self.exists:
            return 0
        wanted = frozenset(numbers)

        def do(catalog: Catalog) -> int:
            tombstones: list[dict[str, str | int]] = []
            count = 0
            for client, session in choose(catalog):
                state = self._settle(catalog, client, session)
                if state is None:
                    continue
                named: dict[str, str | int] = {"client": client, "session": session}
                ids = catalog.rows("list_ids", key=state.key)
                chosen = [x for x in ids if not wanted or x[0] in wanted]
                tombstones += [{**named, "id": message_id, "n": n} for n, message_id in chosen]
                tombstones += [named] if for_good and not wanted else []
                count += len(chosen)
            if tombstones:
                lines = (json.dumps(x, ensure_ascii=False) + "\n" for x in tombstones)
                files.append(self._tombstones, "".join(lines).encode())
                self._take_tombstones(catalog)
            return count

        count = self._write(do)
        self._read(lambda catalog: catalog.erase_log())
        return count

    def _deleted_size(self) -> int:
        found = files.read_size(self._tombstones)
        # Where it is not gone, what it lists stays deleted.
        if found is None and os.path.lexists(self._tombstones):
            raise Denied(
                "The path {place} is not a plain file.",
                hint="Put the file itself there: it says what no import may bring back.",
                place=self._tombstones,
            )
        return found[0] if found else 0

    def _has_tombstones(self, catalog: Catalog) -> bool:
        return self._deleted_size() != catalog.read_number(_DELETED_SIZE)

    def _take_tombstones(self, catalog: Catalog) -> None:
        """Do what was written down to be deleted, also by a process that was killed then."""
        if not self._has_tombstones(catalog):
            return
        if self._deleted_size():
            files.cut_torn_line(self._tombstones)
        size = self._deleted_size()
        known = catalog.read_number(_DELETED_SIZE)
        if size < known:
            catalog.run("drop_deleted")
            known = 0
        concerned: dict[tuple[str, str], None] = {}
        for line in files.read_lines(self._tombstones, known) if size else ():
            found = files.parse_tombstone(line.content)
            if found is None:
                continue
            client, session, message_id, n = found
            catalog.put_deleted(client, session, message_id, n)
            concerned[client, session] = None
            # A file laid by hand may hold it under another name.
            for (name,) in catalog.rows("session_of_id", client=client, id=message_id):
                concerned[client, name] = None
        # So may a file whose messages are known from another one.
        clients = {client for client, _ in concerned}
        files_known = catalog.list_files()
        concerned |= {
            key: None for key, state in files_known.items() if state[3] and key[0] in clients
        }
        for client, session in concerned:
            state = catalog.find_session(client, session)
            if state is not None:
                self._load(catalog, client, session, state.year)
            self._rewrite_others(catalog, client, session, state.year if state else "")
        catalog.put_meta(_DELETED_SIZE, size)

    def _list_altered(self, catalog: Catalog) -> list[tuple[str, str]]:
        """The sessions whose files are other than the catalog knows them, or gone."""
        known = catalog.list_files()
        found = {}
        for x in files.list_files(self.folder):
            # Of two files of a session the one that is known counts.
            if (x.client, x.session) not in found or known.get((x.client, x.session), ("",))[
                0
            ] == x.year:
                found[x.client, x.session] = (x.year, x.size, x.mtime_ns)
        altered = [key for key, state in found.items() if known.get(key, ())[:3] != state]
        return [*altered, *(key for key in known if key not in found)]

    def _settle(self, catalog: Catalog, client: str, session: str) -> FileState | None:
        """Have the catalog know a session's file as it is; None where there is none."""
        state = catalog.find_session(client, session)
        year = state.year if state else files.find_year(self.folder, client, session)
        if not year:
            return None
        path = files.path_of(self.folder, client, year, session)
        found = files.read_size(path)
        if found is None and state:
            catalog.drop_session(client, session)
            return self._settle(catalog, client, session)
        if state and found == (state.size, state.mtime_ns):
            return state
        files.cut_torn_line(path)
        self._load(catalog, client, session, year)
        return catalog.find_session(client, session)

    def _load(self, catalog: Catalog, client: str, session: str, year: str) -> None:
        """Read a session's file again, without what was deleted."""
        path = files.path_of(self.folder, client, year, session)
        lines = files.read_lines(path) if files.read_size(path) else []
        kept = catalog.without_deleted(client, session, lines)
        if len(kept) < len(lines):
            files.rewrite(path, b"".join(x.content for x in kept))
            lines = files.read_lines(path) if kept else []
        size = files.read_size(path)
        if size is None:
            catalog.drop_session(client, session)
            return
        broken = sum(x.message is None for x in lines)
        last_n = catalog.last_deleted_n(client, session)
        state = _NOTHING._replace(
            year=year, size=size[0], mtime_ns=size[1], last_n=last_n, broken=broken
        )
        key = catalog.put_session(client, session, state)
        catalog.run("drop_messages", key=key)
        for message in catalog.put_lines(client, key, lines):
            state = state.with_message(message)
        twice = sum(x.message is not None for x in lines) - state.messages
        catalog.put_session(client, session, state._replace(broken=broken + twice))
        catalog.note_change(client, session)

    def _rewrite_others(self, catalog: Catalog, client: str, session: str, year: str) -> None:
        """Take what was deleted out of files of a session that lie in other years' folders.

        As where a user copied one machine's folder over another's.
        """
        for owner, other, _ in files.list_years(self.folder):
            path = files.path_of(self.folder, client, other, session)
            if owner != client or other == year or files.read_size(path) is None:
                continue
            lines = files.read_lines(path)
            kept = catalog.without_deleted(client, session, lines)
            if len(kept) < len(lines):
                files.rewrite(path, b"".join(x.content for x in kept))

    def _rows(self, query: str, **values: object) -> list[Any]:
        """The rows of a query of the catalog; none where nothing was ever kept."""
        return self._read(lambda catalog: catalog.rows(query, **values)) or []

    def _read_rows(self, client: str, session: str, query: str, **values: object) -> list[Message]:
        """The messages that a query of a session's rows finds."""

        def do(catalog: Catalog) -> tuple[str, list[files.LineRow]]:
            state = catalog.find_session(client, session)
            if state is None:
                return "", []
            found = catalog.rows(query, key=state.key, **values)
            return state.year, [files.LineRow(*x) for x in found]

        for _ in range(2):
            year, wanted = self._read(do) or ("", [])
            path = files.path_of(self.folder, client, year, session)
            messages = files.read_messages(path, wanted) if wanted else []
            if messages is not None:
                return messages
            # A person altered the file by hand, or removed it.
            self._write(lambda catalog: self._settle(catalog, client, session))
        return []
