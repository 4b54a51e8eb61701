"""`commonplace import` of other programs: once, found, updated, never over what was done here."""

from __future__ import annotations

import json
import re

import pytest
from tests.doors.terminal import facts, run

pytestmark = pytest.mark.usefixtures("no_weights")

HARBOUR = "[2024-05-03 09:30:00 AM] Walked to the harbour.\nThe herring boats were in.\n"
BREAD = "[2024-05-04 10:00:00 PM] Bread\nBaked twice.\n"


@pytest.fixture
def diary(tmp_path):
    """A diary of jrnl's with two entries."""
    path = tmp_path / "journal.txt"
    path.write_text(HARBOUR + "\n" + BREAD)
    return path


@pytest.fixture
def graph(tmp_path):
    """A graph of server-memory's."""
    path = tmp_path / "memory.json"
    ada = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]}
    path.write_text(json.dumps(ada) + "\n")
    return path


def ref_of(words):
    """The ref of what is found first."""
    return facts("recall", words)["items"][0]["ref"]


def test_a_diary_comes_in_once_and_is_found(diary):
    """At the time it was written; whence it came is shown, and counted."""
    assert run("import", "jrnl", str(diary), "--dry-run").stdout == (
        "jrnl: 2 entries into private, 2024-05-03 to 2024-05-04.\n"
    )
    assert not facts("recall", "herring")["items"]
    assert run("import", "jrnl", str(diary)).stdout == (
        "jrnl: imported 2 entries into private, 2024-05-03 to 2024-05-04.\n"
    )
    again = facts("import", "jrnl", str(diary))
    assert (again["new"], again["there"], again["updated"]) == (0, 2, 0)
    found = facts("recall", "herring")["items"]
    assert [each["at"][:16] for each in found] == ["2024-05-03T09:30"]
    opened = facts("open", found[0]["ref"])
    assert opened["origin"] == "jrnl, 2024-05-03 09:30 Walked to the harbour."
    assert "Imported 2 from jrnl into private, last " in run("status").stdout
    imported = facts("status")["imported"]
    assert [(each["program"], each["into"], each["entries"]) for each in imported] == [
        ("jrnl", "private", 2)
    ]


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_what_changed_in_the_original_is_updated(diary, into):
    """Where it is here as it was brought in."""
    run("import", "jrnl", str(diary), "--into", into)
    diary.write_text(HARBOUR + "\n" + BREAD.replace("twice", "with rye"))
    assert facts("import", "jrnl", str(diary), "--into", into, "--dry-run")["updated"] == 1
    done = run("import", "jrnl", str(diary), "--into", into)
    assert done.stdout.startswith(f"jrnl: 1 entry in {into} updated.\n")
    assert "with rye" in run("open", ref_of("rye")).stdout
    assert facts("import", "jrnl", str(diary), "--into", into)["there"] == 2


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_an_update_leaves_it_replaced(diary, into):
    """What took its place here still does, and doctor finds nothing to repair."""
    run("import", "jrnl", str(diary), "--into", into)
    old = ref_of("herring")
    write = {"private": ("private", "write"), "timeline": ("timeline", "add")}[into]
    run(*write, "The boats left for good.", "--supersedes", old)
    new = facts("open", old)["superseded_by"]
    assert new
    diary.write_text(diary.read_text().replace("boats were in", "boats were out"))
    assert facts("import", "jrnl", str(diary), "--into", into)["updated"] == 1
    assert "boats were out" in facts("open", old)["text"]
    assert facts("open", old)["superseded_by"] == new
    assert "does not name" not in run("doctor").stdout


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_what_was_changed_here_stays(diary, into):
    """It is named, and left as it is here; so is what was deleted."""
    run("import", "jrnl", str(diary), "--into", into)
    run("edit", ref_of("twice"), "Bought a loaf.")
    run("delete", ref_of("herring"), "--yes")
    diary.write_text((HARBOUR + "\n" + BREAD).replace("twice", "with rye").replace("boats", "cats"))
    for _ in range(2):
        done = facts("import", "jrnl", str(diary), "--into", into)
        assert (done["new"], done["updated"], done["changed_here"], done["deleted_here"]) == (
            0,
            0,
            1,
            1,
        )
    assert "loaf" in run("open", ref_of("loaf")).stdout
    assert not facts("recall", "herring")["items"]


def test_facts_go_into_the_timeline(graph):
    """With the time of their file, which is said."""
    done = run("import", "server-memory", str(graph))
    assert re.fullmatch(
        r"server-memory: imported 1 entry into timeline, \d{4}-\d\d-\d\d\.\n\n"
        r"Note: Without a time of their own: 1 entry, at that of the file or of now\.\n",
        done.stdout,
    )
    opened = facts("open", ref_of("tea"))
    assert (opened["journal"], opened["origin"]) == ("timeline", "server-memory, entity Ada")
    assert opened["tags"] == ["person"]


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_secrets_do_not_come_in(tmp_path, into):
    """Neither in the text nor in the id that is kept, which is made of a title."""
    token = "ghp_" + "a1B2" * 9
    path = tmp_path / "journal.txt"
    path.write_text(f"[2024-05-03 09:30 AM] Token {token}\nand {token}\n")
    run("import", "jrnl", str(path), "--into", into)
    opened = run("open", ref_of("Token")).stdout
    assert token not in opened
    assert "[secret: GitHub token" in opened
    again = facts("import", "jrnl", str(path), "--into", into)
    assert (again["there"], again["updated"]) == (1, 0)


