"""Copying what is new of one original into our own transcripts; hook and import do it by this.

Opens an original for reading alone, and never waits for one: no pipe, no lock, no other program.
"""

from __future__ import annotations

import zlib
from functools import partial

from commonplace.journals.transcripts.clients import LINE_CLIENTS, load_client
from commonplace.journals.transcripts.clients.json_lines import (
    json_lines,
    lines_before,
    parse_line,
)
from commonplace.journals.transcripts.clients.packed import LineFile, is_packed, plain_name
from commonplace.journals.transcripts.clients.parsing import BROKEN, UNKNOWN, Kept, Skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from commonplace.journals.transcripts.clients.parsing import (
        Conversation,
        DocumentClient,
        LineClient,
    )
    from commonplace.journals.transcripts.message import Message
    from commonplace.journals.transcripts.store import TranscriptStore

__all__ = ["Copied", "Kept", "copied_from", "copy_new", "is_whole", "origin_of"]

_HEAD = 1024
_IN_COPY = "+"
"""In the fingerprint of a fork that is copied to within what it repeats: which lines these are is
known only by reading it from its beginning."""
_FIRST_CHUNK = 16 * 1024
_LONGEST_FIRST_LINE = 1024 * 1024
_MOST_KINDS = 50
_BATCH, _BATCH_CHARACTERS = 2000, 4 * 1024 * 1024
_SMALL_BATCH = 24
"""Where little is copied at once, by a hook: larger batches take it over 15 MB."""


class Copied:
    """What a copy came to.

    Attributes:
        session: The id of the session; empty where the original holds several.
        copied: How many messages were new.
        offset: How far the original is copied.
        left_out: What was skipped, and how often.
        has_more: Whether there may be more, which waits for the next time.
    """

    def __init__(self, session: str, *, offset: int = 0) -> None:
        self.session = session
        self.copied = 0
        self.left_out: dict[Skipped, int] = {}
        self.offset = offset
        self.has_more = False

    def count(self, skipped: Skipped) -> None:
        """Count a chunk that is not kept; of a file with kinds without end the first by name."""
        if len(self.left_out) >= _MOST_KINDS and skipped not in self.left_out:
            skipped = UNKNOWN if skipped.why == UNKNOWN.why else BROKEN
        self.left_out[skipped] = self.left_out.get(skipped, 0) + 1


def copy_new(
    store: TranscriptStore,
    client: str,
    path: str,
    *,
    kept: Kept,
    limit_bytes: int | None = None,
    append: Callable[..., int] | None = None,
    seen: AbstractSet[str] = frozenset(),
) -> Copied:
    """Copy what a client's original holds that was not copied before.

    About so much is read at most as `limit_bytes` says; the rest waits for the next time. What is
    new goes to `append` in place of the store's own, which it takes after; ids that are `seen`
    count as kept.

    Raises:
        OSError: The original cannot be read, or is not a file.
        CommonplaceError: The store cannot be written to, or an export is damaged.
    """
    append = partial(append or store.append, client)
    if client not in LINE_CLIENTS:
        return _copy_document(store, client, path, kept, append)
    return _copy_lines(
        store, client, path, kept=kept, limit_bytes=limit_bytes, append=append, seen=seen
    )


def _copy_lines(
    store: TranscriptStore,
    client: str,
    path: str,
    *,
    kept: Kept,
    limit_bytes: int | None,
    append: Callable[..., int],
    seen: AbstractSet[str],
) -> Copied:
    with LineFile(path) as file:
        origin = origin_of(path)
        start, before = store.copied_to(origin)
        if file.is_packed and is_whole(start, before, path, file.state):
            return Copied("", offset=start)
        first = _first_line(file)
        mark = f"{min(len(first), _HEAD)}-{zlib.crc32(first[:_HEAD]):08x}"
        noted = before.partition(" ")[0]
        # Another file, or one that was cut.
        if noted.removesuffix(_IN_COPY) != mark or not file.seek(start):
            start = 0
        begin = 0 if noted.endswith(_IN_COPY) else start
        parser: LineClient = load_client(client)
        conversation = parser.begin(path, parse_line(first), kept)
        conversation.before = partial(lines_before, path, begin)
        conversation.kept_session = partial(store.read_kept, client)
        conversation.screened = store.screened
        done = Copied(conversation.session, offset=begin)
        known, left_out = store.list_left_out(origin) if begin else {}, done.left_out

        def keep(said: Sequence[Message], state: str = "") -> None:
            done.copied += append(
                conversation.session,
                _without_copies(store, client, said, conversation, seen),
                origin=origin,
                offset=done.offset,
                fingerprint=f"{mark}{_IN_COPY if conversation.in_copy else ''}{state}",
                left_out={x: known.get(x, 0) + left_out.get(x, 0) for x in known | done.left_out},
            )

        lines = _counted(file, done, limit_bytes and limit_bytes + start - begin)
        is_little = limit_bytes is not None and limit_bytes < _BATCH_CHARACTERS
        # The line that is being read may say more: it counts as copied with the next.
        rest = _batched(
            parser.messages(lines, conversation), done, keep, _SMALL_BATCH if is_little else _BATCH
        )
    state = ""
    if not done.has_more and not file.failure:
        # Whole, though a blank or a torn line may stand at its end.
        state = f" {file.state.st_size} {file.state.st_mtime_ns}"
    if rest or done.offset != start or before != f"{noted}{state}":
        keep(rest, state)
    if file.failure:
        raise file.failure
    return done


