"""The programs that judge this repository: what they let through, and what they refuse."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TARGETS = (
    ".venv/.weights check test downloads extras test-npm test-browser test-long "
    "test-core test-version site"
)
PROMISES = """
# What is promised

| writing | proved in |
|---|---|
| Nothing is lost. | `tests/test_it.py::test_it` |

### [Security](../SECURITY.md)

| sentence | proved in |
|---|---|
| its log is read by nobody | `tests/test_it.py::test_log` |

### [More](more.md#kept)

| sentence | proved in |
|---|---|
| What is kept stays `kept`, even here. | `tests/test_it.py::test_it` |
"""
SECURITY = """
| who | what holds |
|---|---|
| a stranger | its log is read by nobody ([more](docs/more.md)) |
"""
MORE = """
## Kept

- An item. What is *kept* stays `kept`, even
  [here](elsewhere.md).
"""


@pytest.fixture
def script(tmp_path):
    """Runs a copy of a script over a repository that has what a test wrote into it.

    It finds make and git, and hardly another Python: to ask each costs a second.
    """
    needed = [shutil.which(name) for name in ("make", "git")]
    path = os.pathsep.join(os.path.dirname(found) for found in needed if found)
    environment = {"PATH": path, "HOME": str(tmp_path)}

    def run(name: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "scripts").mkdir(exist_ok=True)
        copy = shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
        return subprocess.run(
            [sys.executable, copy], env=environment, capture_output=True, text=True, check=False
        )

    return run


@pytest.fixture
def write(tmp_path):
    """Writes a file of the repository that is judged."""

    def into(name: str, text: str) -> None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    return into


@pytest.fixture
def repository(tmp_path, write):
    """A repository of one commit in which every step of CI does nothing, and ends well."""
    write("Makefile", f".PHONY: {TARGETS}\n{TARGETS}:\n\t@:\n.venv/python%:\n\t@:\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "begin")):
        who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture
def promised(write):
    """A repository whose promises are all proved."""
    write("CONTRIBUTING.md", "Promises stand in docs/promises.md.")
    write("docs/promises.md", PROMISES)
    write("docs/more.md", MORE)
    write("SECURITY.md", SECURITY)
    write("tests/test_it.py", "def test_it(): ...\n\ndef test_log(): ...\n")


def test_promises_that_are_proved_are_let_through(promised, script):
    """Each row names a test that is there, and its page says so in whatever markup and lines."""
    done = script("check_proofs.py")
    assert (done.returncode, done.stdout) == (0, "")


def test_a_promise_whose_test_is_gone_is_named(promised, write, script):
    """With the place that is not there any more."""
    write("tests/test_it.py", "def test_it(): ...\n")
    done = script("check_proofs.py")
    assert done.returncode == 1
    assert "tests/test_it.py::test_log: there is no such test" in done.stdout


def test_a_promise_of_the_security_page_without_a_row_is_named(promised, write, script):
    """A word that was changed in it makes it another promise."""
    write("SECURITY.md", SECURITY.replace("nobody", "no one"))
    done = script("check_proofs.py")
    assert done.returncode == 1
    assert "says where this is proved: its log is read by no one" in done.stdout


@pytest.mark.parametrize(
    ("of_the_page", "instead"),
    [
        ("stays", "remains"),
        ("(elsewhere.md).", "(elsewhere.md) or not."),
        ("item. What", "item: not what"),
    ],
    ids=["another word", "it goes on", "it begins before"],
)
def test_a_promise_that_its_page_makes_no_more_is_named(
    promised, write, script, of_the_page, instead
):
    """Whichever word was changed, and where the clause is only a part of what is said now."""
    write("docs/more.md", MORE.replace(of_the_page, instead))
    done = script("check_proofs.py")
    assert done.returncode == 1
    assert "docs/more.md does not say so, word for word, any more: What is kept" in done.stdout


def test_a_second_table_of_promises_is_named(promised, write, script):
    """What a merge brought back into the former page is moved."""
    write("CONTRIBUTING.md", PROMISES)
    done = script("check_proofs.py")
    assert done.returncode == 1
    assert "CONTRIBUTING.md: move the rows" in done.stdout


def test_ci_ends_well_where_each_step_does(repository, script):
    """Every step is in its table, with what it cost."""
    done = script("run_ci.py")
    assert done.returncode == 0, done.stderr
    assert {"check", "test", "long", "npm", "browser", "site"} <= {
        line.split()[0] for line in done.stdout.splitlines() if line
    }


def test_ci_fails_where_a_step_fails(repository, write, script):
    """And names the step."""
    write("Makefile", f"{(repository / 'Makefile').read_text()}test-npm: fails\nfails:\n\t@false\n")
    done = script("run_ci.py")
    assert done.returncode == 1
    assert done.stderr.strip() == "npm failed."


def test_ci_fails_where_a_step_takes_more_of_the_processor_than_its_budget(
    repository, write, script
):
    """And says what it may take, and how to record another."""
    write(".ci/budget.json", json.dumps({"floor_s": 1.0, "steps": {"check": 1000.0, "test": 0.0}}))
    done = script("run_ci.py")
    assert done.returncode == 1
    assert done.stderr.startswith("test took ")
    assert "`.ci/run --record`" in done.stderr


DESIGN = "## Glossary\n| word | means |\n|---|---|\n| entry | what is written |\n## Rooms\n"


def test_a_function_of_more_than_sixty_lines_is_named(write, script):
    """One of sixty is let through, and forty-line ones until there are thirty of them."""
    long = "def {}():\n" + "    pass\n" * 59
    write("src/commonplace/core/one.py", long.format("fits"))
    assert script("check_sizes.py").stdout == ""
    write("src/commonplace/core/two.py", long.format("long") + "    pass\n")
    done = script("check_sizes.py")
    assert done.returncode == 1
    assert done.stdout == "src/commonplace/core/two.py:1: long has 61 lines (most: 60).\n"


def test_more_than_thirty_long_functions_are_too_many(write, script):
    """Those that are nearest to forty lines are named first."""
    for number in range(30):
        write(f"src/commonplace/core/f{number}.py", "def long():\n" + "    pass\n" * 50)
    assert script("check_sizes.py").returncode == 0
    write("src/commonplace/db/f.py", "def longer():\n" + "    pass\n" * 41)
    done = script("check_sizes.py")
    assert done.returncode == 1
    assert "31 functions have more than 40 lines (most: 30)" in done.stdout
    assert "src/commonplace/db/f.py:1: longer, 42" in done.stdout


def test_a_room_beyond_its_budget_is_named_with_the_way_out(write, script):
    """Each file counts for the nearest room around it."""
    for number in range(4):
        write(f"src/commonplace/db/f{number}.py", "\n" * 600)
    done = script("check_sizes.py")
    assert done.returncode == 1
    assert done.stdout.startswith("src/commonplace/db has 2,400 lines of ")
    assert "a commit of its own that says what the user gets" in done.stdout


def test_a_file_in_no_room_is_named(write, script):
    """A new room has a budget from its first commit on."""
    write("src/other/f.py", "x = 1\n")
    done = script("check_sizes.py")
    assert done.stdout == "src/other/f.py is in no room of scripts/check_sizes.py.\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/commonplace/core/f.py", 'def find():\n    """The fate of it."""\n'),
        ("src/commonplace/core/f.py", "x = 1  # its fates\n"),
        ("src/commonplace/core/f.py", "def find_fate(): ...\n"),
        ("src/commonplace/core/f.py", "class TextFate: ...\n"),
        ("docs/f.md", "Its fate is known.\n"),
    ],
)
def test_a_private_word_is_named(write, script, name, text):
    """In a name, a comment, a docstring or a page."""
    write("docs/design.md", DESIGN)
    assert script("check_words.py").stdout == ""
    write(name, text)
    done = script("check_words.py")
    assert done.returncode == 1
    assert "fate is a word of our own" in done.stdout
    assert done.stdout.startswith(name)


def test_a_word_in_a_text_that_users_see_is_no_private_one(write, script):
    """Nor one that is a public name, nor one that merely holds it."""
    write("docs/design.md", DESIGN)
    write("src/commonplace/core/f.py", 'SAID = "a fate"\nlegs = 1  # a legend, fatal\n')
    assert script("check_words.py").stdout == ""
