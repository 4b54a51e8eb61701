"""A process that works on a notebook and kills itself in the middle."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_BEFORE = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from commonplace.journals.notebook.journal import Notebook
folder, ledger, where = sys.argv[1:]
now = lambda: datetime.now(UTC)
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
def after(function):
    def run(*args, **more):
        function(*args, **more)
        die()
    return run
def opened(**more):
    return Notebook(Path(folder), ledger=Path(ledger), owner="me", zone=UTC, clock=now, **more)
"""


def run_killed(script: str, folder: Path, *, ledger: Path, where: str) -> None:
    """Run it over a notebook until it dies, which it must.

    It finds `folder` and `where` as texts, `opened` for the notebook, `now` for a clock, `die`, and
    `after` for what is to die once a function is done.
    """
    command = [sys.executable, "-c", _BEFORE + script, str(folder), str(ledger), where]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
