"""Commands that write or list wait for the journal alone."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.doors.terminal import facts, run

from commonplace.journals.table import JOURNALS

SLOW = ["numpy", "onnxruntime", "tokenizers", "pydantic", "mcp", "rich"]


QUICK = [
    ["log", "left harbour"],
    ["private", "write", "left harbour"],
    ["timeline", "add", "left harbour"],
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
    return json.loads(done.stderr)


@pytest.mark.parametrize("words", QUICK, ids=" ".join)
def test_it_opens_no_index_and_loads_no_model(words, tmp_path):
    """A write or a list imports neither what searches nor what checks a model's arguments."""
    assert imported_by(words, SLOW) == []
    assert list(tmp_path.rglob("index.db")) == []


@pytest.mark.parametrize("words", QUICK, ids=" ".join)
def test_it_imports_one_journal(words):
    """The verbs of the other journals are not imported."""
    verbs = [f"commonplace.services.{row.name}.service" for row in JOURNALS]
    name = "chronicle" if words[0] == "log" else words[0]
    assert imported_by(words, verbs) == [f"commonplace.services.{name}.service"]


@pytest.mark.parametrize(
    "words", [words for words in QUICK if words[0] != "timeline"], ids=" ".join
)
def test_it_opens_no_log_file_that_nobody_asked_for(words):
    """What a rotating log file needs, `socket` among it, is imported where one is set."""
    assert imported_by(words, ["logging.handlers", "socket"]) == []


def test_the_status_counts_without_numpy():
    """It looks at every entry and files what is new, and compares no vectors."""
    run("log", "left the harbour")
    assert imported_by(["status"], ["numpy", "onnxruntime"]) == []


def test_the_next_search_finds_what_was_written(no_weights):
    """What a write left to it is filed by the search itself, by its words."""
    private = facts("private", "write", "a harbour")["refs"][0]
    logged = facts("log", "left the harbour")["ref"]
    found = facts("recall", "harbour")
    assert {hit["ref"] for hit in found["items"]} == {private, logged}


def test_the_next_search_finds_it_by_meaning():
    """The vectors of what was written are made by the search that needs them."""
    ref = facts("private", "write", "The ships lay still in the port.")["refs"][0]
    (hit,) = facts("recall", "boats in a harbour", "--journal", "private", "--explain")["items"]
    assert (hit["ref"], hit["by"]) == (ref, "meaning")


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
