"""The Makefile's own judgement: when `.venv` is fit for use, and when it is made again."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
INSTALLS = "--no-deps --no-build-isolation -e . -e ./server -e ./chroma -e ./testing"


@pytest.fixture
def clone(tmp_path):
    """What `make demo` reads of a clone, with a `.venv` that was made to its end."""
    for name in (
        "Makefile",
        "pyproject.toml",
        "server/pyproject.toml",
        "chroma/pyproject.toml",
        "testing/pyproject.toml",
        "requirements/dev.txt",
        "requirements/weights.txt",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in (".ready", ".weights"):
        (tmp_path / ".venv" / name).touch()
    return tmp_path


def plan(folder: Path) -> str:
    """What `make demo` would do."""
    command = ["make", "--dry-run", "demo"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def write_python(folder: Path, *words: str) -> None:
    """A Python in `.venv` that is called with some words more."""
    python = folder / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    python.chmod(0o755)


def test_a_venv_that_works_is_used_as_it_is(clone):
    """Nothing is installed again."""
    write_python(clone, sys.executable)
    assert "examples.journals" in plan(clone)
    assert INSTALLS not in plan(clone)


def test_a_venv_whose_python_is_gone_is_made_again(clone):
    """As after an upgrade of the system's Python."""
    (clone / ".venv" / "bin" / "python").symlink_to(clone / "gone")
    assert "rm -rf .venv" in plan(clone)
    assert INSTALLS in plan(clone)


def test_a_venv_that_moved_with_its_folder_is_made_again(clone):
    """Its programs name the folder that was, and Commonplace is not found there."""
    write_python(clone, sys.executable, "-I", "-S")
    assert "rm -rf .venv" in plan(clone)
    assert INSTALLS in plan(clone)
