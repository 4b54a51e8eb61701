"""Notes of a project that are gone are named by every answer, until they come back or are let go."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.doors.terminal import facts, opened_app, run
from tests.verbs.recall_world import ask

from commonplace.app import App
from commonplace.config.quick import read_quick
from commonplace.config.settings import read_settings
from commonplace.core.errors import Conflict, Unavailable
from commonplace.journals.private.project_copies import ProjectCopies
from commonplace.verbs.brief.service import BriefQuestion, make_brief

pytestmark = pytest.mark.usefixtures("no_weights")


@pytest.fixture
def cleaned():
    """A project that lost two notes to `git clean -fdx`."""
    subprocess.run(["git", "init", "-q"], check=True)
    refs = [
        facts("private", "write", "", "--project-notes", text)["refs"][0]
        for text in ("low at seven", "high at one")
    ]
    subprocess.run(["git", "clean", "-fdxq"], check=True)
    assert not Path(".private-journal").exists()
    return refs


SAID = re.compile(
    r"2 notes of this project have been gone since 20\d\d-\S+ \S+; `commonplace recover` brings"
    r" them back, `commonplace recover --forget` removes the copies\."
)


def test_every_place_says_so(cleaned):
    """Status, doctor, the first answer of a command, and the first of a server's tools."""
    done = run("private", "list")
    assert SAID.search(done.stderr)
    assert not SAID.search(done.stdout)
    assert len(SAID.findall(run("status").output)) == 1
    assert facts("status")["gone"]["notes"] == 2
    assert "2 notes of this project have been gone" in run("doctor").stdout
    assert facts("doctor", code=1)["problems"]
    app = opened_app()
    try:
        assert SAID.search(ask(app, "recall", query="tides").text)
        assert not SAID.search(ask(app, "recall", query="tides").text)
    finally:
        app.close()


def test_a_session_is_told_at_its_start(cleaned):
    """The brief says so once anything has looked, until they are back."""
    run("status")
    assert SAID.search(run("brief").stdout)
    facts("recover")
    assert not SAID.search(run("brief").stdout)


def test_a_server_looks_as_it_starts(cleaned):
    """So that the next session is told, though nobody asked in between."""
    app = opened_app()
    try:
        app.warm_up()
    finally:
        app.close()
    settings = read_quick(os.environ, str(Path.cwd()))
    assert SAID.search(make_brief(settings, BriefQuestion(str(Path.cwd()))).text)


def test_they_come_back(cleaned):
    """Each once, under its ref; then nothing is said any more."""
    done = facts("recover")
    assert (sorted(done["refs"]), done["forgotten"]) == (sorted(cleaned), 0)
    assert [facts("open", ref)["ref"] for ref in cleaned] == cleaned
    assert run("recover").stdout == "Nothing is gone of the notes of this project.\n"
    assert facts("status")["gone"] is None
    assert run("private", "list").stderr == ""


@pytest.mark.parametrize("before", ["", "edited", "filed"])
def test_they_are_let_go(cleaned, tmp_path, before):
    """To the last byte: in copies, index, brief and former texts; and nothing is said any more."""
    if before:
        facts("recover")
    if before == "edited":
        facts("edit", cleaned[0], "## Project Notes\n\nlow at six")
    if before == "filed":
        assert "low at seven" in run("recall", "low at seven").stdout
    shutil.rmtree(".private-journal", ignore_errors=True)
    assert run("recover", "--forget").stdout == "Removed the copies of 2 notes.\n"
    files = [x for x in tmp_path.rglob("*") if x.is_file()]
    assert [x for x in files if b"low at s" in x.read_bytes()] == []
    assert facts("status")["gone"] is None
    assert facts("recover")["refs"] == []


