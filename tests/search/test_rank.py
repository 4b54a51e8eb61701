"""Ranking: each leg divided by its maximum, floors for meaning alone, priors, a fair label."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cases import cases
from tests.search.conftest import one

from commonplace.core.values import Interval
from commonplace.search import policy as numbers
from commonplace.search.policy import Likelihood, Policy, scale_of
from commonplace.search.query_features import (
    QueryFeatures,
    asks_for_all,
    asks_for_news,
    read_features,
)
from commonplace.search.rank import chance, rank
from commonplace_testing import START

EVEN = Policy(meaning=0.5, words=0.5, clear=0.0)
NO_FEATURES = QueryFeatures()


def scores(found, *, policy=EVEN, features=NO_FEATURES, least=0.1):
    """(row, score) best first."""
    ranking = rank(found, floor=least, policy=policy, features=features)
    return [(int(row), float(ranking.score[row])) for row in ranking.rows]


@pytest.mark.design("000-16")
def test_each_leg_is_divided_by_its_maximum_and_added(made):
    """0: .4/.8 and 4/4 → .25 + .5; 1: .8/.8 and 2/4 → .5 + .25; 2: .6/.8 → .375."""
    found = made(
        one(words=4.0, similarity=0.4), one(words=2.0, similarity=0.8), one(similarity=0.6)
    )
    assert scores(found) == [(1, 0.75), (0, 0.75), (2, 0.375)]
    ranking = rank(found, floor=0.1, policy=EVEN, features=QueryFeatures())
    assert (ranking.meaning[1], ranking.words[1]) == pytest.approx((0.5, 0.25))


def test_context_orders_and_the_cosine_itself_is_cut(made):
    """What neighbours lend counts for the score; a floor looks at the entry's own cosine."""
    found = made(one(similarity=0.05, nearness=0.9), one(similarity=0.3, nearness=0.4))
    assert scores(found) == [(1, 0.5)]


def test_a_floor_cuts_only_hits_by_meaning_alone(made):
    """A similarity below the floor drops a hit unless a word of the query stands in it."""
    found = made(one(similarity=0.05), one(similarity=0.05, words=1.0))
    ranking = rank(found, floor=0.1, policy=EVEN, features=QueryFeatures())
    assert list(ranking.rows) == [1]
    assert not ranking.near[1]


def test_without_vectors_words_make_the_whole_score(made):
    """When no candidate has a similarity, the best by words scores 1."""
    assert scores(made(one(words=1.5), one(words=3.0))) == [(1, 1.0), (0, 0.5)]


def test_words_of_neighbours_alone_are_a_hit_only_where_the_policy_says_so(made):
    """Without vectors, recall shows what stands beside a match, and a journal's search does not."""
    found = made(one(words=2.0), one(words=1.0, matched=False))
    assert scores(found) == [(0, 1.0)]
    lent = Policy(meaning=0.5, words=0.5, clear=0.0, lent=True)
    assert scores(found, policy=lent) == [(0, 1.0), (1, 0.5)]


def test_an_entry_without_a_vector_yet_is_judged_by_words_alone(made):
    """The only exact match is not ranked below noise because its vector is still being made."""
    assert scores(made(one(similarity=0.3), one(words=2.0))) == [(1, 1.0), (0, 0.5)]


def test_noise_is_not_blown_up_to_a_full_score(made):
    """With .4 as clear, a best cosine of .2 is half a match: .5 * .2 / .4; the exact word wins."""
    found = made(one(similarity=0.2), one(words=1.0, similarity=0.1))
    policy = Policy(meaning=0.5, words=0.5, clear=0.4)
    assert scores(found, policy=policy) == [(1, 0.625), (0, 0.25)]


def test_equal_scores_show_the_newer_first(made):
    """The order of equals does not depend on the order they came in."""
    found = made(one(words=1.0), one(words=1.0), one(words=1.0))
    assert [row for row, _ in scores(found)] == [2, 1, 0]


