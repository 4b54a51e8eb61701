"""Chronicle from a terminal: log, list, search, edit, take back, move in and out, upgrade."""

from __future__ import annotations

import contextlib
import json
import os
import re
import runpy
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.doors.terminal import LATELY, facts, on_terminal, one_terminal, run

GOLDEN = runpy.run_path(str(Path(__file__).parents[2] / "golden" / "chronicle" / "make.py"))
NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)

needs_terminal = pytest.mark.skipif(
    os.name == "nt", reason="a terminal is made with pty, which Windows has not"
)


@pytest.fixture(autouse=True)
def known_user(words_only, monkeypatch):
    """A user of a known name."""
    monkeypatch.setenv("USER", "wren")


@pytest.fixture
def database(tmp_path):
    """Where the entries lie."""
    return tmp_path / "home" / ".local" / "share" / "chronicle" / "chronicle.db"


def add(*words):
    """Log one entry; its id."""
    return facts("chronicle", "add", *words)["id"]


def listed(*words):
    """The messages of a list."""
    return [entry["text"] for entry in facts("chronicle", "list", *words)["items"]]


def found(*words):
    """The messages of a search."""
    return [entry["text"] for entry in facts("chronicle", "search", *words)["items"]]


@pytest.mark.design("004-05", "004-17")
def test_an_entry_is_logged_as_chronicle_logs_it(database):
    """Its row has both instants, the tags as JSON, and where it was logged."""
    done = run("chronicle", "add", "moved", "the harbour", "-t", "Ops", "--tag", "sea")
    assert done.exit_code == 0
    assert done.stdout.startswith("Entry created: chronicle:")
    assert "\nTags: Ops, sea\n" in done.stdout
    with contextlib.closing(sqlite3.connect(database)) as conn:
        row = conn.execute(
            "SELECT message, tags, username, working_directory, timestamp_unix_seconds > 0"
            " FROM entries"
        ).fetchall()
    assert row == [("moved the harbour", '["Ops","sea"]', "wren", os.getcwd(), 1)]


@pytest.mark.parametrize("words", [[], ["-"]])
def test_a_message_from_stdin(words):
    """In a pipe, or by a dash."""
    facts("chronicle", "add", *words, input="piped\n")
    assert listed() == ["piped"]


def test_add_at_a_time_and_once():
    """`--at` takes a phrase or an ISO time; the same key twice is one entry."""
    first = facts("chronicle", "add", "x", "--at", "2026-03-02 09:30", "--idempotency-key", "k")
    again = facts("chronicle", "add", "x", "--at", "2026-03-02 09:30", "--idempotency-key", "k")
    assert first["at"] == "2026-03-02T09:30:00+00:00"
    assert (first["repeated"], again["repeated"], first["id"] == again["id"]) == (False, True, True)


@pytest.mark.parametrize("words", [[" "], ["x", "--at", "soonish"]])
def test_what_cannot_be_logged(words):
    """A usage error, and nothing is written."""
    done = run("chronicle", "add", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert listed() == []


def test_log_in_the_fewest_words():
    """Words are joined; a past time before the first colon is when it was, and is shown."""
    assert facts("log", "deployed v2.1.0", "-t", "release")["tags"] == ["release"]
    begun = datetime.now(UTC)
    done = run("log", "yesterday", "9am:", "fixed", "the", "build")
    days = {moment.date() - timedelta(days=1) for moment in (begun, datetime.now(UTC))}
    assert any(f"at {day} 09:00\n" in done.stdout for day in days)
    assert listed() == ["deployed v2.1.0", "fixed the build"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("31 February: paid", "No such day: '31 february'. Name a day that its month has."),
        ("2026-02-30: paid", "No such time in the calendar: '2026-02-30'."),
        ("yesterday at 9: paid", "Say 9am or 9pm."),
    ],
)
def test_a_time_that_cannot_be_is_not_logged_as_now(text, says):
    """An error with the next step, which logs the very words; nothing is written."""
    done = run("log", text)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert "If this is no time, log it with `--at now`." in done.stderr
    printed = json.loads(run("log", text, "--json").stderr.splitlines()[-1])
    assert (printed["code"], printed["message"] in done.stderr) == ("invalid", True)
    assert listed() == []
    assert facts("log", text, "--at", "now")["text"] == text


