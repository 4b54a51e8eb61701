"""The sixth journal of docs/adding-a-journal.md: built from the page, used as its reader would."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "adding-a-journal.md").read_text("utf-8")
FILES = dict(re.findall(r"```python\n# (src/\S+)\n(.*?)```", PAGE, re.DOTALL))
[ROW] = re.findall(r"```python\n# a row of [^\n]+\n(.*?)```", PAGE, re.DOTALL)
[LAWS] = re.findall(r"```python\n# tests/contracts/test_reading.py\n(.*?)```", PAGE, re.DOTALL)
DROPS_NOTHING = """
from commonplace.core.values import Put
scan = ReadingJournal.scan
ReadingJournal.scan = lambda self, since: (x for x in scan(self, since) if isinstance(x, Put))
"""
WALNUTS = "The Walnut Grower. Grafting takes patience."
HARBOUR = "Harbours of the North. Fog is the enemy."

OPEN = """
import json
from pathlib import Path
from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace_testing import HashingEncoder, ReadySlot

def opened():
    settings = read_settings(cwd=Path.cwd(), home=Path.home())
    return App(settings, user_home=Path.home(), encoder=ReadySlot(HashingEncoder()))

def ask(app, name, **arguments):
    return next(t for s in app.toolsets() for t in s.tools if t.name == name).call(arguments)
"""

SERVING = """
import json, os, sys
from click.testing import CliRunner
from commonplace.doors.cli import main

for line in sys.stdin:
    words, folder, environ = json.loads(line)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    done = CliRunner().invoke(main, words)
    print(json.dumps([done.exit_code, done.stdout, done.stderr]), flush=True)
"""


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


class House:
    """A copy of the package, and of the page's files in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None
        shutil.copytree(ROOT / "src", folder / "src")
        shutil.copy(ROOT / "pyproject.toml", folder)
        for name, content in FILES.items():
            assert not (folder / name).exists(), name
            (folder / name).write_text(content, "utf-8")
        table = folder / "src" / "commonplace" / "journals" / "table.py"
        head, rows, rest = table.read_text("utf-8").partition(
            "JOURNALS: tuple[JournalRow, ...] = (\n"
        )
        before, end, after = rest.partition("\n)\n")
        table.write_text(f"{head}{rows}{before}\n{ROW.rstrip()}{end}{after}", "utf-8")

    @property
    def files(self) -> list[str]:
        """The page's files in this copy."""
        return [str(self.folder / name) for name in FILES]

    def python(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """What a process of this copy answers."""
        environ = {**os.environ, "PYTHONPATH": str(self.folder / "src"), **environ}
        return subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            encoding="utf-8",
            env=environ,
            timeout=PATIENCE_S,
        )

    def command(self, *words: str, **environ: str) -> Done:
        """A command of this copy; all of them are called in one process."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SERVING],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                env={**os.environ, "PYTHONPATH": str(self.folder / "src")},
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        said = json.dumps([words, str(Path.cwd()), {**os.environ, **environ}])
        self.process.stdin.write(f"{said}\n")
        self.process.stdin.flush()
        return Done(*json.loads(self.process.stdout.readline()))

    def run(self, *words: str, **environ: str) -> str:
        """What a command prints."""
        done = self.command(*words, **environ)
        assert done.code == 0, done.err
        return done.out

    def close(self) -> None:
        """End the process of the commands."""
        if self.process is not None:
            self.process.communicate(timeout=PATIENCE_S)

    def ask(self, script: str) -> object:
        """What a script prints as JSON, with an encoder that hashes words."""
        done = self.python("-c", OPEN + script, COMMONPLACE_TOOLSETS="reading,recall")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The house with a sixth journal."""
    made = House(tmp_path_factory.mktemp("house"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch, no_weights):
    """Where this test's journals lie."""
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "ours"))
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "UTC")
    return tmp_path / "ours" / "users" / "me"


