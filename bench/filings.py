"""How fast an index is filled again, beside the encoder alone; and what it takes on disk.

Never counts what a reindex need not do: the `.embedding` files are there already.
"""

from __future__ import annotations

import shutil
import time
from itertools import islice
from typing import TYPE_CHECKING

from bench.corpus import FIRST_DAY, Thought, make_texts
from bench.figures import Figure, Spread
from bench.homes import Home

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from pathlib import Path

REINDEX_SHARE = 0.85
DISK_SHARE = 0.5


def reindex_figure(folder: Path, *, rounds: int, entries: int, apart: timedelta) -> Figure:
    """Entries a second, in rounds of so many texts each; the encoder alone before and after."""
    alone: list[float] = []
    filed: list[float] = []
    for number in range(rounds):
        texts = list(islice(make_texts(seed=100 + number), entries))
        home = Home(folder / f"reindex-{number}").make()
        home.write(
            [
                Thought(at=FIRST_DAY + apart * place, thoughts={"reflections": text})
                for place, text in enumerate(texts)
            ]
        )
        for path in home.roots[0].rglob("*.md"):
            path.with_suffix(".embedding").touch()
        with home.opened() as app:
            encoder = app.encoder.get()
            assert encoder is not None
            encoder.encode_passages(texts[:8])
            before = _seconds(encoder.encode_passages, texts)
            filed.append(entries / _seconds(app.filing.catch_up))
            after = _seconds(encoder.encode_passages, texts)
            alone.append(entries / ((before + after) / 2))
            made = entries - app.index.counts(encoder.identity).pending
            assert made == entries, f"{made} of {entries} entries were encoded"
        shutil.rmtree(home.folder)
    floor = Spread.of(alone)
    return Figure(
        name=f"reindex, {rounds} x {entries:,} entries of 20-250 words",
        unit="entries/s",
        measured=Spread.of(filed),
        floor=floor,
        limit=floor.median * REINDEX_SHARE,
        rule=f"{REINDEX_SHARE} x the encoder alone",
        at_least=True,
        note="all texts at once for the encoder alone; `.embedding` files are there already.",
    )


def _seconds(run: Callable[..., object], *given: object) -> float:
    began = time.perf_counter()
    run(*given)
    return time.perf_counter() - began


def disk_figure(home: Home, *, entries: int) -> Figure:
    """Bytes of the index's folder, beside the folders that private-journal-mcp would have."""
    floor = Spread.of([home.journal_bytes() / 1e6])
    return Figure(
        name=f"index on disk, {entries:,} entries",
        unit="MB",
        measured=Spread.of([home.index_bytes() / 1e6]),
        floor=floor,
        limit=floor.median * DISK_SHARE,
        rule=f"{DISK_SHARE} x .md and .embedding files",
        note="apparent sizes.",
    )