def test_log_takes_a_given_time():
    """With --at the message is taken as it is."""
    logged = facts("log", "yesterday: x", "--at", "2026-03-02 09:30")
    assert (logged["text"], logged["at"]) == ("yesterday: x", "2026-03-02T09:30:00+00:00")


@pytest.mark.design("004-17")
def test_list_looks_as_every_list():
    """A line an entry, date first, with its whole ref off a terminal; `open` takes its number."""
    empty = "Nothing is logged yet. Log what you do: `commonplace log …`.\n"
    assert run("chronicle", "list").stdout == empty
    assert run("log", "-n", "3").stdout == empty
    one = add("first line\nand second", "--at", "2026-03-02 09:30", "-t", "a", "-t", "b")
    two = add("later 港", "--at", "2026-03-03 10:00")
    assert run("chronicle", "list").stdout.splitlines() == [
        f"2026-03-03 10:00  chronicle:{two}  later 港",
        f"2026-03-02 09:30  chronicle:{one}  first line and second #a #b",
    ]
    assert facts("open", "2")["ref"] == f"chronicle:{one}"
    run("chronicle", "search", "first")
    assert facts("open", "1")["ref"] == f"chronicle:{one}"
    assert "- 2026-03-03 10:00 later" in run("chronicle", "list", "--model").stdout
    assert len(run("chronicle", "list", "--jsonl").stdout.splitlines()) == 2


def test_a_direction_mark_is_written_out():
    """In a message and in a tag, wherever they are shown."""
    logged = run("log", "to\u202ethe port", "-t", "s\u202eea")
    assert "Tags: s<U+202E>ea" in logged.stdout
    whole = facts("last")["ref"]
    shown = [
        run(*words).stdout
        for words in (
            ["chronicle", "list"],
            ["chronicle", "list", "--model"],
            ["chronicle", "tags"],
            ["when", "port"],
            ["chronicle", "edit", whole, "-t", "+c"],
            ["chronicle", "undo", "--yes"],
        )
    ]
    assert ["<U+202E>" in text and "\u202e" not in text for text in [logged.stdout, *shown]] == [
        True
    ] * 7


def test_list_narrowed():
    """By number, by time, by tags with their signs; the interval read is shown."""
    add("one", "--at", "2026-03-02 09:30", "-t", "Ops", "-t", "sea")
    add("two", "--at", "2026-03-03 00:00", "-t", "ops")
    add("three", "--at", "2026-03-04 00:00", "-t", "sea")
    assert listed("-n", "1") == ["three"]
    assert listed("--since", "2026-03-03") == ["three", "two"]
    assert listed("--until", "2026-03-02") == ["one"]
    assert listed("2", "march", "2026") == listed("--when", "2 March 2026") == ["one"]
    assert listed("since", "2026-03-03") == ["three", "two"]
    assert listed("2026-03-03", "-t", "sea") == []
    assert listed("since 2026-03-03", "--until", "2026-03-03") == ["two"]
    assert listed("-t", "OPS") == ["two", "one"]
    assert listed("-t", "ops", "-t", "sea") == ["three", "two", "one"]
    assert listed("-t", "+ops", "-t", "+sea") == ["one"]
    assert listed("-t", "ops", "-t", "-sea") == ["two"]
    shown = run("chronicle", "list", "--since", "2026-03-02", "--until", "2026-03-02").stdout
    assert shown.startswith("Time: 2026-03-02 00:00 to 2026-03-03 00:00 (UTC)\n2026-03-02 ")
    assert run("chronicle", "list", "2026-03-02").stdout == shown
    assert run("chronicle", "search", "--when", "2026-03-02").stdout == shown
    assert facts("chronicle", "list", "2026-03-02")["interval"] == {
        "since": "2026-03-02T00:00:00+00:00",
        "until": "2026-03-03T00:00:00+00:00",
    }
    exported = run("chronicle", "export", "--when", "2026-03-02", "--json").stdout
    assert [each["message"] for each in json.loads(exported)["entries"]] == ["one"]
    unknown = run("chronicle", "list", "soonish")
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "Invalid when: unknown time phrase: 'soonish'" in " ".join(unknown.stderr.split())


