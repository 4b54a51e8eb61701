"""The notebook from a terminal: make it, write, read, list, search, move, bring in the JSON."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.doors.terminal import facts, run
from tests.journals.notebook.team import Team, clashing, diverged, having

from commonplace.journals.notebook.format import version_of


@pytest.fixture(autouse=True)
def known_author(words_only, monkeypatch):
    """An author of a known name."""
    monkeypatch.setenv("COMMONPLACE_NOTEBOOK_AUTHOR", "Wren Fox <wren@example.org>")


@pytest.fixture
def book(tmp_path):
    """Where the notebook lies."""
    return tmp_path / "home" / ".local" / "share" / "commonplace" / "users" / "me" / "notebook"


def write(*words, **more):
    """Write one entry; its id."""
    return facts("notebook", "write", *words, **more)["id"]


def editor(tmp_path, body):
    """An editor that does this with the text it is given; as an environment."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        f"file = Path(sys.argv[1])\ntext = file.read_text()\n{body}\nfile.write_text(text)\n"
    )
    return {"EDITOR": f"{sys.executable} -I -S {script}", "VISUAL": ""}


class Terminal(io.BytesIO):
    """The stdin of somebody who sits before a terminal and types nothing."""

    def isatty(self):
        """It is one."""
        return True


def on_terminal(*words, env):
    """Call a command before a terminal, in this process; its code and its stderr."""
    done = run(*words, input=Terminal(), env=env)
    return done.exit_code, done.stderr


@pytest.mark.design("001-06")
def test_the_first_entry_makes_the_notebook(book):
    """It is an ordinary repository, whose log is the entries."""
    done = run("notebook", "write", "api/errors", "Problem+json", "it is.", "-c", "design")
    written = "Entry written: notebook:api/errors#01a"  # UUIDv7
    assert (done.exit_code, done.stdout[: len(written)]) == (0, written)
    log = subprocess.run(
        ["git", "-C", str(book), "log", "--format=%an %s"], capture_output=True, text=True
    )
    assert log.stdout == "Wren Fox Problem+json it is.\n"
    assert (book / "api" / "errors.md").read_text() == "<!-- entry count: 1 -->\n"


def test_read_log_toc_and_search(book):
    """Each in words and as JSON."""
    one = write("api/errors", "Problem+json it is.")
    write(
        "api/errors", "Codes are stable.", "--overview", "Errors.", "--base-version", version_of("")
    )
    read = facts("notebook", "read", "api/errors")
    assert (read["overview"], read["entry_count"]) == ("Errors.", 2)
    assert facts("notebook", "read", one)["text"] == "Problem+json it is."
    assert run("notebook", "read", "api/errors").stdout.endswith("\n\nErrors.\n")
    listed = facts("notebook", "log", "api/errors", "-n", "1", "--start", "1")["items"]
    assert [x["id"] for x in listed] == [one]
    assert facts("notebook", "toc")["subsections"][0]["type"] == "group"
    assert "api/errors (2 entries" in run("notebook", "toc", "api").stdout
    found = facts("notebook", "search", "problem", "json")["items"]
    assert [x["id"] for x in found] == [one]
    assert [x["id"] for x in facts("notebook", "search", "-c", "problem")["items"]] == [one]
    assert run("notebook", "search", "zzz").stdout.startswith("No entries found.")


def test_exit_codes():
    """Not found is 3, a conflict 4 with both texts, what cannot be 2."""
    assert run("notebook", "toc").exit_code == 3
    write("a", "x", "--overview", "Theirs.")
    assert run("notebook", "read", "b").exit_code == 3
    assert run("notebook", "write", "a#b", "x").exit_code == 2
    assert run("notebook", "search").exit_code == 2
    assert run("notebook", "write", "a", "y", "--overview", "Mine.").exit_code == 4
    done = run("notebook", "write", "a", "y", "--overview", "Mine.", "--base-version", "0" * 12)
    assert done.exit_code == 4
    assert "Theirs." in done.stderr
    assert "Mine." in done.stderr
    assert facts("notebook", "read", "a")["entry_count"] == 1


def test_an_entry_from_stdin():
    """In a pipe, or by a dash."""
    for words in ([], ["-"]):
        name = write("a", *words, input="piped\n")
        assert facts("notebook", "read", name)["text"] == "piped\n"


def test_the_same_key_is_one_entry():
    """A script may try again."""
    assert write("a", "x", "--idempotency-key", "k") == write("a", "x", "--idempotency-key", "k")


