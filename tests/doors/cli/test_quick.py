"""Commands that write or list wait for the journal alone."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.doors.terminal import facts, run

from commonplace.journals.table import JOURNALS

SLOW = ["numpy", "onnxruntime", "tokenizers", "pydantic", "mcp", "rich"]
SLOW += ["commonplace.core.when.inside_words"]  # patterns that read a question
VERBS = [f"commonplace.verbs.{row.name}.{x}" for row in JOURNALS for x in ("service", "verbs")]


QUICK = [
    ["log", "left harbour"],
    ["private", "write", "left harbour"],
    ["timeline", "add", "left harbour"],
    ["memory", "save", "todo", "--title", "left harbour"],
    ["notebook", "write", "api", "left harbour"],
    ["chronicle", "list"],
    ["private", "list"],
]
"""What only writes into a journal or lists it."""


def imported_by(words, names):
    """Which of these modules a command imports."""
    script = (
        "import sys, json\n"
        "from commonplace.doors.cli import main\n"
        "import atexit\n"
        f"atexit.register(lambda: print(json.dumps([m for m in {names} if m in sys.modules]),"
        " file=sys.stderr))\n"
        f"main({words})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0
    return json.loads(done.stderr.splitlines()[-1])  # below what was deleted


@pytest.mark.parametrize("words", QUICK, ids=" ".join)
def test_it_opens_no_index_and_loads_no_model(words, tmp_path):
    """A write or a list imports neither what searches nor what checks a model's arguments.

    Nor the verbs of another journal, nor, where no log file is set, what rotates one.
    """
    own = "chronicle" if words[0] == "log" else words[0]
    logs = ["logging.handlers", "socket"] if own in {"private", "chronicle"} else []
    (verbs,) = imported_by(words, [*SLOW, *VERBS, *logs])
    assert verbs.startswith(f"commonplace.verbs.{own}.")
    assert list(tmp_path.rglob("index.db")) == []


def test_the_status_counts_without_numpy():
    """It looks at every entry of each journal and files what is new, and compares no vectors."""
    for words in WRITES.values():
        run(*words)
    assert imported_by(["status"], ["numpy", "onnxruntime"]) == []


def test_the_next_search_finds_what_was_written(no_weights):
    """What a write left to it is filed by the search itself, by its words."""
    private = facts("private", "write", "a harbour")["refs"][0]
    logged = facts("log", "left the harbour")["ref"]
    found = facts("recall", "harbour")
    assert {hit["ref"] for hit in found["items"]} == {private, logged}


SHIPS = "The ships lay still in the port."
WRITES = {
    "private": ["private", "write", SHIPS],
    "chronicle": ["log", SHIPS],
    "timeline": ["timeline", "add", SHIPS],
    "memory": ["memory", "save", "todo", "--title", SHIPS],
    "notebook": ["notebook", "write", "api", SHIPS],
}


EDITABLE = ("private", "chronicle", "timeline", "memory")


def test_the_next_search_finds_it_by_meaning(known_weights):
    """The vectors of what was written are made by the search that needs them."""
    for words in WRITES.values():
        facts(*words)
    for journal in WRITES:
        assert found_by("boats in a harbour", journal) == {"meaning"}, journal


def found_by(query, journal):
    """By what the hits of a journal are found."""
    found = facts("recall", query, "--journal", journal, "--explain")["items"]
    return {hit["by"] for hit in found}


def traces_in_the_index(folder, word):
    """The files of indexes that bear a word of what was written."""
    files = [path for path in folder.rglob("index*") if path.is_file()]
    assert files
    return [path for path in files if word in path.read_bytes().lower()]


@pytest.mark.parametrize("journal", EDITABLE)
def test_a_correction_waits_for_no_model_and_leaves_no_trace(journal, tmp_path, known_weights):
    """The earlier text is out of the index when the command ends; the new one is found."""
    facts(*WRITES[journal][:-1], "The quokkarine gate was painted.")
    assert facts("recall", "quokkarine", "--journal", journal)["items"][-1]["text"]
    ref = facts("list", "--journal", journal, "-n", "1")["items"][0]["ref"]
    assert traces_in_the_index(tmp_path, b"quokkarine")
    models = ["onnxruntime", "tokenizers"]
    assert imported_by(["edit", ref, SHIPS], models) == []
    assert traces_in_the_index(tmp_path, b"quokkarine") == []
    assert found_by("boats in a harbour", journal) == {"meaning"}
    assert traces_in_the_index(tmp_path, b"ships lay")
    assert imported_by(["delete", ref, "--yes"], models) == []
    assert traces_in_the_index(tmp_path, b"ships lay") == []
    assert found_by("boats in a harbour", journal) == set()


@pytest.mark.parametrize(
    "words",
    [
        ["chronicle", "edit", "-1", SHIPS],
        ["private", "edit", "-1", f"## Feelings\n\n{SHIPS}\n"],
        ["memory", "save", "todo", "--done", "--ref"],
    ],
    ids=lambda words: words[0],
)
def test_a_journal_s_own_edit_waits_for_no_model(words):
    """What it says of the entry is of the entry alone: no note that a vector is missing."""
    facts(*WRITES[words[0]])
    if words[-1] == "--ref":
        words = [*words, facts("list", "--journal", "memory")["items"][0]["ref"]]
    else:
        facts("list", "--journal", words[0])
    assert imported_by(words, ["onnxruntime", "tokenizers"]) == []
    assert "meaning" not in run(*words).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("private", "list", "-n", "0"), "Invalid limit: 0. Use 1 to "),
        (("private", "list", "--when", "\udce9"), "Invalid when: "),
    ],
)
def test_bad_arguments_are_named(words, said):
    """Arguments are checked against the same bounds, with the same words, as a model's."""
    done = run(*words)
    assert (done.exit_code, said in done.stderr) == (2, True)


def test_what_changes_much_waits_for_no_model(tmp_path, known_weights):
    """A move, a sync and an import file words; the next search makes the vectors."""
    models = ["onnxruntime", "tokenizers"]
    run("notebook", "write", "api", "left harbour")
    assert imported_by(["notebook", "move", "api", "sea"], models) == []
    remote, book = tmp_path / "remote.git", next(tmp_path.rglob("notebook/.git")).parent
    subprocess.run(["git", "init", "-q", "--bare", remote], check=True)
    subprocess.run(["git", "-C", book, "remote", "add", "origin", remote], check=True)
    assert imported_by(["notebook", "sync"], models) == []
    run("log", "left the harbour")
    export = tmp_path / "export.json"
    export.write_text(run("chronicle", "export", "--format", "json").stdout)
    assert imported_by(["chronicle", "import", str(export)], models) == []
    assert {x["journal"] for x in facts("recall", "harbour")["items"]} == {"notebook", "chronicle"}