def _code_lines(text):
    """Lines that are neither blank nor part of a docstring."""
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except SyntaxError:  # the row alone
        nodes = []
    said = {
        line
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    return [x for n, x in enumerate(text.splitlines(), 1) if x.strip() and n not in said]


def test_it_is_four_modules_and_a_row_of_at_most_150_lines():
    """Blank lines and docstrings not counted; imports are."""
    rooms = ["journals", "verbs", "app/wiring", "doors/cli"]
    assert [*FILES] == [f"src/commonplace/{room}/reading.py" for room in rooms]
    assert sum(len(_code_lines(text)) for text in [*FILES.values(), ROW]) <= 150


def test_the_example_passes_the_checks_of_the_house(house):
    """Formatted, and without a finding of ruff."""
    for words in (("format", "--check"), ("check", "--no-cache")):
        done = house.python("-m", "ruff", *words, *house.files)
        assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_the_example_keeps_the_contract(house):
    """Its types are what the app's protocol asks for: `mypy --strict` says so."""
    extra = house.folder / "conforms.py"
    extra.write_text(
        "from commonplace.app.owner_context import JournalWiring, OwnerContext\n"
        "from commonplace.app.wiring.reading import ReadingWiring\n"
        "def wired(own: OwnerContext) -> JournalWiring:\n    return ReadingWiring(own)\n"
    )
    config = str(ROOT / "pyproject.toml")
    cache = str(house.folder / ".mypy_cache")
    done = house.python(
        "-m", "mypy", "--config-file", config, "--cache-dir", cache, *house.files, str(extra),
        MYPYPATH=str(house.folder / "src"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_the_example_imports_down_the_rooms(house):
    """The contracts of imports hold with it."""
    linter = "from importlinter.cli import lint_imports_command as lint; lint()"
    config = str(house.folder / "pyproject.toml")
    done = house.python("-c", linter, "--no-cache", "--config", config)
    assert done.returncode == 0, done.stdout


def test_help_and_settings_know_it(house):
    """Its command is listed, its toolset is a choice, and a wrong one is told the nearest."""
    assert re.search(r"^  reading +Keep what you have read\.$", house.run("--help"), re.MULTILINE)
    house.run("status", COMMONPLACE_TOOLSETS="reading")
    house.run("status", COMMONPLACE_TOOLSETS="all")
    wrong = house.command("status", COMMONPLACE_TOOLSETS="readin")
    assert wrong.code == 2
    assert "Did you mean reading?" in wrong.err


def test_written_on_the_command_line_it_is_listed_recalled_opened_and_counted(house):
    """By its words alone, since there is no model."""
    added = json.loads(house.run("reading", "add", WALNUTS, "--json"))
    house.run("reading", "add", HARBOUR)
    listed = json.loads(house.run("reading", "list", "--json"))
    assert [book["text"] for book in listed["books"]] == [HARBOUR, WALNUTS]
    assert "Harbours" in house.run("reading", "list", "-n", "1")
    found = json.loads(house.run("recall", "grafting", "--json"))
    assert [hit["ref"] for hit in found["items"]] == [added["ref"]]
    assert WALNUTS in house.run("open", added["ref"])
    rows = json.loads(house.run("status", "--json"))["journals"]
    [row] = [row for row in rows if row["journal"] == "reading"]
    assert (row["entries"], row["trouble"]) == (2, "")


def test_a_model_writes_it_and_finds_it_by_meaning(house):
    """Through the tools that the settings ask for; the hit has a similarity."""
    hits = house.ask(f"""
app = opened()
ref = ask(app, "add_book", text={WALNUTS!r}).facts["ref"]
found = ask(app, "recall", query="the walnut grower", explain=True).facts["results"]
page = ask(app, "open_ref", ref=ref)
print(json.dumps([[x["ref"] == ref, x["similarity"], x["by"]] for x in found] + [{WALNUTS!r} in page.text]))
app.close()
""")
    [[is_it, similarity, by], is_whole] = hits
    assert (is_it, by, is_whole) == (True, "both", True)
    assert similarity > 0.3


def test_what_is_deleted_in_an_editor_leaves_the_index(house, own_home):
    """The next search does not find it, and no byte of it stays in the index's files."""
    house.run("reading", "add", WALNUTS)
    house.run("reading", "add", HARBOUR)
    assert "Grafting" in house.run("recall", "grafting")
    [book] = [x for x in (own_home / "reading").iterdir() if "Walnut" in x.read_text()]
    book.unlink()
    assert json.loads(house.run("recall", "grafting", "--json"))["items"] == []
    for file in (own_home / "index").rglob("*"):
        assert file.is_dir() or b"Grafting" not in file.read_bytes(), file


def test_doctor_names_a_broken_file_which_hides_no_other(house, own_home):
    """A file that is not text is a problem; the other book is listed and found."""
    house.run("reading", "add", WALNUTS)
    well = json.loads(house.command("doctor", "--json").out)
    assert "reading" not in json.dumps(well["problems"])
    [book] = (own_home / "reading").iterdir()
    broken = book.with_name(book.name.replace("-", "0", 1))
    broken.write_bytes(b"\xff\xfe\x00")
    done = house.command("doctor", "--json")
    assert done.code == 1
    assert broken.name in json.dumps(json.loads(done.out)["problems"])
    assert "Grafting" in house.run("recall", "grafting")


def test_reindex_makes_its_part_again(house, own_home):
    """The index is derived: nothing is lost with it."""
    house.run("reading", "add", WALNUTS)
    shutil.rmtree(own_home / "index")
    assert json.loads(house.run("reindex", "--json"))["entries"] == 1
    assert "Grafting" in house.run("recall", "grafting")


TRIED = """
import os, sys, pytest
for laws in sys.argv[1:]:
    pytest.main(["-q", "-p", "no:cacheprovider", "-c", os.devnull, laws])
    print("END")
"""


def test_its_source_and_pages_keep_the_laws_of_every_journal(house):
    """The test on the page passes, and its laws find a journal that drops nothing."""
    laws, broken = house.folder / "test_reading.py", house.folder / "test_reading_broken.py"
    laws.write_text(LAWS, "utf-8")
    broken.write_text(LAWS + DROPS_NOTHING, "utf-8")
    done = house.python("-c", TRIED, str(laws), str(broken))
    kept, found, _ = done.stdout.split("END\n")
    assert "13 passed" in kept, kept
    assert "failed" not in kept, kept
    assert re.findall(r"^FAILED \S+::(\w+)", found, re.MULTILINE) == [
        "test_a_deleted_entry_is_dropped"
    ], found
