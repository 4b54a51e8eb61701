"""Index files with a flipped bit or cut: no search shows what nobody wrote, and doctor sees it all."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing, contextmanager
from functools import partial

import pytest

from commonplace.core.values import Filter
from commonplace.index.sqlite import watermarks
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.search import policy
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder, SearchQuestion
from commonplace_testing import HashingEncoder, OneSource, ReadySlot, a_doc

PLACES = ("harbour", "station", "library", "airfield", "orchard", "market", "tower")
THINGS = ("quiet", "crowded", "closed", "flooded", "repaired", "painted", "sold", "lit", "cold")
QUESTIONS = ("quiet harbour", "which market was flooded", "the tower at night", "orchard")
DOCS = [
    a_doc(
        f"test:{number}",
        f"The {PLACES[number % 7]} was {THINGS[number % 9]}, as on day {number}.",
        minutes=60 * number,
        journal="test",
        scope=f"folder {number % 3}",
        tags=(THINGS[number % 9],),
        headings=("Notes",),
        session=f"week {number // 20}",
    )
    for number in range(140)
]
TEXTS = {doc.text for doc in DOCS}
PAGE = 8192
HEADER_NUMBERS = range(60, 72)
"""Where the header names schema and program: another number there is refused, and kept."""


class World:
    """One source, its index in a folder, and what finds in it."""

    def __init__(self, folder) -> None:
        self._index = SqliteIndex(lambda _owner: folder)
        self.index = self._index.of_owner("me")
        slot = ReadySlot(HashingEncoder())
        source = OneSource("test:all", DOCS)
        self.filing = Filing(index=self.index, sources=[source], encoder=slot, holder="test")
        self._finder = Finder(index=self.index, encoder=slot, filing=self.filing)

    def answers(self) -> list[list[tuple[str, str, float]]]:
        """What each question finds: refs, texts, scores."""
        return [
            [(hit.doc.ref, hit.doc.text, round(hit.score, 4)) for hit in self.find(text).hits]
            for text in QUESTIONS
        ]

    def find(self, text):
        """What a question finds, with what a reader must know of it."""
        asked = SearchQuestion(
            text=text,
            where=Filter(scopes=("folder 0", "folder 1")),
            limit=8,
            floor=0.1,
            policy=policy.PRIVATE,
        )
        return self._finder.find(asked)

    def newest(self):
        """The newest of all, with what a reader must know of it."""
        return self._finder.newest(Filter(), 5)

    def close(self) -> None:
        self.filing.close()
        self._index.close()


@pytest.fixture
def whole(tmp_path, monkeypatch):
    """A folder with an index of 100 docs in a matrix file and 40 beside it; and what it answers."""
    monkeypatch.setattr(watermarks, "TAIL_LEAST", 90)
    folder = tmp_path / "whole"
    with closing(World(folder)) as world:
        world.filing.catch_up()
        told = world.answers()
    assert all(told)
    assert len(list(folder.glob("*.matrix"))) == 1
    return folder, told


@contextmanager
def copied(folder, tmp_path, damage):
    """A world over a damaged copy of the files."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    damage(copy)
    try:
        with closing(World(copy)) as world:
            yield world
    finally:
        shutil.rmtree(copy)


def damaging(folder, chance):
    """A damage of one file, drawn by chance: a flipped bit, or a cut; and its name."""
    names = sorted(path.name for path in folder.iterdir() if path.suffix in {".db", ".matrix"})
    name = chance.choice(["index.db", *names])
    held = (folder / name).read_bytes()
    # Most of a page is free space, where a bit means nothing.
    used = [place for place in range(len(held)) if held[place]]
    if name == "index.db":
        used = [place for place in used if place not in HEADER_NUMBERS]
    place, bit = chance.choice(used), chance.randrange(8)

    def flip(copy):
        with (copy / name).open("r+b") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 1 << bit]))

    def cut(copy):
        os.truncate(copy / name, place)

    is_cut = chance.random() < 0.2
    return (cut if is_cut else flip), f"{'cut' if is_cut else 'flip'} {name} at {place}, bit {bit}"


@pytest.mark.parametrize(
    "rounds",
    [16, pytest.param(40, marks=pytest.mark.long), pytest.param(200, marks=pytest.mark.whole)],
)
def test_damage_is_seen_and_mended(whole, tmp_path, rounds, counted):
    """A search shows only what was written, doctor sees what alters an answer, repair restores it."""
    folder, told = whole
    chance = random.Random(16)
    for _ in range(rounds):
        damage, name = damaging(folder, chance)
        with copied(folder, tmp_path, damage) as world:
            seen = world.index.problems()
            assert all(problem.repairable for problem in seen), name
            world.index.repair()
            world.filing.catch_up()
            assert world.answers() == told, name
            assert world.index.problems() == [], name
        with copied(folder, tmp_path, damage) as world:
            answers = world.answers()
            assert {text for hits in answers for _, text, _ in hits} <= TEXTS, name
            assert seen or answers == told, name
    counted("index files with a flipped bit or cut", rounds)


@pytest.mark.parametrize(("file", "is_told"), [("index.db", True), ("*.matrix", False)])
def test_a_search_that_meets_damage_answers_from_the_journals(whole, tmp_path, file, is_told):
    """Tables are made again, and the answer says so; a matrix is read from them unasked."""
    folder, told = whole

    def half_gone(copy):
        (path,) = copy.glob(file)
        half = path.stat().st_size // 2
        with path.open("r+b") as opened:
            opened.seek(half)
            opened.write(b"\x5a" * half)

    with copied(folder, tmp_path, half_gone) as world:
        found = world.find(QUESTIONS[0])
        assert [hit.doc.text for hit in found.hits] == [text for _, text, _ in told[0]]
        assert any("made again from the journals" in note for note in found.notes) == is_told
        world.filing.catch_up()
        assert world.answers() == told


def page_gone(page, copy):
    """Write over one page of the index."""
    with (copy / "index.db").open("r+b") as opened:
        opened.seek(page * PAGE)
        opened.write(b"\x5a" * PAGE)


def test_a_look_at_the_newest_that_meets_damage_answers_from_the_journals(whole, tmp_path):
    """As a search does, whatever page is gone: the newest five, and a word where all is made again."""
    folder, _ = whole
    notes = set()
    for page in range(1, (folder / "index.db").stat().st_size // PAGE):
        with copied(folder, tmp_path, partial(page_gone, page)) as world:
            found = world.newest()
            assert [hit.doc.text for hit in found.hits] == [doc.text for doc in DOCS[:-6:-1]], page
            notes |= {*found.notes}
    assert any("made again from the journals" in note for note in notes)
