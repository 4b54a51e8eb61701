"""The law of forgetting, over random homes: what is named is gone everywhere, all else is as it was."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.doors.terminal import facts, opened_app, run
from tests.journals.transcripts.sessions import said

WORDS = ["anchor", "birch", "cellar", "dune", "ember", "ferry", "gravel", "heather"]
WRITES = {
    "private": ("private", "write"),
    "chronicle": ("log",),
    "timeline": ("timeline", "add"),
    "memory": ("memory", "save", "gratitude"),
}
ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(sorted(WRITES)),
        st.lists(st.sampled_from(WORDS), min_size=4, max_size=20),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


def place_of(number):
    """A word that one entry of a home alone has."""
    return f"xyzzy{number}q"


@pytest.mark.long
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(entries=ENTRIES, quoted=st.booleans())
def test_what_is_forgotten_is_nowhere_and_all_else_is_as_it_was(
    no_weights, counted, entries, quoted
):
    """No search, list, export or file has it; every other entry opens word for word as before."""
    for each in Path.home().iterdir():  # a home of its own for each example
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    texts, refs = [], []
    for number, (journal, words, _) in enumerate(entries):
        texts.append(" ".join([place_of(number), *words]))
        shown = facts(*WRITES[journal], texts[-1])
        refs.append(shown["refs"][0] if "refs" in shown else shown["ref"])
    if quoted:
        app = opened_app()
        messages = [said(number + 1, f"so: {text}") for number, text in enumerate(texts)]
        app.transcripts.store.append("claude-code", "5e0c-1", messages)
        app.close()
    run("recall", WORDS[0])
    before = {ref: facts("open", ref)["text"] for ref in refs}
    gone = [ref for ref, (_, _, goes) in zip(refs, entries, strict=True) if goes]
    if gone:
        assert facts("forget", *gone, "--yes")["clean"]
    files = [path.read_bytes() for path in Path.home().rglob("*") if path.is_file()]
    listed = {item["ref"] for item in facts("list", "-n", "100")["items"]}
    exported = run("chronicle", "export", "--json").stdout
    for number, ref in enumerate(refs):
        found = json.dumps(facts("recall", place_of(number))["items"])
        if ref in gone:
            assert ref not in listed
            assert place_of(number) not in found + exported
            assert not any(place_of(number).encode() in content for content in files)
        else:
            assert ref in listed
            assert facts("open", ref)["text"] == before[ref]
            assert place_of(number) in found
    counted("random memories from which entries are forgotten", 1)
