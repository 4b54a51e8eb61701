"""`commonplace undo`: the newest that was written in this terminal, or an entry's last edit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.doors.terminal import facts, on_terminal, one_terminal, opened_app, run, write
from tests.importable import KINDS, SAID, SAID_IN_EXPORT, command_of, files_with, line_of, there
from tests.patience import PATIENCE_S

from commonplace.doors.cli.acts import noting_import

needs_terminal = pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")


def text_of(ref):
    """What an entry says now."""
    return facts("open", ref)["text"]


def edit_by_hand(ref):
    """Append a line to the file of a private entry."""
    with open(facts("private", "read", ref)["path"], "a", encoding="utf-8") as file:
        file.write("\nby hand\n")


def test_what_was_written_last_goes_first(no_weights, counted):
    """Adds, edits and supersedings of every journal, each shown; then there is nothing left."""
    log = facts("log", "left the harbour")["ref"]
    run("edit", log, "left the port")
    successor = facts("log", "left at noon", "--supersedes", log)["ref"]
    private = write("a quiet harbour")
    todo = facts("memory", "save", "todo", "row ashore")["ref"]
    run("memory", "save", "todo", "--ref", todo, "--done")
    run("timeline", "add", "moored")
    run("chronicle", "edit", successor, "-t", "+sea")
    undone = [facts("undo", "--yes") for _ in range(8)]
    assert [(each["act"], each["ref"].partition(":")[0]) for each in undone] == [
        ("edited", "chronicle"),
        ("deleted", "timeline"),
        ("edited", "memory"),
        ("deleted", "memory"),
        ("deleted", "private"),
        ("deleted", "chronicle"),
        ("edited", "chronicle"),
        ("deleted", "chronicle"),
    ]
    assert [each["ref"] for each in undone[3:7]] == [todo, private, successor, log]
    assert (undone[6]["before"], undone[6]["text"]) == ("left the port", "left the harbour")
    nothing = run("undo", "--yes")
    assert (nothing.exit_code, "commonplace undo REF" in nothing.stderr) == (3, True)
    counted("edits and writes taken back", len(undone))


@pytest.mark.parametrize("heading", ["project-notes", "feelings"])
def test_what_a_private_entry_had_replaced_goes_next(heading):
    """It is as it was written: its earlier edit is taken back as well, then the entry itself."""
    write_it = ("private", "write", f"--{heading}")
    old = facts(*write_it, "alpha one")["refs"][0]
    written = text_of(old)
    run("edit", old, "alpha won")
    edited = text_of(old)
    new = facts(*write_it, "alpha two", "--supersedes", old)["refs"][0]
    assert f"{old} holds again." in run("undo", "--yes").stdout
    assert text_of(old) == edited
    assert [facts("undo", "--yes")["ref"], text_of(old)] == [old, written]
    assert facts("undo", "--yes")["act"] == "deleted"
    assert [run("open", ref).exit_code for ref in (old, new)] == [3, 3]


def test_a_private_entry_is_shown_by_its_words():
    """Not by the heading above them."""
    ref = write("a quiet harbour")
    assert run("undo", "--yes").stdout == f"Removed {ref}.\n- a quiet harbour\n"


@needs_terminal
def test_another_terminal_is_left_alone():
    """What it wrote is not taken back here, nor what it edited of ours: that is named."""
    mine = facts("log", "mine")["ref"]
    run("edit", mine, "mine, better")
    with one_terminal() as there:
        there("log", "theirs")
        assert facts("undo", "--yes")["text"] == "mine"
        run("edit", mine, "mine, again")
        there("edit", mine, "theirs by now")
        refused = run("undo", "--yes")
        assert (refused.exit_code, mine in refused.stderr) == (4, True)
        assert "edited again since, elsewhere" in refused.stderr
        assert text_of(mine) == "theirs by now"
        assert facts("undo", mine, "--yes")["text"] == "mine, again"
        assert facts("undo", "--yes")["text"] == "mine"
        there("undo", "--yes")
    assert [each["text"] for each in facts("list")["items"]] == ["mine"]


@needs_terminal
def test_a_later_terminal_of_the_same_name_is_another():
    """What was written in the former one is not taken back in it."""
    with one_terminal() as there:
        there("log", "theirs")
        assert there("undo", "--yes", "--json", anew=True) == b""
        assert [each["text"] for each in facts("list")["items"]] == ["theirs"]
        assert json.loads(there("undo", "--yes", "--json"))["text"] == "theirs"


@needs_terminal
def test_it_shows_what_goes_and_asks():
    """As a deletion; without a terminal it wants --yes."""
    ref = facts("log", "left the harbour")["ref"]
    run("edit", ref, "left the port")
    refused = run("undo", ref)
    assert (refused.exit_code, "Pass --yes" in refused.stderr) == (2, True)
    assert "- left the port\n+ left the harbour\n" in refused.stderr
    code, _, shown = on_terminal("undo", ref, typed="n\n")
    assert (code, f"Take back the last edit of {ref}?" in " ".join(shown.split())) == (1, True)
    assert text_of(ref) == "left the port"
    code, answer, shown = on_terminal("undo", ref, typed="y\n")
    assert (code, (answer + shown).count("+ left the harbour")) == (0, 1)


def test_what_was_edited_elsewhere_since_it_was_written_stays():
    """By a hand in its file; what was before it goes when it is asked for once more."""
    log = facts("log", "left the harbour")["ref"]
    ref = write("a storm")
    edit_by_hand(ref)
    refused = run("undo", "--yes")
    assert (refused.exit_code, "was edited again since it was written" in refused.stderr) == (
        4,
        True,
    )
    assert facts("undo", "--yes")["ref"] == log
    assert "by hand" in text_of(ref)


@pytest.mark.parametrize("then", ["edited", "removed"])
def test_an_edit_that_a_hand_went_over_holds_up_nothing(then):
    """It is named where the entry is still there, and what was before it goes next."""
    log = facts("log", "left the harbour")["ref"]
    ref = write("a storm")
    run("edit", ref, "## Reflections\n\na gale")
    if then == "edited":
        edit_by_hand(ref)
        refusals = [run("undo", "--yes") for _ in range(2)]  # the edit, then the entry
        assert [each.exit_code for each in refusals] == [4, 4]
        assert all(ref in each.stderr and "next undo" in each.stderr for each in refusals)
        assert "by hand" in text_of(ref)
    else:
        os.unlink(facts("private", "read", ref)["path"])
    assert facts("undo", "--yes")["ref"] == log


@pytest.mark.parametrize("command", [("edit",), ("private", "edit"), ("chronicle", "edit")])
def test_no_undo_keeps_nothing(command):
    """Of any edit of that entry."""
    ref = facts("log", "left the harbour")["ref"] if command[0] != "private" else write("a storm")
    run(*command, ref, "## Reflections\n\nkept")
    assert run(*command, ref, "## Reflections\n\nlast", "--no-undo").exit_code == 0
    assert run("undo", ref, "--yes").exit_code == 3
    with closing(opened_app()) as app:
        assert app.former.find() == []


@pytest.mark.parametrize("why", ["asked", "setting", "secret"])
def test_an_edit_that_kept_nothing_is_not_passed_over(why, monkeypatch):
    """What was written before it, in whatever entry, stays until it is asked for once more."""
    if why == "secret":
        monkeypatch.setenv("COMMONPLACE_SECRETS_AT_WRITE", "keep")
    ref = facts("log", f"moored with ghp_{'a1B2c3D4e5F6' * 3}")["ref"]
    monkeypatch.delenv("COMMONPLACE_SECRETS_AT_WRITE", raising=False)
    other = facts("log", "left the harbour")["ref"]
    if why == "setting":
        monkeypatch.setenv("COMMONPLACE_UNDO_KEEP_DAYS", "0")
    more = ["--no-undo"] if why == "asked" else []
    assert run("edit", ref, "moored", *more).exit_code == 0
    refused = run("undo", "--yes")
    assert (refused.exit_code, ref in refused.stderr) == (4, True)
    assert (text_of(other), "kept nothing" in refused.stderr) == ("left the harbour", True)
    assert facts("undo", "--yes")["ref"] == other


def test_a_command_that_was_killed_is_not_passed_over():
    """What it may have written is named before anything older is taken back."""
    facts("log", "left the harbour")
    app = opened_app()
    (acts,) = app.folder.glob("acts/*")
    app.close()
    written = json.loads(acts.read_text())
    begun = {"act": "begun", "at": written["at"] + 1, "who": written["who"], "journal": "private"}
    with open(acts, "a", encoding="utf-8") as file:
        file.write(json.dumps(begun) + "\n")
    refused = run("undo", "--yes")
    assert (refused.exit_code, "ended before it could note" in refused.stderr) == (4, True)
    assert facts("undo", "--yes")["text"] == "left the harbour"


def test_commands_that_write_at_once_are_all_noted():
    """All that have no terminal share a list: none takes another's line out of it."""
    command = [sys.executable, "-m", "commonplace", "log"]
    for round_ in range(3):
        writers = [subprocess.Popen([*command, f"boat {round_} {n}"]) for n in range(3)]
        assert [writer.wait(PATIENCE_S) for writer in writers] == [0, 0, 0]
    assert [run("undo", "--yes").exit_code for _ in range(10)] == [*[0] * 9, 3]


