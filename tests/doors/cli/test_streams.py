"""Standard streams that a caller closed, or that lead to a full disk."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.doors.terminal import facts, run
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a POSIX shell closes the streams")


def in_shell(words, redirected):
    """Run a command of ours with its streams redirected as a shell does it."""
    command = f'exec "$0" -m commonplace {words} {redirected}'
    return subprocess.run(
        ["/bin/sh", "-c", command, sys.executable],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_a_command_does_its_work_with_streams_closed(closed, no_weights):
    """As services and cron start programs; what is said goes nowhere."""
    done = in_shell("log left the harbour", closed)
    assert (done.returncode, done.stderr) == (0, "")
    assert facts("last")["text"] == "left the harbour"


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&- <&-"])
def test_a_command_that_fails_has_its_code_with_streams_closed(closed, no_weights):
    """Although it cannot say why."""
    assert in_shell("open nowhere", closed).returncode == 3


@pytest.mark.parametrize("words", ["log", "private write", "edit -1", "delete -1"])
def test_a_command_that_would_read_finds_nothing_on_a_closed_stdin(words, no_weights):
    """It says what it lacks, as where stdin is empty."""
    run("log", "left the harbour")
    closed, empty = in_shell(words, "<&-"), run(*words.split(), input="")
    assert (closed.returncode, closed.stderr) == (empty.exit_code, empty.stderr)
    assert closed.returncode == 2
    assert facts("last")["text"] == "left the harbour"


def test_a_server_whose_stdin_is_closed_ends(no_weights):
    """As at the end of its client."""
    assert in_shell("mcp", "<&-").returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has /dev/full")
@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [("log left the harbour", ""), ("help", "1"), ("config show", ""), ("list", ""), ("list", "1")],
)
def test_output_that_cannot_be_written_is_named(words, unbuffered, monkeypatch, no_weights):
    """With what the system says, and neither a traceback nor a warning of Python's."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    done = in_shell(words, "> /dev/full")
    assert done.returncode == 1
    assert done.stderr == (
        "Error: The output cannot be written: No space left on device. "
        "Free some space, or write it elsewhere.\n"
    )


@pytest.mark.parametrize("words", [("list", "--journal"), ("project", "--project"), ("open",)])
def test_an_error_names_a_huge_value_by_its_ends(words):
    """100,000 letters of it would push the next step, and all before it, off the screen."""
    done = run(*words, "x" * 100_000)
    assert done.exit_code in {2, 3}
    assert len(done.stderr) < 3000


def where_no_file_grows(*words):
    """What a command says where no file may grow at all."""
    import pty
    import resource

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    primary, terminal = pty.openpty()
    command = [sys.executable, "-m", "commonplace", *words]
    done = subprocess.run(command, stdin=terminal, capture_output=True, preexec_fn=limited)
    os.close(primary)
    os.close(terminal)
    return done


def test_a_machine_without_room_for_temporary_files_is_named(no_weights):
    """An editor needs one."""
    done = where_no_file_grows("private", "write")
    assert done.returncode == 1
    assert b"temporary files" in done.stderr
    assert b"TMPDIR" in done.stderr


def test_doctor_goes_on_where_the_disk_is_full(no_weights):
    """It names each journal whose files cannot be written, once, and looks at the others."""
    run("notebook", "write", "quays", "The north quay is closed.")
    done = where_no_file_grows("doctor")
    assert (done.returncode, done.stderr) == (1, b"")
    problems = [x for x in done.stdout.decode().splitlines() if x.startswith("Problem")]
    assert any("notebook" in x and "disk" in x for x in problems)
    assert len(problems) == len(set(problems))
