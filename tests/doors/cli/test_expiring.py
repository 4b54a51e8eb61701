"""Entries that expire: whatever comes next forgets them first, and shows nothing of them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.doors.homes import filled
from tests.doors.killing import killed_before
from tests.doors.terminal import facts, opened_app, run, write
from tests.patience import PATIENCE_S

from commonplace.verbs.brief.kept import BriefFiles

SECRET = "the blue door behind the bakery opens with four seven one one, Ann said so"

WRITES = [
    ("private", "write", SECRET),
    ("log", SECRET),
    ("timeline", "add", SECRET),
    ("memory", "save", "gratitude", SECRET),
]
READS = [
    ("list",),
    ("recall", "bakery"),
    ("status",),
    ("chronicle", "list"),
    ("chronicle", "export"),
    ("private", "search", "bakery"),
    ("timeline", "list"),
    ("memory", "search", "bakery"),
    ("when", "bakery"),
    ("brief",),
    ("doctor",),
]


@pytest.fixture(autouse=True)
def another_program(own_world):
    """A file of another program, which bears out what the clock of every process here says."""
    (Path.home() / ".bash_history").touch()


def holders():
    """The files below the home that hold the text."""
    files = [path for path in Path.home().rglob("*") if path.is_file()]
    return [str(path) for path in files if SECRET.encode() in path.read_bytes()]


def book():
    """The file that says when entries expire."""
    (path,) = Path.home().rglob("expiring/entries.json")
    return path


def let_expire():
    """Whatever is to expire did so a moment ago."""
    known = json.loads(book().read_text("utf-8"))
    book().write_text(json.dumps(dict.fromkeys(known, 1.0)), "utf-8")
    for ref in known:
        BriefFiles(book().parent.parent).set_end(ref, 1.0)
    return list(known)


@pytest.mark.parametrize("words", WRITES, ids=lambda words: words[0])
def test_the_next_command_forgets_it(no_weights, words):
    """Of any journal; what stands beside it stays, and the file has no word of it."""
    kept = facts("log", "a quiet harbour")["ref"]
    facts(*words, "--expires", "in 30 days")
    assert "bakery" not in book().read_text("utf-8")
    assert holders()
    (ref,) = let_expire()
    assert [item["ref"] for item in facts("list")["items"]] == [kept]
    assert holders() == []
    assert run("open", ref).exit_code == 3
    assert json.loads(book().read_text("utf-8")) == {}


@pytest.mark.parametrize("count", [1, 2])
def test_notes_of_a_project_that_expire_are_not_said_to_be_gone(no_weights, count):
    """Their copies stay until they are forgotten, and no answer says that anything is gone."""
    for text in ("first", "second")[:count]:
        facts("private", "write", "--project-notes", f"{text}: {SECRET}", "--expires", "in 2 days")
    let_expire()
    with contextlib.closing(opened_app()) as app:
        assert app.private.gone() is None
        assert len([*Path.home().rglob("notes/*/*/*.md")]) == count
    assert "gone" not in run("private", "list").output + run("recall", "harbour").output
    assert holders() == []


def test_an_export_holds_none_of_them(no_weights, tmp_path):
    """Neither the user's own entries nor the notes of projects, before they are swept."""
    facts("private", "write", SECRET, "--expires", "in 2 days")
    facts("private", "write", "--project-notes", SECRET, "--expires", "in 2 days")
    let_expire()
    assert facts("export", tmp_path / "all")["journals"].get("private", 0) == 0
    files = [path for path in (tmp_path / "all").rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_nothing_shows_it_before_it_is_swept(no_weights, words):
    """No command that reads: it is the one that sweeps."""
    run("log", SECRET, "--expires", "in 2 days")
    let_expire()
    assert "bakery behind" not in run(*words).output.replace("behind the bakery", "bakery behind")
    assert "four seven" not in run(*words).output


def test_a_tool_of_a_server_that_is_open_shows_nothing(no_weights):
    """One that was started before the entry expired."""
    run("log", SECRET, "--expires", "in 2 days")
    app = opened_app()
    try:
        tool = app.toolset("recall").tool("recall")
        assert tool.call({"query": "bakery"}).facts["count"] == 1
        let_expire()
        assert tool.call({"query": "bakery"}).facts["count"] == 0
        assert holders() == []
    finally:
        app.close()


def test_a_hook_shows_nothing_of_it(no_weights):
    """It reads the brief's file, in which each line says when it expires, and sweeps nothing."""
    run("log", SECRET, "--expires", "in 2 days")
    said = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"}
    given = {"input": json.dumps({**said, "cwd": str(Path.cwd())})}
    assert "four seven" in run("hook", "session-start", "--client", "claude-code", **given).output
    let_expire()
    shown = run("hook", "session-start", "--client", "claude-code", **given).output
    assert "four seven" not in shown


def test_a_time_can_be_given_later_and_taken_back(no_weights):
    """By a number or a ref; what expires is listed, the next first."""
    first, second = write("a quiet harbour"), facts("log", SECRET)["ref"]
    facts("expire", first, "in", "30", "days")
    facts("expire", "-1", "in 2 days")
    items = facts("expire")["items"]
    assert [item["ref"] for item in items] == [second, first]
    # A ref says little: the words that go stand beside it.
    for item, line in zip(items, run("expire").stdout.splitlines(), strict=True):
        assert item["text"]
        assert line == f"{item['expires']}  {item['ref']}  {item['text']}"
        assert "timestamp:" not in line
    facts("expire", second, "--never")
    let_expire()
    assert [item["ref"] for item in facts("list")["items"]] == [second]
    assert "Nothing expires." in run("expire").stdout


@pytest.mark.parametrize("verb", ["forget", "delete"])
def test_what_is_gone_expires_no_more(no_weights, verb):
    """Neither the list nor doctor counts it."""
    ref = facts("log", SECRET, "--expires", "in 2 days")["ref"]
    assert run(verb, ref, "--yes").exit_code == 0
    assert "Nothing expires." in run("expire").stdout
    assert "with a time to expire" not in run("doctor").stdout


def test_a_folder_that_is_away_keeps_its_entry_until_it_is_back(no_weights, tmp_path):
    """As on a disk that was taken out: no answer shows the entry, and it goes once it is there."""
    folder, away = tmp_path / "work", tmp_path / "away"
    (folder / ".git").mkdir(parents=True)
    words = ("--project-notes", SECRET, "--project", str(folder))
    assert run("private", "write", *words, "--expires", "in 2 days").exit_code == 0
    assert facts("recall", "bakery door")["items"]
    folder.rename(away)
    (ref,) = let_expire()
    assert facts("recall", "bakery door")["items"] == []
    assert [item["ref"] for item in facts("expire")["items"]] == [ref]
    assert f"{ref} has expired; it is forgotten when its folder is back." in " ".join(
        run("doctor").stdout.split()
    )
    away.rename(folder)
    assert facts("recall", "bakery door", "--project", str(folder))["items"] == []
    assert holders() == []
    assert [x for x in folder.rglob("*.md") if SECRET in x.read_text("utf-8")] == []
    assert json.loads(book().read_text("utf-8")) == {}


def test_a_bad_time_writes_nothing(no_weights):
    """It is read before the entry is written."""
    done = run("log", SECRET, "--expires", "yesterday")
    assert done.exit_code == 2
    assert "Invalid expires: 'yesterday' is past." in done.stderr
    assert facts("list")["items"] == []
    ref = write("a quiet harbour")
    assert run("expire", ref).exit_code == 2
    assert run("expire", ref, "in 2 days", "--never").exit_code == 2
    assert run("expire", "chronicle:nothing", "in 2 days").exit_code == 3


def end_elsewhere(ref, at="2026-01-01T00:00:00+00:00"):
    """Another clone has set when an entry of the notebook expires: a commit that came by git."""
    with contextlib.closing(opened_app()) as app:
        repo = app.notebook.journal.repo
        said = f"x\n\nCommonplace: expire\nExpires-Entry: {ref.rpartition('#')[2]}\nExpires: {at}\n"
        who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
        command = ["git", "-C", str(repo.folder), *who, "commit", "-q", "--allow-empty", "-F", "-"]
        subprocess.run(command, input=said.encode(), check=True)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where the home of the next tests is kept."""
    return tmp_path_factory.mktemp("kept")


def write_and_pull():
    """An entry of the notebook that another clone let expire, of which nothing here was told."""
    ref = facts("notebook", "write", "door", SECRET)["ref"]
    facts("recall", "bakery")
    end_elsewhere(ref)


def noted_elsewhere():
    """An entry of the notebook that has expired, and is known to be due but not swept; its ref."""
    ref = facts("notebook", "write", "door", SECRET)["ref"]
    facts("timeline", "add", "a quiet harbour")
    facts("recall", "bakery")
    end_elsewhere(ref)
    with contextlib.closing(opened_app()) as app:
        app.notebook.ends.note()
    return ref


def test_an_entry_of_the_notebook_expires(no_weights):
    """By an option of its write or later; it is listed, and may be kept after all."""
    ref = facts("notebook", "write", "door", SECRET, "--expires", "2099-05-09")["ref"]
    later = facts("notebook", "write", "door", "a quiet harbour")["ref"]
    assert run("expire", later, "2098-05-09").stdout.endswith(", 2098-05-09 00:00.\n")
    assert [item["ref"] for item in facts("expire")["items"]] == [later, ref]
    facts("expire", later, "--never")
    assert [item["ref"] for item in facts("expire")["items"]] == [ref]
    assert "1 entry with a time to expire" in run("doctor").stdout
    assert [*json.loads(book().read_text("utf-8"))] == [ref]
    done = run("expire", "notebook:door", "in 2 days")
    assert (done.exit_code, "it is an overview" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    "words",
    [
        *READS,
        ("notebook", "log", "door"),
        ("notebook", "read", "door"),
        ("notebook", "toc"),
        ("notebook", "search", "bakery"),
        ("timeline", "show", "today"),
    ],
    ids=" ".join,
)
def test_no_command_shows_what_another_clone_let_expire(no_weights, words, tmp_path, kept):
    """Nor does any that comes first after a pull by hand, which nothing here was told of."""
    filled(kept, tmp_path, write_and_pull)
    assert "four seven" not in run(*words).output
    run("recall", "harbour")
    run("status")
    assert holders() == []


def test_its_ref_says_that_it_has_expired_and_how_it_is_removed(no_weights):
    """As often as it is opened; by `forget` it leaves the history, and then there is no entry."""
    ref = noted_elsewhere()
    for _ in range(2):
        done = run("open", ref)
        assert done.exit_code == 3
        said = " ".join(done.stderr.split())
        assert f"{ref} expired on 1 January 2026; git's history still holds it." in said
        assert f"`commonplace forget {ref} --rewrite-history`" in said
        assert "bakery" not in done.output
    assert ref in " ".join(run("doctor").stdout.split())
    refused = run("forget", ref, "--yes")
    assert (refused.exit_code, "--rewrite-history" in refused.stderr) == (1, True)
    assert facts("forget", ref, "--rewrite-history", "--keep-days", "0", "--yes")["clean"]
    assert "There is no entry" in run("open", ref).stderr
    assert ref not in run("doctor").stdout


def test_what_has_expired_in_the_notebook_can_be_brought_back(no_weights):
    """Since the history has it, a wrong time loses nothing."""
    ref = noted_elsewhere()
    assert facts("recall", "bakery")["items"] == []
    assert run("expire", ref, "--never").exit_code == 0
    assert [item["ref"] for item in facts("recall", "bakery")["items"]] == [ref]


KILLS = "forgetting what has expired, killed at each step"
EVERY = pytest.mark.parametrize(
    "step",
    [pytest.param(12, marks=pytest.mark.long), pytest.param(1, marks=pytest.mark.whole)],
)


@EVERY
def test_a_kill_in_the_sweep_of_the_notebook_leaves_it_to_the_next(no_weights, counted, step):
    """Whatever file it was about to touch: the next command shows nothing, and ends the work."""
    stage, outcomes = 1, set()
    while True:
        ref = noted_elsewhere()
        command = [sys.executable, "-c", COUNTING + SWEEPING, str(stage)]
        died = subprocess.run(command, env=os.environ, timeout=PATIENCE_S, check=False)
        outcomes.add(died.returncode)
        assert "four seven" not in run("recall", "bakery").output
        assert holders() == []
        assert json.loads(book().read_text("utf-8")) == {}
        assert run("open", ref).exit_code == 3
        if died.returncode == 0:
            break
        stage += step
    assert outcomes == {0, 9}
    counted(KILLS, (stage - 1) // step)


def test_two_processes_sweep_the_notebook_beside_each_other(no_weights):
    """Neither fails over what the other has left out."""
    refs = [noted_elsewhere() for _ in range(2)]
    command = [sys.executable, "-m", "commonplace", "recall", "bakery"]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        shown, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        assert "four seven" not in shown
    assert holders() == []
    assert {run("open", ref).exit_code for ref in refs} == {3}


SWEEPING = """
sys.addaudithook(count)
app.sweep_expired()
os._exit(0)
"""


def test_a_summary_cannot_expire(no_weights):
    """Nothing could forget it, and then no command would answer."""
    run("timeline", "add", "a quiet harbour", "--at", "2026-03-02 10:00")
    run("rollup", "--due")
    ref = facts("timeline", "show", "2026-03-02")["ref"]
    done = run("expire", ref, "in 2 days")
    assert done.exit_code == 1
    assert "it is a summary" in done.stderr
    assert "Nothing expires." in run("expire").stdout


def test_a_damaged_file_shows_nothing(no_weights):
    """Nobody knows then what has expired: the error names the file, and what to do."""
    run("log", SECRET, "--expires", "in 2 days")
    book().write_text("{", "utf-8")
    done = run("list")
    assert done.exit_code == 1
    assert str(book()) in done.stderr
    book().unlink()
    assert len(facts("list")["items"]) == 1


def test_any_command_finishes_what_a_killed_one_was_forgetting(no_weights):
    """And says so beside its answer."""
    log, note = facts("log", SECRET)["ref"], write(f"{SECRET}.")
    killed_before("os.remove", ".private-journal", "forget", log, note, "--yes")
    done = run("list")
    assert "An earlier forgetting of 2 entries was finished." in done.stderr
    assert "bakery" not in done.stdout
    assert holders() == []


def test_two_processes_sweep_beside_each_other(no_weights):
    """Neither fails over what the other has forgotten, and neither shows any of it."""
    for number in range(4):
        run("log", f"{SECRET} {number}", "--expires", "in 2 days")
    let_expire()
    command = [sys.executable, "-m", "commonplace", "list"]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        shown, said = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, said) == (0, "")
        assert "bakery" not in shown
    assert holders() == []


@EVERY
def test_a_kill_at_any_stage_leaves_all_or_nothing(no_weights, counted, step):
    """Whatever file it was about to touch: once a command has come after it, all is there or gone."""
    outcomes, stage = set(), 1
    while True:
        texts = [f"{SECRET}, number {stage} {x}" for x in "abc"]
        refs = [facts("log", texts[0])["ref"], write(texts[1])]
        refs.append(facts("timeline", "add", texts[2])["ref"])
        killed = subprocess.run(
            [sys.executable, "-c", COUNTING + KILLED, str(stage), *refs],
            env=os.environ,
            timeout=PATIENCE_S,
            check=False,
        )
        run("status")
        left = {run("open", ref).exit_code for ref in refs}
        assert len(left) == 1, (stage, left)
        outcomes |= left
        if killed.returncode == 0:
            break
        assert killed.returncode == 9
        if left == {0}:
            assert facts("forget", *refs, "--yes")["clean"]
        assert holders() == []
        stage += step
    assert outcomes == {0, 3}
    counted(KILLS, (stage - 1) // step)


COUNTING = """
import os, sys
from pathlib import Path
from commonplace.app import App
from commonplace.config.settings import read_settings

app = App(read_settings(cwd=Path.cwd(), home=Path.home()), user_home=Path.home())
left = int(sys.argv[1])

def count(event, args):
    global left
    if event in {"open", "os.remove", "os.rename", "os.link", "os.truncate", "sqlite3.connect"}:
        left -= 1
        if not left:
            os._exit(9)
"""

KILLED = """
service = app.forgetting()
plan = service.plan(sys.argv[2:])
sys.addaudithook(count)
service.delete(plan)
os._exit(0)
"""


def test_doctor_names_a_damaged_file_of_times_and_looks_at_the_rest(no_weights):
    """Every other answer waits for it, so doctor may not; removed, all is answered again."""
    facts("log", SECRET, "--expires", "in 30 days")
    book().write_text("{broken", "utf-8")
    refused = run("list")
    assert refused.exit_code != 0
    assert str(book()) in refused.stderr
    found = facts("doctor", code=1)
    (problem,) = [each for each in found["problems"] if each["where"] == "expiring"]
    assert str(book()) in problem["what"]
    assert "remove it" in problem["hint"]
    assert {"chronicle", "private", "index"} <= {each["where"] for each in found["notes"]}
    book().unlink()
    assert run("list").exit_code == 0


def test_one_entry_that_cannot_be_forgotten_holds_up_no_other(no_weights, plain_permissions):
    """The rest is forgotten; the error and doctor name the one that is stuck, and how to go on."""
    stuck = facts("private", "write", SECRET, "--expires", "in 2 days")["refs"][0]
    gone = facts("log", "only for now", "--expires", "in 2 days")["ref"]
    let_expire()
    (path,) = [x for x in Path.home().rglob("*.md") if SECRET in x.read_text("utf-8")]
    path.parent.chmod(0o500)
    with plain_permissions():
        assert facts("list")["items"] == []
        refused = run("log", "a quiet harbour")
        assert refused.exit_code != 0
        assert f"{stuck} has expired and cannot be forgotten" in refused.stderr
        assert list(json.loads(book().read_text("utf-8"))) == [stuck]
        (problem,) = [x for x in facts("doctor", code=1)["problems"] if x["where"] == "expiring"]
        assert stuck in problem["what"]
        assert run("expire", stuck, "--never").exit_code == 0
        assert [item["ref"] for item in facts("list")["items"]] == [stuck]
    path.parent.chmod(0o700)
    assert run("open", gone).exit_code == 3


@pytest.mark.parametrize(
    "words", [*WRITES, ("notebook", "write", "door", SECRET)], ids=lambda words: words[0]
)
def test_a_correction_ends_when_the_entry_does_that_it_replaces(no_weights, words):
    """So does a message that is edited, since it stays; the answer says when."""
    is_memory = words[0] == "memory"
    write_it = ("memory", "save", "message", SECRET) if is_memory else words
    written = facts(*write_it, "--expires", "2099-05-09")
    old = written.get("ref") or written["refs"][0]
    with contextlib.closing(opened_app()) as app:
        amend = app.toolset("recall").tool("amend")
        done = amend.call({"ref": old, "text": f"{SECRET} twice", "supersede": not is_memory})
        assert "It expires 2099-05-09 00:00." in done.text
    known = json.loads(book().read_text("utf-8"))
    assert known[done.facts["ref"]] == known[old]


def test_what_never_expires_is_replaced_by_what_never_does(no_weights):
    """Nothing is said of an end, and an end that the new entry has by itself stays."""
    old = facts("log", "a quiet harbour")["ref"]
    with contextlib.closing(opened_app()) as app:
        amend = app.toolset("recall").tool("amend")
        call = {"ref": old, "text": "a loud harbour", "supersede": True}
        new = amend.call(call)
        assert "expires" not in new.text
        run("expire", new.facts["ref"], "2099-05-09")
        run("expire", old, "2098-05-09")
        assert "It expires 2099-05-09 00:00." in amend.call(call).text


def test_a_new_fact_has_no_end_unless_it_is_given_one(no_weights):
    """`--supersedes` at a write is no correction."""
    old = facts("log", "a quiet harbour", "--expires", "in 30 days")["ref"]
    facts("log", "a loud harbour", "--supersedes", old)
    assert [*json.loads(book().read_text("utf-8"))] == [old]


@pytest.mark.parametrize("lost", ["deleted", "gone"])
def test_a_new_entry_has_nothing_of_one_that_was_there(lost):
    """A ref of one time has three digits by chance; of what something is kept none is given again.

    Neither the end of an entry that was deleted, nor the copy of a note that is gone.
    """
    words = ("private", "write", "--at", "2026-11-20 09:00", "--project-notes")
    random.seed(1)
    former = facts(*words, "the old berth", "--expires", "in 30 days")["refs"][0]
    if lost == "deleted":
        run("delete", former, "--yes")
    else:
        shutil.rmtree(".private-journal")
    random.seed(1)
    ref = facts(*words, "the new berth")["refs"][0]
    assert ref != former
    assert "expires" not in facts("open", ref)
    if lost == "gone":
        assert run("recover").exit_code == 0
        assert "the old berth" in facts("open", former)["text"]
