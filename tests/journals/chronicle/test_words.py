"""Which entries bear every word of a question, in whatever form, in every layout and in a tree."""

from __future__ import annotations

import contextlib
import re
import runpy
import sqlite3
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.sampled import sampled

from commonplace.core.values import Interval
from commonplace.index.scoring.stems import folded_words
from commonplace.journals.chronicle.journal import ChronicleJournal
from commonplace.journals.chronicle.places import ChroniclePlace
from commonplace.journals.chronicle.words import Words

GOLDEN = runpy.run_path(str(Path(__file__).parents[2] / "golden" / "chronicle" / "make.py"))
NOW = datetime(2026, 11, 21, 23, 19, 45, tzinfo=UTC)


@pytest.fixture
def opened(tmp_path):
    """Opens chronicles over a place; all are closed at the end."""
    with contextlib.ExitStack() as closing:

        def open_(form="database", generation=None):
            path = tmp_path / "chronicle.db"
            if generation:
                GOLDEN["make"](generation, path)
            place = ChroniclePlace(path=path, form=form)
            made = ChronicleJournal(place, owner="me", zone=UTC, clock=lambda: NOW)
            closing.callback(made.close)
            return made

        yield open_


def borne(text, *messages):
    """Those of the messages that bear every word of the text."""
    return [messages[n] for n in Words(text).among(list(enumerate(messages)))]


@cases(
    ("text", "bears", "bears_not"),
    [
        ("deploy the api", "Deployed: the API", "deployed the web app"),
        ("go running", "went for a run", "ran"),
        ("ran", "running late", "rant"),
        ("met Ana", "meeting with Ana", "met Bo"),
        ("fix bug-fix", "fixed the bug-fix", "fixed the bug, a fix"),
        ("v2.1.0", "tagged v2.1.0.", "tagged v2.0.1"),
        ("café", "a CAFE in Paris", "a cafeteria"),
        ("cafe", "the Cafés", "coffee"),
        ("the", "the end", "an end"),
        ("部署", "我部署了服务", "服务"),
        ("don't", "I don't", "I do, t"),
        ("x\0y", "y and x", "xy"),
    ],
)
def test_an_entry_bears_every_word(text, bears, bears_not):
    """By stems, without case and accents; what is written as one is found as one."""
    assert borne(text, bears, bears_not) == [bears]


@cases("text", ["", " ", '"', "!?", "\ud800"])
def test_without_words_nothing_bears_them(text):
    """A question of signs alone counts nothing."""
    assert borne(text, "x", '"', "!?") == []


@sampled(30, 100, text=st.text(max_size=40), message=st.text(max_size=60))
def test_any_text_is_looked_for_in_any(text, message):
    """No text raises; every text with a word bears itself."""
    borne(text, message)
    if Words(text).phrases:
        assert borne(text, text) == [text]


@given(
    stem=st.sampled_from(["deploy", "relat", "happi", "sens", "siz", "tri", "hop", "conflat"]),
    ending=st.sampled_from(["", "e", "ed", "ing", "ional", "y", "ibility", "ies", "ment", "s"]),
    other=st.sampled_from(["", "e", "ed", "ing", "ation", "ily", "ible", "ied", "er", "es"]),
)
def test_what_is_passed_over_bears_them_not(stem, ending, other):
    """The first look asks for the beginning of a word; it never passes over one that counts."""
    text, message = stem + ending, stem + other
    if borne(text, message):
        assert Words(text).beginning in message


@pytest.mark.parametrize("generation", ["A", "B", "D1", "D2", "A then D2", "B then D"])
def test_each_generation_is_looked_through(opened, generation):
    """The newest first, and only inside the interval."""
    chronicle = opened(generation=generation)
    if not generation.startswith("D"):
        chronicle.upgrade()
    events = chronicle.list_events().events
    word = max(re.findall(r"\w+", events[0].message), key=len)
    mentions = chronicle.list_mentions(word)
    assert [x.ref for x in mentions] == [
        x.ref for x in events if word.lower() in x.message.lower().split()
    ]
    before = Interval(end=events[0].at - timedelta(microseconds=1))
    assert events[0].ref not in [x.ref for x in chronicle.list_mentions(word, within=before)]


def test_a_tree_is_looked_through(opened, tmp_path):
    """Its files hold the messages."""
    chronicle = opened(form="tree")
    for day, message in enumerate(["deployed the api", "lunch", "deploying the api"]):
        chronicle.add_event(message, at=NOW + timedelta(days=day))
    events = chronicle.list_events().events
    assert [x.ref for x in chronicle.list_mentions("deploy api")] == [events[0].ref, events[2].ref]


def test_where_nothing_was_logged_nothing_is_found(opened):
    """No file is made for a look."""
    chronicle = opened()
    assert chronicle.list_mentions("x") == []
    assert not chronicle.path.exists()


def test_rows_that_are_no_entries_are_passed_over(opened):
    """And messages that are no UTF-8 are read as far as they are."""
    chronicle = opened(generation="D2")
    with contextlib.closing(sqlite3.connect(chronicle.path)) as conn:
        insert = "INSERT INTO entries (id, timestamp, message) VALUES (?, ?, ?)"
        conn.execute(insert, ("t", "yesterday", "a zebra"))
        conn.execute(insert, ("", "2026-01-01 00:00:00", "a zebra"))
        conn.execute(insert, ("u", "2026-01-01 00:00:00", b"caf\xe9 zebra"))
        conn.execute(insert, ("n", "2026-01-02 00:00:00", 5))
        conn.commit()
    assert [x.ref for x in chronicle.list_mentions("zebra")] == ["chronicle:u"]
    assert [x.ref for x in chronicle.list_mentions("5")] == ["chronicle:n"]


def test_words_are_told_apart_as_the_index_does():
    """One way of cutting words: a count and a search agree on what is the same word."""
    ours = (files("commonplace.journals.chronicle") / "queries.sql").read_text("utf-8")
    index = Path(str(files("commonplace.index.sqlite")))
    theirs = "".join(x.read_text("utf-8") for x in index.iterdir() if x.suffix in {".sql", ".py"})
    cut = {text: set(re.findall(r"tokenize ?= ?'([^']+)'", text)) for text in (ours, theirs)}
    assert cut[ours] == cut[theirs]
    assert len(cut[ours]) == 1
    for text in ("Went for a RUN", "C++ v2.1.0", "Straße, café", "部署了", "don't", "x_y"):
        assert borne(text, folded_words(text)) == [folded_words(text)]
