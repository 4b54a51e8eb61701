"""What holds now: whether a later entry comes before the one whose place it takes, and is named.

Invented entries in five parts, two only to measure; never mixes them.
"""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bench.retrieval_data import Archive
from bench.retrieval_library import BenchJournal
from commonplace.core.clock import render_date
from commonplace.core.owner_folders import owner_folder
from commonplace.core.text import text_hash
from commonplace.core.values import Doc, Drop, Filter, Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.search import policy as numbers
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder, SearchQuestion
from commonplace_testing import ReadySlot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.retrieval_library import Library
    from commonplace.core.ports import Encoder
    from commonplace.core.values import Found, Hit
    from commonplace.search.policy import Policy

CASES = Path(__file__).with_name("now.json")
CASE_PARTS = ("tune", "again", "habits", "measure", "fresh")
"""`tune`, `again` and every other case of `habits` were tuned on; `measure` and `fresh` were not.
Those of `habits` and `fresh` were written by hands that had not read the rules."""
ABILITIES = ("knowledge_update", "contradiction_resolution")
_BEGAN = datetime(2026, 1, 1, 12, tzinfo=UTC)
_HERE, _ELSEWHERE = "/home/ada/here", "/home/ada/elsewhere"
_NOT_BESIDE = ("imported", "project")
"""Kinds whose entries say the opposite of others': they stand in no memory that is asked."""


class Case(Struct, frozen=True, kw_only=True):
    """A former entry, one that was written later, and whether that takes its place.

    kind: Why it does, or why not; an `imported` one is of an earlier time than the former.
    """

    part: str
    kind: str
    replaces: bool
    former: str
    later: str
    question: str

    def docs(self, number: int) -> tuple[Doc, Doc]:
        """Both entries; what takes a place is the newest of all."""
        days = 0 if self.kind == "imported" else 600 if self.replaces else 300
        scope = _ELSEWHERE if self.kind == "project" else _HERE
        return (
            _doc(f"former-{number}", self.former, 100 + number, _HERE),
            _doc(f"later-{number}", self.later, days + number / 1000, scope),
        )


class NowFigures(Struct, frozen=True, kw_only=True):
    """What a part of the cases came to, in numbers of cases.

    Attributes:
        asked: Questions about an entry whose place another took.
        first: Those whose newer entry is the first hit.
        before: Those whose newer entry stands before the former.
        said: Those whose former is shown with the newer as the later that speaks of the same.
        others: Entries that were shown beside one that does not take their place.
        wrong: Those of them that named it all the same.
        replacing: Writes that take the place of an entry.
        named: Those that name it.
        keeping: Writes that take no place.
        misled: Writes, of all, that name an entry whose place they do not take.
    """

    part: str
    asked: int
    first: int
    before: int
    said: int
    others: int
    wrong: int
    replacing: int
    named: int
    keeping: int
    misled: int

    @property
    def line(self) -> str:
        """The figures in a line."""
        return (
            f"{self.part}: the newer first {_of(self.first, self.asked)}, "
            f"before the former {_of(self.before, self.asked)}, "
            f"named {_of(self.said, self.asked)}, wrongly {_of(self.wrong, self.others)}; "
            f"may replace {_of(self.named, self.replacing)}, "
            f"wrongly {_of(self.misled, self.keeping + self.replacing)}"
        )


def _of(part: int, whole: int) -> str:
    return f"{part / whole:.3f} ({part} of {whole})"


def read_cases(part: str) -> list[Case]:
    """The cases of one part."""
    return [Case(**each) for each in json.loads(CASES.read_text("utf-8")) if each["part"] == part]


def measure_now(part: str, *, folder: Path, encoder: Encoder | None) -> NowFigures:
    """Ask and write all cases of one part. encoder: None for words alone."""
    cases = read_cases(part)
    first, before, said = _searched(cases, folder / "asked", encoder)
    others, wrong = _beside(cases, folder / "beside", encoder)
    named, misled = _written(cases, folder / "written", encoder)
    replacing = sum(case.replaces for case in cases)
    return NowFigures(
        part=part,
        asked=replacing,
        first=first,
        before=before,
        said=said,
        others=others,
        wrong=wrong,
        replacing=replacing,
        named=named,
        keeping=len(cases) - replacing,
        misled=misled,
    )


def _doc(name: str, text: str, days: float, scope: str) -> Doc:
    at = _BEGAN + timedelta(days=days)
    return Doc(
        ref=f"chronicle:{name}",
        journal="chronicle",
        kind="event",
        scope=scope,
        at=at,
        dated=render_date(at.date()),
        text=text,
        stamp=text_hash(text),
    )