@pytest.mark.parametrize("words", [[], ["-t", "x"]])
def test_pages(words):
    """A cursor leads from page to page, to the end."""
    for day in range(1, 6):
        add(f"day {day}", "--at", f"2026-03-0{day} 09:00", "-t", "x")
    seen, cursor = [], ""
    while cursor or not seen:
        page = facts("chronicle", "list", "-n", "2", *words, "--cursor", cursor)
        seen += [entry["text"] for entry in page["items"]]
        cursor = page["cursor"]
    assert seen == [f"day {day}" for day in (5, 4, 3, 2, 1)]
    shown = run("chronicle", "list", "-n", "2").stdout
    assert shown.splitlines()[-1].startswith("More with --cursor ")
    assert run("chronicle", "list", "--cursor", "!").exit_code == 2


@pytest.mark.design("004-17")
def test_search_by_words():
    """Words a query language would trip over find what they name."""
    add("Fixed the bug-fix of v2.1.0 in C++", "-t", "bug-fix")
    add("Watered the garden")
    for words in ("bug-fix", "v2.1.0", "C++", '"bug', "NEAR( fix", "fixed AND *"):
        assert found(words)[:1] == ["Fixed the bug-fix of v2.1.0 in C++"], words
    assert found("gardens") == ["Watered the garden"]
    assert found("gardens", "-t", "bug-fix") == []
    assert found("-t", "bug-fix") == ["Fixed the bug-fix of v2.1.0 in C++"]
    done = run("chronicle", "search", "watered", "--when", "since yesterday")
    former = run("chronicle", "search", "watered", "--since", "yesterday")
    assert done.stdout == former.stdout
    assert done.stdout.startswith("Time: after ")
    assert "Note: Searched by words alone" in done.stdout
    assert run("chronicle", "search", "zebra").stdout.startswith("No entries found")


def test_when_was_the_last():
    """The newest of many first, with its age; nothing asked, and nothing found."""
    for day in range(1, 21):
        add("deploy the api", "--at", f"2026-10-{day:02} 09:00")
    add("Deployed the api to the new cluster in the end")
    done = run("when", "last", "deploy")
    assert done.exit_code == 0
    first, second, *_ = done.stdout.splitlines()
    assert re.search(rf"  {LATELY}  chronicle:", first)
    assert first.endswith("  Deployed the api to the new cluster in the end")
    assert re.match(r"2026-10-20 09:00  (about )?\d+ \w+ ago  chronicle:", second)
    assert facts("open", "2")["at"] == "2026-10-20T09:00:00+00:00"
    count = run("when", "how many times did I deploy in october").stdout.splitlines()
    assert (count[0], count[1].startswith("Time: 2026-10-01")) == ("20 entries match.", True)
    entries = facts("when", "how many times did I deploy in october")
    assert (entries["matching"], entries["about"]) == (20, "deploy")
    assert run("when").exit_code == 2
    nothing = run("when", "last zebra").stdout
    assert "No entries found" in nothing
    assert (
        "Note: Only the log was searched; recall searches all that was said and written." in nothing
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["x", "-n", "0"], "Invalid limit: 0. Use 1 to 100."),
        (["x", "--since", "soonish"], "'soonish'"),
        (["-t", "+"], "'+' names no tag"),
    ],
)
def test_searches_that_cannot_be_meant(words, says):
    """Each is a usage error that names the value."""
    done = run("chronicle", "search", *words)
    assert (done.exit_code, says in done.stderr) == (2, True)


def test_search_by_meaning(monkeypatch, known_weights):
    """No word in common, found all the same."""
    monkeypatch.delenv("COMMONPLACE_ENCODER_FOLDER")
    add("The database kept saying that it was locked.")
    add("Bread needs three hours to rise.")
    assert found("trouble with SQL transactions")[0].startswith("The database")


