"""Commands that are killed before one of their acts, named by an audit event and its arguments."""

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
    """Run a command of ours; it is killed before its first such act on such a path or command.

    Args:
        act: An audit event of Python: "open", "os.rename", "subprocess.Popen".
        part: A text that is in the path, or in the command that is called.
        *words: What our command is given.
    """
    command = [sys.executable, "-c", _KILLED, act, str(part), *map(str, words)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
