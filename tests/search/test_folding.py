"""Which hits are shown where no number of them was asked for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from commonplace.core.values import Doc, Hit
from commonplace.search.folding import few_of_a_session, fitting

AT = datetime(2026, 3, 1, tzinfo=UTC)


def found(scores, *, said=()):
    """Hits of these scores; said: what the last of them say."""
    texts = [*["the pump is loud"] * (len(scores) - len(said)), *said]
    return [
        Hit(
            doc=Doc(
                ref=f"chronicle:{n}", journal="chronicle", scope="", at=AT, text=text, stamp="s"
            ),
            score=score,
            by="words",
            similarity=None,
        )
        for n, (score, text) in enumerate(zip(scores, texts, strict=True))
    ]


def numbers(hits):
    """The places of hits among all."""
    return [int(hit.doc.ref.partition(":")[2]) for hit in hits]


def test_what_scores_far_below_the_best_is_folded():
    """From .75 to .2; those that come near the best stay, however many they are."""
    shown, less, _ = fitting(found([0.75, 0.7, 0.6, 0.5, 0.2, 0.2, 0.1]), "loud pump", 0.9)
    assert (numbers(shown), numbers(less)) == ([0, 1, 2, 3], [4, 5, 6])
    assert len(fitting(found([0.75] * 20), "loud pump", 0.9).hits) == 20


def test_of_a_weak_match_the_best_three_are_shown():
    """However near their scores lie."""
    assert numbers(fitting(found([0.5] * 10), "loud pump", 0.05).hits) == [0, 1, 2]


@pytest.mark.parametrize("word", ["a walnut tree", "Walnuts everywhere"])
@pytest.mark.parametrize("chance", [0.9, 0.05])
def test_what_has_a_rare_word_of_the_question_is_never_folded(word, chance):
    """In whatever form it has it; a word that three hits have, and the first of these, is none."""
    hits = found([0.9, *[0.2] * 8], said=(word, "another walnut"))
    assert numbers(fitting(hits, "loud pump walnut", chance).hits) == [0, 1, 2, 7, 8]
    hits = found([0.9, *[0.2] * 8], said=(word, "another walnut", "walnuts again"))
    assert numbers(fitting(hits, "loud pump walnut", chance).hits) == [0, 1, 2, 6]


@pytest.mark.parametrize(
    ("asked", "said", "has"),
    [
        ("id", "(id)", True),
        ("id", "void, idle and id_5, then ID", True),
        ("id", "void, idle, id_5 and éid", False),
        ("walnuts", "two walnutty ones", True),
        ("nuts", "walnuts", False),
        ("wal*", "walls", True),
        ("wal*", "narwals", False),
        ("木", "大木屋", True),
        ("café", "cybercafé", True),
    ],
)
def test_a_word_of_the_question_begins_a_word_of_the_text(asked, said, has):
    """A short one is a word of its own; one that is not of ASCII alone may stand anywhere."""
    hits = found([0.9, *[0.2] * 8], said=(said,))
    shown = numbers(fitting(hits, f"loud pump {asked}", 0.05).hits)
    assert shown == [0, 1, 2, *([8] if has else [])]


def test_a_few_are_not_worth_a_line_that_says_so():
    """Two are shown."""
    assert len(fitting(found([0.9, 0.9, 0.9, 0.1, 0.1]), "loud pump", 0.9).hits) == 5


def turns(*sessions, said=()):
    """Turns of these sessions, best first, from the fourth on of scores far below the best."""
    texts = [*["the pump is loud"] * (len(sessions) - len(said)), *said]
    scores = [0.9] * 3 + [0.4] * (len(sessions) - 3)
    return [
        replace(
            hit,
            doc=replace(hit.doc, kind="turn", journal="transcripts", session=session, text=text),
        )
        for hit, session, text in zip(found(scores), sessions, texts, strict=True)
    ]


LONG, OTHER = "codex/0199aaaa-1111", "claude-code/5e0cbbbb-2222"


def test_of_one_session_three_turns_are_shown():
    """The best; the others are folded, and no turn of another session is."""
    hits = turns(LONG, LONG, OTHER, LONG, LONG, OTHER, LONG)
    shown, less, folded = fitting(hits, "loud pump", 0.9)
    assert numbers(shown) == [0, 1, 2, 3, 5]
    assert (less, numbers(folded)) == ((), [4, 6])


def test_a_turn_that_fits_half_as_well_as_the_best_is_shown_beside_three():
    """Beside entries that fit less it would be missed; in a list no number of them is asked for."""
    hits = [replace(hit, score=0.45) if hit.score < 0.9 else hit for hit in turns(*[LONG] * 6)]
    assert len(fitting(hits, "loud pump", 0.9).hits) == 6
    assert numbers(few_of_a_session(hits, "loud pump").hits) == [0, 1, 2]


def test_a_turn_with_a_rare_word_of_the_question_is_shown_beside_three():
    """It alone has it."""
    shown, _, folded = fitting(turns(*[LONG] * 6, said=("a walnut",)), "pump walnut", 0.9)
    assert (numbers(shown), numbers(folded)) == ([0, 1, 2, 5], [3, 4])


@pytest.mark.parametrize(
    "question",
    [
        "what did I say about the pump",
        "the pump in our last session",
        "the pump in transcripts:codex/0199aaaa-1111",
        "the pump in session 0199aaaa",
    ],
)
def test_who_asks_for_a_session_is_given_its_turns(question):
    """By what was said in it, or by its name."""
    assert len(fitting(turns(*[LONG] * 6), question, 0.9).hits) == 6


def test_entries_that_no_client_kept_are_no_turns_of_a_session():
    """Messages of memory and entries of a thread stay, however many they are."""
    messages = [replace(x, doc=replace(x.doc, kind="message")) for x in turns(*[LONG] * 6)]
    assert len(fitting(messages, "loud pump", 0.9).hits) == 6
