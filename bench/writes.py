"""How long a write takes until it is durable and found, beside what it cannot do without.

Never leaves what it wrote: the entries are deleted again.
"""

from __future__ import annotations

import os
import sqlite3
import time
from itertools import islice
from typing import TYPE_CHECKING

from bench.corpus import make_texts
from bench.figures import Figure, Spread

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.homes import Home

_WRITE_WORDS = 120


def write_figure(home: Home, *, entries: int, repetitions: int) -> Figure:
    """`process_thoughts`, until it has answered; floors are measured between the writes."""
    texts = list(islice(make_texts(seed=11, longest=_WRITE_WORDS), repetitions + 2))
    took: list[float] = []
    floors: list[float] = []
    with home.opened() as app:
        app.filing.catch_up()
        encoder = app.encoder.get()
        assert encoder is not None
        write = app.private.toolset().tool("process_thoughts").call
        database = _open_database(home.own / "floor.db")
        refs: list[str] = []
        for text in texts:
            floors.append(
                # Another text of the same length: the encoder remembers the tokens of short ones.
                _ms(encoder.encode_passages, [f"{text}."])
                + 2 * _ms(_write_file, home.own / "floor.md", text.encode())
                + 2 * _ms(_commit, database, text)
            )
            began = time.perf_counter()
            answer = write({"reflections": text})
            took.append((time.perf_counter() - began) * 1000)
            others = [x for x in answer.facts["notes"] if not x.startswith("May replace")]
            assert not others, others
            refs += answer.facts["refs"]
        database.close()
        for ref in refs:
            app.private.journal.delete(ref)
        app.filing.sweep()
    for name in ("floor.md", "floor.db", "floor.db-wal", "floor.db-shm"):
        (home.own / name).unlink(missing_ok=True)
    floor = Spread.of(floors[2:])
    return Figure(
        name=f"durable, searchable write, {entries:,} entries",
        unit="ms",
        measured=Spread.of(took[2:]),
        floor=floor,
        limit=floor.median,
        rule="encoding + 2 x (fsynced file + FULL commit)",
    )


def _ms(run: Callable[..., object], *given: object) -> float:
    began = time.perf_counter()
    run(*given)
    return (time.perf_counter() - began) * 1000


def _write_file(path: Path, content: bytes) -> None:
    """One file as durable as a file can be: written beside, synced, renamed, its folder synced."""
    temp = path.with_suffix(".tmp")
    with temp.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temp, path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _open_database(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE IF NOT EXISTS entries (text TEXT)")
    return database


def _commit(database: sqlite3.Connection, text: str) -> None:
    database.execute("INSERT INTO entries VALUES (?)", (text,))
