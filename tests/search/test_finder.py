"""The finder: what it refuses, what it says of its own limits, and what it hands to the judgement."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from hypothesis import strategies as st
from tests.cases import cases
from tests.patience import PATIENCE_S
from tests.sampled import sampled

from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.values import Filter, Interval, superseding_tag
from commonplace.search import policy
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder, SearchQuestion
from commonplace_testing import START, HashingEncoder, OneSource, ReadySlot, a_doc
from commonplace_testing.in_memory import MemoryIndex


class Search:
    """A finder over an index in memory and one source."""

    def __init__(self, docs=(), *, slot=None):
        self.index = MemoryIndex().of_owner("me")
        self.source = OneSource(docs=docs)
        self.slot = slot or ReadySlot(HashingEncoder())
        self.filing = Filing(
            index=self.index, sources=[self.source], encoder=self.slot, holder="test"
        )
        self.filing.catch_up()
        self.finder = Finder(index=self.index, encoder=self.slot, filing=self.filing)

    def find(self, text, *, limit=10, floor=0.1, **where):
        question = SearchQuestion(
            text=text, where=Filter(**where), limit=limit, floor=floor, policy=policy.PRIVATE
        )
        return self.finder.find(question)

    def refs(self, text, **rest):
        return [hit.doc.ref for hit in self.find(text, **rest).hits]


@pytest.fixture
def search():
    made = []

    def open_search(docs=(), **rest):
        made.append(Search(docs, **rest))
        return made[-1]

    yield open_search
    for each in made:
        each.filing.close()


def test_questions_of_many_users_are_encoded_by_the_same_threads(search):
    """Each is open still; a thread of each would stay after its user's journals are closed."""
    for _ in range(3):
        search().find("harbour")
    names = [x.name for x in threading.enumerate() if x.name.startswith("query_")]
    assert names
    assert len(names) == len({*names})


class AsksOnce:
    """Whom a finder asks about refs; fails where it is asked about one again."""

    def __init__(self):
        self.asked = []

    def __call__(self, refs):
        assert {*self.asked}.isdisjoint(refs)
        self.asked += refs
        return {}

    above = __call__


class FollowsOnce:
    """An index that fails where it is asked a second time what took the place of entries."""

    def __init__(self, index):
        self._index = index
        self.asked = 0

    def links_from(self, refs, *, before=None):
        assert not self.asked
        self.asked += 1
        return self._index.links_from(refs, before=before)

    def __getattr__(self, name):
        return getattr(self._index, name)


def test_of_each_entry_a_question_asks_once(search):
    """What it went into, and what replaced it: also where what holds now is put before others."""
    docs = [a_doc("n:1", "harbour light"), a_doc("n:2", "harbour wall"), a_doc("n:3", "harbour")]
    later = a_doc("n:4", "harbour lamp", minutes=1, tags=(superseding_tag("n:1"),))
    mine = search([*docs, later])
    lineage, replaced, index = AsksOnce(), AsksOnce(), FollowsOnce(mine.index)
    finder = Finder(
        index=index,
        encoder=mine.slot,
        filing=mine.filing,
        lineage=lineage,
        replaced=replaced,
    )
    question = SearchQuestion(
        text="harbour light", where=Filter(), limit=4, floor=0.0, policy=policy.PRIVATE
    )
    hits = finder.find(question).hits
    assert [hit.doc.ref for hit in hits if hit.replaces] == ["n:4"]
    assert {*lineage.asked} >= {hit.doc.ref for hit in hits} <= {*replaced.asked, "n:1"}
    assert index.asked


@cases("text", ["", " ", "\n\t", "\u3000"])
def test_a_blank_query_is_refused(search, text):
    """Nothing asked is no question."""
    with pytest.raises(Invalid, match="blank"):
        search().find(text)


def test_a_document_is_no_question(search):
    """10,000 characters are taken, one more is refused with both numbers."""
    mine = search([a_doc("n:1", "harbour")])
    mine.find("harbour " + "x" * 9_992)
    with pytest.raises(Invalid, match=r"10,001 characters. Use at most 10,000"):
        mine.find("x" * 10_001)


