"""Windows, as wine has it: Python's own build for it runs our package on files of this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".tools" / "windows"
PYTHON = TOOLS / "python" / "python.exe"
GIT = TOOLS.with_name("windows-git") / "git.exe"
CHILD = Path(__file__).with_name("child.py")

needs_windows = pytest.mark.skipif(
    not PYTHON.exists(),
    reason="No wine is here, or no Python for it: `make .tools/windows/ready` installs both.",
)


def there(path: Path) -> str:
    """A path of this machine as Windows names it."""
    return "Z:" + str(path).replace("/", "\\")


class Windows:
    """One user's home and project, and what runs there."""

    def __init__(self, folder: Path, prefix: Path, **variables: str) -> None:
        self.folder = folder
        self.home, self.project = folder / "home", folder / "project"
        self.data = self.home / "data"
        for each in (self.home, self.project):
            each.mkdir(parents=True)
        self.prefix = prefix
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "WINEPREFIX": str(prefix),
            "WINEDEBUG": "-all",
            # Neither .NET, a browser nor the menus of this machine's desktop.
            "WINEDLLOVERRIDES": "mscoree,mshtml,winemenubuilder.exe=",
            "TZ": "UTC",
            "COMMONPLACE_HOME": there(self.data),
            "COMMONPLACE_PRIVATE_USER": there(self.home / "private"),
            "COMMONPLACE_TIMEZONE": "UTC",
            "CHRONICLE_DB_PATH": there(self.home / "chronicle.db"),
            **variables,
        }

    @contextmanager
    def start(self, *words: str):
        """A process of Python for Windows, which does not outlive what is done with it."""
        command = ["wine", str(PYTHON), *words]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen(command, cwd=self.project, env=self.env, **pipes) as process:
            try:
                yield process
            finally:
                process.kill()

    def run(self, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """The same, to its end."""
        with self.start(*words) as process:
            out, err = process.communicate(given, timeout=PATIENCE_S)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    @contextmanager
    def session(self):
        """A process that runs commands of ours, one after another."""
        with self.start(there(CHILD)) as process:
            yield Session(process)
            _, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, err) == (0, b"")


def next_line(process: subprocess.Popen[bytes]) -> bytes:
    """What a process writes next; one that hangs is killed, and the test fails with its words."""
    deadline = Timer(PATIENCE_S, process.kill)
    deadline.start()
    try:
        line = process.stdout.readline()
    finally:
        deadline.cancel()
    assert line, process.communicate()
    return line


@contextmanager
def running(folder: Path):
    """A system with a registry and users of its own; it ends with all that runs there."""
    made, prefix = TOOLS / "prefix", folder / "prefix"
    for each in ("dosdevices", "drive_c"):
        (prefix / each).mkdir(parents=True)
    for each in (*made.glob("*.reg"), made / ".update-timestamp"):
        shutil.copy2(each, prefix)
    for each in made.glob("dosdevices/*"):
        (prefix / "dosdevices" / each.name).symlink_to(each.readlink())
    for each in made.glob("drive_c/*"):
        if each.name != "users":
            (prefix / "drive_c" / each.name).symlink_to(each)
    shutil.copytree(made / "drive_c/users", prefix / "drive_c/users", symlinks=True)
    windows = Windows(folder / "me", prefix)
    try:
        # What starts while the system does may find no console; one that stays keeps it running.
        with windows.start("-c", "print(); input()") as waiting:
            next_line(waiting)
            yield windows
    finally:
        for option in ("--kill", "--wait"):
            subprocess.run(["wineserver", option], env=windows.env, check=False)


class Session:
    """A process that runs commands."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def begin(self, *words: str, given: str = "") -> None:
        """Have it run a command."""
        self._process.stdin.write(json.dumps([words, given]).encode() + b"\n")
        self._process.stdin.flush()

    def end(self) -> tuple[int, str]:
        """The exit code and the output of the command that was begun."""
        code, output = json.loads(next_line(self._process))
        return code, output

    def __call__(self, *words: str, given: str = "") -> str:
        """The output of a command, which must succeed."""
        self.begin(*words, given=given)
        code, output = self.end()
        assert code == 0, output
        return output
