"""The laws that every index keeps, as tests for those who add one.

Never imported by the product itself.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import Invalid
from commonplace.core.ports import (
    CountsJournals,
    CountsKinds,
    DatesRefs,
    FindsShortRefs,
    FollowsChains,
)
from commonplace.core.refs import short_number, short_ref
from commonplace.core.text import text_hash
from commonplace.core.values import (
    Asked,
    Doc,
    DocCount,
    Drop,
    Encoded,
    Filter,
    Interval,
    Put,
    Weighing,
    superseding_tag,
    superseding_tags,
)
from commonplace_testing.fakes import START, HashingEncoder, a_doc, encode_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from commonplace.core.ports import Encoder, Index, OwnerIndex
    from commonplace.core.values import Vector

_NOTED_LATE = 3
LINES = ("harbour gate", "quiet evening", "long road")

ALONE = Weighing(
    k1=1.2,
    b=0.75,
    b_turn=0.75,
    shortest=1,
    shortest_turn=1,
    before=0.0,
    after=0.0,
    following=0.0,
    scale=1.0,
    side=0,
    least=1.0,
    common=1.0,
    common_least=0,
    around=0,
    missing=0.0,
    missing_doc_frequency=1,
)
"""Every doc stands alone."""

TOGETHER = replace(
    ALONE, before=0.5, after=0.3, scale=80.0, side=8, least=0.02, common_least=30, around=2
)
"""Docs of one session lend each other context."""


class Seen(Struct, frozen=True, kw_only=True):
    """One candidate with its figures; None where there is none.

    Attributes:
        words: Its figure by words, where a word of the question stands in it.
        lent: Its figure by words with what its neighbours lend it.
    """

    doc: Doc
    words: float | None
    lent: float
    similarity: float | None
    nearness: float | None
    covered: float


def look(
    index: OwnerIndex,
    words: str,
    *,
    encoder: Encoder | None = None,
    vector: Vector | None = None,
    identity: str = "",
    where: Filter | None = None,
    limit: int = 10,
    weighing: Weighing = ALONE,
) -> dict[str, Seen]:
    """The candidates by words, and by meaning with an encoder or a vector; by ref, oldest first."""
    found = index.candidates(
        Asked(
            words=words,
            vector=lambda: vector if encoder is None else encoder.encode_query(words),
            identity=identity or ("" if encoder is None else encoder.identity),
            where=where or Filter(),
            limit=limit,
            weighing=weighing,
        )
    )
    keys = found.keys.tolist()
    docs = found.read(keys)
    seen: dict[str, Seen] = {}
    for row, key in enumerate(keys):
        seen[docs[key].ref] = Seen(
            doc=docs[key],
            words=float(found.words[row]) if found.matched[row] else None,
            lent=float(found.words[row]),
            similarity=_number(found.similarity[row]),
            nearness=_number(found.nearness[row]),
            covered=float(found.covered[row]),
        )
    assert len(seen) == len(keys)
    return seen


def _number(figure: float) -> float | None:
    return None if math.isnan(figure) else float(figure)


class IndexContract:
    """The laws of `core.ports.Index`, as tests: subclass it and give a fixture named `index`.

    ```python
    class TestMine(IndexContract):
        @pytest.fixture
        def index(self, tmp_path):
            index = MyIndex(tmp_path)
            yield index
            index.close()
    ```
    """

    encoder = HashingEncoder()

    def find(
        self, index: OwnerIndex, words: str, *, where: Filter | None = None, limit: int = 10
    ) -> dict[str, Seen]:
        """Candidates by words and meaning of the same text, by ref."""
        return look(index, words, encoder=self.encoder, where=where, limit=limit)

    def filled(self, index: Index, docs: Iterable[Doc], owner: str = "me") -> OwnerIndex:
        """The index of an owner with these docs and their vectors."""
        mine = index.of_owner(owner)
        mine.apply([Put(doc) for doc in docs])
        encode_all(mine, self.encoder)
        return mine

    def test_a_vector_may_be_late(self, index: Index) -> None:
        """It is asked for once, outside any transaction, so that others can write to the index."""
        mine = self.filled(index, [a_doc("a", "locks in the database")])
        asked: list[str] = []

        def encode() -> Vector:
            asked.append("once")
            mine.apply([Put(a_doc("b", "said while it was encoded"))])
            return self.encoder.encode_query("locks in the database")

        found = mine.candidates(
            Asked(
                words="nothing of it",
                vector=encode,
                identity=self.encoder.identity,
                where=Filter(),
                limit=10,
                weighing=ALONE,
            )
        )
        assert asked == ["once"]
        assert math.isclose(float(found.similarity.max()), 1.0, abs_tol=1e-6)

    def test_a_neighbour_lends_its_words(self, index: Index) -> None:
        """One of the same session counts as if the word stood there a little; no other does.

        Three docs of two words, the word in one: all lengths are the mean and the word is all that
        is asked, so BM25 is 2.2 tf / (tf + 1.2). The next doc has tf = .5 e^(-1/80), the third one
        .5 e^(-3/80).
        """
        docs = [a_doc(f"n:{i}", text, minutes=i, session="day") for i, text in enumerate(LINES)]
        mine = self.filled(index, [*docs, a_doc("n:9", "quiet evening", minutes=9)])
        found = look(mine, "harbour", weighing=TOGETHER)
        lent = [1.0, 0.5 * math.exp(-1 / 80), 0.5 * math.exp(-3 / 80)]
        wanted = [2.2 * tf / (tf + 1.2) for tf in lent]
        assert [round(each.lent, 4) for each in found.values()] == [round(x, 4) for x in wanted]
        assert [each.words is not None for each in found.values()] == [True, False, False]
        assert [each.covered for each in found.values()] == [1.0, 0.0, 0.0]

    def test_turns_and_what_stands_alone_are_weighed_each_among_their_own(
        self, index: Index
    ) -> None:
        """A word that is common in log lines and rare in a conversation tells most in the latter.

        Of the two turns one says "harbour", of the nine other docs eight do: beside "road", which
        one of each says, its share is ln 2 / (2 ln 2) = .5 among the turns, and less elsewhere.
        """
        turns = [
            a_doc("t:0", "harbour", minutes=0, session="talk", author="Ann"),
            a_doc("t:1", "road", minutes=1, session="talk", author="Ann"),
        ]
        alone = [a_doc(f"n:{i}", "harbour", minutes=9 + i) for i in range(8)]
        mine = self.filled(index, [*turns, *alone, a_doc("n:8", "road", minutes=30)])
        found = look(mine, "harbour road", limit=20)
        assert round(found["t:0"].covered, 4) == round(found["t:1"].covered, 4) == 0.5  # noqa: PLR2004  by hand
        harbour, road = math.log1p(1.5 / 8.5), math.log1p(8.5 / 1.5)
        assert round(found["n:0"].covered, 4) == round(harbour / (harbour + road), 4)

    def test_a_neighbour_lends_its_meaning(self, index: Index) -> None:
        """(own + sum of weight * neighbour's) / (1 + sum of weights); a later one lends .3."""
        docs = [a_doc(f"n:{i}", text, minutes=i, session="day") for i, text in enumerate(LINES)]
        mine = self.filled(index, docs[:2])
        found = look(mine, "harbour", encoder=self.encoder, weighing=TOGETHER)
        one, other = (found[ref].similarity or 0.0 for ref in ("n:0", "n:1"))
        weight = 0.3 * math.exp(-1 / 80)
        nearness = found["n:0"].nearness or 0.0
        assert abs(nearness - (one + weight * other) / (1 + weight)) < 1e-5  # noqa: PLR2004  float32

    def test_figures_are_as_if_what_is_outside_were_not_there(self, index: Index) -> None:
        """Neither a common word, nor a length, nor a neighbour outside the filter counts."""
        inside = [
            a_doc(f"n:{i}", text, minutes=2 * i, session="day", tags=("in",))
            for i, text in enumerate(LINES)
        ]
        outside = [
            a_doc(f"x:{i}", f"harbour and {i} more words", minutes=i, session="day")
            for i in range(9)
        ]
        mixed = self.filled(index, [*outside, *inside])
        alone = self.filled(index, inside, "alone")
        for weighing in (ALONE, TOGETHER):
            found = [
                look(
                    each,
                    "harbour road",
                    encoder=self.encoder,
                    where=Filter(tags=("in",)),
                    weighing=weighing,
                )
                for each in (mixed, alone)
            ]
            assert found[0] == found[1]

    def test_the_order_of_filing_does_not_matter(self, index: Index) -> None:
        """Docs of one instant stand by their turn, then their refs, whichever came first."""
        docs = [a_doc(f"n:{i}", text, session="day") for i, text in enumerate(LINES)]
        turned = [replace(each, turn=9 - i) for i, each in enumerate(docs)]
        mine = self.filled(index, turned, "d")
        assert list(look(mine, "harbour", weighing=TOGETHER)) == ["n:2", "n:1", "n:0"]
        mine.apply([Put(replace(docs[1], turn=10))])
        assert list(look(mine, "harbour", weighing=TOGETHER)) == ["n:2", "n:0", "n:1"]
        answers = [
            look(self.filled(index, order, name), "harbour", weighing=TOGETHER)
            for name, order in (("a", docs), ("b", docs[::-1]), ("c", docs[1:] + docs[:1]))
        ]
        assert list(answers[0]) == ["n:0", "n:1", "n:2"]
        assert answers[0] == answers[1] == answers[2]

    def test_the_doc_table_follows_what_comes_moves_and_leaves(self, index: Index) -> None:
        """Between two searches docs come at any time, move, change their session and go."""
        docs = [a_doc(f"n:{i}", text, minutes=i, session="day") for i, text in enumerate(LINES)]
        mine = self.filled(index, docs[:1])
        assert list(look(mine, "harbour", weighing=TOGETHER)) == ["n:0"]
        mine.apply([Put(docs[2]), Put(docs[1])])
        assert list(look(mine, "harbour", weighing=TOGETHER)) == ["n:0", "n:1", "n:2"]
        mine.apply([Put(replace(docs[1], at=START + timedelta(minutes=5)))])
        assert list(look(mine, "harbour", weighing=TOGETHER)) == ["n:0", "n:2", "n:1"]
        mine.apply([Drop("n:2"), Put(replace(docs[1], session="another"))])
        assert list(look(mine, "harbour", weighing=TOGETHER)) == ["n:0"]

    def test_the_date_is_searched_beside_the_text(self, index: Index) -> None:
        """A word of the date counts, yet no word of the doc's own matches."""
        mine = self.filled(index, [a_doc("n:1", "quiet day", dated="7 May 2023")])
        found = look(mine, "may")
        assert found["n:1"].words is None
        assert found["n:1"].lent > 0

    def test_what_a_doc_lacks_of_a_question_counts_for_more_among_many(self, index: Index) -> None:
        """As if two words more were lacking, each in two of the four docs; nothing to a whole one.

        "harbour" and "road" stand in two docs each, one of them in its date: an idf of ln 2 and
        half of the question each, and 2 ln 2 more is lacking: .5 / (1 + .5 * 2 ln 2 / (2 ln 2)).
        """
        texts = [("harbour", "road"), ("harbour", ""), ("quiet", "road"), ("quiet", "")]
        docs = [a_doc(f"n:{i}", text, dated=dated) for i, (text, dated) in enumerate(texts)]
        mine = self.filled(index, docs)
        weighing = replace(ALONE, missing=2.0, missing_doc_frequency=2)
        found = look(mine, "harbour road", encoder=self.encoder, weighing=weighing)
        assert [round(each.covered, 4) for each in found.values()] == [1.0, 0.3333, 0.3333, 0.0]

    def test_what_is_put_is_found_with_both_figures(self, index: Index) -> None:
        """A doc comes back whole, with its BM25 and its cosine."""
        doc = a_doc("n:1", "the quiet harbour", kind="note", headings=("Feelings",), tags=("sea",))
        doc = replace(doc, session="day", author="ann", dated="2 March", covers=("n:7",))
        mine = self.filled(index, [doc, a_doc("n:2", "a loud street")])
        found = self.find(mine, "harbour quiet")
        assert found["n:1"].doc == doc
        assert found["n:1"].words is not None
        assert found["n:1"].words > 0
        assert (found["n:1"].similarity or 0.0) > (found["n:2"].similarity or 0.0)
        assert found["n:2"].words is None

    def test_words_are_found_without_any_vector(self, index: Index) -> None:
        """Word search needs no encoder, and finds other forms of a word."""
        mine = index.of_owner("me")
        mine.apply([Put(a_doc("n:1", "we deployed the release"))])
        found = look(mine, "deploying", limit=5)
        assert list(found) == ["n:1"]
        assert found["n:1"].similarity is None

    def test_accents_and_other_scripts_are_found(self, index: Index) -> None:
        """Composed, decomposed and bare letters, sharp s, Chinese pairs and single signs."""
        texts = ["un caf\u00e9 noir", "nai\u0308f ideas", "die Stra\u00dfe", "今天天气很好"]
        mine = self.filled(index, [a_doc(f"n:{i}", text) for i, text in enumerate(texts)])
        sought = ["cafe", "cafe\u0301", "na\u00efve", "naif", "STRASSE", "天气", "气"]
        hits = [self._words(mine, word) for word in sought]
        assert hits == [{"n:0"}, {"n:0"}, set(), {"n:1"}, {"n:2"}, {"n:3"}, {"n:3"}]

    def test_no_text_raises(self, index: Index) -> None:
        """What is an operator to a search engine is a word here, or nothing."""
        mine = self.filled(index, [a_doc("n:1", "don't use C++ in foo-bar, see a:b")])
        hostile = ["don't", "C++", "foo-bar", "AND", '"', "a OR", "NEAR(", "*", "-x", "(a", "a:b"]
        hostile += ["\0", "\ud800", "^", "{", "", " ", "_", "'); DROP TABLE docs; --", "x" * 5000]
        for text in hostile:
            self.find(mine, text)
        assert set(self._words(mine, "foo-bar")) == {"n:1"}

    def test_an_outside_doc_never_displaces_an_inside_one(self, index: Index) -> None:
        """Filters come before the best are taken, for each kind of filter."""
        inside = a_doc("in", "harbour among other things", minutes=90, journal="a", scope="s")
        inside = replace(inside, kind="k", headings=("Technical Insights",), tags=("t",))
        others = [a_doc(f"out:{i}", "harbour", minutes=i) for i in range(20)]
        mine = self.filled(index, [inside, *others])
        later = Interval(start=START + timedelta(minutes=60))
        for where in (
            Filter(interval=later),
            Filter(journals=("a",)),
            Filter(scopes=("s", "elsewhere")),
            Filter(kinds=("k",)),
            Filter(headings=("technical_ins",)),
            Filter(tags=("u", "t")),
        ):
            found = self.find(mine, "harbour", where=where, limit=1)
            assert set(found) == {"in"}
            assert found["in"].words is not None
            assert found["in"].similarity is not None

    def test_tags_are_any_of_all_of_and_none_of(self, index: Index) -> None:
        """Plain tags ask for any, required ones for all, excluded ones for none."""
        docs = [
            a_doc("n:1", "harbour", tags=("sea", "work")),
            a_doc("n:2", "harbour", tags=("sea",)),
            a_doc("n:3", "harbour", tags=("work", "night")),
            a_doc("n:4", "harbour"),
        ]
        mine = self.filled(index, docs)
        for where, refs in (
            (Filter(tags=("sea", "night")), {"n:1", "n:2", "n:3"}),
            (Filter(required_tags=("sea", "work")), {"n:1"}),
            (Filter(excluded_tags=("sea",)), {"n:3", "n:4"}),
            (Filter(tags=("work",), excluded_tags=("night", "none")), {"n:1"}),
            (Filter(excluded_refs=("n:1", "n:4", "n:9")), {"n:2", "n:3"}),
            (Filter(tags=("sea",), required_tags=("work",)), {"n:1"}),
        ):
            assert set(self.find(mine, "harbour", where=where)) == refs

    def test_headings_match_folded_and_in_part(self, index: Index) -> None:
        """Case, spaces and underscores do not matter, and a part is enough; not across headings."""
        docs = [
            a_doc("n:1", "x", headings=("Technical Insights", "Feelings")),
            a_doc("n:2", "x", headings=("Project_Notes",)),
            a_doc("n:3", "x"),
        ]
        mine = self.filled(index, docs)
        asked = ["technical_insights", "FEEL", "project notes", "insights feelings", "notes\x1f"]
        found = [set(self.find(mine, "x", where=Filter(headings=(each,)))) for each in asked]
        assert found == [{"n:1"}, {"n:1"}, {"n:2"}, set(), {"n:2"}]

    def test_time_is_half_open_to_the_microsecond(self, index: Index) -> None:
        """The start belongs to a span and the end does not, inside one second and before 1970."""
        for start in (START, datetime(1969, 12, 31, 23, 59, 59, 999_990, tzinfo=UTC)):
            owner = start.isoformat()
            at = [start + timedelta(microseconds=i) for i in (7, 3, 5, 0, 9)]
            docs = [a_doc(f"n:{each.microsecond}", "tick", at=each) for each in at]
            mine = self.filled(index, docs, owner)
            span = Interval(start=min(at) + timedelta(microseconds=3), end=max(at))
            found = self.find(mine, "tick", where=Filter(interval=span))
            assert set(found) == {doc.ref for doc in docs if span.holds(doc.at)}

    def test_what_was_written_later_does_not_count(self, index: Index) -> None:
        """Asked as of an instant, every figure is that of an index that has nothing written later.

        The time that an entry is of decides nothing: it may be logged later, or ahead.
        """
        noon = START + timedelta(hours=12)
        early = [
            replace(a_doc(f"n:{i}", f"harbour {'tide ' * (i % 4)}x{i}", minutes=i), session="s")
            for i in range(12)
        ]
        early.append(replace(a_doc("n:ahead", "harbour of next week", minutes=9000), written=START))
        late = [
            replace(a_doc(f"m:{i}", f"harbour tide y{i}", minutes=i), written=noon, session="s")
            for i in range(1100)
        ]
        mine = self.filled(index, [*early, *late])
        then = self.filled(index, early, "other")
        where = Filter(written_before=noon)
        for words in ("harbour tide", "tide x3", "y5 nowhere"):
            found = self.find(mine, words, where=where, limit=5)
            expected = self.find(then, words, limit=5)
            assert list(found) == list(expected)
            for name in ("lent", "covered", "similarity", "nearness"):
                mine_now, mine_then = (
                    [getattr(each, name) or 0.0 for each in side.values()]
                    for side in (found, expected)
                )
                assert np.allclose(mine_now, mine_then)
        just_after = Filter(written_before=noon + timedelta(microseconds=1))
        assert "m:7" in self.find(mine, "y7", where=just_after)
        again = replace(late[7], written=noon + timedelta(microseconds=1))
        mine.apply([Put(again)])
        assert "m:7" not in self.find(mine, "y7", where=just_after)
        assert self.find(mine, "y7")["m:7"].doc == again

    def test_put_twice_is_once(self, index: Index) -> None:
        """The same change again alters nothing, and no vector is asked for again."""
        mine = self.filled(index, [a_doc("n:1", "harbour")])
        mine.apply([Put(a_doc("n:1", "harbour"))])
        counts = mine.counts(self.encoder.identity)
        assert (counts.docs, counts.pending) == (1, 0)
        assert set(self.find(mine, "harbour")) == {"n:1"}

    def test_each_kind_of_docs_is_tallied(self, index: Index) -> None:
        """Its docs, those that wait for a vector, when the latest was; a blank one never waits."""
        docs = [a_doc(f"n:{i}", "harbour", minutes=i) for i in (5, 9, 7)]
        docs.append(a_doc("n:6", "wood", kind="summary", minutes=6))
        mine = self.filled(index, [*docs, a_doc("l:1", "wood", journal="log", minutes=-3)])
        if not isinstance(mine, CountsKinds):
            return
        mine.apply([Put(a_doc("n:8", "later", minutes=8)), Put(a_doc("n:1", " "))])
        late, middle, early = (START + timedelta(minutes=minutes) for minutes in (9, 6, -3))
        assert mine.count_by_kind(self.encoder.identity) == [
            DocCount(journal="log", kind="entry", docs=1, pending=0, newest=early),
            DocCount(journal="notes", kind="entry", docs=5, pending=1, newest=late),
            DocCount(journal="notes", kind="summary", docs=1, pending=0, newest=middle),
        ]
        assert [each.pending for each in mine.count_by_kind("other:64:mean:l2:11111111")] == [
            1,
            4,
            1,
        ]
        empty = index.of_owner("bob")
        assert isinstance(empty, CountsKinds)
        assert empty.count_by_kind("") == []

    def test_the_docs_of_each_journal_are_counted(self, index: Index) -> None:
        """As they are after each change, whatever else was asked before."""
        docs = [a_doc("n:1", "harbour"), a_doc("n:2", "wood", kind="summary")]
        mine = self.filled(index, [*docs, a_doc("l:1", "wood", journal="log")])
        if not isinstance(mine, CountsJournals):
            return
        assert mine.count_by_journal() == {"notes": 2, "log": 1}
        mine.apply([Drop("n:1"), Drop("l:1"), Put(a_doc("n:3", "later"))])
        assert mine.count_by_journal() == {"notes": 2}
        empty = index.of_owner("bob")
        assert isinstance(empty, CountsJournals)
        assert empty.count_by_journal() == {}

    def test_a_dropped_doc_is_gone(self, index: Index) -> None:
        """Neither words nor meaning find it, its stamp is gone; dropping it again is nothing."""
        mine = self.filled(index, [a_doc("n:1", "harbour"), a_doc("n:2", "harbour")])
        mine.apply([Drop("n:1")])
        mine.apply([Drop("n:1")])
        assert set(self.find(mine, "harbour")) == {"n:2"}
        assert set(mine.known().stamps("")) == {"n:2"}

    def test_another_text_needs_another_vector(self, index: Index) -> None:
        """A changed text is found by its new words at once and waits for its vector."""
        mine = self.filled(index, [a_doc("n:1", "harbour")])
        mine.apply([Put(a_doc("n:1", "mountain"))])
        assert self._words(mine, "harbour") == set()
        assert self.find(mine, "mountain")["n:1"].similarity is None
        assert [each.text for each in mine.unencoded(self.encoder.identity, 5)] == ["mountain"]

    def test_what_is_not_text_may_change_under_the_vectors(self, index: Index) -> None:
        """Time, headings and tags change; the vector stays, and filters see the new values."""
        mine = self.filled(index, [a_doc("n:1", "harbour", tags=("old",))])
        moved = a_doc("n:1", "harbour", minutes=500, tags=("new",), headings=("Later",))
        mine.apply([Put(moved)])
        late = Interval(start=START + timedelta(minutes=499))
        found = self.find(mine, "harbour", where=Filter(interval=late, headings=("later",)))
        assert found["n:1"].doc == moved
        assert found["n:1"].similarity is not None
        assert self.find(mine, "harbour", where=Filter(tags=("old",))) == {}
        assert set(self.find(mine, "harbour", where=Filter(tags=("new",)))) == {"n:1"}

    def test_a_late_vector_is_passed_over(self, index: Index) -> None:
        """A vector of a text that has since changed, or of a dropped doc, is not filed."""
        mine = self.filled(index, [])
        vectors = self.encoder.encode_passages(["harbour"])
        late = [
            Encoded(ref=ref, text_hash=text_hash("harbour"), spans=((0, 7),), vectors=vectors)
            for ref in ("n:1", "n:gone")
        ]
        mine.apply([Put(a_doc("n:1", "mountain"))])
        mine.put_vectors(self.encoder.identity, late)
        assert mine.counts(self.encoder.identity).pending == 1

    def test_vectors_that_cannot_be_are_refused(self, index: Index) -> None:
        """NaN, other dimensions, a length other than 1, a span too many: Invalid, none filed."""
        mine = self.filled(index, [a_doc("n:1", "harbour"), a_doc("n:2", "wood")])
        mine.apply([Put(a_doc("n:3", "sea"))])
        good = self.encoder.encode_query("sea")
        for bad in (good * np.nan, good * 2, good[:32] / np.linalg.norm(good[:32]), good[:0]):
            self._refused(mine, bad[np.newaxis], spans=((0, 3),))
        self._refused(mine, good[np.newaxis], spans=((0, 1), (1, 3)))
        assert [each.ref for each in mine.unencoded(self.encoder.identity, 5)] == ["n:3"]

    def test_the_best_chunk_speaks_for_a_doc(self, index: Index) -> None:
        """A doc with many chunks appears once, as similar as the nearest of them."""
        long = " ".join(["filler"] * 600 + ["harbour"] * 200)
        mine = self.filled(index, [a_doc("n:long", long), a_doc("n:2", "wood")])
        found = self.find(mine, "harbour", limit=2)
        spans = self.encoder.split(long)
        chunks = self.encoder.encode_passages([long[start:end] for start, end in spans])
        nearest = float(np.max(chunks @ self.encoder.encode_query("harbour")))
        assert abs((found["n:long"].similarity or 0.0) - nearest) < 1e-5  # noqa: PLR2004  float32
        assert set(found) == {"n:long", "n:2"}

    def test_unencoded_are_newest_first_and_never_blank(self, index: Index) -> None:
        """The newest are encoded first; a text without words in it never asks for a vector."""
        docs = [a_doc(f"n:{i}", f"text {i}", minutes=i) for i in (2, 0, 3, 1)]
        mine = index.of_owner("me")
        mine.apply([Put(doc) for doc in [*docs, a_doc("n:blank", " \n\t", minutes=9)]])
        waiting = mine.unencoded(self.encoder.identity, 3)
        assert [each.ref for each in waiting] == ["n:3", "n:2", "n:1"]
        counts = mine.counts(self.encoder.identity)
        assert (counts.docs, counts.pending) == (5, 4)

    def test_encoders_are_never_mixed(self, index: Index) -> None:
        """A doc encoded by one encoder is waiting for another, and not compared by it."""
        mine = self.filled(index, [a_doc("n:1", "harbour")])
        assert mine.counts("other:64:mean:l2:11111111").pending == 1
        vector = self.encoder.encode_query("harbour")
        found = look(mine, "", vector=vector, identity="other:64:mean:l2:11111111", limit=5)
        assert found == {}

    def test_owners_never_see_each_other(self, index: Index) -> None:
        """What one owner files, no other finds, counts, lists or drops."""
        self.filled(index, [a_doc("n:1", "harbour")], "ann")
        other = self.filled(index, [a_doc("n:2", "harbour")], "Ann")
        other.apply([Drop("n:1")])
        assert set(self.find(other, "harbour")) == {"n:2"}
        assert set(self.find(index.of_owner("ann"), "harbour")) == {"n:1"}
        assert index.of_owner("bob").counts(self.encoder.identity).docs == 0

    def test_marks_and_stamps_are_kept(self, index: Index) -> None:
        """The mark of a source comes back, and stamps are listed under a prefix to the letter."""
        mine = index.of_owner("me")
        refs = ["a:1", "a:2", "a:\uffff\U0001f600", "a;", "A:1", "a:ä", "b:1"]
        changes = [Put(a_doc(ref, "x", stamp=f"stamp of {ref}")) for ref in refs]
        assert mine.known().marks == {}
        mine.apply(changes, source="src", mark="7")
        mine.apply([], source="other", mark="8")
        known = mine.known()
        assert known.marks == {"src": "7", "other": "8"}
        assert known.since("src").mark == "7"
        assert known.since("third").mark is None
        under = [ref for ref in refs if ref.startswith("a:")]
        assert known.stamps("a:") == {ref: f"stamp of {ref}" for ref in under}

    def test_what_was_read_before_another_mark_takes_that_one_back(self, index: Index) -> None:
        """Of its source alone; where there is no mark any more none comes back."""
        mine = index.of_owner("me")
        first, change = mine.known().since("src"), [Put(a_doc("n:1", "harbour"))]
        mine.apply([], source="other", mark="2")
        mine.apply([], source="src", mark="2")
        second = mine.known().since("src")
        mine.apply(change, source="src", since=second)
        assert mine.known().marks.get("src") == "2"
        mine.apply([], source="src", mark="3")
        mine.apply(change, source="src", since=second)
        assert mine.known().marks.get("src") == "2"
        mine.apply(change, source="src", since=first)
        assert mine.known().marks.get("src") is None
        mine.apply(change, source="src", since=second)
        assert [mine.known().marks.get(name) for name in ("src", "other")] == [None, "2"]

    def test_a_doc_is_found_by_what_it_supersedes_until_it_leaves(self, index: Index) -> None:
        """Though its text, its time and its encoder say nothing of it; the former says when."""
        mine = index.of_owner("me")
        new = replace(a_doc("n:2", "sea"), tags=("blue", *superseding_tags("n:1")))
        mine.apply([Put(a_doc("n:1", "sea", at=START)), Put(new), Put(a_doc("n:3", "sky"))])
        where = Filter(tags=(superseding_tag("n:1"), superseding_tag("n:3")))
        (found,) = self.find(mine, "sea", where=where).values()
        assert (found.doc.ref, found.doc.supersedes, found.doc.own_tags) == (
            "n:2",
            "n:1",
            ("blue",),
        )
        if isinstance(mine, DatesRefs):
            assert mine.dates_of(["n:1", "n:9"]) == {"n:1": START}
        mine.apply([Drop("n:2")])
        assert not self.find(mine, "sea", where=where)

    def test_a_ref_is_found_by_its_short_form(self, index: Index) -> None:
        """Of this owner alone, whatever signs it has; two that share one are both found."""
        mine, other = index.of_owner("me"), index.of_owner("you")
        if not isinstance(mine, FindsShortRefs):
            return

        def behind(ref: str) -> Sequence[str]:
            number = short_number(short_ref(ref))
            assert number is not None
            return mine.refs_behind(number)

        refs = ["n:1", "n:api/Fehlerkan\u00e4le#1", "n:plumless", "n:buckeroo"]
        mine.apply([Put(a_doc(ref, "sea")) for ref in refs])
        other.apply([Put(a_doc("n:2", "sea"))])
        assert [behind(ref) for ref in refs[:2]] == [[ref] for ref in refs[:2]]
        assert sorted(behind("n:plumless")) == ["n:buckeroo", "n:plumless"]
        assert not behind("n:2")

    def test_what_took_a_place_is_followed_to_the_last(self, index: Index) -> None:
        """Older successors first, a circle once, nothing written since, and of this owner alone."""
        mine, other = index.of_owner("me"), index.of_owner("you")
        if not isinstance(mine, FollowsChains):
            return
        former = {
            "n:2": "n:1",
            "n:3": "n:2",
            "n:4": "n:2",
            "n:6": "n:7",
            "n:7": "n:6",
            "n:9": "n:8",
        }
        day = timedelta(days=1)
        docs = [
            replace(
                a_doc(f"n:{n}", "sea", at=START + n * day),
                tags=superseding_tags(former.get(f"n:{n}", "")),
                written=START + 30 * day if n == _NOTED_LATE else None,
            )
            for n in range(10)
        ]
        mine.apply([Put(doc) for doc in docs])
        if isinstance(other, FollowsChains):
            assert not other.links_from(["n:1"])
        assert [*mine.links_from(["n:1", "n:0"])] == [
            ("n:1", "n:2"),
            ("n:2", "n:3"),
            ("n:2", "n:4"),
        ]
        assert {*mine.links_from(["n:6"])} == {("n:6", "n:7"), ("n:7", "n:6")}
        assert [*mine.links_from(["n:1"], before=START + 4 * day)] == [("n:1", "n:2")]
        assert not mine.links_from(["n:4", "n:9", ""])

    def test_a_refused_change_undoes_the_whole_call(self, index: Index) -> None:
        """A call with an instant without a time zone files none of its docs and no mark."""
        mine = index.of_owner("me")
        naive = a_doc("n:2", "x", at=START.replace(tzinfo=None))
        try:
            mine.apply([Put(a_doc("n:1", "x")), Put(naive)], source="s", mark="1")
        except Invalid:
            assert mine.counts("e").docs == 0
            assert mine.known().marks.get("s") is None
        else:
            raise AssertionError("An instant without a time zone was taken.")

    def _words(self, index: OwnerIndex, words: str) -> set[str]:
        return {ref for ref, each in self.find(index, words).items() if each.words is not None}

    def _refused(
        self, index: OwnerIndex, vectors: Vector, *, spans: tuple[tuple[int, int], ...]
    ) -> None:
        bad = Encoded(ref="n:3", text_hash=text_hash("sea"), spans=spans, vectors=vectors)
        try:
            index.put_vectors(self.encoder.identity, [bad])
        except Invalid:
            return
        raise AssertionError(f"Vectors of shape {vectors.shape} were taken.")
