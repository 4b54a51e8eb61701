"""A database is named and its driver is not installed: memory says what to install, all else goes on."""

import os
import subprocess
import sys

import pytest


@pytest.fixture
def command(tmp_path):
    stub = tmp_path / "stub"
    stub.mkdir()
    (stub / "psycopg.py").write_text("raise ImportError('none', name='psycopg')\n")
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(stub), os.environ.get("PYTHONPATH", "")]),
        "COMMONPLACE_ENCODER_FOLDER": str(tmp_path / "nothing"),
        "COMMONPLACE_DATABASE_URL": "postgresql://nobody@/nowhere",
    }

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "commonplace", *words], env=env, capture_output=True, text=True
        )

    return run


def test_memory_says_what_to_install(command):
    """Whatever of it is called."""
    for words in (("list", "todo"), ("migrate",), ("worker", "--once")):
        done = command("memory", *words)
        assert done.returncode == 1
        assert "psycopg is not installed. Install commonplace-memory[postgres]." in done.stderr


def test_all_other_journals_go_on(command):
    """Recall finds in them, and says what it could not open."""
    assert command("log", "mended the harbour gate").returncode == 0
    found = command("recall", "harbour gate")
    assert found.returncode == 0, found.stderr
    assert "mended the harbour gate" in found.stdout
    assert "commonplace-memory[postgres]" in found.stdout
    assert command("status").returncode == 0