def test_edit_is_found_anew():
    """Text, tags and time change as named, by the beginning of the id; the rest stays."""
    whole = add("a storm", "-t", "a", "-t", "b", "--at", "2026-03-02 09:30")
    done = run("chronicle", "edit", whole[:8], "a", "calm")
    assert done.stdout.startswith("Edited:\n- 2026-03-02 09:30 a calm [a, b] in ")
    assert (found("calm"), found("storm")) == (["a calm"], [])
    assert facts("chronicle", "edit", whole, "-t", "+c", "-t", "-A")["tags"] == ["b", "c"]
    assert facts("chronicle", "edit", whole, "-t", "z")["tags"] == ["z"]
    assert (found("-t", "z"), found("calm", "-t", "b")) == (["a calm"], [])
    assert facts("chronicle", "edit", whole, "-t", "")["tags"] == []
    moved = facts("chronicle", "edit", whole, "--at", "2026-04-01 10:00")
    assert (moved["at"], moved["text"]) == ("2026-04-01T10:00:00+00:00", "a calm")
    assert facts("chronicle", "edit", whole, input="piped")["text"] == "piped"


def test_new_tags_leave_it_superseding():
    """Tags are replaced, taken away and added; which entry it replaced is none of them."""
    old = facts("log", "the kayak is red", "-t", "paint")["ref"]
    new = facts("log", "the kayak is blue", "--supersedes", old)["ref"]
    for tags in (("boat",), ("",), ("+sea",), ("-sea",)):
        words = [part for tag in tags for part in ("--tag", tag)]
        assert run("chronicle", "edit", new, *words).exit_code == 0
        assert facts("open", old)["superseded_by"] == new
    shown = ("list",), ("chronicle", "list"), ("chronicle", "search", "kayak"), ("when", "kayak")
    for command in shown:
        assert "supersedes:" not in run(*command).stdout


def test_a_list_marks_what_was_replaced(tmp_path):
    """As searches do, the newest of a chain named, also if that is gone; it opens no index."""
    old = facts("log", "the kayak is red", "-t", "paint")["ref"]
    mid = facts("log", "the kayak is blue", "--supersedes", old)["ref"]
    new = facts("log", "the kayak is green", "--supersedes", mid)["ref"]
    for words in (("chronicle", "list"), ("chronicle", "list", "--since", "today")):
        found = {item["ref"]: item for item in facts(*words)["items"]}
        assert [found[ref]["replaced_by"]["ref"] for ref in (old, mid)] == [new, new]
        assert "replaced_by" not in found[new]
        assert found[new]["replaces"]["ref"] == mid
        assert run(*words).stdout.count("[replaced ") == 2
        assert run(*words, "--model").stdout.count("No longer holds: replaced by") == 2
    assert not list(tmp_path.rglob("index*"))
    run("forget", new, "--yes")
    found = {item["ref"]: item for item in facts("chronicle", "list")["items"]}
    assert found[mid]["replaced_by"]["ref"] == ""


def test_edits_that_are_refused():
    """An entry that is not there, and a message that is blank."""
    assert run("chronicle", "edit", "no-such", "x").exit_code == 3
    assert run("chronicle", "edit", add("stays"), " ").exit_code == 2
    assert listed() == ["stays"]


@needs_terminal
def test_edit_in_the_editor(tmp_path):
    """It opens with the message."""
    whole = add("a storm")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/a storm/a calm/" "$1"\n')
    editor.chmod(0o755)
    code, out, _ = on_terminal("chronicle", "edit", whole, env={"EDITOR": str(editor)})
    assert (code, "a calm" in out) == (0, True)
    assert listed() == ["a calm"]


def test_delete_leaves_no_trace_in_the_index(tmp_path):
    """It is not found any more, and no byte of it stays in a file of ours."""
    kept = add("harbour")
    whole = add("qzxvkwyj")
    assert run("chronicle", "delete", whole).exit_code == 2
    done = run("chronicle", "delete", whole[:8], "--yes")
    assert done.stdout.startswith("Deleted:\n- ")
    assert run("chronicle", "delete", whole, "--yes").exit_code == 3
    assert (found("qzxvkwyj"), [e["id"] for e in facts("chronicle", "list")["items"]]) == (
        [],
        [kept],
    )
    files = [x for x in tmp_path.rglob("*") if x.is_file() and "chronicle.db" not in x.name]
    assert [x for x in files if b"qzxvkwyj" in x.read_bytes()] == []