class _Memory:
    """An index of some entries, with what files and finds in it; a context manager."""

    def __init__(self, docs: Sequence[Doc], folder: Path, encoder: Encoder | None) -> None:
        # Of entries that say the same the first stands for all.
        once = tuple({doc.text: doc for doc in reversed(docs)}.values())
        held = tuple(sorted(once, key=lambda doc: doc.at))
        self._open = SqliteIndex(lambda owner: folder / owner_folder(owner))
        self.refs = {doc.text: doc.ref for doc in held}
        self.index = self._open.of_owner("now")
        slot = ReadySlot(encoder)
        journal = BenchJournal(Archive(name="now", docs=held, asked=(), sessions={}))
        self.filing = Filing(index=self.index, sources=[journal], encoder=slot, holder="bench")
        self.filing.catch_up()
        self._finder = Finder(index=self.index, encoder=slot, filing=self.filing)

    def close(self) -> None:
        """Stop filing and let go of the index."""
        self.filing.close()
        self._open.close()

    def ask(self, text: str) -> Found:
        """As recall asks."""
        question = SearchQuestion(
            text=text,
            where=Filter(),
            limit=numbers.RECALL_LEAST,
            floor=numbers.RECALL_FLOOR,
            policy=numbers.RECALL,
        )
        return self._finder.find(question)


def _searched(cases: Sequence[Case], folder: Path, encoder: Encoder | None) -> tuple[int, int, int]:
    """How many newer entries are the first hit, before the former, and named at it."""
    docs = [
        doc
        for number, case in enumerate(cases)
        if case.kind not in _NOT_BESIDE
        for doc in case.docs(number)
    ]
    first = before = said = 0
    with closing(_Memory(docs, folder, encoder)) as memory:
        for case in cases:
            if case.replaces:
                hits = memory.ask(case.question).hits
                ranks = [hit.doc.ref for hit in hits]
                former, later = memory.refs[case.former], memory.refs[case.later]
                first += ranks[:1] == [later]
                before += later in ranks and later in ranks[: _place(ranks, former)]
                said += any(_names(hit, later) for hit in hits if hit.doc.ref == former)
    return first, before, said


def _beside(cases: Sequence[Case], folder: Path, encoder: Encoder | None) -> tuple[int, int]:
    """Of entries beside others that do not take their place, how many name one all the same."""
    keeping = [(number, case) for number, case in enumerate(cases) if not case.replaces]
    others = wrong = 0
    for number, case in keeping:
        former, later = case.docs(number)
        with closing(_Memory([former, later], folder / str(number), encoder)) as memory:
            hits = memory.ask(case.question).hits
            others += 1
            wrong += any(hit.later is not None for hit in hits if hit.doc.ref == former.ref)
    return others, wrong


def _written(cases: Sequence[Case], folder: Path, encoder: Encoder | None) -> tuple[int, int]:
    """How many writes name the entry whose place they take, and how many name another.

    Each is written beside all entries whose place any of them takes.
    """
    docs = [case.docs(number)[0] for number, case in enumerate(cases) if case.replaces]
    named = misled = 0
    with closing(_Memory(docs, folder, encoder)) as memory:
        for number, case in enumerate(cases):
            former, later = case.docs(number)
            own = memory.refs.get(case.former, former.ref)
            added = [x for x in (former,) if case.former not in memory.refs]
            memory.filing.file_edited([Put(x) for x in added])
            line = memory.filing.file([Put(later)]).proposal
            is_it = case.replaces and f"May replace {own}:" in line
            named += is_it
            misled += bool(line) and not is_it
            memory.index.apply([Drop(x.ref) for x in (later, *added)])
    return named, misled


def _place(ranks: Sequence[str], ref: str) -> int:
    return ranks.index(ref) if ref in ranks else len(ranks)


def _names(hit: Hit, later: str) -> bool:
    return hit.later is not None and hit.later.ref == later


def measure_updates(library: Library, policy: Policy) -> tuple[int, int, int]:
    """How many questions of chats ask for what changed, and how they are answered.

    Those that name one entry alone ask for no change.

    Returns:
        How many there are, have the newest evidence first of all hits, and before other evidence.
    """
    asked = first = before = 0
    for archive, one, found in library.answers(policy, ABILITIES):
        gold = [doc.ref for doc in archive.docs if doc.ref in one.gold]
        if len(gold) > 1:
            ranks = [hit.doc.ref for hit in found.hits]
            newest = gold[-1]
            asked += 1
            first += ranks[:1] == [newest]
            best = min(_place(ranks, ref) for ref in gold[:-1])
            before += newest in ranks[:best]
    return asked, first, before
