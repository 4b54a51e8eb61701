"""The private journal from a terminal: write, search, list, read, edit, delete, and how each fails."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.doors.raw_server import RawServer
from tests.doors.terminal import facts, hits, on_terminal, run, write
from tests.patience import until

needs_terminal = pytest.mark.skipif(
    os.name == "nt", reason="a terminal is made with pty, which Windows has not"
)


pytestmark = pytest.mark.usefixtures("words_only")


@pytest.fixture
def with_model(monkeypatch, known_weights):
    """The weights of the installed package."""
    monkeypatch.delenv("COMMONPLACE_ENCODER_FOLDER")


def test_a_thought_is_written_and_named(tmp_path):
    """It lies in the user's journal under Reflections, and the answer gives ref and path."""
    done = run("private", "write", "The harbour was quiet.")
    assert done.exit_code == 0
    (path,) = (tmp_path / "home" / ".private-journal").rglob("*.md")
    assert path.read_text().endswith("## Reflections\n\nThe harbour was quiet.\n")
    lines = done.stdout.splitlines()
    assert lines[0] == "Thoughts recorded successfully."
    assert re.fullmatch(rf"private:user/\S+ in {re.escape(str(path))}", lines[1])
    assert len(lines) == 2


def test_a_category_goes_where_it_belongs(tmp_path):
    """`--category` says what TEXT is; project notes stay with the project."""
    ref = write("Tags sign releases.", "--category", "project_notes")
    assert ref.startswith("private:project@")
    (path,) = (tmp_path / "project" / ".private-journal").rglob("*.md")
    assert "## Project Notes\n\nTags sign releases." in path.read_text()


def test_several_categories_at_once():
    """Options and TEXT together are one call; with project notes two files of one time."""
    words = ["main", "--feelings", "glad", "--project-notes", "flaky test"]
    refs = facts("private", "write", *words)["refs"]
    assert [ref.partition(":")[2][:4] for ref in refs] == ["user", "proj"]
    text = run("private", "read", refs[0]).stdout
    assert "## Feelings\n\nglad" in text
    assert "## Reflections\n\nmain" in text
    assert facts("private", "write", "--feelings", "only this")["refs"]


def test_a_category_given_twice_is_an_error():
    """Neither text is dropped silently."""
    done = run("private", "write", "a", "--category", "feelings", "--feelings", "b")
    assert done.exit_code == 2
    assert "feelings is given twice" in done.stderr
    assert facts("private", "list")["count"] == 0


@pytest.mark.parametrize("words", [[], ["-"]])
def test_text_from_stdin(words):
    """In a pipe, or by a dash."""
    ref = facts("private", "write", *words, input="piped thought")["refs"][0]
    assert "piped thought" in run("private", "read", ref).stdout


@pytest.mark.parametrize("given", ["", " \n"])
def test_nothing_to_write(given):
    """Blank text is a usage error and leaves no file."""
    done = run("private", "write", input=given)
    assert done.exit_code == 2
    assert "At least one thought category must be provided" in done.stderr
    assert facts("private", "list")["count"] == 0


def test_at_is_when_it_happened():
    """A phrase or an ISO time; the future is refused."""
    ref = write("back then", "--at", "2026-03-02 09:30")
    assert "/2026-03-02/09-30-00" in ref
    done = run("private", "write", "tomorrow's", "--at", "9999-01-01")
    assert (done.exit_code, "lies in the future" in done.stderr) == (2, True)


def test_the_same_key_twice_is_one_entry():
    """A retried command finds what the first one wrote."""
    first = facts("private", "write", "once", "--idempotency-key", "k")
    again = facts("private", "write", "once", "--idempotency-key", "k")
    assert (first["repeated"], again["repeated"]) == (False, True)
    assert first["refs"] == again["refs"]
    assert facts("private", "list")["count"] == 1


