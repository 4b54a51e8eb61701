"""Which lines are open and which are decisions."""

from __future__ import annotations

from tests.cases import cases

from commonplace.core.brief_item import BriefItem
from commonplace.verbs.brief.service import (
    find_decided,
    find_distinct,
    find_open,
    find_settled,
    without,
)


def note(text, at=0.0, tags=()):
    return BriefItem(at, text, f"r:{at}", "note", tags)


@cases(
    "line",
    [
        "TODO: wire the bell",
        "- [ ] wire the bell",
        "* todo wire the bell",
        "Next step: wire the bell",
        "Open question: which bell?",
        "Blocked by the weather",
        "FIXME the bell",
    ],
)
def test_a_line_that_begins_so_is_open(line):
    """Whatever stands before and after it."""
    assert [x.text for x in find_open([note(f"It rains.\n{line}\nIt stops.")])] == [line]


@cases("line", ["The next ship is late.", "An opening", "Nextcloud", "todos"])
def test_a_line_that_only_holds_such_a_word_is_not(line):
    """The word must come first, and whole."""
    assert find_open([note(line)]) == []


def test_a_sentence_that_is_marked_so_is_open():
    """In capitals or with a colon, as models write it at the end of a note; the rest is not."""
    gauge = note("The gauge reports feet. TODO: convert it. Next: the east quay.")
    assert [x.text for x in find_open([gauge])] == ["TODO: convert it.", "Next: the east quay."]
    plain = note("It works. Next we eat. Todo lists are long. See TODO.md. TODO.md is old.")
    assert find_open([plain]) == []
    done = note("It holds. Done: convert it.", 2.0)
    assert [x.text for x in find_open([done, gauge])] == ["Next: the east quay."]
    assert [x.text for x in without([gauge], find_open([gauge]))] == ["The gauge reports feet."]


def test_what_was_done_since_is_not_open():
    """A later line that marks the same as done closes it; an earlier one does not."""
    newest_first = [
        note("- [x] bell", 3.0),
        note("TODO: bell\nTODO: rope", 2.0),
        note("done: rope"),
    ]
    assert [x.text for x in find_open(newest_first)] == ["TODO: rope"]
    assert [x.text for x in find_settled(newest_first)] == ["TODO: bell"]


def test_what_is_open_is_said_once():
    """As it was written last."""
    assert [x.at for x in find_open([note("TODO: bell", 2.0), note("- [ ] Bell", 1.0)])] == [2.0]


def test_tags_count_for_words():
    """Those of an event."""
    assert find_open([note("bell", tags=("todo",))])[0].text == "bell"
    assert find_decided([note("green", tags=("decision",))])[0].text == "green"


def test_of_a_note_the_sentences_that_decide_are_kept():
    """And no other."""
    text = "It rained. We decided on green paint. It dried.\nAgreed to close at 6."
    assert [x.text for x in find_decided([note(text)])] == [
        "We decided on green paint.",
        "Agreed to close at 6.",
    ]


def test_nothing_is_said_twice():
    """Neither in one part nor in two."""
    once = find_distinct([note("Green  paint", 2.0), note("green paint", 1.0)])
    assert [x.at for x in once] == [2.0]
    (left,) = without(
        [note("TODO: bell\nIt rains.", 1.0), note("a", 2.0)],
        [note("TODO: bell", 1.0), note("a", 2.0)],
    )
    assert left.text == "It rains."
