"""Owns how the index follows transcripts: what was kept, deleted, or altered by hand.

A turn of a few words is filed with what it answers. Never writes to a file of messages, and never
logs what was said.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from commonplace.core.clock import local_date, render_date
from commonplace.core.files import may_exist
from commonplace.core.values import Doc, Drop, Put
from commonplace.journals.transcripts.client_memory import PREFIX
from commonplace.journals.transcripts.exchanges import in_exchanges
from commonplace.journals.transcripts.message import (
    JOURNAL,
    KIND,
    instant_of,
    is_time,
    parse_ref,
    ref_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from commonplace.core.values import Change, Since
    from commonplace.journals.transcripts.exchanges import Exchange, Turn
    from commonplace.journals.transcripts.message import Message
    from commonplace.journals.transcripts.ports import SessionStore
    from commonplace.journals.transcripts.store import TranscriptStore

_AT_ONCE = 200
_NEAR = 20
"""How many unwanted messages may be read between two that are wanted."""


class TranscriptSource:
    """The transcripts of one owner, there or not, as the index follows them.

    Args:
        zone: The owner's, in which a turn's date is said.
        together: Which turns of a session are one doc; each of them for what asks for messages.
    """

    name = JOURNAL
    cheap_mark = True
    exact_mark = False
    settles_mark = True
    """Each write of ours takes a number of the catalog."""

    def __init__(
        self,
        store: TranscriptStore,
        zone: tzinfo,
        together: Callable[[Iterable[Turn]], Iterable[Exchange]] = in_exchanges,
    ) -> None:
        self._store = store
        self._zone = zone
        self._together = together

    def mark(self) -> str:
        """See `TranscriptStore.mark`: about 0.3 ms at 200,000 messages."""
        return self._store.mark()

    def count(self, since: Since) -> tuple[int, int]:
        """How many docs the messages are, and how many of them are filed. Raises: as `scan`."""
        known = since.stamps(f"{JOURNAL}:")
        turns = (self._store.list_turns(*each) for each in self._store.list_names())
        held = sum(1 for each in turns for _ in self._together(each))
        return held, sum(not ref.startswith(PREFIX) for ref in known)

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
        exchanges = [*self._together(self._store.list_turns(client, session))]
        refs = {ref_of(client, session, x.n): x.stamp for x in exchanges}
        wanted = [x for x, ref in zip(exchanges, refs, strict=True) if known.get(ref) != x.stamp]
        for some in reversed([*_runs(wanted)]):
            first, last = some[0].numbers[0], some[-1].numbers[-1]
            read = {x.n: x for x in self._store.read(client, session, first=first, last=last)}
            for exchange in reversed(some):
                # Read again since, it may be another line than its stamp was of: the next scan
                # sees that.
                if exchange.n in read:
                    said = [read[n] for n in exchange.numbers if n in read]
                    message = read[exchange.n]
                    yield Put(doc_of((client, session), message, said, exchange.stamp, self._zone))
        yield from (Drop(ref) for ref in sorted(known.keys() - refs.keys()))


def read_exchanges(store: SessionStore, refs: Collection[str], zone: tzinfo) -> Iterator[Doc]:
    """The messages of the exchanges filed under these refs, each by itself.

    Raises: Denied, Unavailable.
    """
    for client, session in sorted({each[:2] for ref in refs if (each := parse_ref(ref))}):
        for numbers, n, stamp in in_exchanges(store.list_turns(client, session)):
            if ref_of(client, session, n) in refs:
                for x in store.read(client, session, first=numbers[0], last=numbers[-1]):
                    if x.n in numbers:
                        yield doc_of((client, session), x, [x], stamp, zone)


def doc_of(
    session: tuple[str, str], message: Message, said: Sequence[Message], stamp: str, zone: tzinfo
) -> Doc:
    """What the index holds of a message, with those of a few words beside it.

    session: Its client and its name.
    """
    at = instant_of(message.at)
    kept = [x.kept for x in said if is_time(x.kept)]
    # What was not said yet at a time is not known then: later words of it count.
    written = kept if len(said) == 1 else [*kept, *(x.at for x in said)]
    return Doc(
        ref=ref_of(*session, message.n),
        journal=JOURNAL,
        kind=KIND,
        scope=message.cwd,
        at=at,
        text=_text_of(message, said),
        stamp=stamp,
        session="/".join(session),
        author=message.author,
        dated=render_date(local_date(at, zone)),
        written=instant_of(max(written)) if written else None,
        turn=message.n,
    )


def _text_of(message: Message, said: Sequence[Message]) -> str:
    """What a message says, and who says what beside it."""
    if len(said) == 1:
        return message.text
    texts = [f"{x.author}: {x.text.strip()}" for x in said]
    if said[0] is message:
        texts[0] = message.text.rstrip()
    return "\n\n".join(texts)


def _runs(exchanges: Sequence[Exchange]) -> Iterator[list[Exchange]]:
    """Exchanges in runs of neighbours, each read at once: none is long, and no gap is wide."""
    run: list[Exchange] = []
    for each in exchanges:
        if run and (each.numbers[0] - run[-1].numbers[-1] > _NEAR or len(run) == _AT_ONCE):
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def _folder_of(mark: str) -> str:
    return mark.partition(" ")[2]
