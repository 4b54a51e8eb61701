"""Commands that are killed before an act of theirs, which a name tells apart from all others."""

from __future__ import annotations

import signal
import subprocess
import sys

_KILLED = """
import os, signal, sys
from commonplace.doors.cli import main
act, part, *words = sys.argv[1:]
def hook(event, args):
    if event == act and any(part in str(each) for each in args):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
main(words)
"""


def killed_before(act, part, *words):
    """Run a command that is killed before its first act of a kind on what has a part in its name.

    Args:
        act: An audit event of Python: "open", "os.rename", "subprocess.Popen".
        part: Of the path, or of the command that is called.
        *words: Of our command.
    """
    command = [sys.executable, "-c", _KILLED, act, part, *map(str, words)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
