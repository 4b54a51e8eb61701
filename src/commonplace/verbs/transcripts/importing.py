"""Importing what clients kept of their sessions: finding it, counting it first, then copying it.

Never changes an original, and never imports a message twice, however often it is asked to.
"""

from __future__ import annotations

import os
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from commonplace.core.clock import to_local
from commonplace.core.errors import CommonplaceError, Invalid, NotFound
from commonplace.core.files import translated
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.text import counted
from commonplace.core.values import Answer
from commonplace.journals.transcripts.clients import (
    CLIENTS,
    EXPORTED,
    LINE_CLIENTS,
    load_client,
)
from commonplace.journals.transcripts.clients.parsing import BROKEN, UNKNOWN, Skipped, instant
from commonplace.journals.transcripts.copying import Kept, copy_new
from commonplace.verbs.answers import answer_of, one_line
from commonplace.verbs.transcripts.left_out import left_out_sentences
from commonplace.verbs.transcripts.noted import NotedSessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.transcripts.message import Message
    from commonplace.journals.transcripts.store import TranscriptStore

_MOST_FAILED = 5
_MB = 1_000_000

Progress: TypeAlias = "Callable[[str, int, int], None]"
"""Called with (what a client is called, bytes read, bytes in all)."""


class Original(Struct, frozen=True, kw_only=True):
    """A file of a client's that may hold what is not imported. size: how large it was."""

    client: str
    path: str
    size: int


class ClientImport(Struct, kw_only=True):
    """What an import takes of one client, or would take.

    Attributes:
        messages: How many are new.
        sessions: The ids of the sessions they belong to.
        first_at, last_at: When the first and the last of them were, as messages have it.
        size: Bytes of the originals that were looked at.
        left_out: What is skipped, and how often.
        failed: The originals that cannot be read at all, each with the reason.
    """

    client: str
    messages: int = 0
    sessions: set[str] = field(default_factory=set)
    first_at: str = ""
    last_at: str = ""
    size: int = 0
    left_out: dict[Skipped, int] = field(default_factory=dict)
    failed: list[tuple[str, str]] = field(default_factory=list)

    def add(self, session: str, messages: Sequence[Message]) -> None:
        """Count messages that are new."""
        if not messages:
            return
        times = [message.at for message in messages]
        self.messages += len(messages)
        self.sessions.add(session)
        self.first_at = min([*times, self.first_at] if self.first_at else times)
        self.last_at = max([*times, self.last_at])


class TranscriptImport:
    """Imports what is new of clients' sessions.

    Args:
        store: Where it is kept.
        kept: What is kept of it, as set.
        home: The user's home folder.
        environ: The environment, which may say that a client keeps its files elsewhere.
    """

    def __init__(
        self, store: TranscriptStore, kept: Kept, *, home: str, environ: Mapping[str, str]
    ) -> None:
        self._store = store
        self._kept = kept
        self._home = home
        self._environ = environ

    def find(self, client: str, *, path: str = "", since: datetime | None = None) -> list[Original]:
        """The originals of a client, or those in a file or a folder, written to since a time.

        Raises:
            Invalid: The client keeps nothing on this machine, and no path is given.
            NotFound: There is nothing of the client's.
        """
        if client in EXPORTED and not path:
            raise Invalid(
                f"{CLIENTS[client]} keeps no sessions on this machine.",
                hint="Export your data in its settings, then name the archive you are sent.",
            )
        paths = self._paths_at(client, path) if path else self._own_paths(client)
        if not paths:
            where = " in the folder {place}" if path else " on this machine"
            raise NotFound(
                f"No sessions of {CLIENTS[client]} were found{where}.",
                hint="Name the folder that the client keeps them in, or one of its files.",
                place=path,
            )
        return [*_originals(client, paths, since)]

    def find_all(self, *, since: datetime | None = None) -> list[Original]:
        """The originals of every client that keeps its sessions on this machine; see `find`."""
        own = [client for client in CLIENTS if client not in EXPORTED]
        return [x for client in own for x in _originals(client, self._own_paths(client), since)]

    def _own_paths(self, client: str) -> list[str]:
        return [path for path, _ in load_client(client).originals(self._home, self._environ)]

    def _paths_at(self, client: str, path: str) -> list[str]:
        if os.path.isdir(path):
            return [each for each, _ in load_client(client).originals_in(os.path.abspath(path))]
        if os.path.isfile(path):
            return [os.path.abspath(path)]
        if os.path.exists(path):
            raise Invalid("The path {place} is not a file.", hint="Name a file.", place=path)
        raise NotFound("The file {place} does not exist.", hint="Check the name.", place=path)

    def plan(
        self, originals: Iterable[Original], *, since: datetime | None = None
    ) -> list[ClientImport]:
        """What an import of these originals would take; of documents, of the sessions since a time.

        Raises: Invalid, NotFound, Unavailable, Denied where the only original cannot be read.
        """
        return self._go_through(originals, _Counting(self._store, since), None)

    def run(
        self,
        originals: Iterable[Original],
        *,
        since: datetime | None = None,
        noting: NotesImport = NOT_NOTED,
        progress: Progress | None = None,
    ) -> list[ClientImport]:
        """Import what is new of these originals, and note the sessions that are added.

        What was imported before it is stopped stays, and is not read again. Raises: as `plan`, and
        where the store cannot be written to.
        """
        noted = NotedSessions(self._store, noting)
        return self._go_through(originals, _Counting(self._store, since, noted), progress)

    def _go_through(
        self, originals: Iterable[Original], counting: _Counting, progress: Progress | None
    ) -> list[ClientImport]:
        every = [*originals]
        done, total = 0, sum(original.size for original in every)
        imports: dict[str, ClientImport] = {}
        for original in every:
            counting.into = imports.setdefault(
                original.client, ClientImport(client=original.client)
            )
            failure = self._take(original, counting)
            if failure and len(every) == 1:
                raise failure
            done += original.size
            if progress:
                progress(CLIENTS[original.client], done, total)
        return [*imports.values()]

    def _take(self, original: Original, counting: _Counting) -> CommonplaceError | None:
        """Copy an original; why it cannot be read, if that is so."""
        into, counting.original = counting.into, original.path
        into.size += original.size
        failed: CommonplaceError
        try:
            with translated(original.path):
                copied = copy_new(
                    self._store,
                    original.client,
                    original.path,
                    kept=self._kept,
                    append=counting.append,
                    seen=counting.seen,
                )
        except (Invalid, NotFound) as exc:
            failed = exc
        except CommonplaceError as exc:
            if not isinstance(exc.__cause__, OSError) or exc.place != original.path:
                raise  # of the store, which no other original would be kept in either
            failed = exc
        else:
            for skipped, count in copied.left_out.items():
                into.left_out[skipped] = into.left_out.get(skipped, 0) + count
            return None
        into.failed.append((original.path, failed.summary))
        return failed