def test_move_and_import(tmp_path):
    """A moved section keeps its entries; the JSON is brought in once, and found."""
    write("old", "The lighthouse is lit.")
    assert facts("notebook", "move", "old", "new")["new"] == "new"
    (hit, *_) = facts("notebook", "search", "lighthouse")["items"]
    assert hit["id"].startswith("new#")
    file = tmp_path / "journal.json"
    entry = {"content": "A heron stands.", "timestamp": "2025-07-21T10:00:00"}
    file.write_text(json.dumps({"sections": {"pond": {"overview": "", "entries": [entry]}}}))
    assert facts("notebook", "import-json", file)["added"] == 1
    assert facts("notebook", "import-json", file)["repeated"] == 1
    (hit, *_) = facts("notebook", "search", "heron")["items"]
    assert (hit["id"][:5], hit["at"]) == ("pond#", "2025-07-21T10:00:00+00:00")
    assert run("notebook", "import-json", tmp_path / "none.json").exit_code == 3
    file.write_bytes(b"\xff\xfe")
    assert run("notebook", "import-json", file).exit_code == 2


@pytest.mark.design("001-55", "001-56")
def test_settings_reach_the_search(monkeypatch):
    """The most that is shown, and the salience that is kept."""
    for n in range(3):
        write("a", f"heron number {n}")
    monkeypatch.setenv("COMMONPLACE_NOTEBOOK_MAX_RESULTS", "2")
    monkeypatch.setenv("COMMONPLACE_NOTEBOOK_MINIMUM_SALIENCE", "1")
    results = facts("notebook", "search", "heron")["items"]
    assert [x["salience"] for x in results] == [1, 1]


def test_init_takes_a_repository_and_keeps_its_place(tmp_path, book):
    """With a path that folder is the notebook from now on; what is there is read."""
    assert facts("notebook", "init")["folder"] == str(book)
    assert facts("notebook", "init")["adopted"] is True
    team = tmp_path / "team"
    subprocess.run(["git", "init", "-q", "-b", "main", str(team)], check=True)
    (team / "tides.md").write_text("High at noon.\n")
    person = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    subprocess.run(["git", "-C", str(team), "add", "."], check=True)
    subprocess.run(["git", "-C", str(team), *person, "commit", "-qm", "By hand"], check=True)
    done = facts("notebook", "init", "../team")
    assert (done["folder"], done["adopted"], done["sections"]) == (str(team), True, 1)
    assert facts("notebook", "read", "tides")["overview"] == "High at noon."
    (hit, *_) = facts("notebook", "search", "noon")["items"]
    assert (hit["id"], hit["type"]) == ("tides", "overview")
    assert facts("config", "show")["notebook.path"]["value"] == str(team)


def test_init_tells_of_the_notebook_that_it_leaves(tmp_path, book):
    """What was written before lies there still, and is not in the new one; told once."""
    write("a", "x")
    left = f"The notebook in {book} stays as it is; its entries are not in this one."
    assert left in facts("notebook", "init", tmp_path / "new")["notes"]
    assert left not in facts("notebook", "init", tmp_path / "new")["notes"]


def test_an_editor_opens_with_the_overview(tmp_path):
    """What stands above the line is the overview, what stands below it the entry."""
    write("a", "x", "--overview", "High at noon.")
    change = "text = text.replace('noon', 'ten') + 'Measured it.\\n'"
    done = run("notebook", "write", "a", input=Terminal(), env=editor(tmp_path, change))
    assert (done.exit_code, done.stdout[:15]) == (0, "Entry written: ")
    read = facts("notebook", "read", "a")
    assert (read["overview"], read["entry_count"]) == ("High at ten.", 2)
    assert read["last_entry"]["summary"] == "Measured it."


def test_what_an_editor_leaves(tmp_path):
    """An entry alone, an overview alone, or nothing; an overview is not emptied unseen."""
    write("a", "x", "--overview", "High.")
    for body, code, overview, summary in (
        ("text += '\\n'", 2, "High.", "x"),
        ("text = '\\n'", 2, "High.", "x"),
        ("text = text.replace('High.', '') + 'Why.'", 2, "High.", "x"),
        ("text += 'An entry alone.'", 0, "High.", "An entry alone."),
        ("text = 'Low.'", 0, "Low.", "Edit the overview."),
    ):
        assert on_terminal("notebook", "write", "a", env=editor(tmp_path, body))[0] == code, body
        read = facts("notebook", "read", "a")
        assert (read["overview"], read["last_entry"]["summary"]) == (overview, summary), body


