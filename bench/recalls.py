"""How fast recall answers from all journals at once: warm, from a cold process, and what it holds.

Never measures a warm search through a pipe, nor memory and cold starts in this process.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bench.corpus import FIRST_DAY, make_questions, make_thoughts
from bench.figures import Figure, Spread
from bench.homes import Home, file_synthetic, is_marked, mark
from bench.logs import write_log
from bench.memory import held_after
from bench.million import million_figures
from bench.sessions import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator

WARM_MS = 30.0
COLD_S = 1.0
HELD_MB = 520.0

FILTERS: dict[str, dict[str, Any]] = {"": {}, ", a month": {"when": "2025-06"}}
_SYNTHETIC = (
    "half private, half chronicle: real words, synthetic clustered vectors put through the index's"
    " public face."
)
_WARM = 5


class Sizes(Struct, frozen=True, kw_only=True):
    """How large and how often. million: entries of the index without journals, 0 for none."""

    entries: int
    questions: int
    colds: int
    servers: int
    million: int = 0


def recall_figures(sizes: Sizes, cache: Path) -> Iterator[Figure]:
    """All of recall's figures."""
    home = mixed_home(cache, sizes.entries)
    questions = make_questions(sizes.questions)
    yield from _warm_figures(home, questions, entries=sizes.entries)
    yield _cold_figure(home, questions[: sizes.colds], entries=sizes.entries)
    if Path("/proc/self/status").exists():
        yield _held_figure(home, questions, entries=sizes.entries, servers=sizes.servers)
    if sizes.million:
        with home.opened() as app:
            encoder = app.encoder.get()
            assert encoder is not None
            yield from million_figures(cache, encoder, questions, entries=sizes.million)


def mixed_home(cache: Path, count: int) -> Home:
    """A home with half its entries in the two private roots and half in chronicle's log.

    Filed by the product, with vectors that no encoder made; kept in the cache.
    """
    home = Home(cache / f"all-{count}").make()
    if is_marked(home, "vectors"):
        return home
    if not is_marked(home, "written"):
        home.write(make_thoughts(count - count // 2))
        # No two entries at one instant: a log is written between thoughts.
        write_log(home, count // 2, first=FIRST_DAY + timedelta(seconds=7))
        mark(home, "written")
    file_synthetic(home)
    mark(home, "vectors")
    return home


def _warm_figures(home: Home, questions: list[str], *, entries: int) -> list[Figure]:
    """The tool `recall`, plain and in a month; each question once for each."""
    encoding: list[float] = []
    asking: dict[str, list[float]] = {name: [] for name in FILTERS}
    computing: dict[str, list[float]] = {name: [] for name in FILTERS}
    with home.opened() as app:
        app.filing.catch_up()
        encoder = app.encoder.get()
        assert encoder is not None
        recall = app.recall.toolset().tool("recall").call
        for question in questions[:_WARM]:
            for arguments in FILTERS.values():
                recall({"query": question, **arguments})
        for question in questions:
            began = time.perf_counter()
            encoder.encode_query(question)
            encoding.append((time.perf_counter() - began) * 1000)
            for name, arguments in FILTERS.items():
                began, computed = time.perf_counter(), time.thread_time()
                answer = recall({"query": question, **arguments})
                asking[name].append((time.perf_counter() - began) * 1000)
                computing[name].append((time.thread_time() - computed) * 1000)
                assert not answer.facts["notes"], answer.facts["notes"]
    floor = Spread.of(encoding)
    return [
        Figure(
            name=f"warm recall, {entries:,} entries{name}",
            unit="ms",
            measured=Spread.of(took),
            floor=floor,
            limit=floor.median + WARM_MS,
            rule=f"query encoding + {WARM_MS:.0f}",
            note=f"{_SYNTHETIC} Its thread computes {statistics.median(computing[name]):.0f} ms.",
        )
        for name, took in asking.items()
    ]


def _cold_figure(home: Home, questions: list[str], *, entries: int) -> Figure:
    """`commonplace recall` from its start to its exit, and a Python that does nothing."""
    script = Path(sys.executable).with_name("commonplace")
    ours = [str(script)] if script.exists() else [sys.executable, "-m", "commonplace"]
    took: list[float] = []
    floors: list[float] = []
    by_words = 0
    for question in questions:
        floors.append(_run([sys.executable, "-c", "pass"], home)[0])
        seconds, said = _run([*ours, "recall", question, "--explain", "--json"], home)
        took.append(seconds)
        results = json.loads(said)["items"]
        assert results, f"nothing was found for {question!r}"
        by_words += all(hit["similarity"] is None for hit in results)
    return Figure(
        name=f"cold recall, {entries:,} entries",
        unit="s",
        measured=Spread.of(took),
        floor=Spread.of(floors),
        limit=COLD_S,
        rule=f"{COLD_S:.0f} s, start to exit",
        note="`commonplace recall QUESTION --json`, its files warm; the floor is a Python that does"
        f" nothing.{f' {by_words} of {len(took)} answered by words alone.' if by_words else ''}",
    )


def _run(command: list[str], home: Home) -> tuple[float, bytes]:
    began = time.perf_counter()
    done = subprocess.run(
        command,
        env=home.environment(),
        cwd=home.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - began, done.stdout


def _held_figure(home: Home, questions: list[str], *, entries: int, servers: int) -> Figure:
    """Memory of a server that has answered so many questions, mapped vectors included."""
    command = (*OURS, "--toolsets", "recall")
    return Figure(
        name=f"memory after recalls, {entries:,} entries",
        unit="MB",
        measured=held_after(command, home, "recall", questions, servers=servers),
        floor=None,
        limit=HELD_MB,
        rule="RSS of the server",
        note=_SYNTHETIC,
    )