@needs_terminal
@pytest.mark.parametrize(("typed", "code", "left"), [("n\n", 1, ["perhaps"]), ("y\n", 0, [])])
def test_delete_asks_on_a_terminal(typed, code, left):
    """A person is asked, with the entry's id and time."""
    whole = add("perhaps")
    done, _, shown = on_terminal("chronicle", "delete", whole, typed=typed)
    assert (done, f"Delete {whole} of " in shown, listed()) == (code, True, left)


def test_undo_shows_what_it_removed(monkeypatch):
    """The entry written last by this user here, whatever its time; nobody else's."""
    add("mine, first", "--at", "2026-03-02 09:30")
    monkeypatch.setenv("USER", "ana")
    add("hers")
    monkeypatch.setenv("USER", "wren")
    add("mine, last", "--at", "2026-01-01 09:30")
    done = run("chronicle", "undo", "--yes")
    assert done.stdout.startswith("Removed chronicle:")
    assert done.stdout.endswith("- mine, last\n")
    assert found("mine") == ["mine, first"]
    assert facts("chronicle", "undo", "--yes")["text"] == "mine, first"
    assert run("chronicle", "undo").exit_code == 3
    assert listed() == ["hers"]


def test_undo_off_a_terminal_wants_yes():
    """It is refused in the words of every other deletion, and the entry stays."""
    add("perhaps")
    refused = run("chronicle", "undo")
    assert refused.exit_code == 2
    assert "Refusing to delete without confirmation: Delete chronicle:" in refused.stderr
    assert listed() == ["perhaps"]


@needs_terminal
@pytest.mark.parametrize(("typed", "left"), [("n\n", ["perhaps"]), ("y\n", [])])
def test_undo_asks_on_a_terminal(typed, left):
    """A person is shown the entry, and asked as every deletion asks."""
    with one_terminal() as on_its_own:
        on_its_own("log", "perhaps")
        on_its_own("chronicle", "undo", typed=typed.encode())
    assert listed() == left


def test_undo_after_an_import_takes_back_the_import(tmp_path):
    """With --yes it is done, and what was there before stays."""
    add("mine")
    file = tmp_path / "export.json"
    entries = [
        {"id": n, "timestamp": f"2026-03-0{n}T09:30:00Z", "message": f"far {n}"} for n in (1, 2)
    ]
    file.write_text(json.dumps({"entries": entries}))
    assert run("chronicle", "import", file).exit_code == 0
    assert run("chronicle", "undo").exit_code == 2
    assert len(listed()) == 3
    done = run("chronicle", "undo", "--yes")
    assert done.stdout.startswith("An export of chronicle: removed 2 entries in chronicle.")
    assert (listed(), found("far")) == (["mine"], [])
    assert facts("chronicle", "undo", "--yes")["text"] == "mine"


def test_tags_by_frequency():
    """Most frequent first, spellings that differ in case counted together."""
    assert run("chronicle", "tags").stdout == "No tags yet.\n"
    add("1", "-t", "ops", "-t", "sea")
    add("2", "-t", "Ops")
    add("3", "-t", "ops")
    assert run("chronicle", "tags").stdout == "3  ops\n1  sea\n"
    assert facts("chronicle", "tags", "-n", "1")["items"] == [
        {"tag": "ops", "count": 3, "spellings": ["Ops", "ops"]}
    ]


