"""An importer of another distribution, the one of the docs: found by its entry point, used as ours."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.doors.terminal import facts, run

PAGE = Path(__file__).parents[2] / "docs" / "adding-an-importer.md"
BLOCK = re.compile(r"```\w+\n# (\S+)\n(.*?)```", re.DOTALL)

pytestmark = pytest.mark.usefixtures("no_weights")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The distribution of the page in a folder of Python's; the folder."""
    files = dict(BLOCK.findall(PAGE.read_text()))
    folder = tmp_path / "site"
    about = folder / "line_a_day-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "line_a_day.py").write_text(files["line_a_day.py"])
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: line-a-day\nVersion: 1.0\n")
    ((name, module),) = re.findall(r'^(\S+) = "(\S+)"$', files["pyproject.toml"], re.MULTILINE)
    (about / "entry_points.txt").write_text(f"[commonplace.importers]\n{name} = {module}\n")
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("line_a_day", None)


@pytest.fixture
def diary(tmp_path):
    """A diary with two days and a line without one."""
    path = tmp_path / "days.txt"
    path.write_text("2024-05-03 Walked to the harbour.\nno day\n2024-05-04 Bread.\n")
    return path


def test_what_another_distribution_adds_is_imported_and_taken_back(installed, diary):
    """Counted first, once, with what is left out, and wholly gone after an undo."""
    said = "Line a Day: {}2 entries into private, 2024-05-03 to 2024-05-04.\n"
    left = "\nNote: Left out: 1, a line has no date (line 2).\n"
    assert run("import", "line-a-day", diary, "--dry-run").stdout == said.format("") + left
    assert run("import", "line-a-day", diary).stdout == said.format("imported ") + left
    assert facts("import", "line-a-day", diary)["there"] == 2
    found = facts("recall", "harbour")["items"][0]["ref"]
    assert facts("open", found)["origin"] == "line-a-day, 2024-05-03"
    assert "removed 2 entries in private" in run("undo", "--yes").stdout
    assert not facts("recall", "harbour")["items"]


def test_it_is_found_where_its_program_keeps_its_entries(installed, diary, monkeypatch):
    """And listed beside ours."""
    monkeypatch.setenv("LINE_A_DAY_HOME", str(diary.parent))
    assert f"  line-a-day          {diary}  → private\n" in run("import").stdout
    assert facts("import", "line-a-day", "--dry-run")["new"] == 2


def test_one_that_cannot_be_loaded_hinders_no_other(installed, diary):
    """It is named with the library that is missing."""
    (installed / "line_a_day.py").write_text("import no_such_library")
    listed = run("import")
    assert listed.exit_code == 0
    assert "  jrnl " in listed.stdout
    assert "Note: no_such_library is not installed." in listed.stdout
    done = run("import", "line-a-day", diary)
    assert done.exit_code == 1
    assert "Install it again with what brings `line-a-day`." in done.output


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def find(", "cannot be loaded"),
        ("def find(home, environ):\n    raise KeyError('HOME')", "failed: 'HOME'"),
    ],
)
def test_one_that_is_broken_hinders_no_other(installed, code, said):
    """Neither when it is loaded nor when it looks for its entries."""
    (installed / "line_a_day.py").write_text(code)
    listed = run("import")
    assert listed.exit_code == 0
    assert "  jrnl " in listed.stdout
    assert said in listed.stdout
    assert "line-a-day" in listed.stdout


def test_an_unknown_name_is_told_from_all_that_there_are(installed):
    """Those of other distributions are among them."""
    done = run("import", "line-a-week")
    assert done.exit_code == 2
    assert "'line-a-day'" in done.output
    assert "'jrnl'" in done.output


def test_what_is_installed_is_read_for_no_importer_of_ours(tmp_path):
    """An import by one, and help, know it by the table alone."""
    program = (
        "import sys\n"
        "from commonplace.doors.cli import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        "assert 'importlib.metadata' not in sys.modules\n"
    )
    path = tmp_path / "journal.txt"
    path.write_text("[2024-05-03 09:30] Walked.\n")
    for words in (("import", "--help"), ("import", "jrnl", str(path), "--dry-run")):
        done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True)
        assert done.returncode == 0, done.stderr
