"""What replaced a forgotten entry has its tags, folder, metadata, title, heading or context from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.doors.cli.test_project_log import trusted
from tests.doors.killing import killed_before
from tests.doors.terminal import facts, on_terminal, opened_app, run, write

WORD = "zorblatt"
OLD = "The blue door behind the bakery opens with four seven one one, Ann said so."
NEW = "The lock of the door was changed."


def holders(text=WORD):
    """The files below the home that hold the text."""
    files = [path for path in Path.home().rglob("*") if path.is_file()]
    return [str(path) for path in files if text.encode() in path.read_bytes()]


def amended(ref, text=NEW):
    """The ref of what `amend` wrote in the place of an entry."""
    app = opened_app()
    try:
        return app.amend.supersede(ref, text).ref
    finally:
        app.close()


def log():
    return facts("log", OLD, "--tag", WORD, "--tag", "door")["ref"]


def log_again(ref):
    return facts("log", NEW, "--supersedes", ref)["ref"]


def private():
    ref = write("First.")
    text = f"## {WORD}\n\n{OLD}\n"
    assert run("edit", ref, text).exit_code == 0
    return ref


def timeline():
    about = ("--tag", WORD, "--tag", "door", "--metadata", json.dumps({"client": f"{WORD} Ltd"}))
    return facts("timeline", "add", OLD, *about)["ref"]


def timeline_again(ref):
    return facts("timeline", "add", NEW, "--supersedes", ref)["ref"]


def memory():
    return facts("memory", "save", "journal", "--title", WORD, "--body", OLD)["ref"]


def memory_again(ref):
    return facts("memory", "save", "journal", "--body", NEW, "--supersedes", ref)["ref"]


CASES = [
    (log, log_again, {"tags": [WORD, "door"]}),
    (log, amended, {"tags": [WORD, "door"]}),
    (private, amended, {"headings": [WORD]}),
    (timeline, timeline_again, {"metadata": [f"client={WORD} Ltd", f"tags={WORD}", "tags=door"]}),
    (timeline, amended, {"metadata": [f"client={WORD} Ltd", f"tags={WORD}", "tags=door"]}),
    (memory, memory_again, {"title": [WORD]}),
    (memory, amended, {"title": [WORD]}),
]


def inherited(shown, ref):
    """What a plan says that an entry has from the forgotten one, less its folder."""
    return {
        each["what"]: sorted(each["values"])
        for each in shown["inherited"]
        if each["ref"] == ref and each["what"] != "folder"
    }


@pytest.mark.parametrize(("add", "replaced", "values"), CASES)
def test_it_is_named_and_goes_only_where_that_is_said(no_weights, add, replaced, values):
    """Through a chain: the plan names it, a plain `forget` leaves it, and the option leaves none."""
    ref = add()
    second = replaced(ref)
    third = amended(second, f"{NEW} Twice.")
    wanted = {name: sorted(each) for name, each in values.items()}
    planned = facts("forget", ref, "--dry-run")
    assert inherited(planned, second) == inherited(planned, third) == wanted
    run("recall", WORD)
    assert not any(each["goes"] for each in planned["inherited"])
    shown = facts("forget", ref, "--with-inherited", "all", "--yes")
    assert shown["clean"]
    assert all(each["goes"] for each in shown["inherited"])
    assert holders() == []
    assert NEW in facts("open", second)["text"]
    assert f"{NEW} Twice." in facts("open", third)["text"]


@pytest.mark.parametrize(("add", "replaced", "values"), CASES)
def test_without_the_option_it_stays(no_weights, add, replaced, values):
    """The text goes and the successor is as it was; the plan says in words what it has."""
    ref = add()
    second = replaced(ref)
    before = facts("open", second)
    said = run("forget", ref, "--dry-run").stdout
    for name, each in values.items():
        for value in each:
            assert f"Stays in {second}, inherited or given alike, {name}: " in said
            assert value in said
        assert f"--with-inherited {name}" in said
    assert facts("forget", ref, "--yes")["clean"]
    assert facts("open", second)["text"] == before["text"]
    assert holders()


def test_what_the_successor_s_writer_gave_is_not_named(no_weights):
    """Tags, metadata and titles of its own; a tag that both have is."""
    ref = log()
    facts("log", NEW, "--supersedes", ref, "--tag", "lock", "--tag", "Door")
    (each,) = [x for x in facts("forget", ref, "--dry-run")["inherited"] if x["what"] == "tags"]
    assert each["values"] == ["door"]
    first = timeline()
    facts("timeline", "add", NEW, "--supersedes", first, "--tag", "lock")
    assert facts("forget", first, "--dry-run")["inherited"] == []
    title = memory()
    facts("memory", "save", "journal", "--title", "Lock", "--body", NEW, "--supersedes", title)
    assert facts("forget", title, "--dry-run")["inherited"] == []


def test_the_folder_is_that_of_the_former_where_it_only_corrects_it(no_weights):
    """A log entry of its own time has the folder in which it was written; one by `amend` has not."""
    ref = log()
    second = log_again(ref)
    assert "folder" not in [x["what"] for x in facts("forget", ref, "--dry-run")["inherited"]]
    third = amended(second)
    (each,) = [
        x for x in facts("forget", second, "--dry-run")["inherited"] if x["what"] == "folder"
    ]
    assert (each["ref"], each["values"]) == (third, [str(Path.cwd())])
    facts("forget", second, "--with-inherited", "folder", "--yes")
    app = opened_app()
    event = app.chronicle.journal.read_event(third)
    app.close()
    assert event.directory == "unknown"
    assert WORD in event.tags


def test_a_log_in_files_is_treated_alike(no_weights):
    """Its entry's file loses the tags and the folder, and is where it was."""
    folder = Path.home() / "log"
    folder.mkdir()
    run("config", "set", "chronicle.path", folder)
    ref = log()
    later = amended(ref)
    assert facts("forget", ref, "--with-inherited", "all", "--yes")["clean"]
    (file,) = folder.rglob("*.md")
    assert WORD not in file.read_text()
    assert str(Path.cwd()) not in file.read_text()
    assert facts("open", later)["text"] == NEW


