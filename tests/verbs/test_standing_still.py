"""Of two processes of one home one stands still: it undoes nothing that the other acknowledged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.verbs.standing_still import ACTS

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP")]


@pytest.mark.parametrize("act", ACTS)
def test_who_stood_still_undoes_nothing(tmp_path, act, counted):
    """Stopped at the first step, at the last and between, over files, in each kind of journal."""
    command = [sys.executable, "-m", "tests.verbs.standing_still", str(tmp_path), act]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    found = subprocess.check_output(command, cwd=ROOT, env=environ, text=True)
    assert "undone" not in found
    tried, acknowledged = map(int, re.findall(r": (\d+)", found))
    assert acknowledged
    counted("steps at which one of two processes of a home stood still", tried)
