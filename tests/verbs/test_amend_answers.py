"""The tool with which a model corrects what was written, by its ref, in any journal."""

from __future__ import annotations

import pytest
from tests.cases import cases
from tests.verbs.recall_world import ask

from commonplace.core.errors import Conflict, Invalid, NotFound


@pytest.fixture
def app(world):
    return world.open()


@pytest.fixture
def ref(app):
    return ask(app, "add_entry", message="the quokka sleeps").facts["ref"]


def test_new_text_takes_the_place_of_the_old(app, ref):
    """The answer names the ref that holds, and shows the former line and the new one as data."""
    answer = ask(app, "amend", ref=ref, text="the wombat digs")
    first, *quoted = answer.text.splitlines()
    assert first == f"Edited {ref}."
    assert quoted[1:3] == ["- the quokka sleeps", "+ the wombat digs"]
    assert quoted[0] == f"```{ref}"
    assert answer.facts == {"act": "edited", "ref": ref, "former": "", "notes": []}
    assert ask(app, "open_ref", ref=ref).facts["text"] == "the wombat digs"


def test_an_entry_that_held_once_stays_beside_the_one_that_holds(app, ref):
    """A model that opens the former is told which one took its place, first of all."""
    answer = ask(app, "amend", ref=ref, text="the wombat digs", supersede=True)
    new = answer.facts["ref"]
    first, *quoted = answer.text.splitlines()
    assert first == f"Wrote {new}. It takes the place of {ref}, which stays and names it."
    assert quoted[1:3] == ["- the quokka sleeps", "+ the wombat digs"]
    lines = ask(app, "open_ref", ref=ref).text.splitlines()
    assert lines[2] == f"No longer holds: {new} took its place."
    assert f"It took the place of {ref}." in ask(app, "open_ref", ref=new).text


def test_the_last_edit_is_taken_back(app, ref):
    """The answer shows what went and what stands there again."""
    ask(app, "amend", ref=ref, text="the wombat digs")
    answer = ask(app, "amend", ref=ref, undo=True)
    assert answer.text.splitlines()[2:4] == ["- the wombat digs", "+ the quokka sleeps"]
    assert ask(app, "open_ref", ref=ref).facts["text"] == "the quokka sleeps"


def test_an_entry_is_deleted(app, ref):
    """For good."""
    first, *quoted = ask(app, "amend", ref=ref, delete=True).text.splitlines()
    assert first == f"Deleted {ref}."
    assert quoted[1:2] == ["- the quokka sleeps"]
    with pytest.raises(NotFound):
        ask(app, "open_ref", ref=ref)


def test_of_a_long_text_what_changed_is_shown(app):
    """A line of each at the most, from where it differs."""
    lines = [f"line {n} {'far ' * 60}away" for n in range(9)]
    ref = ask(app, "add_entry", message="\n".join(lines)).facts["ref"]
    lines[4], lines[5] = lines[4].replace("away", "here"), "gone"
    answer = ask(app, "amend", ref=ref, text="\n".join(lines))
    quoted = answer.text.splitlines()[2:4]
    assert quoted == ["- ...away (and 1 more)", "+ ...here (and 1 more)"]


@pytest.mark.parametrize("given", [{"text": "too late"}, {"text": "too late", "supersede": True}])
def test_of_two_that_amend_what_they_read_one_does(app, ref, given):
    """`open_ref` shows the version; the other is told that the entry has changed since."""
    version = ask(app, "open_ref", ref=ref).facts["version"]
    assert f"Version: {version}" in ask(app, "open_ref", ref=ref).text.splitlines()
    ask(app, "amend", ref=ref, text="the wombat digs", version=version)
    for refused in (given, {"delete": True}):
        with pytest.raises(Conflict, match="has changed"):
            ask(app, "amend", ref=ref, version=version, **refused)
    assert ask(app, "open_ref", ref=ref).facts["text"] == "the wombat digs"


@cases(
    ("given", "message"),
    [
        ({}, "none of text, delete and undo was given"),
        ({"text": " \n"}, "none of text, delete and undo was given"),
        ({"text": "x", "delete": True}, "text and delete were given together"),
        ({"supersede": True, "delete": True}, "supersede and delete were given together"),
        ({"supersede": True}, "none of text, delete and undo was given"),
        ({"text": "x", "delete": "perhaps"}, "Invalid delete: 'perhaps'"),
    ],
)
def test_a_call_that_says_two_things_or_none_changes_nothing(app, ref, given, message):
    """The error names what was given, and the next step."""
    with pytest.raises(Invalid, match=message) as raised:
        ask(app, "amend", ref=ref, **given)
    assert raised.value.hint
    assert ask(app, "open_ref", ref=ref).facts["text"] == "the quokka sleeps"


def test_a_read_only_server_corrects_nothing(world):
    """The tool is not offered, as no other that writes."""
    app = world.open(COMMONPLACE_READ_ONLY="1")
    names = {tool.name for each in app.toolsets() for tool in each.tools}
    assert "open_ref" in names
    assert "amend" not in names
