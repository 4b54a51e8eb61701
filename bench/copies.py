"""What it costs to export, import, back up and examine everything, and to forget one entry.

Each is the real command, in a process of its own, beside copying the same files. A backup stands
beside a verified copy, too: the least that what it promises costs (decision 111).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import uuid
from contextlib import closing
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
    from typing import BinaryIO

EXPORT_S = 20.0
FORGET_S = 2.0
DOCTOR_S = 3.0
BACKUP_RATIO = 1.2
"""Of a verified copy, after what the same command takes with two entries."""

_CHUNK = 1 << 20
_DERIVED = ("index", "ledgers", "catalog.db")
"""What no backup holds, since it is made again."""


class Sizes(Struct, frozen=True, kw_only=True):
    """How large and how often. entries: of the home, half events, half messages; times: of each."""

    entries: int
    times: int


def copy_figures(sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """Export, import, backup and forget, each beside a copy of what it reads or writes.

    `doctor` stands beside SQLite's own check of the databases' pages.
    """
    home = homes.Home(scratch / "home").make()
    home.own.chmod(0o700)  # else `doctor` names it, and ends with 1
    refs = _fill(home, sizes.entries)
    what = f"{sizes.entries:,} entries"
    taken: dict[str, list[float]] = {}
    small = homes.Home(scratch / "small").make()
    _fill(small, 2)
    for turn in range(sizes.times):
        out, archive = scratch / f"out{turn}", scratch / f"backup{turn}.zip"
        taken.setdefault("export", []).append(_run(home, "export", str(out)))
        taken.setdefault("copy of the export", []).append(_copy(out))
        other = homes.Home(scratch / f"other{turn}").make()
        taken.setdefault("import", []).append(_run(other, "import", str(out)))
        taken.setdefault("backup", []).append(_run(home, "backup", str(archive)))
        archive.unlink()
        taken.setdefault("start", []).append(_run(small, "backup", str(archive)))
        taken.setdefault("verified copy", []).append(_verified_copy(home.folder))
        taken.setdefault("copy of the home", []).append(_copy(home.folder))
        taken.setdefault("doctor", []).append(_run(home, "doctor"))
        taken.setdefault("pages", []).append(_check_pages(home.own))
        taken.setdefault("forget", []).append(_run(home, "forget", refs[turn], "--yes"))
        for each in (out, other.folder):
            shutil.rmtree(each)
        archive.unlink()
    spreads = {name: Spread.of(each) for name, each in taken.items()}
    floors = {
        "forget": "copy of the home",
        "backup": "verified copy",
        "verified copy": "copy of the home",
        "doctor": "pages",
    }
    verified = BACKUP_RATIO * spreads["verified copy"].median + spreads["start"].median
    limits = {"export": EXPORT_S, "backup": verified, "forget": FORGET_S, "doctor": DOCTOR_S}
    rules = {
        "export": f"{EXPORT_S:g} s",
        "backup": f"{BACKUP_RATIO:g} x the verified copy, after the start",
        "forget": f"{FORGET_S:g} s",
        "doctor": f"{DOCTOR_S:g} s",
    }
    for name in ("export", "import", "backup", "verified copy", "forget", "doctor"):
        yield Figure(
            name=f"{name}, {what}",
            unit="s",
            measured=spreads[name],
            floor=spreads[floors.get(name, "copy of the export")],
            limit=limits.get(name),
            rule=rules.get(name, ""),
            note="a whole command; the floor copies the files that it reads or writes, of `doctor`"
            " it checks the pages of the databases.",
        )


def _run(home: homes.Home, *words: str) -> float:
    begun = time.perf_counter()
    command = [sys.executable, "-m", "commonplace", *words]
    subprocess.run(
        command, env=home.environment(), cwd=home.project, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - begun


def _check_pages(folder: Path) -> float:
    """SQLite's own look at every database, which knows nothing of what they say."""
    begun = time.perf_counter()
    for path in folder.rglob("*.db"):
        with closing(sqlite3.connect(path)) as conn:
            conn.execute("PRAGMA integrity_check").fetchall()
    return time.perf_counter() - begun


def _copy(folder: Path) -> float:
    """A plain copy, its files on the disk at the end, as every one of the commands has them."""
    target = folder.with_name(f"{folder.name} copied")
    begun = time.perf_counter()
    shutil.copytree(folder, target, symlinks=True, ignore=shutil.ignore_patterns(*_DERIVED))
    os.sync()
    taken = time.perf_counter() - begun
    shutil.rmtree(target)
    return taken


def _verified_copy(folder: Path) -> float:
    """One file that holds all others, databases as they are at one moment, with each checked.

    SQLite copies a database and checks the copy's pages; every byte is written to one file, read
    back and hashed, and that file is on the disk at the end.
    """
    target = folder.with_name(f"{folder.name} verified")
    begun = time.perf_counter()
    with target.open("w+b") as made:
        for inside, folders, names in os.walk(folder):
            folders[:] = [x for x in folders if x not in _DERIVED]
            for name in sorted({*names} - {*_DERIVED}):
                path = folder / inside / name
                if path.suffix == ".db":
                    copy = target.with_suffix(".db")
                    _copy_database(path, copy)
                    _put(copy, made)
                    copy.unlink()
                elif not name.endswith(("-wal", "-shm")):
                    _put(path, made)
        made.flush()
        os.fsync(made.fileno())
    taken = time.perf_counter() - begun
    target.unlink()
    return taken


def _copy_database(path: Path, copy: Path) -> None:
    source = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    with closing(source), closing(sqlite3.connect(copy)) as made:
        made.execute("PRAGMA synchronous = OFF")
        source.backup(made)
        made.execute("PRAGMA journal_mode = DELETE")
        assert made.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)


def _put(path: Path, made: BinaryIO) -> None:
    start = made.tell()
    with path.open("rb") as file:
        shutil.copyfileobj(file, made, _CHUNK)
    made.seek(start)
    digest = hashlib.sha256()
    while chunk := made.read(_CHUNK):
        digest.update(chunk)


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
