"""Encoders of other families find what was meant, and floors and the weak label hold for them."""

from __future__ import annotations

import pytest
from bench.retrieval_data import read_cjk, read_languages
from bench.retrieval_encoder import ENCODERS

from commonplace.core.errors import Unavailable
from commonplace.core.values import Filter
from commonplace.search import policy
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder, SearchQuestion
from commonplace_testing import OneSource, ReadySlot, a_doc
from commonplace_testing.in_memory import MemoryIndex

DIARY = {
    "The landlord raised the rent again, by eighty a month.": "does the flat cost more rent now",
    "Grandmother fell on the stairs and broke her hip.": "how did grandmother get hurt",
    "Fixed the race in the login handler with a mutex.": "concurrency bug during sign-in",
    "We adopted a grey kitten from the shelter.": "when did we get the cat",
    "My passport expires in June, so I sent off the form.": "renewing my passport",
    "The dishwasher leaked all over the kitchen floor.": "household appliance flooded a room",
    "Ran ten kilometres without stopping for the first time.": "a personal record in sport",
    "The dentist says the wisdom tooth has to come out.": "what did the dentist find",
    "Moved the nightly backups to the other data centre.": "where are our backups stored",
    "Planted tomatoes and basil on the balcony.": "growing vegetables at home",
    "Quarrelled with Tom about money; we did not speak all evening.": "a fight with Tom",
    "The train to Vienna was cancelled, so I took the night bus.": "how did I get to Vienna",
    "Gave my first talk at a conference, hands shaking.": "nervous about speaking in public",
    "The query took nine seconds until the column got an index.": "making a slow database faster",
    "Bread with rye and caraway turned out dense and sour.": "the bread I baked badly",
    "Slept four hours; the neighbours celebrated until dawn.": "kept awake by noise next door",
    "Finished the thriller about the lighthouse keeper.": "which book did I finish",
    "The tax office wants the receipts from two years ago.": "paperwork for the tax people",
    "Learned the first three chords on the guitar.": "practising a musical instrument",
    "The release was rolled back after customers saw empty carts.": "a deployment that broke the shop",
}
STRANGE = [
    "the mating calls of humpback whales",
    "medieval siege engines",
    "how stars form from gas clouds",
    "Brazil's coffee exports in the nineties",
    "rules of cricket",
    "the chemistry of fireworks",
    "the Ottoman succession",
    "coral reefs and rising acidity",
    "a recipe for Peking duck",
    "proof of Fermat's last theorem",
]


BGE, E5, USE = "bge-small-en-v1.5-8bit", "multilingual-e5-small-4bit", "use-multilingual-v3"


def open_or_skip(name, home):
    """An encoder of the bench; a skip where its package is not installed."""
    try:
        return ENCODERS[name](home)
    except Unavailable as exc:
        pytest.skip(str(exc))


class Search:
    """A finder over docs of one owner, filed and encoded."""

    def __init__(self, docs, encoder):
        slot = ReadySlot(encoder)
        index = MemoryIndex().of_owner("me")
        self.filing = Filing(
            index=index, sources=[OneSource(docs=docs)], encoder=slot, holder="test"
        )
        self.filing.catch_up()
        self._finder = Finder(index=index, encoder=slot, filing=self.filing)

    def find(self, text, *, floor=policy.RECALL_FLOOR, judging=policy.RECALL):
        return self._finder.find(
            SearchQuestion(text=text, where=Filter(), limit=10, floor=floor, policy=judging)
        )

    def first_ten(self, questions):
        return [[hit.doc.ref for hit in self.find(text).hits] for text in questions]


@pytest.fixture
def opened():
    """Opens searches, and closes each at the end."""
    made = []

    def open_search(docs, encoder):
        made.append(Search(docs, encoder))
        return made[-1]

    yield open_search
    for each in made:
        each.filing.close()


@pytest.fixture(params=[BGE, E5, USE])
def diary(request, opened, tmp_path):
    """The diary, filed with each encoder."""
    encoder = open_or_skip(request.param, tmp_path)
    docs = [a_doc(f"n:{place}", text, minutes=place) for place, text in enumerate(DIARY)]
    return opened(docs, encoder)


def share(of):
    of = list(of)
    return sum(map(bool, of)) / len(of)


@pytest.mark.design("002-10")
@pytest.mark.long
def test_the_entry_that_was_meant_comes_first(diary):
    """For three questions of five, though half of them share one word with it and half none."""
    found = diary.first_ten(DIARY.values())

    assert share(refs[0] == f"n:{place}" for place, refs in enumerate(found)) >= 0.6


@pytest.mark.long
def test_a_floor_keeps_what_is_related_and_drops_the_rest(diary):
    """Of bare E5 cosines, 0.7 and more, each would pass; so would those of bge."""

    def kept(text):
        found = diary.find(text, floor=policy.CHRONICLE_FLOOR, judging=policy.CHRONICLE)
        return [hit.doc.ref for hit in found.hits]

    related = [f"n:{place}" in kept(text) for place, text in enumerate(DIARY.values())]
    strange = sum(len(kept(text)) for text in STRANGE)

    assert share(related) >= 0.8
    assert strange <= len(STRANGE) * len(DIARY) * 0.05


@pytest.mark.long
def test_what_is_not_in_the_diary_is_a_weak_match(diary):
    """Most of what it knows nothing of is called weak, and little of what stands in it."""

    def is_weak(text):
        return diary.find(text).chance < policy.WEAK_CHANCE

    assert share(map(is_weak, STRANGE)) >= 0.6
    assert share(map(is_weak, DIARY.values())) <= 0.25


@pytest.mark.design("002-10")
@pytest.mark.long
@pytest.mark.parametrize("name", [E5, USE])
def test_chinese_and_japanese_are_found_by_meaning(name, opened, tmp_path):
    """Questions in other words than their answers: meaning finds clearly more than words alone."""
    (archive,) = read_cjk().archives
    questions = [one.text for one in archive.asked]

    asked = {
        which: opened(archive.docs, encoder).first_ten(questions)
        for which, encoder in (("meaning", open_or_skip(name, tmp_path)), ("words", None))
    }

    def found(which, *, within):
        answers = zip(archive.asked, asked[which], strict=True)
        return share(one.gold & set(refs[:within]) for one, refs in answers)

    for within in (1, 10):
        assert found("meaning", within=within) >= found("words", within=within) + 0.05
    assert found("meaning", within=1) >= 0.45


@pytest.mark.long
def test_english_entries_are_found_by_questions_in_other_languages(opened, tmp_path):
    """In German, French and Spanish nearly each; and most of what nothing answers is called weak."""
    halves = read_languages()
    search = opened(halves[0].archive.docs, open_or_skip(USE, tmp_path))

    def asked(one):
        found = search.find(one.text)
        refs = {hit.doc.ref for hit in found.hits}
        return bool(one.gold & refs), found.chance < policy.WEAK_CHANCE

    answered = [asked(one) for half in halves for one in half.archive.asked]
    strange = [asked(one) for half in halves for one in half.strange]

    assert share(found for found, _ in answered) >= 0.97
    assert share(weak for _, weak in answered) <= 0.04
    assert share(weak for _, weak in strange) >= 0.6