def test_export_on_stdout():
    """The original's shape: yaml if nothing is said, json with --json, newest first."""
    add("one", "--at", "2026-03-02 09:30:00", "-t", "a")
    add("two", "--at", "2026-03-03 09:30:00")
    made = json.loads(run("chronicle", "export", "--json").stdout)
    assert (made["version"], made["tool"]) == ("1.0", "chronicle")
    assert [(e["message"], e["timestamp"], e.get("tags")) for e in made["entries"]] == [
        ("two", "2026-03-03T09:30:00Z", None),
        ("one", "2026-03-02T09:30:00Z", ["a"]),
    ]
    assert run("chronicle", "export").stdout.startswith("version: '1.0'\n")
    markdown = run("chronicle", "export", "-f", "md", "-t", "a", "--until", "2026-03-02").stdout
    assert markdown.startswith("# Chronicle Export\n")
    assert ("### 09:30:00 - one" in markdown, "two" in markdown) == (True, False)
    assert run("chronicle", "export", "-f", "yaml", "--json").exit_code == 2


@pytest.mark.parametrize("form", ["json", "yaml", "markdown"])
def test_what_is_exported_comes_back_once(form, tmp_path, monkeypatch):
    """Into an empty database with ids, tags and all; into its own nothing; again nothing."""
    add("one\n# two: three", "-t", "a", "-t", "b", "--at", "2026-03-02 09:30:00")
    add("don't", "--at", "2026-03-02 09:30:00")
    file = tmp_path / "out"
    told = facts("chronicle", "export", "-f", form, "-o", file)
    assert (told["count"], told["file"], told["format"]) == (2, str(file), form)
    before = facts("chronicle", "list")["items"]
    assert facts("chronicle", "import", file) == {"added": 0, "there": 2, "notes": []}
    monkeypatch.setenv("CHRONICLE_DB_PATH", str(tmp_path / "other.db"))
    done = run("chronicle", "import", file)
    assert done.stdout == "Imported 2 entries; 0 were there already.\n"
    after = facts("chronicle", "list")["items"]
    assert after == before
    assert found("two") == ["one\n# two: three"]
    again = run("chronicle", "import", "-", input=file.read_text())
    assert again.stdout == "Imported 0 entries; 2 were there already.\n"


def test_numbered_entries_come_in_once(tmp_path):
    """Ids of the first version count in each database: equal numbers are not equal entries."""

    def export(name, *messages):
        entries = [
            {"id": number, "timestamp": "2026-03-02T09:30:00Z", "message": message}
            for number, message in enumerate(messages, 1)
        ]
        (tmp_path / name).write_text(json.dumps({"entries": entries}))
        return tmp_path / name

    one, other = export("one", "same", "same", "mine"), export("other", "same", "hers")
    assert facts("chronicle", "import", one)["added"] == 3
    assert facts("chronicle", "import", one)["added"] == 0
    assert facts("chronicle", "import", other)["added"] == 1
    assert facts("chronicle", "import", other)["added"] == 0
    assert sorted(listed()) == ["hers", "mine", "same", "same"]


def test_a_tree_comes_in_once(tmp_path, monkeypatch):
    """Every file of it; what is none is named and left out."""
    tree = tmp_path / "tree"
    tree.mkdir()
    monkeypatch.setenv("CHRONICLE_DB_PATH", str(tree))
    whole = add("from a file", "-t", "a", "--at", "2026-03-02 09:30")
    (tree / "2026" / "note.md").write_text("no entry")
    monkeypatch.delenv("CHRONICLE_DB_PATH")
    done = facts("chronicle", "import", tree)
    assert (done["added"], done["there"]) == (1, 0)
    assert done["notes"][0].startswith(os.path.join("2026", "note.md") + " was left out: ")
    assert facts("chronicle", "import", tree)["added"] == 0
    assert [entry["id"] for entry in facts("chronicle", "list")["items"]] == [whole]
    assert found("file") == ["from a file"]


def test_imports_that_are_refused(tmp_path, database):
    """No file, no export, no text, an empty folder: each says why, and nothing is written."""
    (tmp_path / "text").write_text("hello")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "empty").mkdir()
    for name, code in (("none", 3), ("text", 2), ("bytes", 2), ("empty", 2)):
        done = run("chronicle", "import", tmp_path / name)
        assert (done.exit_code, done.stdout) == (code, ""), name
        assert str(tmp_path / name) in done.stderr
    assert "Error: stdin: " in run("chronicle", "import", "-", input="hello").stderr
    assert listed() == []