def test_a_commit_is_taken_back_by_another(no_weights):
    """An entry, the correction of one, and what was written before them, one after another."""
    log = facts("log", "left the harbour")["ref"]
    ref = facts("notebook", "write", "boats", "They float.", "--overview", "Boats float.")["ref"]
    run("edit", ref, "They float on water.")
    corrected, written, logged = (facts("undo", "--yes") for _ in range(3))
    assert [each["act"] for each in (corrected, written, logged)] == ["deleted"] * 3
    assert (written["ref"], logged["ref"]) == (ref, log)
    assert f"{ref} holds again." in corrected["notes"]
    assert any("--rewrite-history" in note for note in written["notes"])
    assert facts("notebook", "read", "boats")["overview"] == ""
    assert run("undo", "--yes").exit_code == 3


def test_a_commit_whose_overview_another_changed_since_is_named():
    """Neither goes; what was written before it is taken back when it is asked for once more."""
    log = facts("log", "left the harbour")["ref"]
    ref = facts("notebook", "write", "boats", "They float.", "--overview", "Boats float.")["ref"]
    with closing(opened_app()) as app:
        app.amend.edit("notebook:boats", "Boats sink.")
    refused = run("undo", "--yes")
    assert (refused.exit_code, "notebook:boats was changed since" in refused.stderr) == (4, True)
    assert (text_of("notebook:boats"), text_of(ref)) == ("Boats sink.", "They float.")
    assert facts("undo", "--yes")["ref"] == log


