"""On Windows the notebook, over the real git: written, read, corrected, forgotten, by two at once."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from tests.windows.machine import GIT, Windows, needs_windows, running, there

pytestmark = [
    needs_windows,
    pytest.mark.whole,
    pytest.mark.skipif(
        not GIT.exists(),
        reason="No git for Windows is here: `make .tools/windows-git/ready` builds it.",
    ),
]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    with running(tmp_path_factory.mktemp("windows")) as made:
        yield made


@pytest.fixture
def windows(machine, tmp_path):
    """A user who has git, and no notebook yet."""
    if tmp_path.is_relative_to("/dev"):
        pytest.skip("Wine does not say where a folder in memory is: run it with --on-disk.")
    return Windows(tmp_path / "ann", machine.prefix, WINEPATH=there(GIT.parent))


@pytest.fixture
def command(windows):
    with windows.session() as session:
        yield session


def in_repository(windows, *words: str) -> str:
    """What this machine's git says of the repository."""
    (place,) = windows.data.rglob("notebook/.git")
    command = ["git", "-C", place.parent, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_an_entry_and_an_overview_are_written_corrected_and_forgotten(windows, command):
    """Git of another system reads the same files, finds no fault, and not what was forgotten."""
    command("notebook", "write", "api/errors", "Errors are values ✓", "--overview", "How errors go")
    command("notebook", "write", "api/errors", "The quay floods 漢字")
    assert "How errors go" in command("notebook", "read", "api/errors")
    assert "api/errors" in command("notebook", "toc", "api")
    assert command("notebook", "log", "api/errors").count("notebook:api/errors#") == 2
    hit, *_ = json.loads(command("recall", "quay floods", "--format", "json"))["items"]
    assert hit["journal"] == "notebook"
    command("edit", hit["ref"], "The wharf floods", "--yes")
    assert "The wharf floods" in command("open", hit["ref"])
    assert "Nothing of the text is left." in command(
        "forget", hit["ref"], "--rewrite-history", "--keep-days", "0", "--yes"
    )
    assert "wharf" in command("notebook", "log", "api/errors")
    command.begin("doctor")
    assert re.findall(r"^Problem +(\w+)", command.end()[1], re.MULTILINE) == ["weights"]
    in_repository(windows, "fsck", "--strict")
    history = in_repository(windows, "log", "--all", "-p", "--format=%B")
    said = ("Errors are values ✓", "How errors go", "wharf", "quay")
    assert [text in history for text in said] == [True, True, True, False]


def test_two_processes_at_once_write_one_history(windows, command):
    """Each key is one entry, whoever comes first, and no commit is lost."""
    with windows.session() as other:
        for number in range(5):
            words = ("notebook", "write", "buoys", f"buoy {number}")
            for session in (command, other):
                session.begin(*words, "--idempotency-key", f"buoy-{number}")
            ends = [session.end() for session in (command, other)]
            assert [code for code, _ in ends] == [0, 0], ends
    told = in_repository(windows, "log", "--format=%s")
    assert [told.count(f"buoy {number}\n") for number in range(5)] == [1] * 5
    in_repository(windows, "fsck", "--strict")


KILLED = """
import os, sys
from click.testing import CliRunner
from commonplace.doors.cli import main
starts = 0
def end_at_a_start_of_git(event, given):
    global starts
    starts += event == "subprocess.Popen"
    if starts == int(sys.argv[1]):
        os._exit(9)
sys.addaudithook(end_at_a_start_of_git)
CliRunner().invoke(main, ["notebook", "write", "lamp", "The lamp is lit", "--idempotency-key", "lamp"])
"""


def test_a_writer_that_is_killed_before_any_of_its_commands_leaves_no_half(windows, command):
    """The same write, asked again, is there once; the next writer waits for no lock."""
    command("notebook", "write", "lamp", "The lamp is trimmed")
    killed = 0
    for number in range(1, 20):
        done = windows.run("-c", KILLED, str(number))
        if done.returncode == 0:
            break
        assert done.returncode == 9, done
        killed += 1
        command("notebook", "write", "lamp", f"Trimmed {number}")
    assert killed, "No command of git's was begun."
    told = in_repository(windows, "log", "--format=%s")
    assert told.count("The lamp is lit\n") == 1
    assert told.count("Trimmed") == killed
    in_repository(windows, "fsck", "--strict")