def test_search_by_words(tmp_path):
    """Best first with score, time, sections, path and excerpt; without a model it says so."""
    write("We met at the harbour.", "--at", "2026-03-02 09:30")
    write("Nothing of the kind.")
    done = run("private", "search", "harbours", "--model")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[1:4] == ["```search_journal", "Found 1 relevant entry:", ""]
    assert lines[4] == "1. [Score: 1.000] 2026-03-02 09:30 (user)"
    assert "   Sections: Reflections" in lines
    assert "   Excerpt: We met at the harbour." in lines
    assert "Note: Searched by words alone: " in done.stdout
    assert run("private", "search", "zebra").stdout.startswith("No relevant entries found.")


def test_search_in_a_time(tmp_path):
    """The interval a phrase was read as is shown; what lies outside is not found."""
    inside = write("harbour one", "--at", "2026-03-02 09:30")
    write("harbour two", "--at", "2026-03-03 00:00")
    done = run("private", "search", "harbour", "--when", "2026-03-02")
    assert "Time: 2026-03-02 00:00 to 2026-03-03 00:00 (UTC)" in done.stdout
    assert hits("harbour", "--when", "2026-03-02") == [inside]
    assert hits("harbour", "--until", "2026-03-02") == [inside]
    assert len(hits("harbour", "--since", "2026-03-02")) == 2
    unknown = run("private", "search", "harbour", "--when", "soonish")
    assert unknown.exit_code == 2
    assert "Invalid when: unknown time phrase: 'soonish'." in unknown.stderr


def test_search_narrowed():
    """By heading, folded and in part; by journal; by number."""
    insight = write("harbour", "--category", "technical_insights")
    note = write("harbour master", "--category", "project_notes")
    assert hits("harbour", "--section", "technical_ins") == [insight]
    assert set(hits("harbour", "--section", "notes", "--section", "insights")) == {insight, note}
    assert hits("harbour", "--type", "project") == [note]
    assert len(hits("harbour", "-n", "1")) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["x", "--limit", "0"], "Invalid limit: 0. Use 1 to 100."),
        (["x", "--type", "all"], "'all' is not one of"),
        ([" "], "Invalid query: it is blank."),
        (["x" * 10_001], "Invalid query: it has 10,001 characters."),
    ],
)
def test_searches_that_cannot_be_meant(words, says):
    """Each is a usage error that names the value."""
    done = run("private", "search", *words)
    assert done.exit_code == 2
    assert says in done.stderr


def test_explained_without_hits():
    """Nothing found needs no explanation."""
    assert "similarity" not in run("private", "search", "zebra", "--explain").stdout


@pytest.mark.design("000-05")
def test_search_by_meaning(with_model):
    """No word in common, found all the same; `--explain` shows what each leg gave."""
    ref = write("The database kept saying that it was locked.")
    write("Bread needs three hours to rise.")
    assert hits("trouble with SQL transactions")[0] == ref
    done = run("private", "search", "database trouble", "--explain")
    figures = re.search(
        r"^ +By \w+: (\S+) = (\S+) meaning \+ (\S+) words .*\(similarity (\S+)\)$",
        done.stdout,
        re.MULTILINE,
    )
    score, meaning, words, similarity = map(float, figures.groups())
    assert abs(score - meaning - words) < 0.002
    assert 0.1 < similarity < 1
    assert "Note" not in done.stdout


@pytest.mark.design("000-06")
def test_files_written_by_others_are_found(tmp_path):
    """A file put there by hand is found by the next search, one edited in place too."""
    day = tmp_path / "home" / ".private-journal" / "2026-03-02"
    day.mkdir(parents=True)
    (day / "10-00-00-000001.md").write_text("## Notes\n\nlighthouse\n")
    assert len(hits("lighthouse")) == 1
    (day / "10-00-00-000001.md").write_text("## Notes\n\nwindmill instead\n")
    assert hits("lighthouse") == []
    assert len(hits("windmill")) == 1