def test_without_an_encoder_words_answer_and_say_why(search):
    """The hits are by words alone, the highest score is 1, and the reason is a note."""
    mine = search(
        [a_doc("n:1", "harbour"), a_doc("n:2", "wood")],
        slot=ReadySlot(reason="The weights are on holiday."),
    )
    found = mine.find("harbour")
    assert [(hit.doc.ref, hit.by, hit.similarity, hit.score) for hit in found.hits] == [
        ("n:1", "words", None, 1.0)
    ]
    assert found.notes == ("Searched by words alone: The weights are on holiday.",)


class NamedEncoder(HashingEncoder):
    """One that goes by the name of a published model."""

    def __init__(self, name):
        self.identity = f"{name}:64:mean:l2:00000000"


def test_another_language_than_the_encoders_is_said_once(search):
    """An English model, a German question: one note in a session, that names the others."""
    mine = search([a_doc("n:1", "harbour")], slot=ReadySlot(NamedEncoder("minilm-l6-v2")))
    assert mine.find("where is the harbour light").notes == ()
    (note,) = mine.find("Wo ist das Licht im Hafen?").notes
    assert "minilm-l6-v2" in note
    assert "`commonplace model use use-multilingual-v3`" in note
    assert "multilingual-e5-small" in note
    assert mine.find("Wer war am Hafen?").notes == ()


def test_a_multilingual_encoder_says_nothing_of_languages(search):
    """It is there already; and by words alone the reason for that is said, nothing else."""
    for name in ("multilingual-e5-small", "use-multilingual-v3"):
        mine = search([a_doc("n:1", "ship")], slot=ReadySlot(NamedEncoder(name)))
        assert mine.find("Wo ist das Licht im Hafen?").notes == ()
    words = search([a_doc("n:1", "harbour")], slot=ReadySlot(reason="The weights are away."))
    assert words.find("Wo ist das Licht im Hafen?").notes == (
        "Searched by words alone: The weights are away.",
    )


def test_an_encoder_that_fails_at_the_query_leaves_the_words(search):
    """Out of memory in the middle of a question: words find, and a note says so."""

    class Exhausted(HashingEncoder):
        def encode_query(self, text):
            raise Unavailable("There is not enough memory.")

    slot = ReadySlot(HashingEncoder())
    mine = search([a_doc("n:1", "harbour")], slot=slot)
    slot.encoder = Exhausted()
    found = mine.find("harbour")
    assert [(hit.doc.ref, hit.by) for hit in found.hits] == [("n:1", "words")]
    assert found.notes[0].startswith("Searched by words alone: ")
    assert "memory" in found.notes[0].lower()


@pytest.mark.design("000-16", "002-31")
def test_the_floor_cuts_meaning_and_never_words(search):
    """At a floor that no cosine reaches, only what shares a word is found."""
    docs = [a_doc("n:1", "harbour light ship sail water"), a_doc("n:2", "harbour_light")]
    mine = search(docs)
    assert set(mine.refs("ship", floor=-1.0)) == {"n:1", "n:2"}
    found = mine.find("ship", floor=1.0)
    assert [(hit.doc.ref, hit.by) for hit in found.hits] == [("n:1", "words")]


@pytest.mark.design("000-48")
def test_scores_lie_in_the_unit_and_fall(search):
    """Highest first, each in [0, 1], each the sum of its legs."""
    docs = [a_doc(f"n:{i}", "harbour " * i + "wood " * (9 - i)) for i in range(10)]
    hits = search(docs).find("harbour wood", floor=-1.0).hits
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    for hit in hits:
        assert 0.0 <= hit.score <= 1.0 + 1e-9
        assert hit.score == pytest.approx(sum(hit.legs.values()))


def test_filters_narrow_before_anything_is_ranked(search):
    """Time, scope and heading each keep the only fitting one of many better matches."""
    inside = a_doc(
        "in", "a harbour among other things", minutes=90, scope="s", headings=("Feelings",)
    )
    mine = search([inside, *(a_doc(f"out:{i}", f"harbour {i}") for i in range(300))])
    later = Interval(start=START + timedelta(minutes=60))
    for where in ({"interval": later}, {"scopes": ("s",)}, {"headings": ("feel",)}):
        assert mine.refs("harbour", limit=1, **where) == ["in"]
    assert mine.refs("harbour", interval=Interval(end=START)) == []