def _originals(client: str, paths: Iterable[str], since: datetime | None) -> Iterator[Original]:
    oldest = since.timestamp() if since else 0.0
    for path in paths:
        try:
            state = os.stat(path)
        except OSError:
            continue  # it went while we looked
        if state.st_mtime >= oldest:
            yield Original(client=client, path=path, size=state.st_size)


class _Counting:
    """Counts what is new in what an import copies, and has it kept or not.

    Args:
        store: Keeps it, or knows what would be new.
        since: Sessions of a document that ended before are left out; None leaves out none.
        noted: Notes what is kept; None only counts.

    Attributes:
        into: Where it is counted.
        original: The path of the file that is copied.
        seen: The ids of messages that were counted.
    """

    def __init__(
        self, store: TranscriptStore, since: datetime | None, noted: NotedSessions | None = None
    ) -> None:
        self.into = ClientImport(client="")
        self.original = ""
        self.seen: set[str] = set()
        self._store = store
        self._noted = noted
        self._since = instant(since.timestamp()) if since else ""

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
        """Count those of the messages that are new, and keep them; see the store's own."""
        is_part = bool(self._since) and client not in LINE_CLIENTS
        if is_part and max((x.at for x in messages), default="") < self._since:
            return 0
        ids = self._store.new_ids(client, session, [message.id for message in messages])
        ids -= self.seen
        self.seen |= ids
        new = {message.id: message for message in messages if message.id in ids}
        self.into.add(session, [*new.values()])
        if self._noted is not None:
            write = partial(
                self._store.append,
                client,
                session,
                messages,
                # A document of which only a part is taken is not noted as copied: the rest
                # may be wanted.
                origin="" if is_part else origin,
                offset=offset,
                fingerprint=fingerprint,
                left_out=left_out,
            )
            self._noted.add(client, session, self.original, len(new), write)
        return len(new)


def import_answer(imports: Sequence[ClientImport], zone: tzinfo, *, dry_run: bool) -> Answer:
    """What an import took of sessions, or would take; days are cut in the zone."""
    lines = [_line(each, zone, dry_run=dry_run) for each in imports]
    facts = _facts(imports, dry_run=dry_run)
    return answer_of(lines or ["No sessions were found."], facts, _notes(imports))


def _line(each: ClientImport, zone: tzinfo, *, dry_run: bool) -> str:
    name = CLIENTS[each.client]
    if not each.messages:
        return f"{name}: nothing new."
    count = counted(each.messages, "message", "messages")
    sessions = counted(len(each.sessions), "session", "sessions")
    ends = (datetime.fromisoformat(at) for at in (each.first_at, each.last_at))
    span = " to ".join(dict.fromkeys(str(to_local(at, zone).date()) for at in ends))
    if not dry_run:
        return f"{name}: imported {count} of {sessions}, {span}."
    size = f"{each.size / _MB:,.1f} MB" if each.size >= _MB else f"{each.size / 1000:,.1f} kB"
    return f"{name}: {count} of {sessions}, {span}; {size} to read."


def _notes(imports: Sequence[ClientImport]) -> list[str]:
    notes = []
    for each in imports:
        name = CLIENTS[each.client]
        notes += left_out_sentences((each.client, kind, n) for kind, n in each.left_out.items())
        for path, why in each.failed[:_MOST_FAILED]:
            notes.append(f"{one_line(path)}: {why}")
        more = len(each.failed) - _MOST_FAILED
        if more > 0:
            notes.append(f"{counted(more, 'file', 'files')} more of {name} cannot be read.")
    return notes


def _facts(imports: Sequence[ClientImport], *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "messages": sum(each.messages for each in imports),
        "clients": [
            {
                "client": each.client,
                "messages": each.messages,
                "sessions": len(each.sessions),
                "first": each.first_at or None,
                "last": each.last_at or None,
                "bytes": each.size,
                "unknown": sum(n for x, n in each.left_out.items() if x.why == UNKNOWN.why),
                "broken": sum(n for x, n in each.left_out.items() if x.why == BROKEN.why),
                "left_out": [
                    {"why": x.why, "kind": x.kind, "count": n} for x, n in each.left_out.items()
                ],
                "failed": [path for path, _why in each.failed],
            }
            for each in imports
        ],
    }