def test_list():
    """Newest first with how each begins, by days and kind; none is said so."""
    assert run("private", "list").stdout == "No entries found in the last 30 days.\n"
    write("older", "--at", "40 days ago")
    newer = write("newer one")
    done = run("private", "list", "--model")
    assert "```list_recent_entries\nRecent entries (last 30 days):\n\n1. " in done.stdout
    assert "Excerpt: newer one" in done.stdout
    listed = facts("private", "list", "--days", "60")["items"]
    assert listed[0]["ref"] == newer
    assert len(listed) == 2
    assert facts("private", "list", "--type", "project")["count"] == 0
    assert run("private", "list", "--days", "0").exit_code == 2


def test_list_of_a_time():
    """`--when` looks as far back as its phrase, past the days; the interval is shown."""
    older = write("older", "--at", "2026-03-02 09:30")
    write("newer one")
    assert [e["ref"] for e in facts("private", "list", "--when", "2026-03-02")["items"]] == [older]
    done = run("private", "list", "--when", "2026-03-02")
    assert "Time: 2026-03-02 00:00 to 2026-03-03 00:00 (UTC)" in done.stdout
    refused = run("private", "list", "--when", "the other day")
    assert (refused.exit_code, "Use one such as yesterday" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("search", ["--limit", "(1 to 100)", "[default: 10]", "[default: both]", "[default: 0.1]"]),
        (
            "list",
            [
                "--limit",
                "(1 to 1000)",
                "[default: 10]",
                "[default: both]",
                "without it the last 30 days",
            ],
        ),
    ],
)
def test_help_tells_the_defaults_of_the_tool(command, lines):
    """What an option is when it is not given, and what it may be, as the tool's signature has it."""
    told = " ".join(run("private", command, "--help").stdout.split())
    for line in lines:
        assert line in told


def test_read_by_ref_and_path(tmp_path):
    """The file's text to the letter; as JSON with its facts."""
    ref = write("whole text")
    (path,) = (tmp_path / "home").rglob("*.md")
    assert run("private", "read", ref).stdout == path.read_text()
    assert run("private", "read", path).stdout == path.read_text()
    assert facts("private", "read", ref)["text"] == path.read_text()


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("private:user/2026-03-02/00-00-00-000000", 3),
        ("private:user/2026-03-02/../../x", 1),
        ("/etc/notes.md", 1),
        ("/etc/passwd", 2),
        ("nonsense", 2),
    ],
)
def test_what_cannot_be_read(path, code):
    """Not there is 3, outside of every journal is refused with 1, no entry's name is 2."""
    write("something")
    done = run("private", "read", path)
    assert (done.exit_code, done.stdout) == (code, "")
    assert done.stderr.startswith("Error: ")


@pytest.mark.parametrize("words", [["## Feelings\n\nbetter now"], ["-"], []])
def test_edit(words, tmp_path):
    """The new text is found and the old one is not; the frontmatter stays."""
    ref = write("a storm")
    (path,) = (tmp_path / "home").rglob("*.md")
    head = path.read_text().partition("##")[0]
    done = run("private", "edit", ref, *words, input="## Feelings\n\nbetter now")
    assert done.stdout.startswith(f"Edited {ref}.\n")
    assert path.read_text() == f"{head}## Feelings\n\nbetter now"
    assert hits("better") == [ref]
    assert hits("storm") == []


def test_edits_that_are_refused(tmp_path):
    """An entry that is not there, and a text that is blank."""
    assert run("private", "edit", "private:user/2026-03-02/00-00-00-000000", "x").exit_code == 3
    ref = write("stays")
    done = run("private", "edit", ref, " ")
    assert (done.exit_code, "Delete the entry instead." in done.stderr) == (2, True)
    assert "stays" in run("private", "read", ref).stdout