@pytest.mark.parametrize("words", [("open",), ("edit",), ("delete", "--yes")])
def test_one_that_is_gone_is_not_said_to_be_nowhere(cleaned, monkeypatch, words):
    """Also from another folder: its copy holds the text, and the error says what to do."""
    project = Path.cwd()
    monkeypatch.chdir(Path.home())
    verb, *more = words
    done = run(verb, cleaned[0], *(["x"] if verb == "edit" else more))
    assert done.exit_code == 3
    assert f"{cleaned[0]} is gone from its project {project}" in done.stderr
    assert f"`commonplace forget {cleaned[0]}` removes the copy" in done.stderr
    other = cleaned[0].replace(cleaned[0][-6:], "000000")
    assert "There is no entry" in run("delete", other, "--yes").stderr


def test_forget_names_a_note_that_is_gone(cleaned):
    """It holds the words, and is the user's to bring back or to let go."""
    words = "the sluice opens at seven and the ferries wait outside until the tide has turned"
    note = facts("private", "write", "", "--project-notes", words)["refs"][0]
    subprocess.run(["git", "clean", "-fdxq"], check=True)
    ref = facts("log", words)["ref"]
    (copy,) = facts("forget", ref, "--dry-run")["copies"]
    assert copy["what"] == "the copy of a note"
    assert copy["path"].endswith(f"{note.partition('/')[2]}.md")
    assert "`commonplace recover` in that project" in copy["left"]
    assert facts("forget", ref, "--dry-run")["same_words"] == [note]
    assert facts("recover", "--forget")["forgotten"] == 3
    assert facts("forget", ref, "--dry-run")["copies"] == []


def holding(folder, text):
    """The files of a folder that hold a text."""
    files = [x for x in folder.rglob("*") if x.is_file()]
    return [x for x in files if text.encode() in x.read_bytes()]


@pytest.mark.parametrize(
    ("how", "before"),
    [
        ("ref", "edited"),
        ("ref", "from another folder"),
        ("--query", ""),
        ("--query", "filed"),
        ("--before", ""),
        ("--project", "from another folder"),
    ],
)
def test_forget_finds_a_note_that_is_gone(cleaned, tmp_path, monkeypatch, how, before):
    """By its ref, its words, its time and its project; no byte is left, and the rest comes back."""
    project, gone = str(Path.cwd()), cleaned[0]
    if before in {"filed", "edited"}:
        facts("recover")
        if before == "edited":
            facts("edit", gone, "## Project Notes\n\nlow at seven, they say")
        assert "low at seven" in run("recall", "low at seven").stdout
        shutil.rmtree(".private-journal")
    if before == "from another folder":
        monkeypatch.chdir(Path.home())
    values = {"ref": gone, "--query": "seven low", "--before": "2030-01-01", "--project": project}
    words = [values[how]] if how == "ref" else [how, values[how], "-j", "private"]
    taken = [gone] if how in {"ref", "--query"} else cleaned
    plan = facts("forget", *words, "--dry-run")
    assert sorted(each["ref"] for each in plan["items"]) == sorted(taken)
    copies = [each for each in plan["copies"] if each["what"] != "a former text"]
    whats = {(each["what"], Path(each["path"]).stem, each["left"]) for each in copies}
    assert {
        ("the copy of a note that is gone", ref.rpartition("/")[2], "") for ref in taken
    } == whats
    assert "Nothing of the text is left." in run("forget", *words, "--yes").stdout
    assert holding(tmp_path, "low at s") == []
    assert run("forget", gone, "--yes").exit_code == 3
    monkeypatch.chdir(project)
    assert facts("recover")["refs"] == [ref for ref in cleaned if ref not in taken]


def test_a_note_of_a_project_that_is_away_is_named(cleaned, tmp_path, monkeypatch):
    """Its folder may come back with it: the copy goes, and where the note may be is said."""
    facts("recover")
    project = Path.cwd()
    monkeypatch.chdir(Path.home())
    project.rename(tmp_path / "unplugged")
    found = facts("forget", "--query", "low seven", "--yes")
    (left,) = [each for each in found["copies"] if each["left"]]
    assert (left["what"], left["path"].startswith(str(project))) == ("the note", True)
    assert "is not there" in left["left"]
    (file,) = holding(tmp_path, "low at s")
    assert file.is_relative_to(tmp_path / "unplugged")