def test_a_commit_that_another_replaced_since_is_named():
    """It stays, and so does what took its place."""
    ref = facts("notebook", "write", "boats", "They float.")["ref"]
    with closing(opened_app()) as app:
        later = app.amend.supersede(ref, "They sink.").ref
    refused = run("undo", "--yes")
    assert (refused.exit_code, f"replaced since by {later}" in refused.stderr) == (4, True)
    assert (text_of(ref), text_of(later)) == ("They float.", "They sink.")


def test_the_alias_of_the_log_takes_back_nothing_else():
    """`chronicle undo` is the same, of chronicle alone."""
    facts("log", "left the harbour")
    write("a storm")
    assert facts("chronicle", "undo", "--yes")["text"] == "left the harbour"
    assert run("chronicle", "undo", "--yes").exit_code == 3
    assert facts("undo", "--yes")["act"] == "deleted"


DIARY = "[2024-05-03 09:30:00 AM] Walked to the harbour.\nHerring.\n\n[2024-05-04 10:00:00 PM] Bread\nTwice.\n"


@pytest.fixture
def diary(tmp_path):
    """A diary of jrnl's with two entries."""
    path = tmp_path / "journal.txt"
    path.write_text(DIARY)
    return path


_OF_GIT = dict.fromkeys(KINDS, ()) | {"journal-json": ("notebook", "ledgers")}
"""Where the history of an entry stays that is a commit, and what is derived from it."""


