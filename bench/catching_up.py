"""How the first catch-up of a large foreign log goes: what a search meets, and its rate.

Never waits for all of it: rates are measured on slices, at its beginning and at its end.
"""

from __future__ import annotations

import threading
import time
from itertools import islice
from typing import TYPE_CHECKING

from bench.corpus import make_questions, make_texts
from bench.encoders import Wrapping
from bench.figures import Figure, Spread
from bench.homes import Home
from bench.logs import copied, foreign_home, seen_home
from bench.sessions import OURS, session
from commonplace.core.values import Drop, Put, Since
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.journals.chronicle.source import ChronicleSource
from commonplace.search import policy
from commonplace.search.filing.filing import Filing
from commonplace_testing import ReadySlot, a_doc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from commonplace.app import App
    from commonplace.core.ports import Encoder
    from commonplace.core.values import Vector

FIRST_S = 1.0
RATE_SHARE = 0.85
SILENCE_S = 1.0
_BEING_FILED = ("still being filed", "not filed yet")
_SLICE_S = 30.0
_HEARD_AT_ONCE = 512
_BETWEEN_SEARCHES_S = 0.2
_WRITE_WORDS = 120
_BATCHES_WAITED = 1.5
_WRITE_WAITS_MS = _SEARCH_WAITS_MS = 30.0


def catch_up_figures(
    cache: Path, scratch: Path, *, entries: int, first_searches: int, part: int
) -> Iterator[Figure]:
    """A server's first answers while it files words; then slices of the making of vectors."""
    yield from _answer_figures(cache, scratch, entries=entries, times=first_searches)
    home = copied(foreign_home(cache, entries), scratch / "catching-up")
    with home.opened() as app:
        beginning = Slice(_encoder(app), part)
        beginning.run(app)
    yield _silence_figure(beginning, entries=entries)
    yield _rate_figure(beginning, "begins", entries=entries)
    home = copied(seen_home(cache, entries), scratch / "catching-up")
    with home.opened() as app:
        _take_oldest_vectors(app, part)
        end = Slice(_encoder(app), part)
        end.run(app)
    yield _rate_figure(end, "ends", entries=entries)


def busy_figures(cache: Path, scratch: Path, *, entries: int, repetitions: int) -> Iterator[Figure]:
    """Writes and searches amid a first catch-up, beside those where there is none."""
    calm, busy = _Work(repetitions), _Work(repetitions)
    with Home(scratch / "calm").make().opened() as app:
        calm.do(app)
    home = copied(foreign_home(cache, entries), scratch / "busy")
    with home.opened() as app:
        app.filing.sweep()
        app.filing.start()
        identity = _encoder(app).identity
        before = app.index.counts(identity).pending
        while app.index.counts(identity).pending == before:
            time.sleep(_BETWEEN_SEARCHES_S)
        busy.do(app)
        assert app.index.counts(identity).pending, "The catch-up was over before the writes were."
    with Home(scratch / "calm").opened() as app:
        calm.do(app)
    note = "process_thoughts and search_entries in turns; the calm ones before and after."
    for name, took, floor, more_ms in (
        ("write", busy.writes, Spread.of(calm.writes), _WRITE_WAITS_MS),
        ("search", busy.searches, Spread.of(calm.searches), _SEARCH_WAITS_MS),
    ):
        yield Figure(
            name=f"a {name} while {entries:,} entries are caught up",
            unit="ms",
            measured=Spread.of(took),
            floor=floor,
            limit=floor.median + more_ms,
            rule=f"the same without + {more_ms:.0f} ms",
            note=note,
        )


