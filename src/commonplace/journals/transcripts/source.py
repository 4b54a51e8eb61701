"""Owns how the index follows transcripts: what was kept, deleted, or altered by hand.

Never writes to a file of messages, and never logs what was said.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from commonplace.core.clock import local_date, render_date
from commonplace.core.files import may_exist
from commonplace.core.values import Doc, Drop, Put
from commonplace.journals.transcripts.client_memory import PREFIX
from commonplace.journals.transcripts.message import (
    JOURNAL,
    KIND,
    instant_of,
    is_time,
    parse_ref,
    ref_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import tzinfo

    from commonplace.core.values import Change, Since
    from commonplace.journals.transcripts.message import Message
    from commonplace.journals.transcripts.store import TranscriptStore

_AT_ONCE = 200
_NEAR = 20
"""How many unwanted messages may be read between two that are wanted."""


class TranscriptSource:
    """The transcripts of one owner, there or not, as the index follows them."""

    name = JOURNAL
    cheap_mark = True
    exact_mark = False

    def __init__(self, store: TranscriptStore, zone: tzinfo) -> None:
        self._store = store
        self._zone = zone

    def mark(self) -> str:
        """See `TranscriptStore.mark`: about 0.3 ms at 200,000 messages."""
        return self._store.mark()

    def count(self, since: Since) -> tuple[int, int]:
        """How many messages say something, and how many of them are filed. Raises: as `scan`."""
        known = since.stamps(f"{JOURNAL}:")
        return self._store.count(), sum(not ref.startswith(PREFIX) for ref in known)

    def scan(self, since: Since) -> Iterator[Change]:
        """Puts of what is new or altered, then drops, session by session, the newest first.

        Files are compared with the catalog by size and time where every entry is looked at, or one
        came or went by hand; the text of what is known is not read again.
        Raises: Denied, Unavailable where the files cannot be read.
        """
        if not may_exist(self._store.folder):
            return  # a folder that is gone is not an empty one
        now = self._store.mark()
        is_same_folder = since.mark is not None and _folder_of(since.mark) == _folder_of(now)
        if not is_same_folder:
            self._store.follow_files()
        changed = None if since.mark is None else self._store.changed_since(since.mark)
        if changed is None:
            yield from self._scan_all(since)
            return
        for client, session in reversed(changed):
            known = since.stamps(f"{ref_of(client, session)}#")
            yield from self._compare(client, session, known)

    def _scan_all(self, since: Since) -> Iterator[Change]:
        known: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for ref, stamp in since.stamps(f"{JOURNAL}:").items():
            if ref.startswith(PREFIX):  # of another source
                continue
            parts = parse_ref(ref)
            if parts is None:
                yield Drop(ref)
            else:
                known[parts.client, parts.session][ref] = stamp
        for client, session in reversed(self._store.list_names()):
            yield from self._compare(client, session, known.pop((client, session), {}))
        yield from (Drop(ref) for refs in known.values() for ref in sorted(refs))

    def _compare(self, client: str, session: str, known: Mapping[str, str]) -> Iterator[Change]:
        stamps = self._store.list_stamps(client, session)
        refs = {n: ref_of(client, session, n) for n in stamps}
        wanted = [n for n, stamp in stamps.items() if known.get(refs[n]) != stamp]
        for some in reversed([*_runs(wanted)]):
            messages = self._store.read(client, session, first=some[0], last=some[-1])
            for message in reversed(messages):
                # Read again since, it may be another line than its stamp was of: the next scan
                # sees that.
                if message.n in stamps and known.get(refs[message.n]) != stamps[message.n]:
                    yield Put(self._doc_of(client, session, message, stamps[message.n]))
        gone = known.keys() - set(refs.values())
        yield from (Drop(ref) for ref in sorted(gone))

    def _doc_of(self, client: str, session: str, message: Message, stamp: str) -> Doc:
        """What the index holds of a message."""
        at = instant_of(message.at)
        return Doc(
            ref=ref_of(client, session, message.n),
            journal=JOURNAL,
            kind=KIND,
            scope=message.cwd,
            at=at,
            text=message.text,
            stamp=stamp,
            session=f"{client}/{session}",
            author=message.author,
            dated=render_date(local_date(at, self._zone)),
            written=instant_of(message.kept) if is_time(message.kept) else None,
            turn=message.n,
        )


def _runs(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Rising numbers in runs of neighbours, each read at once: none is long, and no gap is wide."""
    run: list[int] = []
    for n in numbers:
        if run and (n - run[-1] > _NEAR or len(run) == _AT_ONCE):
            yield run
            run = []
        run.append(n)
    if run:
        yield run


def _folder_of(mark: str) -> str:
    return mark.partition(" ")[2]