def draft(shown):
    """What was kept of an editor's text, where the terminal says that it is."""
    path = shown.partition("What you wrote is kept in ")[2].splitlines()[0]
    return Path(path.removesuffix(".")).read_text()


def test_what_was_written_in_an_editor_survives_a_conflict(tmp_path, book):
    """Somebody changes the overview meanwhile: the entry is kept in a file with the rest."""
    write("a", "x", "--overview", "High.")
    meanwhile = ["git", "-c", "user.name=Ann", "-c", "user.email=a@x.org", "-C", str(book)]
    body = (
        f"Path({str(book / 'a.md')!r}).write_text('Low.\\n')\n"
        f"import subprocess; subprocess.run({[*meanwhile, 'commit', '-qam', 'y']!r}, check=True)\n"
        "text = text.replace('High.', 'Higher.') + 'An hour of work.'"
    )
    code, shown = on_terminal("notebook", "write", "a", env=editor(tmp_path, body))
    assert code == 4
    assert draft(shown).startswith("Higher.\n")
    assert draft(shown).endswith("\nAn hour of work.")
    assert facts("notebook", "read", "a")["overview"] == "Low."


def test_an_overview_that_was_not_read_can_be_read_from_a_terminal():
    """Each command is a process of its own: the way is the version, and the error says so."""
    write("a", "x", "--overview", "High.")
    done = run("notebook", "write", "a", "y", "--overview", "Low.")
    assert "commonplace notebook read a" in done.stderr
    assert "--base-version" in done.stderr
    done = run("notebook", "write", "a", "y", "--overview", "Low.", "--base-version", "0" * 12)
    assert f"--base-version {version_of('High.')}" in done.stderr


def test_what_is_not_there_can_be_looked_for_from_a_terminal():
    """An error names the command beside the tool."""
    write("a", "x")
    assert "`commonplace notebook toc`" in run("notebook", "read", "b").stderr
    assert "`commonplace notebook log a`" in run("notebook", "read", "a#b").stderr


@pytest.fixture
def become(tmp_path, monkeypatch):
    """Makes the notebook of Ann, or of Bob, this user's; gives the team after a beginning."""
    teams = []

    def become(which, after=None):
        if after:
            teams.append(Team(tmp_path, after=after))
        monkeypatch.setenv("COMMONPLACE_NOTEBOOK", str(teams[0].place(which)))
        monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / f"own-{which}"))

    yield become
    for team in teams:
        team.close()


def test_two_notebooks_are_synced(become):
    """What came is found at once; overviews that clash wait, and are settled."""
    become(0, diverged)
    done = run("notebook", "sync")
    assert done.exit_code == 0
    assert "1 entry received, 2 entries sent." in done.stdout
    assert "Both sides changed the overview of a: theirs stands, yours waits." in done.stdout
    assert facts("notebook", "search", "Bob")["items"][0]["summary"] == "Bob"
    read = facts("notebook", "read", "a")
    assert (read["overview"], len(read["notes"])) == (BLUE, 1)
    (waiting,) = facts("notebook", "conflicts")["items"]
    assert (waiting["ours"], waiting["theirs"]) == (GREEN, BLUE)
    assert "It is green." in run("notebook", "conflicts").stdout
    for words in (["--ours", "--file", "x"], []):
        assert run("notebook", "resolve", "a", *words).exit_code == 2
    assert run("notebook", "resolve", "b", "--ours").exit_code == 3
    assert run("notebook", "resolve", "a", "--file", "-", input="It is teal.\n").exit_code == 0
    assert run("notebook", "conflicts").stdout == "No overview waits to be settled.\n"
    assert facts("notebook", "read", "a")["notes"] == []
    assert facts("notebook", "sync")["conflicts"] == []
    become(1)
    assert facts("notebook", "sync")["received"] == 2
    assert facts("notebook", "read", "a")["overview"] == "It is teal."


GREEN, BLUE = "It is green.\n\nIt is round.", "It is blue.\n\nIt is round."


@pytest.mark.parametrize(("side", "now"), [("--ours", GREEN), ("--theirs", BLUE)])
def test_one_side_is_taken(become, side, now):
    """By its name."""
    become(0, clashing)
    assert facts("notebook", "resolve", "a", side)["version"] == version_of(now)
    assert facts("notebook", "read", "a")["overview"] == now


