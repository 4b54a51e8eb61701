"""Secrets outside the text: in tags, titles, names, metadata and drafts none is written or missed."""

from __future__ import annotations

import json

import pytest
from tests.app.test_app import opened  # noqa: F401  a fixture
from tests.app.test_secrets import SECRET, holders, written_ref

from commonplace.core.errors import Invalid
from commonplace.doors.doctor.secret_repair import repair_secrets
from commonplace.doors.doctor.secrets import find_secrets
from commonplace.journals.chronicle.event import EventDraft
from commonplace.journals.transcripts.message import Message

DEEP = {"a": [{"b": {"c": [SECRET]}}]}
NAME = {"a": {SECRET: "the kestrel's"}}
PASSWORD = "Kestrel" + "!77"
BELOW_ITS_NAME = {"db": {"password": PASSWORD, "user": "ada"}}
PLACES = {
    "tag": ("chronicle", "add_entry", {"message": "It flew.", "tags": ["work", SECRET]}),
    "context": ("chronicle", "remember_this", {"activity": "It flew.", "context": SECRET}),
    "metadata": ("timeline", "timeline_add", {"content": "It flew.", "metadata": DEEP}),
    "metadata's name": ("timeline", "timeline_add", {"content": "It flew.", "metadata": NAME}),
    "title": ("memory-write", "memory_save", {"kind": "journal", "title": SECRET, "body": "It."}),
    "draft": (
        "memory-write",
        "memory_save",
        {"kind": "journal", "title": "It", "body": SECRET, "is_draft": True},
    ),
    "role": ("memory-write", "memory_save", {"kind": "preference", "language": SECRET}),
    "flag": ("memory-write", "memory_save", {"kind": "preference", "flags": {"x": DEEP}}),
    "flag's name": ("memory-write", "memory_save", {"kind": "preference", "flags": {SECRET: 1}}),
    "summary": (
        "notebook",
        "journal_write",
        {"path": "a/b", "entry": "It.", "overview": "It.", "summary": SECRET},
    ),
    "kind of work": (
        "notebook",
        "journal_write",
        {"path": "a/b", "entry": "It.", "overview": "It.", "work_context": SECRET},
    ),
}
REPAIRED = [name for name in PLACES if PLACES[name][0] != "notebook"]


def written(app, place):
    """What a write says that has the secret in a place."""
    toolset, name, arguments = PLACES[place]
    return app.toolset(toolset).tool(name).call(arguments)


def test_a_secret_outside_the_text_is_replaced(opened, tmp_path, subtests):  # noqa: F811
    """No file holds it, and the answer says it."""
    app = opened()
    for place in PLACES:
        with subtests.test(place=place):
            answer = written(app, place)
            assert holders(tmp_path) == []
            assert "1 secret was replaced: GitHub token." in answer.text
            assert SECRET not in json.dumps(answer.facts)


@pytest.mark.parametrize("place", REPAIRED)
def test_doctor_finds_and_repairs_it_there(opened, tmp_path, place):  # noqa: F811
    """What was kept is named once, and replaced in place; nothing of it is left."""
    app = opened(secrets_at_write="keep")
    written(app, place)
    assert holders(tmp_path)
    ((_, problem),) = find_secrets(app).problems
    assert "holds GitHub token" in problem.what
    assert problem.repairable
    assert repair_secrets(app).failed == []
    assert find_secrets(app).problems == []
    app.close()
    assert holders(tmp_path) == []


def test_a_value_is_judged_by_its_name(opened, tmp_path):  # noqa: F811
    """In metadata a password stands beside its name, as it does in a text."""
    arguments = {"content": "It flew.", "metadata": BELOW_ITS_NAME}
    app = opened()
    answer = app.toolset("timeline").tool("timeline_add").call(arguments)
    assert holders(tmp_path, PASSWORD) == []
    assert "1 secret was replaced: password." in answer.text
    entry = app.timeline.service().journal.read(written_ref(answer).partition(":")[2])
    assert entry.metadata["db"]["user"] == "ada"


