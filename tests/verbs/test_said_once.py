"""What an answer says outside of stored text it says once, in every journal."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from tests.journals.transcripts.sessions import said
from tests.verbs.recall_world import ask

from commonplace.verbs.answers import CAUTION, text_for_model, word_lines_of

_FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
LONG = "The harbour crane was oiled before the inspection of the northern quay"


@pytest.fixture
def app(world):
    """A few entries of the same subject in each journal, one of them replaced."""
    opened = world.open(COMMONPLACE_TOOLSETS="all", model=False)
    for number in range(3):
        ask(opened, "add_entry", message=f"{LONG}, time {number}.")
        ask(opened, "timeline_add", content=f"{LONG}, seen {number} times.")
        ask(opened, "process_thoughts", user_context=f"{LONG}, I think for the {number}. time.")
    session = [said(1000 + n, f"{LONG}, said turn {n} of it.") for n in range(3)]
    opened.transcripts.store.append("codex", "one", session)
    found = ask(opened, "recall", query="crane", journals=["chronicle"]).facts["results"]
    former = found[0]["ref"]
    ask(opened, "amend", ref=former, text=f"{LONG}, no longer.", supersede=True)
    return opened


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", {"query": "harbour crane"}),
        ("recall", {"query": "walnut of the moon"}),
        ("list_by_time", {}),
        ("search_journal", {"query": "harbour crane"}),
        ("list_recent_entries", {}),
        ("read_recent_entries", {}),
        ("search_entries", {"text": "harbour crane"}),
        ("timeline_search", {"query": "harbour crane"}),
        ("list_sessions", {}),
        ("read_session", {"ref": "transcripts:codex/one"}),
        ("open_ref", {"ref": "transcripts:codex/one#1"}),
    ],
)
def test_no_line_of_ours_stands_twice(app, tool, arguments):
    """Notes, warnings, and the sentence on fences, which stands above the first one."""
    text = text_for_model(ask(app, tool, **arguments))
    ours = Counter(line for line in _FENCE.sub("", text).splitlines() if line.strip())
    assert [line for line, count in ours.items() if count > 1] == []
    assert text.count(CAUTION) == (1 if "```" in text else 0)


def test_what_a_strange_word_means_is_said_of_the_first():
    """Each is marked all the same."""
    whole = "From the repository: it is not the user's own note."
    marked = [[], [whole], [], ["From the repository."]]
    assert word_lines_of(["own", "repository", "own", "repository"]) == marked
