"""The demo of the journals, as `make demo` runs it."""

import os
import subprocess
import sys
from pathlib import Path


def test_it_shows_what_an_assistant_is_offered_and_leaves_nothing(tmp_path):
    """Every tool that it calls is one of those that it lists; nothing of it looks like trouble."""
    temp = tmp_path / "t"
    temp.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "examples.journals"],
        env={**os.environ, "TMPDIR": str(temp)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Invoices are rounded per line, not per total" in done.stdout
    assert "The nightly build took 40 minutes" in done.stdout.partition("list_by_time(")[2]
    assert "deployed the invoice service" in done.stdout.partition("find_when_i(")[2]
    assert "Tool " not in done.stderr
    assert list(temp.iterdir()) == []
