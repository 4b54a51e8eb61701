"""The server of a demo and of the tests: with whom it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.patience import until

KEPT = """
import os
from examples.postgres import PostgresServer
server = PostgresServer()
server.remove_after(os.getpid())
print(server.folder, flush=True)
input()
"""


def test_it_ends_with_the_process_that_had_it_however_that_ends():
    """Its folder goes too; who dies was killed, and removed nothing itself."""
    with subprocess.Popen(
        [sys.executable, "-c", KEPT],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        folder = Path(process.stdout.readline().strip())
        assert folder.is_dir()
        process.kill()
    until(lambda: not folder.exists(), "the folder of the server to go")