def test_one_that_is_killed_while_it_forgets_is_finished(cleaned, tmp_path, monkeypatch):
    """The copy goes last, so what a process that is killed leaves can be read and is taken out."""
    facts("recover")
    assert "low at seven" in run("recall", "low at seven").stdout
    shutil.rmtree(".private-journal")

    def die(*_given):
        raise Unavailable("killed")

    with monkeypatch.context() as patch:
        patch.setattr(ProjectCopies, "forget", die)
        assert run("forget", cleaned[0], "--yes").exit_code == 1
    assert "was finished" in run("forget").stdout
    assert holding(tmp_path, "low at s") == []


def test_one_that_changed_since_the_plan_keeps_its_copy(cleaned):
    """As any entry that is forgotten."""
    app = opened_app()
    try:
        service = app.forgetting()
        plan = service.plan([cleaned[0]])
        (copy,) = [each.path for each in plan.copies]
        copy.write_text("## Project Notes\n\nlow at six\n")
        with pytest.raises(Conflict):
            service.carry_out(plan)
        assert copy.exists()
    finally:
        app.close()


def test_one_that_expires_while_it_is_gone_leaves_the_copy(tmp_path):
    """Its time has come, wherever it is; the others can still come back."""
    text = "ochre zebrafinch counts eleven velvet umbrellas"
    facts("private", "write", "", "--project-notes", text, "--expires", "in 1 hour")
    facts("private", "write", "", "--project-notes", "stays")
    shutil.rmtree(".private-journal")
    assert facts("status")["gone"]["notes"] == 2
    later = datetime.now(UTC) + timedelta(hours=2)
    settings = read_settings(cwd=Path.cwd(), home=Path.home())
    app = App(settings, user_home=Path.home(), clock=lambda: later)
    try:
        app.sweep_expired()
    finally:
        app.close()
    files = [x for x in tmp_path.rglob("*") if x.is_file()]
    assert [x for x in files if text.encode() in x.read_bytes()] == []
    assert len(facts("recover")["refs"]) == 1


@pytest.mark.parametrize("more", [[], ["--forget"]])
def test_where_it_cannot_be_noted_nothing_is_said_to_be_there(cleaned, plain_permissions, more):
    """A home that cannot be written to: the copies are there, and wait."""
    (copy,) = (Path.home() / ".local/share/commonplace/users/me/notes").glob("*/copy.json")
    copy.parent.chmod(0o500)
    with plain_permissions():
        done = run("recover", *more)
    copy.parent.chmod(0o700)
    assert (done.exit_code, "Nothing is gone" in done.output) == (1, False)
    assert "is not known" in done.stderr
    assert len(facts("recover")["refs"]) == 2


@pytest.mark.parametrize("verb", ["delete", "forget", "edit"])
def test_what_one_owner_took_away_another_does_not_bring_back(cleaned, monkeypatch, verb):
    """Owners of one home read the same project, and each has copies of its notes."""
    facts("recover")
    monkeypatch.setenv("COMMONPLACE_OWNER", "ann")
    assert "low at seven" in run("recall", "low at seven").stdout
    assert "low at seven" in run("brief").stdout
    monkeypatch.delenv("COMMONPLACE_OWNER")
    assert run(verb, cleaned[0], *(["low at six"] if verb == "edit" else ["--yes"])).exit_code == 0
    briefs = (Path.home() / ".local/share/commonplace/users").glob("*/brief/*.json")
    assert [x for x in briefs if "low at seven" in x.read_text()] == []
    shutil.rmtree(".private-journal")
    monkeypatch.setenv("COMMONPLACE_OWNER", "ann")
    assert len(facts("recover")["refs"]) == (2 if verb == "edit" else 1)
    texts = [x.read_text() for x in Path(".private-journal").glob("*/*.md")]
    assert [x for x in texts if "low at seven" in x] == []


def test_outside_of_a_project(monkeypatch):
    """It says where to go."""
    monkeypatch.chdir(Path.home())
    done = run("recover")
    assert (done.exit_code, "No project is known here" in done.stderr) == (2, True)
