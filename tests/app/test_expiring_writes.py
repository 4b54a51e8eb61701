"""What is written for a while: every writing tool takes its end, and nothing shows it after that."""

from __future__ import annotations

import json
import math
from contextlib import closing
from datetime import UTC, datetime

import pytest
from tests.app.test_app import opened  # noqa: F401  a fixture

from commonplace.app import Apps
from commonplace.config.settings import read_settings
from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.spaces import Member, at_work, parse_space
from commonplace.core.standstill import PROCESS, seconds
from commonplace.verbs.toolset import EXPIRES

TEXT = "The door code of the kestrel house is four seven one one."
WRITES = {
    "private": ("private", "process_thoughts", {"feelings": TEXT, "project_notes": TEXT}),
    "chronicle": ("chronicle", "add_entry", {"message": TEXT}),
    "unasked": ("chronicle", "add_entry", {"message": TEXT, "asked": False}),
    "activity": ("chronicle", "remember_this", {"activity": TEXT}),
    "timeline": ("timeline", "timeline_add", {"content": TEXT}),
    "message": ("memory-write", "memory_save", {"kind": "message", "role": "user", "text": TEXT}),
    "todo": ("memory-write", "memory_save", {"kind": "todo", "title": TEXT}),
    "default": ("default", "process_thoughts", {"feelings": TEXT}),
}


def holders(folder):
    """The files below a folder that hold the text."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if TEXT.encode() in path.read_bytes()]


@pytest.mark.parametrize("write", WRITES)
def test_a_tool_writes_what_expires(opened, tmp_path, write):  # noqa: F811
    """The answer says when; after that it is in no file, whoever is asked first."""
    toolset, name, arguments = WRITES[write]
    app = opened()
    answer = app.toolset(toolset).tool(name).call({**arguments, EXPIRES: "in 30 days"})
    ends = {at.astimezone(UTC).date() for _, at in app.expiring.list_expiring()}
    (day,) = ends
    assert f"It expires {day.isoformat()}" in answer.text
    assert holders(tmp_path)
    known = [ref for ref, _ in app.expiring.list_expiring()]
    app.expiring.book.keep_all(dict.fromkeys(known, datetime(2020, 1, 1, tzinfo=UTC).timestamp()))
    app.toolset("recall").tool("recall").call({"query": "kestrel"})
    assert holders(tmp_path) == []


@pytest.mark.parametrize("write", ["private", "chronicle", "timeline", "todo", "notebook"])
def test_what_is_written_before_a_standstill_has_its_end(opened, monkeypatch, write):  # noqa: F811
    """The end is a part of what was asked with it, and nobody else can have set one."""
    monkeypatch.setattr(PROCESS, "_went_on_at", -math.inf)
    section = ("notebook", "journal_write", {"path": "house/codes", "entry": TEXT})
    toolset, name, arguments = {**WRITES, "notebook": section}[write]
    app = opened()
    tool = app.toolset(toolset).tool(name)

    def write_and_stand_still(at):
        answer = tool.call(arguments, ends=at)
        PROCESS.note_standstill()
        return answer

    with PROCESS.asked(seconds()):
        answer = app.write_expiring("2099-01-01", write_and_stand_still)
    ends = dict(app.expiring.list_expiring())
    assert ends.keys() == {*answer.written}
    assert {at.year for at in ends.values()} == {2099}


def test_an_end_that_another_process_set_since_stays(opened, monkeypatch):  # noqa: F811
    """Who stood still is refused: the other was told that its end counts."""
    monkeypatch.setattr(PROCESS, "_went_on_at", -math.inf)
    app = opened()
    tool = app.toolset("chronicle").tool("add_entry")

    def write_and_stand_still(_):
        answer = tool.call({"message": TEXT})
        PROCESS.note_standstill()
        with PROCESS.begun():
            app.expiring.expire(answer.facts["ref"], datetime(2090, 1, 1, tzinfo=UTC))
        return answer

    with PROCESS.asked(seconds()), pytest.raises(Unavailable, match="stood still"):
        app.write_expiring("2099-01-01", write_and_stand_still)
    assert [at.year for _, at in app.expiring.list_expiring()] == [2090]


@pytest.mark.parametrize("write", ["chronicle", "timeline"])
def test_what_expires_in_a_space_holds_up_no_member(tmp_path, no_weights, write):
    """Whoever is asked next forgets it, also one who may delete nothing."""
    toolset, name, arguments = WRITES[write]
    settings = read_settings(cwd=tmp_path / "project", home=tmp_path / "home")
    apps = Apps(settings, user_home=tmp_path / "home")
    bob = at_work(Member(name="bob", may_delete=False))
    with closing(apps), apps.using(parse_space("team")) as app, bob:
        app.toolset(toolset).tool(name).call({**arguments, EXPIRES: "in 30 days"})
        known = [ref for ref, _ in app.expiring.list_expiring()]
        past = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
        app.expiring.book.keep_all(dict.fromkeys(known, past))
        app.toolset("recall").tool("recall").call({"query": "kestrel"})
    assert holders(tmp_path) == []


def test_what_is_let_stay_is_not_forgotten_later(opened):  # noqa: F811
    """Though a process that died, or could not, had noted that it forgets it."""
    app = opened()
    ref = app.toolset("chronicle").tool("add_entry").call({"message": TEXT}).facts["ref"]
    app.expiring.expire(ref, datetime(2099, 1, 1, tzinfo=UTC))
    pending = app.forgetting().pending
    pending.parent.mkdir(exist_ok=True)
    pending.write_text(json.dumps([[ref, "", None, []]]))
    assert app.expiring.cancel(ref)
    app.finish_forgetting()
    assert app.amend.read_text(ref).text == TEXT


@pytest.mark.parametrize("phrase", ["yesterday", "soonish", "2020-01-01"])
def test_a_tool_writes_nothing_where_its_end_cannot_be_meant(opened, tmp_path, phrase):  # noqa: F811
    """It is past, or no time at all: the error is that of the argument."""
    add = opened().toolset("chronicle").tool("add_entry")
    with pytest.raises(Invalid, match="expires"):
        add.call({"message": TEXT, EXPIRES: phrase})
    assert holders(tmp_path) == []


def test_the_notebook_keeps_the_end_in_the_commit_itself(opened):  # noqa: F811
    """There is no moment at which the entry is there without it."""
    app = opened()
    write = app.toolset("notebook").tool("journal_write")
    answer = write.call({"path": "a", "entry": TEXT, EXPIRES: "2099-05-09"})
    assert "It expires 2099-05-09 00:00." in answer.text
    assert [ref for ref, _ in app.expiring.list_expiring()] == [answer.facts["ref"]]
    log = app.notebook.journal.repo.git.run(["log", "--format=%(trailers:key=Expires)"]).out
    assert log.decode().strip().startswith("Expires: 2099-05-0")