def test_priors_follow_each_other(made):
    """Row 0: (.5 + .2 for a time) * 1.5 named * 2 own = 2.1; the most is (1 + .2) * 3 = 3.6."""
    policy = Policy(meaning=0.5, words=0.5, clear=0.0, timed=0.2, named=1.5, own=2.0)
    found = made(one(words=1.0, timed=True, author="user"), one(words=2.0))
    features = read_features("When did I, user, do that?")
    assert scores(found, policy=policy, features=features) == [
        (0, round(2.1 / 3.6, 6)),
        (1, round(1 / 3.6, 6)),
    ]


def test_a_time_in_a_question_raises_what_lies_in_it_and_hides_nothing(made):
    """Three days around count as inside: of five like entries the middle three are raised."""
    noon = START + timedelta(days=10)
    days = [-4, -3, 0, 3, 4]
    found = made(*(one(words=1.0, minutes=24 * 60 * (10 + day)) for day in days))
    policy = replace(EVEN, inside=1.5, beside_days=3.0)
    minute = timedelta(minutes=1)
    preferred_time = Interval(start=noon, end=noon + minute)
    ranking = rank(
        found, floor=0.1, policy=policy, features=NO_FEATURES, preferred_time=preferred_time
    )
    assert ranking.rows.tolist() == [3, 2, 1, 4, 0]
    assert ranking.score.round(6).tolist() == [0.666667, 1.0, 1.0, 1.0, 0.666667]


@cases(
    ("question", "asks_time", "says_i"),
    [
        ("When did we move?", True, True),
        ("How long did the outage last?", True, False),
        ("What year was the rewrite?", True, False),
        ("Why did Postgres fail?", False, False),
        ("What did my team decide?", False, True),
        ("the island", False, False),
    ],
)
def test_cues_of_a_question(question, asks_time, says_i):
    """A time asked for, and the asker, by whole words."""
    features = read_features(question)
    assert (features.asks_time, features.says_i) == (asks_time, says_i)


@cases(
    ("text", "wanted"),
    [
        ("what happened", True),
        ("What did I do?", True),
        ("", True),
        ("what's new", True),
        ("what have I been working on", True),
        ("what did I deploy", False),
        ("work", False),
    ],
)
def test_a_question_for_everything(text, wanted):
    """Nothing is asked for but whatever there is."""
    assert asks_for_all(text) is wanted


@cases(
    ("text", "wanted"),
    [
        ("What's new?", True),
        ("any news", True),
        ("show the latest entries", True),
        ("what happened", True),
        ("what's new in postgres", False),
        ("who am I", False),
        ("new", False),
        ("", False),
    ],
)
def test_a_question_for_what_is_new(text, wanted):
    """It needs no time; one of words that mean nothing alone is still sought by them."""
    assert asks_for_news(text) is wanted


def test_a_name_is_a_cue_only_where_one_is_named():
    """All words of one author's name must stand in the question, and of no other's."""
    authors = ["Ann", "Bob Lee", "user"]
    assert read_features("What did bob lee paint?").named(authors) == 1
    assert read_features("What did Bob paint?").named(authors) == -1
    assert read_features("Did Ann meet Bob Lee?").named(authors) == -1
    assert read_features("Annabel?").named(authors) == -1


MINILM, BGE, E5 = "minilm-l6-v2:384:x", "bge-small-en-v1.5:384:x", "multilingual-e5-small:384:x"
USE = "use-multilingual-v3:512:x"
LIKELY = (Likelihood(ahead=6.8, backed=16.0, bias=-3.51),)