def test_a_section_is_given_no_name_with_a_secret(opened, tmp_path):  # noqa: F811
    """Others know it by its name: it is refused, and the error holds no secret."""
    app = opened()
    given = {"path": "a/b", "entry": "It flew.", "overview": "It flies."}
    write = app.toolset("notebook").tool("journal_write")
    write.call(given)
    with pytest.raises(Invalid, match="name of the section holds a secret") as refused:
        write.call({**given, "path": f"a/{SECRET}"})
    with pytest.raises(Invalid, match="name of the section holds a secret"):
        app.notebook.journal.move("a/b", f"a/{SECRET}")
    assert SECRET not in str(refused.value)
    assert holders(tmp_path) == []


def test_doctor_names_a_section_that_holds_one(opened):  # noqa: F811
    """With the step, and without the secret."""
    app = opened(secrets_at_write="keep")
    given = {"path": f"a/{SECRET}", "entry": "It flew.", "overview": "It flies."}
    app.toolset("notebook").tool("journal_write").call(given)
    said = " ".join(f"{x.what} {x.hint}" for _, x in find_secrets(app).problems)
    assert "commonplace notebook move" in said
    assert "[secret: GitHub token, " in said
    assert SECRET not in said


def test_a_session_s_branch_is_screened(opened, tmp_path):  # noqa: F811
    """It is a name that people give, and a copy of it is never refused."""
    said = Message(
        id="1", role="user", at="2026-11-22T10:00:00.000Z", text="It flew.", branch=f"try/{SECRET}"
    )
    store = opened(secrets_at_write="refuse").transcripts.store
    assert store.append("claude-code", "s", [said]) == 1
    assert holders(tmp_path) == []


def test_doctor_names_a_field_that_no_edit_changes(opened):  # noqa: F811
    """A folder that a session was in is kept as it was: the step is to forget it."""
    app = opened()
    said = Message(
        id="1", role="user", at="2026-11-22T10:00:00.000Z", text="It flew.", cwd=f"/{SECRET}"
    )
    app.transcripts.store.append("claude-code", "s", [said])
    ((part, problem),) = find_secrets(app).problems
    assert part == "transcripts"
    assert problem.what == "transcripts:claude-code/s#1 holds GitHub token in its folder."
    assert problem.hint == "It cannot be changed: commonplace forget transcripts:claude-code/s#1"
    assert not problem.repairable
    assert repair_secrets(app).done == []


def test_repair_replaces_what_was_said_in_a_folder_that_holds_one(opened):  # noqa: F811
    """The folder stays and is named with its step; the words of the session have marks."""
    app = opened(secrets_at_write="keep")
    said = Message(
        id="1",
        role="user",
        at="2026-11-22T10:00:00.000Z",
        text=f"It is {SECRET}.",
        cwd=f"/{SECRET}",
    )
    app.transcripts.store.append("claude-code", "s", [said])
    ((_, problem),) = find_secrets(app).problems
    assert problem.repairable
    assert "--repair replaces the rest of them; with its folder it goes by:" in problem.hint
    assert repair_secrets(app).done == [("transcripts", "Replaced the secrets in 1 entry.")]
    (kept,) = app.transcripts.store.read("claude-code", "s")
    assert "It is [secret: GitHub token, " in kept.text
    ((_, left),) = find_secrets(app).problems
    assert not left.repairable


def test_an_import_into_chronicle_is_screened(opened, tmp_path):  # noqa: F811
    """Its tags and who wrote it, as its message."""
    app = opened(secrets_at_write="refuse")
    given = dict.fromkeys(("message", "hostname", "username", "directory"), SECRET)
    logged = EventDraft(id="1", instant=10**18, written=10**18, tags=("work", SECRET), **given)
    assert app.chronicle.journal.import_events([logged]) == 1
    assert holders(tmp_path) == []
