"""What a plan finds by the index is what it finds by reading every journal."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.doors.terminal import facts, opened_app
from tests.journals.transcripts.sessions import said

SAYS = "the blue door behind the bakery opens with four seven one one and a kick"
ELSE = "the green gate beside the mill is never locked, so push it hard and walk in"


@pytest.fixture
def home(no_weights):
    """An entry in each journal that says it, one that says something else, and what quotes it."""
    refs = []
    for words in (("log",), ("timeline", "add"), ("memory", "save", "gratitude")):
        for text in (SAYS, ELSE, f"{SAYS} {ELSE}"):
            shown = facts(*words, text)
            refs.append(shown["refs"][0] if "refs" in shown else shown["ref"])
    facts("private", "write", SAYS.replace(" ", "\n"))
    facts("notebook", "write", "doors", SAYS)
    app = opened_app()
    messages = [
        said(1, "Which door is it?"),
        said(2, SAYS),
        said(3, "ok"),
        said(4, f"and then {ELSE} " * 9),
        said(5, f"as I said: {SAYS}"),
        said(6, "yes"),
        said(7, "café 天气 getUserName"),
    ]
    app.transcripts.store.append("claude-code", "5e0c-1", messages)
    app.filing.sweep()
    yield app, refs[0]
    app.close()


def found_by(app, ref):
    """What a plan names, in no order."""
    plan = app.forgetting().plan([ref])
    return sorted(
        [
            *((each.ref, each.text) for each in plan.entries),
            *((each.ref, each.text) for each in plan.others),
            *((each, "") for each in (*plan.remade, *plan.stays)),
        ]
    )


def found_slowly(ref):
    """The same where no index helps."""
    for index in Path.home().rglob("index"):
        if index.is_dir() and list(index.glob("*.db")):
            shutil.rmtree(index)
    app = opened_app()
    try:
        return found_by(app, ref)
    finally:
        app.close()


def test_the_index_leaves_nothing_out(home):
    """Of every journal; of turns that are filed together each by itself."""
    app, ref = home
    found = found_by(app, ref)
    assert sum(each.startswith("transcripts:") for each, _ in found) == 2
    assert len(found) >= 8
    app.close()
    assert found == found_slowly(ref)


def test_what_came_or_was_altered_since_it_was_filed_is_found(home):
    """A session that is not in the index yet, and a file of one that was edited by hand."""
    app, ref = home
    app.transcripts.store.append("claude-code", "5e0c-2", [said(20, f"again: {SAYS}")])
    for path in Path.home().rglob("5e0c-1.jsonl"):
        path.write_bytes(path.read_bytes().replace(b"getUserName", SAYS.encode()))
    found = found_by(app, ref)
    assert any(each.endswith("5e0c-1#7") for each, _ in found)
    assert any(each.startswith("transcripts:claude-code/5e0c-2") for each, _ in found)
    app.close()
    assert found == found_slowly(ref)