def test_a_weak_match_is_told_by_cosine_and_coverage(made):
    """1 / (1 + e^-(6.8 a + 16 b - 3.51)): a = .5 - .15 ahead of the tenth, b = .5 * .4."""
    found = made(
        *[one(similarity=0.2) for _ in range(7)],
        one(similarity=0.1),
        one(similarity=0.3, covered=0.5),
        one(similarity=0.5, covered=0.4),
        one(similarity=0.15, covered=1.0),
    )
    ranking = rank(found, floor=-1.0, policy=EVEN, features=NO_FEATURES)
    wanted = 1 / (1 + math.exp(-(6.8 * 0.35 + 16 * 0.2 - 3.51)))
    assert chance(found, ranking, LIKELY) == pytest.approx(wanted, abs=1e-6)
    words_only = made(one(words=1.0))
    ranking = rank(words_only, floor=0, policy=EVEN, features=NO_FEATURES)
    assert chance(words_only, ranking, LIKELY) is None


def test_the_first_entry_of_a_memory_may_be_a_strong_match(made):
    """Where fewer than ten entries are near, the tenth counts as one with nothing in common."""
    found = made(one(similarity=0.7, covered=0.1))
    ranking = rank(found, floor=-1.0, policy=EVEN, features=NO_FEATURES)
    wanted = 1 / (1 + math.exp(-(6.8 * 0.7 + 16 * 0.07 - 3.51)))
    assert chance(found, ranking, LIKELY) == pytest.approx(wanted, abs=1e-6)


def test_the_highest_of_several_likelihoods_counts(made):
    """By the nearest cosine alone, 1 / (1 + e^-(10 * .3 - 2)), where no word says anything."""
    found = made(one(similarity=0.3), *[one(similarity=0.28) for _ in range(9)])
    ranking = rank(found, floor=-1.0, policy=EVEN, features=NO_FEATURES)
    both = (*LIKELY, Likelihood(nearest=10.0, bias=-2.0))
    assert chance(found, ranking, both) == pytest.approx(1 / (1 + math.exp(-1.0)), abs=1e-6)


def test_meaning_alone_may_tell_across_languages():
    """Words say nothing where a question is in another language than what answers it."""
    one, both = (numbers.likelihoods(E5, across=across) for across in (False, True))
    assert not any(each.nearest for each in one)
    assert any(each.nearest and not each.backed for each in both)


def test_cosines_across_languages_are_judged_by_what_each_encoder_gives():
    """The nearest of what nothing answers is at .2 by one encoder, and a weak match there alone."""
    strange = {"ahead": 0.0, "backed": 0.0, "nearest": 0.2}

    def chance_of(name):
        return max(each.of(**strange) for each in numbers.likelihoods(name, across=True))

    assert chance_of(USE) < numbers.WEAK_CHANCE < chance_of(E5)


def test_a_chance_is_read_by_what_was_measured_of_its_encoder():
    """Of the same figures E5 and bge give more: 3 % of what chats answer are weak by each."""
    seen = {"ahead": 0.1, "backed": 0.05, "nearest": 0.5}
    of = {x: numbers.likelihoods(x, across=False)[0].of(**seen) for x in (MINILM, BGE, E5, "")}
    assert of[E5] > of[BGE] > of[MINILM] == of[""]
    assert of[E5] == pytest.approx(1 / (1 + math.exp(-(3.5 * 0.1 + 13.5 * 0.05 - 2.32))))


def test_few_words_of_another_language_weigh_less(made):
    """The best of .3 counts as half of .6: .25 by words, under .4 by meaning."""
    found = made(one(words=0.3, similarity=0.1), one(words=0.0, similarity=0.5, matched=False))
    assert [row for row, _ in scores(found)] == [0, 1]
    across = numbers.across_languages(EVEN)
    assert scores(found, policy=across) == [(1, 0.5), (0, pytest.approx(0.35))]
    full = made(one(words=0.9), one(words=0.3))
    assert scores(full, policy=across) == scores(full)