@pytest.mark.parametrize("kind", KINDS)
def test_an_import_is_taken_back_and_comes_again(no_weights, tmp_path, kind):
    """How much goes is shown; no byte of it is left but in git, nothing else goes, twice."""
    if kind != "export":  # which wants empty journals
        facts("log", "left the harbour")
    before = there()
    words = command_of(kind, tmp_path)
    for _ in range(2):
        assert run(*words).exit_code == 0
        assert len(there()) >= len(before) + 3
        asked = run("undo")
        assert (asked.exit_code, "Pass --yes" in asked.stderr) == (2, True)
        undone = facts("undo", "--yes")
        assert (undone["removed"] >= 3, undone["edited"]) == (True, 0)
        assert there() == before
        assert facts("recall", SAID)["items"] == []
        said = [SAID] if kind != "export" else SAID_IN_EXPORT
        git = [Path.home() / ".local/share/commonplace/users/me" / x for x in _OF_GIT[kind]]
        assert [path for word in said for path in files_with(word, outside=git)] == []
    assert facts("undo", "--yes")["text"] == "left the harbour" if before else True
    assert run("undo", "--yes").exit_code == 3


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_only_what_an_import_added_and_nobody_changed_goes(no_weights, diary, into):
    """What was there, edited, replaced or deleted by hand since is left as it is, and is named."""
    run("import", "jrnl", str(diary), "--into", into)
    bread = facts("recall", "Bread")["items"][0]["ref"]
    diary.write_text(DIARY.replace("Twice", "Thrice"))
    assert facts("import", "jrnl", str(diary), "--into", into)["updated"] == 1
    more = "\n[2024-06-01 10:00] Eel\n\n[2024-06-02 10:00] Tide\n\n[2024-06-03 10:00] Gone\n"
    diary.write_text(diary.read_text() + more + "\n[2024-06-04 10:00] Buoy\n")
    assert facts("import", "jrnl", str(diary), "--into", into)["new"] == 4
    eel, tide, gone, buoy = (
        facts("recall", words)["items"][0]["ref"] for words in ("Eel", "Tide", "Gone", "Buoy")
    )
    with closing(opened_app()) as app:
        service = app.amend
        service.edit(eel, service.read_text(eel).text.replace("Eel", "Conger"))
        service.supersede(tide, "ebb")
        service.undo(service.supersede(buoy, "float").ref)
        service.delete(gone)
    undone = run("undo", "--yes", "--json")
    said = json.loads(undone.stdout)
    assert (said["removed"], said["edited"]) == (1, 2)
    assert eel in undone.stderr
    assert tide in undone.stderr
    assert "Thrice" in text_of(bread)
    again = facts("import", "jrnl", str(diary), "--into", into)
    assert (again["new"], again["deleted_here"]) == (1, 1)


def test_an_import_that_still_runs_is_not_taken_back(no_weights, diary):
    """Nor passed over: it goes whole once it has ended."""
    with closing(opened_app()) as app, noting_import(app, "timeline") as record:
        refused = [run("undo", "--yes")]
        importing = app.foreign_import({})
        importing.go_through("jrnl", [str(diary)], into="timeline", record=record)
        refused.append(run("undo", "--yes"))
    for each in refused:
        assert (each.exit_code, "still running" in each.stderr) == (4, True)
    assert facts("undo", "--yes")["removed"] == 2
    assert run("undo", "--yes").exit_code == 3


DAMAGED = [
    b'{"line":"added","into":["timeline"],"versions":{"a":"b"},"updated":0}',
    b'{"line":"added","into":"timeline","versions":["a"],"updated":"x"}',
    b'{"line":"going","into":"timeline","entries":{"a":["b"]}}',
    b'{"line":"added","into":"timeline","versions":{"\xff":"b"},"updated":0}',
    b'{"line":"of another version"}',
    b'{"a":' * 100_000,
]
"""Lines of a record that no import wrote."""