def _without_copies(
    store: TranscriptStore,
    client: str,
    said: Sequence[Message],
    conversation: Conversation,
    seen: AbstractSet[str],
) -> list[Message]:
    """Those of the messages that are not kept or deleted as copies, by a fork that came first."""
    copy_ids = {x.id: conversation.copy_ids.pop(x.id, "") for x in said}
    wanted = [own for own in copy_ids.values() if own]
    new = store.new_ids(client, conversation.session, wanted) - seen if wanted else set()
    # A copy begins where its session does: where none of the first are, no later ones are either.
    conversation.may_be_copied = len(new) < len(wanted)
    return [x for x in said if not copy_ids[x.id] or copy_ids[x.id] in new]


def copied_from(store: TranscriptStore, path: str) -> tuple[int, str]:
    """How far an original was copied, and its fingerprint then, by its path."""
    return store.copied_to(origin_of(path))


def is_whole(offset: int, fingerprint: str, path: str, state: os.stat_result) -> bool:
    """Whether an original of lines was copied to its end, or to the torn line at its end.

    Its state is how large it is now, and when it was written to: packing leaves that as it was.
    """
    _mark, size, mtime_ns = [*fingerprint.split(" "), "", ""][:3]
    if size == str(state.st_size):
        return True
    return mtime_ns == str(state.st_mtime_ns) if is_packed(path) else offset == state.st_size


def _first_line(file: LineFile) -> bytes:
    """The first line, or the beginning of a long one; reads little where that is short."""
    head = file.read(_FIRST_CHUNK)
    if b"\n" not in head:
        head += file.read(_LONGEST_FIRST_LINE - len(head))
    return head.partition(b"\n")[0]


def origin_of(path: str) -> str:
    """A path as text, also where its name is not UTF-8; of a packed file the one it had before."""
    return plain_name(path).encode(errors="backslashreplace").decode()


def _counted(file: LineFile, done: Copied, limit_bytes: int | None) -> Iterator[object]:
    """The values of the lines; how far they reach, and what is broken, is noted in `done`."""
    start = done.offset
    for value, at in json_lines(file, start=start):
        if value is BROKEN:
            done.count(BROKEN)
        else:
            yield value
        done.offset = at
        if limit_bytes is not None and at - start >= limit_bytes:
            done.has_more = True
            return


def _copy_document(
    store: TranscriptStore, client: str, path: str, kept: Kept, append: Callable[..., int]
) -> Copied:
    parser: DocumentClient = load_client(client)
    stamp = parser.stamp(path)
    done = Copied("")
    if store.copied_to(origin_of(path))[1] == stamp:
        return done
    sessions = 0
    for session, said in parser.conversations(path, kept):
        sessions += bool(session)
        done.session = session if sessions == 1 else ""

        def keep(batch: list[Message], session: str = session) -> None:
            done.copied += append(session, batch)

        if rest := _batched(said, done, keep, _BATCH):
            keep(rest)
    append(
        done.session,
        [],
        origin=origin_of(path),
        offset=1,
        fingerprint=stamp,
        left_out=done.left_out,
    )
    return done


def _batched(
    said: Iterable[Message | Skipped],
    done: Copied,
    keep: Callable[[list[Message]], None],
    most: int,
) -> list[Message]:
    """Have messages kept so many at once, and count in `done` what is skipped; the last ones."""
    batch: list[Message] = []
    size = 0
    for message in said:
        if isinstance(message, Skipped):
            done.count(message)
            continue
        batch.append(message)
        size += len(message.text)
        if len(batch) >= most or size >= _BATCH_CHARACTERS:
            keep(batch)
            batch, size = [], 0
    return batch
