"""The distribution for many users is not installed: its commands say what to install, all else goes on."""

import json
import os
import subprocess
import sys

import pytest

WITHOUT = """
import importlib.metadata, sys

found = importlib.metadata.entry_points
importlib.metadata.entry_points = lambda **given: [
    x for x in found(**given) if not x.value.startswith("commonplace_server")
]
from commonplace.doors.cli import main
main(sys.argv[1:])
"""
INSTALL = 'commonplace-server is not installed. Run `pip install "commonplace-memory[server]"`.'


@pytest.fixture
def command(tmp_path):
    env = {
        **os.environ,
        "COMMONPLACE_ENCODER_FOLDER": str(tmp_path / "nothing"),
        "COMMONPLACE_DATABASE_URL": "postgresql://nobody@/nowhere",
        "COLUMNS": "200",
    }

    def run(*words):
        command = [sys.executable, "-c", WITHOUT, *words]
        return subprocess.run(command, env=env, capture_output=True, text=True)

    return run


def test_its_commands_say_what_to_install(command):
    """Whatever they are given, and whatever of memory is called where a database is named."""
    for words in (
        ("serve",),
        ("serve", "--http", "127.0.0.1:0", "--json"),
        ("serve", "--help"),
        ("tokens", "create", "--user", "ann"),
        ("memory", "migrate"),
        ("memory", "worker", "--once"),
        ("memory", "list", "todo"),
    ):
        done = command(*words)
        assert done.returncode == 1, words
        assert INSTALL in done.stderr, words
        if "--json" in words:
            assert json.loads(done.stderr.splitlines()[-1])["code"] == "unavailable"


def test_help_lists_them_all_the_same(command):
    """As with it: what there is to have is seen."""
    assert "Serve MCP clients over HTTP, many users at once." in command("help", "--all").stdout
    assert "Create or update the tables of Postgres." in command("memory", "--help").stdout
    assert "Did you mean" in command("sarve").stderr


def test_all_other_journals_go_on(command):
    """Recall finds in them, and says what it could not open."""
    assert command("log", "mended the harbour gate").returncode == 0
    found = command("recall", "harbour gate")
    assert found.returncode == 0, found.stderr
    assert "mended the harbour gate" in found.stdout
    assert "commonplace-memory[server]" in found.stdout
    assert command("status").returncode == 0