def test_a_damaged_line_of_a_record_hides_no_other(no_weights, diary):
    """Of the import that is taken back, and of another; what else lies there is no record."""
    run("import", "jrnl", str(diary), "--into", "timeline")
    (record,) = (folder := Path.home() / RECORDS).iterdir()
    lines = b"\n".join([b"", *DAMAGED])
    record.write_bytes(lines + record.read_bytes())
    (folder / "another.jsonl").write_bytes(lines)
    (folder / "folder.jsonl").mkdir()
    assert facts("undo", "--yes")["removed"] == 2


def test_an_import_into_a_journal_that_takes_none_back_is_named(diary):
    """What was written before it is taken back when it is asked for once more."""
    facts("log", "left the harbour")
    run("import", "jrnl", str(diary), "--into", "timeline")
    (record,) = (Path.home() / RECORDS).iterdir()
    added = '{"line":"added","into":"diary","versions":{"a":"b"},"updated":0}'
    record.write_text(f'{{"line":"begun","source":"jrnl","export":""}}\n{added}')
    refused = run("undo", "--yes")
    assert (refused.exit_code, "imported into diary" in refused.stderr) == (2, True)
    assert facts("undo", "--yes")["text"] == "left the harbour"


RECORDS = ".local/share/commonplace/users/me/brought"


@needs_terminal
def test_an_import_by_another_terminal_stays(no_weights, tmp_path):
    """Each terminal takes back its own, however many came between."""
    for name in ("mine", "theirs"):
        entry = {"id": 1, "timestamp": "2026-03-01T09:30:00Z", "message": name}
        (tmp_path / name).write_text(json.dumps({"entries": [entry]}))
    run("chronicle", "import", tmp_path / "mine")
    with one_terminal() as there:
        there("chronicle", "import", str(tmp_path / "theirs"))
        assert facts("undo", "--yes")["removed"] == 1
        assert [each["text"] for each in facts("list")["items"]] == ["theirs"]
        assert run("undo", "--yes").exit_code == 3
        there("undo", "--yes")
    assert facts("list")["items"] == []


def test_an_import_that_only_updated_is_not_passed_over(no_weights, diary):
    """It is named; the import before it stays until it is asked for once more."""
    run("import", "jrnl", str(diary))
    diary.write_text(DIARY.replace("Twice", "Thrice"))
    assert facts("import", "jrnl", str(diary))["updated"] == 1
    refused = run("undo", "--yes")
    assert (refused.exit_code, "it updated 1 entry" in refused.stderr) == (4, True)
    assert len(facts("list")["items"]) == 2
    assert facts("undo", "--yes")["removed"] == 1


def test_a_session_goes_whole_or_stays(no_weights, tmp_path):
    """One that went on since stays, as one that an import only lengthened; both are named."""
    command = command_of("sessions", tmp_path)
    assert facts(*command)["items"]
    for n in (1, 2):
        with open(tmp_path / "claude" / f"s{n}.jsonl", "a", encoding="utf-8") as file:
            file.write(line_of(n, "user", "again"))
    assert facts(*command)["items"]
    refused = run("undo", "--yes")
    assert (refused.exit_code, "it updated 2 entries" in refused.stderr) == (4, True)
    undone = run("undo", "--yes", "--json")
    assert (json.loads(undone.stdout)["removed"], json.loads(undone.stdout)["edited"]) == (1, 2)
    assert all(f"transcripts:claude-code/s{n}" in undone.stderr for n in (1, 2))
    assert sorted(words.split()[4] for _, words in there()) == ["1"] * 3 + ["2"] * 3
    run("transcripts", "delete", "claude-code/s1", "--yes")
    assert facts(*command)["items"]
    assert sorted(words.split()[4] for _, words in there()) == ["2"] * 3 + ["3"] * 2


