"""How long a server takes from its spawn to its first answers, and a command to its end.

Never compares with a floor of another run: both servers take turns.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.figures import Figure, Spread
from bench.sessions import BARE, OURS, session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.homes import Home

START_SHARE = 1.15
FIRST_SEARCH_MS = 500.0
HELP_CPU_MS = 60.0
COMMANDS = {
    ("log", "left the harbour"): 150.0,
    ("private", "write", "left the harbour"): 150.0,
    ("chronicle", "list"): 150.0,
    ("private", "list"): 150.0,
    ("status",): 150.0,
    ("recall", "harbour"): 600.0,
}
"""What people type, and how many milliseconds it may take on a quiet machine."""
_ONE_OF_EACH = (
    ("notebook", "write", "harbour", "the light is green"),
    ("timeline", "add", "left the harbour"),
    ("memory", "save", "todo", "--title", "paint the pier"),
)
"""What fills the journals that no command above writes to."""


def start_figures(homes: dict[int, Home], question: str, *, repetitions: int) -> list[Figure]:
    """Spawn to `initialize`, to `tools/list`, and in the largest home to the first search.

    homes: by their number of entries, smallest first.
    """
    bare: list[tuple[float, float]] = []
    ours: dict[int, list[tuple[float, float]]] = {count: [] for count in homes}
    searched: list[float] = []
    largest = max(homes)
    by_words = 0
    for _ in range(repetitions):
        with session(BARE, homes[largest]) as bare_session:
            bare.append((bare_session.initialize(), bare_session.list_tools()))
        for count, home in homes.items():
            with session(OURS, home) as ours_session:
                ours[count].append((ours_session.initialize(), ours_session.list_tools()))
                if count == largest:
                    answer = ours_session.call("search_journal", query=question, explain=True)
                    searched.append(ours_session.ms())
                    by_words += any(hit["similarity"] is None for hit in answer["results"])
    figures = [
        _start_figure(what, count, [x[part] for x in ours[count]], [x[part] for x in bare])
        for count in homes
        for part, what in enumerate(("initialize", "tools/list"))
    ]
    # The lists are built with the package; a search loads the app.
    floor = Spread.of([x[1] for x in bare])
    return [
        *figures,
        Figure(
            name=f"start -> first search, {largest:,} entries",
            unit="ms",
            measured=Spread.of(searched),
            floor=floor,
            limit=floor.median * START_SHARE + FIRST_SEARCH_MS,
            rule=f"{START_SHARE} x bare server's tools/list + {FIRST_SEARCH_MS:.0f}",
            note=f"{by_words} of {len(searched)} answered by words alone." if by_words else "",
        ),
    ]


def _start_figure(what: str, count: int, measured: Sequence[float], bare: list[float]) -> Figure:
    floor = Spread.of(bare)
    return Figure(
        name=f"start -> {what}, {count:,} entries",
        unit="ms",
        measured=Spread.of(measured),
        floor=floor,
        limit=floor.median * START_SHARE,
        rule=f"{START_SHARE} x bare server",
    )


def _help_figure(home: Home, *, repetitions: int) -> Figure:
    """CPU time of `commonplace --help`, against Python that does nothing."""
    measured, bare = [], []
    for _ in range(repetitions):
        bare.append(_cpu_ms([sys.executable, "-c", "pass"], home))
        measured.append(_cpu_ms([*_command(), "--help"], home))
    floor = Spread.of(bare)
    return Figure(
        name="commonplace --help, CPU",
        unit="ms",
        measured=Spread.of(measured),
        floor=floor,
        limit=floor.median + HELP_CPU_MS,
        rule=f"bare python + {HELP_CPU_MS:.0f}",
    )


def command_figures(home: Home, *, repetitions: int) -> list[Figure]:
    """What commands cost from their spawn to their end, against Python that does nothing.

    home: what is written into it stays; every journal but transcripts gets an entry first.
    """
    for entry in _ONE_OF_EACH:
        _run([*_command(), *entry], home)
    figures = [_help_figure(home, repetitions=repetitions)]
    for words, limit in COMMANDS.items():
        measured, bare = [], []
        for _ in range(repetitions):
            bare.append(_wall_ms([sys.executable, "-c", "pass"], home))
            measured.append(_wall_ms([*_command(), *words], home))
        figures.append(
            Figure(
                name=f"commonplace {' '.join(words)}",
                unit="ms",
                measured=Spread.of(measured),
                floor=Spread.of(bare),
                limit=limit,
                rule=f"{limit:.0f} ms",
            )
        )
    return figures


def _command() -> list[str]:
    script = Path(sys.executable).with_name("commonplace")
    return [str(script)] if script.exists() else [sys.executable, "-m", "commonplace"]


def _wall_ms(command: list[str], home: Home) -> float:
    began = time.perf_counter()
    _run(command, home)
    return (time.perf_counter() - began) * 1000


def _cpu_ms(command: list[str], home: Home) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(command, home)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000


def _run(command: list[str], home: Home) -> None:
    subprocess.run(
        command, env=home.environment(), cwd=home.project, stdout=subprocess.DEVNULL, check=True
    )