def test_one_that_goes_too_hands_it_on(no_weights):
    """Of a chain whose first two are forgotten, the third alone is named, once."""
    ref = log()
    second = log_again(ref)
    third = log_again(second)
    planned = facts("forget", ref, second, "--dry-run")
    assert {x["ref"] for x in planned["inherited"]} == {third}
    assert facts("forget", ref, second, "--with-inherited", "tags", "--yes")["clean"]
    assert holders() == []


def test_it_is_shown_before_it_is_asked(no_weights):
    """With what stays, and how it is taken out."""
    ref = log()
    second = log_again(ref)
    _, _, screen = on_terminal("forget", ref, typed="n\n")
    assert f"Stays in {second}" in screen
    assert "--with-inherited tags" in screen


def test_its_line_in_the_log_and_the_brief_follow(no_weights):
    """The project log's JSON line and the next session's brief lose the tag."""
    logs = trusted("json")
    ref = log()
    second = log_again(ref)
    run("brief")
    assert all(WORD in each.read_text() for each in logs.iterdir())
    shown = facts("forget", ref, "--with-inherited", "tags", "--yes")
    assert shown["clean"]
    (line,) = [json.loads(x) for each in logs.iterdir() for x in each.read_text().splitlines()]
    assert line["message"] == NEW
    assert line.get("tags", []) == [f"supersedes:{ref.partition(':')[2]}"]
    assert second.endswith(line.get("id", second))
    assert holders() == []


@pytest.mark.parametrize("at", ["first", "second"])
def test_a_killed_one_is_finished(no_weights, at):
    """Killed before it takes anything out of one of the successors: the next `forget` ends it."""
    ref = private()
    chain = {"first": amended(ref)}
    chain["second"] = amended(chain["first"], f"{NEW} Twice.")
    path = chain[at].rpartition("/")[2] + ".md"
    killed_before("os.rename", path, "forget", ref, "--with-inherited", "all", "--yes")
    assert holders(OLD)
    assert run("forget").exit_code == 0
    assert run("open", ref).exit_code == 3
    assert holders() == []


def test_an_entry_of_the_notebook_loses_its_context_with_the_history(no_weights):
    """The successor's commit is built again without it, under the same ref; else it stays."""
    app = opened_app()
    old = app.notebook.service().notebook.write("door", OLD, work_context=WORD).entry.ref
    app.close()
    new = facts("notebook", "write", "door", NEW, "--supersedes", old)["ref"]
    how = ("--rewrite-history", "--keep-days", "0")
    planned = facts("forget", old, *how, "--dry-run")
    assert inherited(planned, new) == {"context": [WORD]}
    assert facts("forget", old, *how, "--with-inherited", "context", "--yes")["clean"]
    assert facts("open", new)["text"] == NEW
    app = opened_app()
    repo = app.notebook.journal.repo
    assert WORD not in repo.git.run(["log", "--all"]).out.decode()
    app.close()
    assert holders() == []