def test_an_export_never_replaces_the_database(database):
    """Its own file as a target is refused; a folder that is not there as well."""
    add("stays")
    assert run("chronicle", "export", "-o", database).exit_code == 2
    assert run("chronicle", "export", "-o", database.parent / "none" / "x").exit_code == 3
    assert listed() == ["stays"]


@pytest.mark.parametrize("generation", ["A", "B", "A then D2", "B then D"])
def test_an_older_database_is_upgraded_when_asked(generation, database):
    """Until then every command names the upgrade and exits with 4; then all of it works."""
    GOLDEN["make"](generation, database)
    hint = "Run `commonplace chronicle upgrade`; the original is kept beside it."
    for command in (("add", "new"), ("list",), ("export",)):
        refused = run("chronicle", *command)
        assert (refused.exit_code, hint in refused.stderr) == (4, True)
    done = run("chronicle", "upgrade")
    assert done.exit_code == 0
    head, kept = done.stdout.splitlines()[:2]
    assert head.startswith(f"Upgraded {database} from generation {generation[0]}: ")
    assert kept.startswith(f"The original is kept in {database}.backup-")
    assert Path(kept.removeprefix("The original is kept in ").removesuffix(".")).is_file()
    assert run("chronicle", "upgrade").stdout == f"{database} needs no upgrade.\n"
    before = sorted(listed())
    add("new")
    assert sorted(listed()) == sorted([*before, "new"])
    word = before[0].split()[-1]
    assert before[0] in found(word)


def test_the_project_log_is_written(tmp_path):
    """As `.chronicle` asks for it."""
    (tmp_path / "project" / ".chronicle").write_text('local_logging = true\nlog_format = "text"\n')
    assert run("trust").exit_code == 0
    add("noted")
    facts("log", "noted too")
    (log,) = (tmp_path / "project" / "logs").iterdir()
    assert ("noted too" in log.read_text(), log.read_text().count("noted")) == (True, 2)


def test_a_file_that_is_no_database(database):
    """It is named, and left as it is."""
    database.parent.mkdir(parents=True)
    database.write_text("hello")
    listed = run("list").stdout  # it does not say that there is nothing
    assert listed.startswith("No entries found.\n\nNote: Not every entry of chronicle")
    for words in (["list"], ["add", "x"], ["tags"], ["upgrade"]):
        done = run("chronicle", *words)
        assert done.exit_code in {1, 2}, words
        assert str(database) in done.stderr
    assert database.read_text() == "hello"


def test_a_command_names_what_an_entry_may_replace():
    """Also where nothing was filed yet: each command ends before a background could.

    How that is settled is said in commands, and a model is told the name of an argument.
    """
    for now, words in (("8000", ("log",)), ("8001", ("private", "write"))):
        run(*words, f"The API listens on port {now}.")
        said = run(*words, f"The API now listens on port {now}9.").output
        assert "May replace" in said
        assert "; if so, `commonplace undo`, and write it again with --supersedes.\n" in said
        assert "say supersedes" not in said


@needs_terminal
def test_on_a_terminal_what_was_logged_is_shown_as_the_log_shows_it():
    """A line with its time and tags and no ref, then the notes; --plain is as in a pipe."""
    words = ("log", "2026-03-02 10:00: painted the pier", "-t", "sea", "--idempotency-key", "k")
    _, _, shown = on_terminal(*words, out=None)
    assert shown.splitlines() == ["2026-03-02 10:00  painted the pier #sea"]
    _, _, again = on_terminal(*words, out=None)
    expected = ["This was already logged: 2026-03-02 10:00  painted the pier #sea"]
    assert again.splitlines() == expected
    code, _, plain = on_terminal("log", "left the harbour", "--plain", out=None)
    assert (code, plain.startswith("Entry created: chronicle:")) == (0, True)
    _, _, noted = on_terminal("log", "left the harbour again", "--expires", "in 2 days", out=None)
    assert re.fullmatch(r"[\d :-]+  left the harbour again\r\n\r\nNote: It expires .+\r\n", noted)