@needs_terminal
def test_edit_in_the_editor(tmp_path):
    """It opens with the entry's text; a file that changed meanwhile is a conflict and stays."""
    ref = write("a storm")
    (path,) = (tmp_path / "home").rglob("*.md")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/a storm/a calm/" "$1"\n')
    editor.chmod(0o755)
    code, out, _ = on_terminal("private", "edit", ref, env={"EDITOR": str(editor)})
    assert (code, out.splitlines()[0]) == (0, f"Edited {ref}.")
    assert "a calm" in path.read_text()
    editor.write_text(f'#!/bin/sh\necho changed >> "{path}"\necho mine >> "$1"\n')
    code, out, shown = on_terminal("private", "edit", ref, env={"EDITOR": str(editor)})
    assert (code, out) == (4, "")
    assert "has changed since it was read" in shown
    assert path.read_text().endswith("changed\n")


def test_delete_leaves_no_byte(tmp_path, with_model):
    """File, `.embedding` and index are rid of the text; deleting again finds nothing."""
    kept = write("harbour")
    ref = write("The word is qzxvkwyj.")
    run("private", "search", "word")  # makes the vectors
    found = [path for path in tmp_path.rglob("*") if path.is_file() and _holds(path)]
    assert {path.suffix for path in found} >= {".md", ".embedding"}
    assert any(path.name.startswith("index.db") for path in found)
    done = run("private", "delete", ref, "--yes")
    assert (done.exit_code, done.stdout) == (0, f"Deleted {ref}.\n")
    assert [path for path in tmp_path.rglob("*") if path.is_file() and _holds(path)] == []
    assert run("private", "delete", ref, "--yes").exit_code == 3
    assert hits("harbour") == [kept]


@pytest.mark.design("000-33")
def test_a_written_thought_has_its_vector_by_the_next_search(tmp_path, with_model):
    """The same bytes that a server puts there; the write itself waits for no model."""
    write("The cache is cold at night.")
    (note,) = tmp_path.rglob("*.md")
    vector = note.with_suffix(".embedding")
    assert not vector.exists()
    run("recall", "what is cold")
    found = vector.read_bytes()
    vector.unlink()
    with RawServer("--toolsets", "private", cwd=Path.cwd()) as server:
        server.handshake()
        server.call("search_journal", {"query": "what is cold"})
        until(vector.exists, "the server to put the vector back")
        server.call("search_journal", {"query": "what is cold"})
    assert vector.read_bytes() == found


def _holds(path):
    return b"qzxvkwyj" in path.read_bytes()


def test_delete_asks():
    """Where nobody can answer it is refused."""
    ref = write("stays")
    done = run("private", "delete", ref)
    assert (done.exit_code, "without confirmation: Delete " in done.stderr) == (2, True)
    assert "stays" in run("private", "read", ref).stdout


@needs_terminal
@pytest.mark.parametrize(("typed", "code"), [("n\n", 1), ("y\n", 0)])
def test_delete_on_a_terminal(typed, code, tmp_path):
    """A person is asked, with the entry's path, which is never cut where lines wrap."""
    ref = write("perhaps")
    (path,) = (tmp_path / "home").rglob("*.md")
    done, _, shown = on_terminal("private", "delete", ref, typed=typed)
    assert done == code
    assert f"Delete {path} for good?" in " ".join(shown.split())
    assert path.exists() == (code == 1)


def test_errors_are_facts_too():
    """With --json the last line on stderr tells code, message and hint."""
    done = run("private", "read", "private:user/2026-03-02/00-00-00-000000", "--json")
    assert done.exit_code == 3
    assert '"code": "not_found"' in done.stderr.splitlines()[-1]


def test_no_usable_index_still_writes(tmp_path, monkeypatch):
    """A home that cannot be made: the thought is recorded, and the note says what is not done."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "file" / "home"))
    ref = write("kept all the same")
    assert "kept all the same" in run("private", "read", ref).stdout
