"""Examines a large index file in another process, while its caller examines something else.

Never decides what is a fault: where that process gives no answer, its caller examines the file.
"""

from __future__ import annotations

import logging
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

_log = logging.getLogger(__name__)

LEAST_BYTES = 75_000_000
"""The smallest file that is worth a process: 30,000 entries with vectors gain a fifteenth."""

DEADLINE_S = 60.0
"""How long that process may take for each `LEAST_BYTES`: ten times what a cold disk needs."""


@contextmanager
def finding_faults(file: IndexFile) -> Iterator[Callable[[], list[Fault]]]:
    """A function that answers as `find_faults`; of a large file another process finds them.

    That process starts at once and ends with the block, asked or not. `doctor` over 100,000 entries
    takes .90 of its time where all are events, .80 where half are messages, .68 where half are
    notes.
    """
    find_here = partial(find_faults, file, queries())
    child = _start(file.path)
    if child is None:
        yield find_here
        return
    with child:
        try:
            yield lambda: _answer_of(child, find_here, file.path)
        finally:
            child.kill()
            child.wait()  # at Ctrl-C `with` waits a quarter of a second, then leaves it running


def _start(path: Path) -> subprocess.Popen[bytes] | None:
    """A process that examines the file; None where it would not pay, or cannot start."""
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


def _answer_of(
    child: subprocess.Popen[bytes], find_here: Callable[[], list[Fault]], path: Path
) -> list[Fault]:
    try:
        times = os.path.getsize(path) / max(1, LEAST_BYTES)
        answer, _ = child.communicate(timeout=DEADLINE_S * times)
        return msgspec.json.decode(answer, type=list[Fault])
    except (OSError, subprocess.TimeoutExpired):
        _log.warning("A second process gave no answer on %s in time", path)
        return find_here()
    except msgspec.MsgspecError:
        return find_here()  # which says why, as where the file cannot be read


def count_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    faults = find_faults(IndexFile(Path(sys.argv[1])), queries())
    sys.stdout.write(msgspec.json.encode(faults).decode())
