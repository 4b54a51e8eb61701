"""A disk that fails under real processes, whatever in them writes: Python, SQLite or git.

Works through a library of C (`disk.c`), compiled here, that is loaded before all others; where no
compiler is or another system, tests with it are skipped.
"""

from __future__ import annotations

import atexit
import errno
import mmap
import shutil
import struct
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

_PLAN = struct.Struct("8i64s128s128s512s")
_SOURCE = Path(__file__).with_name("disk.c")


@cache
def _library() -> Path:
    """The library, compiled once for each process of a run; skips where it cannot be."""
    compiler = shutil.which("cc")
    if not sys.platform.startswith("linux") or compiler is None:
        pytest.skip("needs Linux and a C compiler")
    made = Path(tempfile.mkdtemp(prefix="cp-disk-")) / "disk.so"
    atexit.register(shutil.rmtree, made.parent, ignore_errors=True)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(_SOURCE), "-ldl"], check=True
    )
    return made


class Disk:
    """A folder as it is on a disk of some kind, for processes that are started with `env`."""

    def __init__(self, root: Path, plan: Path) -> None:
        plan.write_bytes(b"\0" * _PLAN.size)
        self.root = root.resolve()
        self._root = str(self.root).encode()
        with plan.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _PLAN.size)
        self._kind = (0, 0, 0)
        self.env = {"LD_PRELOAD": str(_library()), "DISK_PLAN": str(plan)}

    def be(self, *, no_links: str = "", coarse: bool = False, ignores_case: bool = False) -> None:
        """From now on there are no hard links, times are even seconds, or case does not count."""
        self._kind = (getattr(errno, no_links) if no_links else 0, coarse, ignores_case)
        self.fail("")

    def fail(
        self, error: str, *, nth: int = 1, ever: bool = False, kinds: str = "", only: str = ""
    ) -> None:
        """From now on the n-th step fails with this errno, or kills; ever: so do all after it.

        error: a name of errno, or `kill`: the process dies, and all of its group.
        kinds: open, write, fsync, link, rename, unlink, mkdir or truncate; empty for all. only: what
        the path must hold.
        """
        number = -1 if error == "kill" else getattr(errno, error) if error else 0
        spaced = f" {kinds} " if kinds else ""
        # The error last: a process may look at any moment.
        self._shared[4:] = _PLAN.pack(
            0, nth, ever, 0, 0, *self._kind, b"", spaced.encode(), only.encode(), self._root
        )[4:]
        self._shared[:4] = struct.pack("i", number)

    def lift(self) -> str:
        """No fault any more; the step that failed first, empty if none did."""
        self._shared[:4] = struct.pack("i", 0)
        return _PLAN.unpack(self._shared[:])[8].rstrip(b"\0").decode("utf-8", "replace")

    @contextmanager
    def failing(self, error: str, **how):
        """Fail meanwhile."""
        self.fail(error, **how)
        try:
            yield
        finally:
            self.lift()


@pytest.fixture
def disk(tmp_path):
    """The disk on which home and project of a world lie."""
    return Disk(tmp_path, tmp_path.with_name(f"{tmp_path.name}.plan"))
