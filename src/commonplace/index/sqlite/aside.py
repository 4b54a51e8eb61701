"""Looks for the faults of a large index file in another process, while its caller looks elsewhere.

Never has a say in what is found: where that process gives no answer, its caller looks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from commonplace.index.sqlite.file import IndexFile, queries
from commonplace.index.sqlite.repair import Fault, find_faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEAST_BYTES = 75_000_000
"""Of a file that is worth a process: 30,000 entries with vectors, where it gains a fifteenth."""


@contextmanager
def looking_aside(file: IndexFile) -> Iterator[Callable[[], list[Fault]]]:
    """Give what answers as `find_faults`; another process may have begun to look by then.

    `doctor` over 100,000 entries takes .90 of its time where all are events, .80 where half are
    messages, .68 where half are notes. A process that is not asked is ended.
    """
    look = partial(find_faults, file, queries())
    child = _begin(file.path)
    if child is None:
        yield look
        return
    with child:
        try:
            yield lambda: _answer_of(child, look)
        finally:
            child.kill()
            child.wait()  # at Ctrl-C `with` gives it a quarter of a second and leaves it


def _begin(path: Path) -> subprocess.Popen[bytes] | None:
    """A process that looks; None where it would not pay, or cannot be had."""
    try:
        if os.path.getsize(path) < LEAST_BYTES or count_processors() == 1 or not sys.executable:
            return None
        # Whatever lies in the working directory is no module of ours.
        flag = "-I" if sys.flags.isolated else "-P"
        return subprocess.Popen(  # noqa: S603  ourselves
            [sys.executable, flag, "-m", __name__, str(path.parent)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


def _answer_of(child: subprocess.Popen[bytes], look: Callable[[], list[Fault]]) -> list[Fault]:
    answer, _ = child.communicate()
    try:
        return msgspec.json.decode(answer, type=list[Fault])
    except msgspec.MsgspecError:
        return look()  # which says why, as where the file cannot be read


def count_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    faults = find_faults(IndexFile(Path(sys.argv[1])), queries())
    sys.stdout.write(msgspec.json.encode(faults).decode())
