"""Homes that are filled once, and copied for each test that wants one like it.

Never for a test whose subject is the writing itself.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def filled(kept: Path, world: Path, fill: Callable[[], Any]) -> Any:
    """Fill a test's folders, or copy into them what filled them the first time.

    Args:
        kept: A folder that outlives the test; empty at the first call.
        world: The folder of this test, with its home in it; what lies in it is kept.
        fill: Does the work, and gives what JSON can hold.

    Returns:
        What `fill` gave.
    """
    answer = kept / "answer.json"
    if answer.exists():
        shutil.copytree(kept / "world", world, symlinks=True, dirs_exist_ok=True)
        return json.loads(answer.read_text("utf-8"))
    given = fill()
    shutil.copytree(world, kept / "world", symlinks=True)
    answer.write_text(json.dumps(given), "utf-8")
    return json.loads(answer.read_text("utf-8"))