def test_what_was_changed_since_in_any_journal_stays(no_weights):
    """It is named, and the same export brings all the rest again."""
    command = command_of("export", ".")
    run(*command)
    brought = there()
    words = {"private": "the cache", "chronicle": "rolled", "timeline": "moons", "memory": "graz"}
    with closing(opened_app()) as app:
        items = {x.name: [*x.portable().export_items(None)] for x in app.journals}
        refs = ["notebook:api/failures"]
        for journal, word in words.items():
            refs += [x.ref for x in items[journal] if word in x.page_text().lower()]
        for ref in refs:
            app.amend.edit(ref, "changed since")
    undone = run("undo", "--yes", "--json")
    # And the entry of the timeline that one of these has replaced.
    assert json.loads(undone.stdout)["edited"] == len(refs) + 1 == 6
    assert all(ref in undone.stderr for ref in refs[1:])
    left = there()
    assert sum("changed since" in text for _, text in left) == len(refs)
    assert run(*command).exit_code == 0
    assert {*brought} <= {*there(), *left} | {x for x in brought if x[1] not in dict(left)}
    assert run("undo", "--yes").exit_code == 0
    assert there() == left


def test_an_import_of_which_nothing_is_known_any_more_is_named(no_weights, diary):
    """Only so many are kept; what was before it goes when asked once more."""
    log = facts("log", "left the harbour")["ref"]
    run("import", "jrnl", str(diary))
    with closing(opened_app()) as app:
        (record,) = app.folder.glob("brought/*")
    record.unlink()
    refused = run("undo", "--yes")
    assert (refused.exit_code, "no longer known" in refused.stderr) == (3, True)
    assert facts("undo", "--yes")["ref"] == log
    assert len(facts("list")["items"]) == 2


@pytest.mark.parametrize("how", ["commit", "file", "remote"])
def test_a_notebook_that_was_used_since_stays(no_weights, how):
    """It is named; all else that the export brought goes, and comes again."""
    command = command_of("export", ".")
    run(*command)
    folder = Path.home() / ".local/share/commonplace/users/me/notebook"
    if how == "commit":
        with closing(opened_app()) as app:
            app.notebook.service().reading().write("boats", "They float.")
    elif how == "file":
        (folder / "mine.txt").write_text("kept")
    else:
        subprocess.run(["git", "-C", folder, "remote", "add", "origin", "elsewhere"], check=True)
    undone = run("undo", "--yes")
    assert undone.exit_code == 0, undone.output
    assert "so left: the notebook (notebook)" in undone.stderr
    assert {journal for journal, _ in there()} == {"notebook"}
    assert (folder / "mine.txt").exists() == (how == "file")
    assert run(*command).exit_code == 0
    assert {journal for journal, _ in there()} >= {"notebook", "private", "timeline"}


def test_notes_of_a_project_that_was_never_opened_here_go_from_its_folder(no_weights, tmp_path):
    """An import placed them there; one that was edited since stays, and is named."""
    project = Path.home() / "boats"
    project.mkdir()
    subprocess.run(["git", "init", "-q", project], check=True)
    for n in (1, 2):
        write(f"{SAID} {n}", "--project-notes", f"{SAID} floats {n}", "--project", project)
    facts("export", tmp_path / "out")
    for folder in (".local", ".private-journal", "boats/.private-journal"):
        shutil.rmtree(Path.home() / folder)
    run("import", tmp_path / "out")
    assert len([*project.rglob("*.md")]) == 2
    assert facts("undo", "--yes")["removed"] == 4
    assert files_with(SAID) == []
    run("import", tmp_path / "out")
    edited = next(project.rglob("*.md"))
    edited.write_text(edited.read_text() + "by hand\n")
    undone = facts("undo", "--yes")
    assert (undone["removed"], undone["edited"]) == (3, 1)
    assert [*project.rglob("*.md")] == [edited]


def test_an_import_is_not_forgotten_where_a_journal_cannot_be_opened(no_weights):
    """Once it can, all that it added goes."""
    assert run(*command_of("export", Path.home())).exit_code == 0
    head = Path.home() / ".local/share/commonplace/users/me/notebook/.git/HEAD"
    kept = head.read_bytes()
    head.write_bytes(b"nothing")
    assert run("undo", "--yes").exit_code != 0
    head.write_bytes(kept)
    assert run("undo", "--yes").exit_code == 0
    assert there() == []