def words_figure(scratch: Path, *, entries: int) -> Figure:
    """Writes of one entry into an index while the words of many are filed; one batch of those."""
    batches: list[float] = []
    amid: list[float] = []
    index = SqliteIndex(lambda _owner: scratch / "words")
    mine = index.of_owner("bench")
    puts = [
        Put(a_doc(f"log:{number}", text, minutes=-number))
        for number, text in enumerate(islice(make_texts(seed=12), entries))
    ]

    def apply(some: Sequence[Put], source: str, took: list[float]) -> None:
        began = time.perf_counter()
        mine.apply(some, source=source)
        took.append((time.perf_counter() - began) * 1000)

    def file(start: int, end: int) -> None:
        for first in range(start, end, policy.APPLY_BATCH):
            apply(puts[first : first + policy.APPLY_BATCH], "log", batches)

    file(0, entries // 4)
    floor = Spread.of(batches)
    filing = threading.Thread(target=file, args=(entries // 4, entries))
    filing.start()
    while filing.is_alive():
        apply([Put(a_doc(f"own:{len(amid)}", puts[0].doc.text))], "", amid)
        time.sleep(_BETWEEN_SEARCHES_S / 4)
    index.close()
    return Figure(
        name=f"a write into the index while {entries:,} are filed",
        unit="ms",
        measured=Spread.of(amid),
        floor=floor,
        limit=floor.median * _BATCHES_WAITED,
        rule=f"{_BATCHES_WAITED} x a batch of them",
        note=f"words alone; {len(amid)} writes, {max(amid):.0f} ms at most.",
    )


class _Work:
    """What a person does meanwhile: so many writes and searches, and how long each took, in ms."""

    def __init__(self, times: int) -> None:
        self.writes: list[float] = []
        self.searches: list[float] = []
        self._times = times
        self._texts = make_texts(seed=11, longest=_WRITE_WORDS)
        self._questions = iter(make_questions(10_000, seed=31))

    def do(self, app: App) -> None:
        write = app.private.toolset().tool("process_thoughts").call
        search = app.chronicle.toolset().tool("search_entries").call
        for _ in range(self._times):
            began = time.perf_counter()
            write({"reflections": next(self._texts)})
            written = time.perf_counter()
            time.sleep(_BETWEEN_SEARCHES_S)
            asked = time.perf_counter()
            search({"text": next(self._questions)})
            self.searches.append((time.perf_counter() - asked) * 1000)
            self.writes.append((written - began) * 1000)
            time.sleep(_BETWEEN_SEARCHES_S)


def _encoder(app: App) -> Encoder:
    encoder = app.encoder.get()
    assert encoder is not None
    return encoder


def _answer_figures(cache: Path, scratch: Path, *, entries: int, times: int) -> list[Figure]:
    """A real server on a home it never saw, asked as soon as it has told its tools."""
    firsts: list[float] = []
    others: list[float] = []
    filed_s = 0.0
    for number in range(times):
        home = copied(foreign_home(cache, entries), scratch / "first")
        questions = iter(make_questions(10_000, seed=31))
        with session(OURS, home) as server:
            server.initialize()
            server.list_tools()
            began = time.perf_counter()
            found, notes = False, [*_BEING_FILED]
            while not found or (number == times - 1 and _is_filing(notes)):
                asked = time.perf_counter()
                facts = server.call("search_entries", text=next(questions))
                answered = time.perf_counter()
                notes = facts["notes"]
                if found:
                    others.append(answered - asked)
                    filed_s = answered - began
                    time.sleep(_BETWEEN_SEARCHES_S)
                elif facts["entries"]:
                    firsts.append(answered - began)
                    found = True
    figures = [
        Figure(
            name=f"first word search with hits, {entries:,} foreign entries",
            unit="s",
            measured=Spread.of(firsts),
            floor=None,
            limit=FIRST_S,
            rule=f"{FIRST_S:.0f} s of asking",
            note="a new server on a log that no index has seen, asked right after tools/list.",
        )
    ]
    if others:
        figures += _other_figures(others, filed_s, entries=entries)
    return figures


def _is_filing(notes: Sequence[str]) -> bool:
    return any(said in note for note in notes for said in _BEING_FILED)


def _other_figures(others: list[float], filed_s: float, *, entries: int) -> list[Figure]:
    return [
        Figure(
            name=f"searches while {entries:,} foreign entries are filed",
            unit="s",
            measured=Spread.of(others),
            floor=None,
            limit=FIRST_S,
            rule=f"{FIRST_S:.0f} s",
            note=f"all words were filed {filed_s:.0f} s after the first question.",
        )
    ]


class Slice:
    """Watches a catch-up make so many vectors; the encoder alone is asked for the same meanwhile.

    told: (when, made, made and still to make). rates, alone: entries a second, piece by piece; what
    the bench itself takes does not count. It ends the catch-up by an error of its own.
    """

    def __init__(self, encoder: Encoder, entries: int) -> None:
        self.alone: list[float] = []
        self.told: list[tuple[float, int, int]] = []
        self.rates: list[float] = []
        self.made = 0
        self._hearing = _Hearing(encoder)
        self._encoder = encoder
        self._entries = entries
        self._paused = 0.0
        self._since: tuple[float, int] | None = None

    def run(self, app: App) -> None:
        """Catch up until the slice is made."""
        filing = Filing(
            index=app.index,
            sources=app.sources(),
            encoder=ReadySlot(self._hearing),
            holder="bench",
        )
        self._encoder.encode_passages(["warm"] * 8)
        self.told.append((self._now(), 0, 0))
        try:
            filing.catch_up(self._tell)
        except _Enough:
            return
        finally:
            filing.close()

    def silence(self) -> list[float]:
        """Seconds between the moments at which progress was told."""
        return [b[0] - a[0] for a, b in zip(self.told, self.told[1:], strict=False)]

    def _now(self) -> float:
        return time.perf_counter() - self._paused

    def _tell(self, made: int, left: int) -> None:
        now = self._now()
        assert (made, made + left) >= self.told[-1][1:], "progress went back"
        self.told.append((now, made, made + left))
        self.made = made
        if self._since is None:
            # The first batch of vectors begins somewhere in the filing of words.
            self._since = (now, made) if made else None
            self._hearing.texts.clear()
        elif len(self._hearing.texts) >= _HEARD_AT_ONCE:
            self._compare(now, made)
        if made >= self._entries or now - self.told[0][0] >= _SLICE_S:
            raise _Enough

    def _compare(self, now: float, made: int) -> None:
        """The rate of what was made since the last time, and of the encoder given the same."""
        assert self._since is not None
        self.rates.append((made - self._since[1]) / (now - self._since[0]))
        self._since = now, made
        texts, self._hearing.texts = self._hearing.texts, []
        began = time.perf_counter()
        self._encoder.encode_passages(texts)
        took = time.perf_counter() - began
        self.alone.append(len(texts) / took)
        self._paused += took


class _Enough(Exception):
    """The slice is made."""


class _Hearing(Wrapping):
    """An encoder that remembers what passages it was given."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self.texts: list[str] = []

    def encode_passages(self, texts: Sequence[str]) -> Vector:
        """As the encoder does; the texts are kept."""
        self.texts += texts
        return super().encode_passages(texts)


def _take_oldest_vectors(app: App, count: int) -> None:
    """Bring an index to the last so many entries of its catch-up, the oldest."""
    nothing_known = Since(mark=None, stamps=lambda _prefix: {})
    scan = ChronicleSource(app.chronicle.journal).scan(nothing_known)
    puts = [put for put in islice(scan, count) if isinstance(put, Put)]
    app.index.apply([Drop(put.doc.ref) for put in puts])
    app.index.apply(puts)


def _silence_figure(beginning: Slice, *, entries: int) -> Figure:
    silence = beginning.silence()
    group = Spread.of([policy.CHUNKS_AT_ONCE / rate for rate in beginning.alone])
    return Figure(
        name=f"between two tellings of progress, {entries:,} foreign entries",
        unit="s",
        measured=Spread.of([max(silence)]),
        floor=group,
        limit=group.median + SILENCE_S,
        rule=f"the encoding of one group + {SILENCE_S:.0f} s",
        note=f"the longest of {len(silence)} until the slice was made; the numbers only rose.",
    )


def _rate_figure(part: Slice, when: str, *, entries: int) -> Figure:
    floor = Spread.of(part.alone)
    return Figure(
        name=f"first catch-up {when}, {entries:,} foreign entries",
        unit="entries/s",
        measured=Spread.of(part.rates),
        floor=floor,
        limit=floor.median * RATE_SHARE,
        rule=f"{RATE_SHARE} x the encoder alone",
        at_least=True,
        note=f"a slice: the vectors of {part.made:,} entries; the encoder alone is given"
        " the same texts, many at once, between two batches.",
    )
