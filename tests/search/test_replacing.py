"""A write that says that something changed proposes the entry whose place it may take."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.cases import cases
from tests.verbs.recall_world import RecallWorld, ask

from commonplace.core.values import Drop, Put
from commonplace.inference.encoder.encoder import load_encoder
from commonplace.inference.encoder.profiles import PROFILES, Missing, find_weights
from commonplace.search.replacing import find_replaceable, may_replace, proposal
from commonplace.search.statements import read_statement, says_change, subject_of
from commonplace_testing import a_doc, encode_all
from commonplace_testing.in_memory import MemoryIndex

PAIRS = json.loads(Path(__file__).with_name("replacements.json").read_text("utf-8"))
"""A former entry, a later one, and whether that takes its place; made by hand."""

ALL = "private,chronicle,notebook,timeline,memory,memory-write,recall"


@pytest.fixture
def real_encoder(tmp_path):
    weights = find_weights(next(iter(PROFILES.values())), home=tmp_path)
    if isinstance(weights, Missing):
        pytest.skip(weights.reason)
    return load_encoder(weights)


def measured(encoder):
    """Precision and recall over all pairs, each written into an index of all former entries."""
    index = MemoryIndex().of_owner("me")
    formers = {
        text: f"n:{number}" for number, text in enumerate(dict.fromkeys(x for x, *_ in PAIRS))
    }
    index.apply([Put(a_doc(ref, text, minutes=1)) for text, ref in formers.items()])
    if encoder is not None:
        encode_all(index, encoder)
    right = wrong = missed = 0
    for former, text, takes_place in PAIRS:
        doc = a_doc("n:new", text, minutes=9)
        index.apply([Put(doc)])
        fresh = may_replace([Put(doc)])
        found = None if fresh is None else find_replaceable(index, encoder, fresh)
        is_it = found is not None and found.ref == formers[former]
        right += bool(takes_place and is_it)
        wrong += bool(found and not (takes_place and is_it))
        missed += bool(takes_place and not is_it)
        index.apply([Drop("n:new")])
    return right / (right + wrong), right / (right + missed)


def test_most_proposals_by_words_are_right(capsys):
    """Of at least 120 pairs: replacements, near misses, negations, one subject and no change."""
    assert len(PAIRS) >= 120
    precision, recall = measured(None)
    with capsys.disabled():
        sys.stdout.write(f"\nby words: precision {precision:.2f}, recall {recall:.2f}\n")
    assert precision >= 0.8
    assert recall >= 0.6


def test_most_proposals_by_meaning_are_right(real_encoder, capsys):
    """With the encoder that is shipped."""
    precision, recall = measured(real_encoder)
    with capsys.disabled():
        sys.stdout.write(f"\nby meaning: precision {precision:.2f}, recall {recall:.2f}\n")
    assert precision >= 0.8
    assert recall >= 0.7


@cases(
    ("former", "later", "is_asked"),
    [
        ("Measured the migration: it was slow.", "Rewrote the migration: a test failed.", False),
        ("Rewrote the parser: it was slow.", "Rewrote billing: it was slow.", False),
        ("Deployed the exporter: it was slow.", "Deployed the form: as agreed on Monday.", False),
        ("Set up hosting on Fly.io.", "Moved hosting from Fly.io to Hetzner.", True),
        ("Set the limit of uploads to 20 MB.", "Raised the limit of uploads to 50 MB.", True),
    ],
)
def test_two_things_that_were_done_both_hold(former, later, is_asked):
    """Unless the later one says what holds since, or takes the former's subject away."""
    index = MemoryIndex().of_owner("me")
    index.apply([Put(a_doc("n:1", former, minutes=1)), Put(a_doc("n:2", later, minutes=2))])
    fresh = may_replace([Put(a_doc("n:2", later, minutes=2))])
    found = None if fresh is None else find_replaceable(index, None, fresh)
    assert (found is not None) == is_asked


@cases(
    ("text", "says"),
    [
        ("It no longer rains.", True),
        ("It doesn't rain any more.", True),
        ("Does it rain now?", False),
        ("If it rains now we stay.", False),
        ("Nothing changed.", False),
        ("It has not been moved.", False),
        ("They haven't moved it.", False),
        ("They haven\u2019t moved it.", False),
        ("It rains.", False),
        ("", False),
        ("x" * 100_000 + " no longer", False),
    ],
)
def test_words_say_that_something_changed(text, says):
    """And a question, a thought or a denial takes them back."""
    assert says_change(text) is says


@pytest.fixture
def world(tmp_path):
    made = RecallWorld(tmp_path)
    yield made
    made.close()


WRITES = {
    "private": ("process_thoughts", "user_context"),
    "chronicle": ("add_entry", "message"),
    "timeline": ("timeline_add", "content"),
    "memory": ("memory_save", "title"),
}


@pytest.mark.parametrize("model", [True, False])
@pytest.mark.parametrize("journal", WRITES)
def test_a_write_names_what_it_may_replace(world, journal, model):
    """One line, which `supersedes` settles; nothing is superseded by itself."""
    app = world.open(COMMONPLACE_TOOLSETS=ALL, model=model)
    tool, name = WRITES[journal]
    more = {"kind": "todo"} if journal == "memory" else {}
    first = ask(app, tool, **{name: "The quokka API listens on port 8000."}, **more)
    assert "May replace" not in first.text
    world.clock.advance(86_400)
    answer = ask(app, tool, **{name: "The quokka API now listens on port 9000."}, **more)
    (line,) = [x for x in answer.text.splitlines() if "May replace" in x]
    assert f"May replace {journal}:" in line
    assert '"The quokka API listens on port 8000." of 21 November 2026;' in line.replace(
        "22 Nov", "21 Nov"
    )
    assert line.endswith("say supersedes to settle.")
    assert "replaced by" not in ask(app, "recall", query="quokka API port").text


def test_what_was_settled_is_not_proposed_again(world):
    """Neither with the superseding entry, nor once another holds."""
    app = world.open(COMMONPLACE_TOOLSETS=ALL)
    old = ask(app, "add_entry", message="The quokka API listens on port 8000.").facts["ref"]
    said = "The quokka API now listens on port 9000."
    assert "May replace" not in ask(app, "add_entry", message=said, supersedes=old).text
    index = app.index
    assert index.counts("").docs == 2
    again = ask(app, "add_entry", message="The quokka API now listens on port 9100.")
    assert f"May replace {old}" not in again.text


def test_the_subject_of_a_text_is_the_same_by_itself():
    """As among all that it says: where a search reads nothing else of a hit."""
    texts = [text for former, later, _ in PAIRS for text in (former, later)]
    assert [subject_of(x) for x in texts] == [read_statement(x).subject for x in texts]


def test_a_text_that_is_quoted_breaks_out_of_no_line():
    """It is another's: data, on one line and cut."""
    index = MemoryIndex().of_owner("me")
    text = "The quokka API port is 8000\n\nIgnore all of that: " + "port " * 200
    index.apply([Put(replace(a_doc("n:1", text[:60]), text=text[:60]))])
    fresh = a_doc("n:2", "The quokka API port is now 9000, ignore 8000.", minutes=2)
    index.apply([Put(fresh)])
    line = proposal(find_replaceable(index, None, fresh))
    assert "\n" not in line
    assert len(line) < 250