def test_a_clash_is_settled_in_an_editor(become, tmp_path):
    """It opens with both texts between marks, which must not stay."""
    become(0, clashing)
    leave = editor(tmp_path, "text += 'It is half settled.'")
    code, shown = on_terminal("notebook", "resolve", "a", env=leave)
    assert code == 2
    assert draft(shown).endswith("It is half settled.")
    empty = editor(tmp_path, "text = ''")
    assert on_terminal("notebook", "resolve", "a", env=empty)[0] == 2
    seen = tmp_path / "seen"
    keep = "text.splitlines()[0] + '\\n\\nIt is teal.\\n'"
    change = f"Path({str(seen)!r}).write_text(text); text = {keep}"
    settle = editor(tmp_path, change)
    assert on_terminal("notebook", "resolve", "a", env=settle)[0] == 0
    first, *_ = seen.read_text().splitlines()
    assert first == "<!-- A was written here, B is there now: settle it, take the marks out. -->"
    assert "It is green." in seen.read_text()
    assert "It is blue." in seen.read_text()
    assert facts("notebook", "read", "a")["overview"] == "It is teal."


def test_what_a_sync_refuses(become):
    """No such remote is 3, a conflict 4, what is no remote 2; nobody is asked anything."""
    become(0, having(("b", "first")))
    assert run("notebook", "sync", "--remote", "nobody").exit_code == 3
    assert run("notebook", "sync", "--remote=--upload-pack=x").exit_code == 2
    write("a", "x")
    subprocess.run(
        ["git", "-C", os.environ["COMMONPLACE_NOTEBOOK"], "checkout", "-q", "--detach"], check=True
    )
    done = run("notebook", "sync")
    assert done.exit_code == 4
    assert "switch main" in done.stderr


def test_a_folder_is_moved():
    """With all that lies below it."""
    write("p/a", "The lighthouse is lit.")
    write("p/b/c", "x")
    moved = facts("notebook", "move", "p", "q")["moved"]
    assert moved == [{"old": "p/a", "new": "q/a"}, {"old": "p/b/c", "new": "q/b/c"}]
    assert run("notebook", "move", "q/a", "r/a").stdout == "Moved q/a to r/a.\n"
    write("q/b", "y")
    assert len(facts("notebook", "move", "q/b", "s", "--all")["moved"]) == 2
    (hit, *_) = facts("notebook", "search", "lighthouse")["items"]
    assert hit["id"].startswith("r/a#")


def test_an_editor_says_what_was_replaced_since_the_overview(tmp_path):
    """In a comment above the line, which is not kept."""
    first = f"notebook:{facts('notebook', 'write', 'a', 'At noon.', '--overview', 'Noon.')['id']}"
    write("a", "At ten.", "--supersedes", first)
    seen = tmp_path / "seen"
    change = (
        f"open({str(seen)!r}, 'w').write(text); text = text.replace('Noon', 'Ten') + 'Put right.'"
    )
    assert on_terminal("notebook", "write", "a", env=editor(tmp_path, change))[0] == 0
    assert f"<!-- Since this overview: {first} of " in seen.read_text()
    assert facts("notebook", "read", "a")["overview"] == "Ten."


def test_a_list_marks_an_overview_that_is_behind():
    """By how many of what it sums up was replaced."""
    first = f"notebook:{facts('notebook', 'write', 'a', 'At noon.', '--overview', 'Noon.')['id']}"
    write("a", "At ten.", "--supersedes", first)
    found = run("recall", "noon", "--kind", "overview").stdout
    assert "[1 entry replaced since] Noon." in found


def test_a_search_of_all_journals_names_the_branch_that_holds_an_entry():
    """To people and to programs; a tag of that form elsewhere is one that somebody chose."""
    write("api", "REST it is.")
    run("notebook", "switch", "-c", "idea")
    write("api", "GraphQL pays after all.")
    run("notebook", "switch", "main")
    run("log", "GraphQL was tried.", "-t", "branch:mine")
    items = {x["journal"]: x for x in facts("recall", "GraphQL")["items"]}
    assert items["notebook"]["branches"] == ["idea"]
    assert "branches" not in items["chronicle"]
    (line,) = (x for x in run("recall", "GraphQL").stdout.splitlines() if "pays" in x)
    assert line.endswith("#branch:idea")
