"""What a question leans to: the asker's project, and preferences where a task is asked for."""

from __future__ import annotations

from tests.cases import cases
from tests.search.conftest import one

from commonplace.core.values import Here
from commonplace.search import policy as numbers
from commonplace.search.boosts import Boost, of_elsewhere, states_standing
from commonplace.search.query_features import asks_task, read_features
from commonplace.search.rank import rank

HERE = Here(lambda place: place.startswith("/home/me/tides"), str)


def away(found, question):
    """Which of some candidates are of other projects than /home/me/tides."""
    return of_elsewhere(found, HERE, read_features(question)).tolist()


def test_what_is_of_another_project_is_told_apart_from_what_is_of_none(made):
    """The user's own notes and a section of the notebook belong to no project."""
    scopes = ["/home/me/tides", "/home/me/tides/src", "/home/me/pump", "user", "pump/errors"]
    found = made(*(one(scope=scope) for scope in scopes))
    assert away(found, "why is the cache cold?") == [False, False, True, False, False]


@cases(
    "question",
    ["what did we decide about the pump?", "Pump: why is the cache cold?"],
)
def test_a_question_that_names_another_project_leans_to_none(made, question):
    """By the last name of its folder, among other words."""
    found = made(one(scope="/home/me/tides"), one(scope="/home/me/pump"), one(scope="/work/api"))
    assert away(found, question) == [False, False, False]
    assert away(found, "why is the pumping slow?") == [False, True, True]


def test_a_factor_below_one_lowers_and_one_above_is_the_most_a_score_can_have(made):
    """Of two that fit alike the second is .9 of the first; raised by 1.5 the first is 1."""
    found = made(one(words=1.0), one(words=1.0))
    mask = found.keys == 1
    policy = numbers.Policy(meaning=0.5, words=0.5)
    features = read_features("pump")
    lower = rank(found, floor=0.1, policy=policy, features=features, boosts=[Boost(mask, 0.9)])
    assert lower.score.tolist() == [1.0, 0.9]
    higher = rank(found, floor=0.1, policy=policy, features=features, boosts=[Boost(mask, 1.5)])
    assert higher.score.tolist() == [0.666667, 1.0]


@cases(
    ("text", "states"),
    [
        ("Always use tabs.", True),
        ("Thanks! From now on answer in French", True),
        ("Please never push to main.", True),
        ("I prefer small commits, can you split this one?", True),
        ("I\u2019d rather have one file than ten", True),
        ("Prefers small commits.", True),
        ("Include the versions when I ask about libraries.", True),
        ("It was always slow in winter.", False),
        ("The pump never failed again.", False),
        ("I said that yesterday.", False),
        ("", False),
    ],
)
def test_a_text_states_what_is_wanted_for_good(text, states):
    """An instruction begins a clause with "always"; a tale has it further on."""
    assert states_standing(text) is states


@cases(
    ("question", "asks"),
    [
        ("write me a release note", True),
        ("Help me with the login form", True),
        ("How should I list my sources?", True),
        ("Which editor would you suggest I use?", True),
        ("I'm planning to add a search. Where do I begin?", True),
        ("Can you give me a summary of how my plans have developed?", False),
        ("When did we leave Postgres?", False),
        ("how did I fix the pump?", False),
        ("pump", False),
    ],
)
def test_a_question_asks_for_a_task(question, asks):
    """Not where it asks for what there was."""
    assert asks_task(question) is asks
