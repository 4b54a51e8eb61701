"""Makes a temporary folder beside a place, to prepare its content in; removed at the end.

Never touches the place itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from commonplace.core.files import make_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def staged(above: Path, prefix: str) -> Iterator[Path]:
    """A new folder in another; those that killed processes left are removed first.

    Args:
        above: The folder that it is made in, itself made if need be.
        prefix: How the names of such folders begin.

    Raises:
        Unavailable, Denied, Invalid.
    """
    make_folder(above)
    remove_old_stages(above, prefix)
    stage = above / f"{prefix}{os.getpid()}-{os.urandom(4).hex()}"
    try:
        make_folder(stage)
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def remove_old_stages(above: Path, prefix: str) -> None:
    """Remove what processes that were killed left beside a place. Never raises."""
    with contextlib.suppress(OSError), os.scandir(above) as entries:
        for each in entries:
            pid = each.name.removeprefix(prefix).partition("-")[0]
            if each.name.startswith(prefix) and pid.isdigit() and not _is_alive(int(pid)):
                shutil.rmtree(each.path, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    return os.name == "nt" or os.path.exists(f"/proc/{pid}") or not os.path.isdir("/proc")