def test_what_breaks_off_keeps_what_came_before(tmp_path):
    """It is named with its line, and the command fails."""
    path = tmp_path / "diary.json"
    entry = json.dumps({"title": "Herring", "body": "", "date": "2024-05-03", "time": "09:30"})
    path.write_text(f'{{"entries": [\n{entry},\n{{"title": "Br')
    done = run("import", "jrnl", str(path))
    assert done.exit_code == 1
    assert "imported 1 entry into private" in done.stdout
    assert f"Not read to its end: The file {path}, line 3: the JSON breaks off." in done.stdout
    path.write_text('{"entries": [')
    done = run("import", "jrnl", str(path))
    assert done.exit_code == 2
    assert "line 1: the JSON breaks off" in done.output


def test_what_the_journal_cannot_hold_is_named(tmp_path):
    """With how often, why and where; another journal may hold it."""
    path = tmp_path / "journal.txt"
    path.write_text("[1950-01-01 09:30] Old\n\n[2024-05-03 09:30] \n")
    left = facts("import", "jrnl", str(path))["items"]
    assert [(each["count"], each["where"]) for each in left] == [
        (1, ["journal.txt line 1"]),
        (1, ["journal.txt line 3"]),
    ]
    assert facts("import", "jrnl", str(path), "--into", "timeline")["new"] == 1


def test_the_list_names_every_program(tmp_path):
    """With what lies on this machine."""
    here = tmp_path / "home" / ".local" / "share" / "jrnl" / "journal.txt"
    here.parent.mkdir(parents=True)
    here.write_text(BREAD)
    programs = {each["program"]: each["found"] for each in facts("import")["items"]}
    assert programs["jrnl"] == [str(here)]
    assert not programs["server-memory"]
    assert run("import", "jrnl").stdout == "jrnl: imported 1 entry into private, 2024-05-04.\n"
    done = run("import", "server-memory")
    assert done.exit_code == 3
    assert "Name its memory.json" in done.output


def test_older_ones_are_left_out_on_request(diary):
    """And counted."""
    done = facts("import", "jrnl", str(diary), "--since", "2024-05-04")
    assert done["new"] == 1
    assert done["items"] == [{"why": "older than --when", "count": 1, "where": []}]


def test_a_wrong_call_is_refused(diary, tmp_path):
    """With the next step."""
    assert run("import", "claude-code", "--into", "private").exit_code == 2
    assert run("import", "jrnl", str(diary), "--all").exit_code == 2
    done = run("import", "jrnl", str(tmp_path / "none.txt"))
    assert done.exit_code == 3
    assert "Name its journal file" in done.output


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_of_two_with_one_id_the_first_comes_in(tmp_path, into):
    """However often it is asked: neither takes the place of the other."""
    path = tmp_path / "m.json"
    path.write_text(json.dumps([{"id": "a", "memory": "Tea"}, {"id": "a", "memory": "Coffee"}]))
    for new in (1, 0):
        done = facts("import", "mem0", str(path), "--into", into)
        assert (done["new"], done["updated"]) == (new, 0)
        assert done["items"][0]["why"] == "another with the same id came before it"


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_an_entry_of_another_program_takes_the_place_of_none_here(graph, tmp_path, into):
    """Whatever it says that it replaces."""
    run("import", "server-memory", str(graph))
    old = ref_of("tea")
    path = tmp_path / "m.json"
    metadata = {"supersedes": old, "superseded_by": old}
    path.write_text(json.dumps([{"id": "x", "memory": "Ada hates tea.", "metadata": metadata}]))
    assert facts("import", "mem0", str(path), "--into", into)["new"] == 1
    opened = facts("open", old)
    assert (opened["superseded_by"], opened["supersedes"]) == ("", "")


def test_hostile_values_hinder_no_other_entry(tmp_path):
    """Nested beyond measure, too long, no JSON, no text for UTF-8."""
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"x": deep}
    more = [deep, {"x": "y" * 100_000}, {"x": float("inf")}, {"imported_from": "me", "tags": 5}]
    memories = [{"id": f"{n}", "memory": "Tea", "metadata": x} for n, x in enumerate(more)]
    memories += [{"id": "s", "memory": "a\0b\ud800"}, {"id": "k" * 5000, "memory": "Tea"}]
    memories += [{"id": "l", "memory": "x" * 2_000_000}]
    path = tmp_path / "m.json"
    path.write_text(json.dumps(memories))
    assert facts("import", "mem0", str(path))["new"] == 3
    assert facts("import", "mem0", str(path))["there"] == 3
    done = run("import", "mem0", str(tmp_path))
    assert done.exit_code == 2
    assert "is not a file. Name a file." in done.output


def test_a_date_that_is_two_days_waits_for_its_reading(tmp_path):
    """It is left out with the two days and the option, and comes in once that is given."""
    path = tmp_path / "tea.md"
    path.write_text("---\ncreated: 01/02/2026\n---\nSteep the gunpowder tea.\n")
    said = run("import", "basic-memory", str(path)).stdout
    assert "say which with --dates day-first or month-first" in said
    assert "(tea.md: '01/02/2026' is 2026-02-01 or 2026-01-02)" in said
    taken = facts("import", "basic-memory", str(path), "--dates", "month-first")
    assert (taken["new"], taken["first"][:10]) == (1, "2026-01-02")
    assert run("import", "claude-code", "--dates", "day-first").exit_code == 2


def test_an_encoding_that_was_guessed_is_named(tmp_path):
    """With the files, in words and facts."""
    (tmp_path / "2026-11-06.md").write_bytes(b"caf\xe9 sanderling\n")
    told = "Not UTF-8, so read as Latin-1: 1 entry (2026-11-06.md)."
    assert told in run("import", "obsidian", str(tmp_path), "--dry-run").stdout
    guessed = facts("import", "obsidian", str(tmp_path))["guessed"]
    assert guessed == [{"read_as": "Latin-1", "count": 1, "where": ["2026-11-06.md"]}]
    assert facts("import", "obsidian", str(tmp_path))["guessed"] == []