def test_cosines_of_every_encoder_are_read_on_one_scale():
    """E5 gives unrelated texts 0.75 and the same text 0.94, bge 0.4 and 0.93."""
    for name in ("minilm-l6-v2:384:mean:l2:53aa5117", USE):
        assert scale_of(name).of(0.4) == 0.4
    for name in ("e5-small-v2", "multilingual-e5-small"):
        scale = scale_of(f"{name}:384:mean:l2:00000000")
        assert [round(scale.of(x), 6) for x in (0.75, 0.845, 0.94)] == [0.0, 0.5, 1.0]
    scale = scale_of("bge-small-en-v1.5:384:cls:l2:828e1496")
    assert [round(scale.of(x), 6) for x in (0.4, 0.665, 0.93)] == [0.0, 0.5, 1.0]


ROWS = st.fixed_dictionaries(
    {"timed": st.booleans()},
    optional={
        "words": st.floats(0, 50, exclude_min=True),
        "similarity": st.floats(-1, 1),
        "author": st.sampled_from(["user", "Ann", "Bob"]),
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([{"timed": False, "words": 5e-324}], "x")
@example(
    [
        {"timed": True, "words": 1.192092896e-07},
        {"timed": True, "words": 5e-324},
        {"timed": False, "words": 1.0},
    ],
    "when did I",
)
@given(st.lists(ROWS, max_size=30), st.sampled_from(["when did I", "Ann?", "x"]))
def test_scores_lie_in_0_1_and_fall(made, rows, question):
    """For any figures, with every prior on: 0 <= score <= 1, highest first, the same twice."""
    found = made(*(one(**row) for row in rows))
    ranked = scores(found, policy=numbers.RECALL, features=read_features(question), least=-1.0)
    values = [score for _, score in ranked]
    assert all(0 <= score <= 1 for score in values)
    assert values == sorted(values, reverse=True)
    assert ranked == scores(
        found, policy=numbers.RECALL, features=read_features(question), least=-1.0
    )


def test_what_fits_the_time_that_was_asked_for_comes_first(made):
    """A day's summary before an entry as good, where a day was asked about; else after it."""
    found = made(one(words=1.0, kind="daily_rollup"), one(words=1.0, kind="raw"))
    fitting = replace(EVEN, fitting=1.25)
    plain = rank(found, floor=0.1, policy=fitting, features=NO_FEATURES)
    assert plain.rows.tolist() == [1, 0]
    asked = rank(found, floor=0.1, policy=fitting, features=NO_FEATURES, fitting=("daily_rollup",))
    assert asked.rows.tolist() == [0, 1]
    assert asked.score.tolist() == pytest.approx([1.0, 0.8])


@cases(
    ("days", "kinds"),
    [
        (1 / 48, ()),
        (1 / 24, ("hourly_rollup",)),
        (23 / 24, ("daily_rollup",)),
        (3, ("daily_rollup",)),
        (7, ("weekly_rollup",)),
        (28, ("monthly_rollup",)),
        (35, ("monthly_rollup",)),
        (365, ("yearly_rollup",)),
    ],
)
def test_the_largest_level_that_fills_a_span_fits_it(days, kinds):
    """A day of 23 hours is a day, five weeks are months."""
    start = datetime(2025, 2, 4, tzinfo=UTC)
    within = Interval(start=start, end=start + timedelta(days=days))
    assert numbers.fitting_kinds(within) == kinds
    assert numbers.fitting_kinds(Interval(start=start)) == ()


def test_a_kind_that_nobody_wrote_on_purpose_counts_for_less(made):
    """Of two that fit alike the written one is first; without that kind nothing changes."""
    rows = [one("a", words=2.0), one("b", words=1.0)]
    turn = one("c", words=2.0, kind="turn")
    lower = replace(EVEN, lower_kinds=(("turn", 0.75),))
    assert scores(made(*rows, turn), policy=lower) == [(0, 1.0), (2, 0.75), (1, 0.5)]
    assert scores(made(*rows), policy=lower) == scores(made(*rows))
    asks_said = read_features("what did we say about the pump?")
    assert scores(made(*rows, turn), policy=lower, features=asks_said)[0] == (2, 1.0)
    assert dict(numbers.RECALL.lower_kinds) == {"turn": numbers.TURN_FACTOR}
