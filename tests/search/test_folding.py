"""Which hits are shown where no number of them was asked for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from commonplace.core.values import Doc, Found, Hit
from commonplace.search.folding import fitting

AT = datetime(2026, 3, 1, tzinfo=UTC)


def found(scores, *, chance=0.9, said=()):
    """Hits of these scores; said: what the last of them say."""
    texts = [*["the pump is loud"] * (len(scores) - len(said)), *said]
    return Found(
        hits=tuple(
            Hit(
                doc=Doc(
                    ref=f"chronicle:{n}", journal="chronicle", scope="", at=AT, text=text, stamp="s"
                ),
                score=score,
                by="words",
                similarity=None,
            )
            for n, (score, text) in enumerate(zip(scores, texts, strict=True))
        ),
        chance=chance,
    )


def numbers(hits):
    """The places of hits among all."""
    return [int(hit.doc.ref.partition(":")[2]) for hit in hits]


def test_what_scores_far_below_the_best_is_folded():
    """From .75 to .2; those that come near the best stay, however many they are."""
    hits = fitting(found([0.75, 0.7, 0.6, 0.5, 0.2, 0.2, 0.1]), "loud pump")
    assert numbers(hits) == [0, 1, 2, 3]
    assert len(fitting(found([0.75] * 20), "loud pump")) == 20


def test_of_a_weak_match_the_best_three_are_shown():
    """However near their scores lie."""
    assert numbers(fitting(found([0.5] * 10, chance=0.05), "loud pump")) == [0, 1, 2]


@pytest.mark.parametrize("word", ["a walnut tree", "Walnuts everywhere"])
def test_what_alone_has_a_word_of_the_question_is_never_folded(word):
    """In whatever form it has it; the next one with that word brings no more of the question."""
    hits = found([0.9, *[0.2] * 8], said=(word, "another walnut"))
    assert numbers(fitting(hits, "loud pump walnut")) == [0, 1, 2, 7]
    weak = found([0.9, *[0.2] * 8], chance=0.05, said=(word, "another walnut"))
    assert numbers(fitting(weak, "loud pump walnut")) == [0, 1, 2, 7]


def test_a_few_are_not_worth_a_line_that_says_so():
    """Two are shown."""
    assert len(fitting(found([0.9, 0.9, 0.9, 0.1, 0.1]), "loud pump")) == 5
