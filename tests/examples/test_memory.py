"""The demo of memory, as `make demo-memory` runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.long
def test_it_ends_well_and_leaves_nothing(tmp_path):
    """Two users, each with their own answers; its server and its folders are gone."""
    env = {**os.environ, "TMPDIR": str(tmp_path / "t")}
    (tmp_path / "t").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "examples.memory"],
        env=env,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lives in Ipoh" in done.stdout
    assert "as nobody: 0" in done.stdout
    assert list((tmp_path / "t").iterdir()) == []
