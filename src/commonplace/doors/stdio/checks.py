"""What `commonplace doctor` checks about the start of a session: whether its snapshots are true.

Never makes a snapshot: the next session leaves one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.values import Problem
from commonplace.doors.stdio.snapshot import TESTED_SDK, read_argv, start_key
from commonplace.doors.stdio.snapshot_recorder import delete_snapshot, list_snapshots, matches_sdk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commonplace.core.values import Finding


def check_start(*, user_home: Path | None) -> Iterator[Finding]:
    """Compare every snapshot of this folder and installation with what the SDK says now."""
    if start_key([]) is None:
        yield (
            f"Each session begins with the SDK: it is not of version {TESTED_SDK}, or a folder "
            "of the settings is not named in full."
        )
        return
    snapshots = list_snapshots()
    if not snapshots:
        yield "There is no snapshot yet: the next session starts more slowly, and keeps one."
    for snapshot in snapshots:
        words = " ".join(["mcp", *read_argv(snapshot["key"])])
        if matches_sdk(snapshot, user_home=user_home):
            yield f"`{words}` begins from a snapshot, which agrees with the SDK."
        else:
            yield Problem(
                what=f"The snapshot of `{words}` differs from what the SDK says.",
                hint="--repair removes it; please report it.",
                repairable=True,
            )


def repair_start(*, user_home: Path | None) -> Iterator[str]:
    """Remove the snapshots that differ from what the SDK says; yields a sentence for each."""
    for snapshot in list_snapshots():
        if not matches_sdk(snapshot, user_home=user_home):
            delete_snapshot(snapshot["key"])
            yield "Removed a snapshot that differed from what the SDK says."
