"""What it costs to export, import and back up everything, and to forget one entry.

Each is the real command, in a process of its own, beside copying the same files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from bench import homes
from bench.corpus import make_lines
from bench.figures import Figure, Spread
from commonplace.journals.chronicle.portable import PortableChronicle, PortableEvent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXPORT_S = 20.0
FORGET_S = 2.0
BACKUP_RATIO = 1.2


class Sizes(Struct, frozen=True, kw_only=True):
    """How large and how often. entries: of the home, half events, half messages; times: of each."""

    entries: int
    times: int


def copy_figures(sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """Export, import, backup and forget, each beside a copy of what it reads or writes."""
    home = homes.Home(scratch / "home").make()
    refs = _fill(home, sizes.entries)
    what = f"{sizes.entries:,} entries"
    taken: dict[str, list[float]] = {}
    for turn in range(sizes.times):
        out, archive = scratch / f"out{turn}", scratch / f"backup{turn}.zip"
        taken.setdefault("export", []).append(_run(home, "export", str(out)))
        taken.setdefault("copy of the export", []).append(_copy(out))
        other = homes.Home(scratch / f"other{turn}").make()
        taken.setdefault("import", []).append(_run(other, "import", str(out)))
        taken.setdefault("backup", []).append(_run(home, "backup", str(archive)))
        taken.setdefault("copy of the home", []).append(_copy(home.folder))
        taken.setdefault("forget", []).append(_run(home, "forget", refs[turn], "--yes"))
        for each in (out, other.folder):
            shutil.rmtree(each)
        archive.unlink()
    spreads = {name: Spread.of(each) for name, each in taken.items()}
    floors = {"forget": "copy of the home", "backup": "copy of the home"}
    copied = spreads["copy of the home"].median
    limits = {"export": EXPORT_S, "backup": BACKUP_RATIO * copied, "forget": FORGET_S}
    rules = {
        "export": f"{EXPORT_S:g} s",
        "backup": f"{BACKUP_RATIO:g} x the copy",
        "forget": f"{FORGET_S:g} s",
    }
    for name in ("export", "import", "backup", "forget"):
        yield Figure(
            name=f"{name}, {what}",
            unit="s",
            measured=spreads[name],
            floor=spreads[floors.get(name, "copy of the export")],
            limit=limits.get(name),
            rule=rules.get(name, ""),
            note="a whole command; the floor copies the files that it reads or writes.",
        )


def _run(home: homes.Home, *words: str) -> float:
    begun = time.perf_counter()
    command = [sys.executable, "-m", "commonplace", *words]
    subprocess.run(
        command, env=home.environment(), cwd=home.project, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - begun


def _copy(folder: Path) -> float:
    """A plain copy, its files on the disk at the end, as every one of the commands has them."""
    target = folder.with_name(f"{folder.name} copied")
    begun = time.perf_counter()
    # No backup holds what is made anew.
    left = shutil.ignore_patterns("index", "ledgers")
    shutil.copytree(folder, target, symlinks=True, ignore=left)
    os.sync()
    taken = time.perf_counter() - begun
    shutil.rmtree(target)
    return taken


def _fill(home: homes.Home, entries: int) -> list[str]:
    """Half events, half messages of sessions, the words filed; the refs of some events."""
    half = entries // 2
    lines = [*islice(make_lines(seed=1), half * 2)]
    with home.opened(encoder="absent") as app:
        events = [
            PortableEvent(
                ref=f"chronicle:{uuid.UUID(int=n + 1, version=4)}",
                at=homes.BEGIN + timedelta(minutes=5 * n),
                message=line,
            )
            for n, line in enumerate(lines[:half])
        ]
        PortableChronicle(app.chronicle.journal).import_items(iter(events))
        homes.add_sessions(app, lines[half:])
        app.filing.sweep()
    return [event.ref for event in events]