def test_the_same_text_is_one_hit_that_names_its_twins(search):
    """Of near-duplicates the newest stands for all when they score alike."""
    text = "the harbour was quiet at dawn and every ship slept"
    docs = [a_doc(f"n:{i}", text, minutes=i) for i in range(3)]
    hits = search([*docs, a_doc("n:other", "a harbour of wood")]).find("quiet dawn harbour").hits
    assert [hit.doc.ref for hit in hits] == ["n:2", "n:other"]
    assert set(hits[0].also) == {"n:0", "n:1"}


@pytest.mark.design("000-06", "001-65")
def test_a_search_finds_what_another_program_just_wrote(search):
    """Asking files it first."""
    mine = search([a_doc("n:1", "harbour")])
    mine.source.put(a_doc("n:2", "harbour wood"))
    assert set(mine.refs("harbour")) == {"n:1", "n:2"}


class Slow(HashingEncoder):
    """Makes no vector of a text before it is let."""

    def __init__(self):
        super().__init__()
        self.may = threading.Event()

    def encode_passages(self, texts):
        self.may.wait(PATIENCE_S)
        return super().encode_passages(texts)


def test_what_waits_for_its_vector_is_told(search, monkeypatch):
    """An encoder that comes late: words find all, and a note counts what meaning misses."""
    monkeypatch.setattr(policy, "VECTORS_WAIT_S", 0.0)
    slot = ReadySlot()
    mine = search([a_doc(f"n:{i}", f"harbour {i}") for i in range(3)], slot=slot)
    slot.encoder = Slow()
    found = mine.find("harbour")
    slot.encoder.may.set()
    assert len(found.hits) == 3
    assert found.notes == ("3 entries wait for their vector; words find them.",)


@pytest.mark.design("000-52", "000-54")
def test_a_hit_shows_the_part_that_was_asked_for(search):
    """200 characters around the words of the query, `...` where it is cut."""
    text = "filler " * 100 + "the harbour at dawn " + "filler " * 100
    excerpt = search([a_doc("n:1", text)]).find("harbour dawn").hits[0].excerpt
    assert excerpt.startswith("...")
    assert excerpt.endswith("...")
    assert "harbour at dawn" in excerpt
    assert len(excerpt) <= 206


HOSTILE = st.text(st.characters(categories=None), max_size=60) | st.lists(
    st.sampled_from(
        ['"', "*", "(", ")", "NEAR", "AND", "OR", "NOT", "^", "-", ":", "a", "\0", "'"]
    ),
    max_size=12,
).map(" ".join)


@sampled(40, 150, text=HOSTILE)
def test_no_text_breaks_a_search(search_of_many, text):
    """Any text is a question or refused as blank; nothing else happens."""
    try:
        found = search_of_many.find(text, floor=-1.0)
    except Invalid:
        assert not text.strip()
    else:
        assert all(hit.doc.ref.startswith("n:") for hit in found.hits)


@pytest.fixture
def search_of_many(search):
    return search([a_doc(f"n:{i}", text) for i, text in enumerate(["a harbour", "今天", "\0", ""])])


def test_warming_up_answers_nothing_and_raises_nothing(search):
    """With an encoder and without one."""
    mine = search([a_doc("n:1", "harbour")])
    mine.finder.warm()
    search([a_doc("n:1", "harbour")], slot=ReadySlot()).finder.warm()
    assert mine.refs("harbour") == ["n:1"]


@pytest.mark.parametrize(("is_faster", "first"), [(True, "encoded"), (False, "asked")])
def test_an_index_that_answers_sooner_is_asked_after_the_encoder(search, is_faster, first):
    """Of one that takes longer the words are looked up while the question is encoded."""
    order = []
    asked = threading.Event()

    class Noting(HashingEncoder):
        def encode_query(self, text):
            if not is_faster:
                assert asked.wait(PATIENCE_S)
            order.append("encoded")
            return super().encode_query(text)

    class NotingIndex:
        def __init__(self, index):
            self._index = index
            self.faster_than_encoding = is_faster

        def candidates(self, question):
            order.append("asked")
            asked.set()
            return self._index.candidates(question)

    mine = search([a_doc("n:1", "harbour")])
    mine.slot.encoder = Noting()
    finder = Finder(index=NotingIndex(mine.index), encoder=mine.slot, filing=mine.filing)
    question = SearchQuestion(
        text="harbour", where=Filter(), limit=1, floor=0.1, policy=policy.PRIVATE
    )
    assert [hit.doc.ref for hit in finder.find(question).hits] == ["n:1"]
    assert order[0] == first
