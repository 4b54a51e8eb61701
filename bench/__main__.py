"""`make bench`: every figure in one run, as a table and as JSON.

Never ends with an error because a figure is over its limit: machines differ, people judge.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bench import (
    answers,
    catching_up,
    chronicles,
    copies,
    filings,
    homes,
    hooks,
    https,
    memories,
    memory,
    notebooks,
    openings,
    originals,
    pages,
    recalls,
    searches,
    servers,
    situations,
    starts,
    sweeps,
    timelines,
    transcripts,
    writes,
)
from bench.corpus import make_questions, make_thoughts
from bench.figures import render_table, write_json
from commonplace.app.languages import Languages
from commonplace.config.settings import read_settings
from commonplace.core.clock import utc_now
from commonplace.inference.language.budget import TokenBudget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.figures import Figure

RESULTS = Path(__file__).with_name("results")
PARTS = (
    "memory",
    "starts",
    "originals",
    "openings",
    "searches",
    "writes",
    "disk",
    "reindex",
    "commands",
    "chronicle",
    "notebook",
    "recall",
    "timeline",
    "memories",
    "http",
    "servers",
    "transcripts",
    "hooks",
    "pages",
    "copies",
    "answers",
    "situations",
)
MILLION = 1_000_000
_OF_OTHERS = {
    "originals",
    "chronicle",
    "notebook",
    "recall",
    "openings",
    "timeline",
    "memories",
    "http",
    "servers",
    "transcripts",
    "hooks",
    "pages",
    "copies",
    "answers",
    "situations",
}
_SYNTHETIC = "real words, synthetic clustered vectors put through the index's public face."


class Plan(Struct, frozen=True, kw_only=True):
    """How large and how often. synthetic: entries of the home without real vectors, 0 for none."""

    entries: int
    synthetic: int
    starts: int
    questions: int
    writes: int
    reindex: tuple[int, int]
    originals: originals.Sizes
    catch_up_again: int
    chronicle: chronicles.Sizes
    notebook: notebooks.Sizes
    recall: recalls.Sizes
    timeline: timelines.Sizes
    memories: memories.Sizes
    http: https.Sizes
    servers: servers.Sizes
    sweeps: sweeps.Sizes
    transcripts: transcripts.Sizes
    hooks: hooks.Sizes
    pages: pages.Sizes
    copies: copies.Sizes


FULL = Plan(
    entries=10_000,
    synthetic=100_000,
    starts=11,
    questions=60,
    writes=25,
    reindex=(20, 100),
    originals=originals.Sizes(entries=10_000, starts=5, writes=40, questions=40),
    catch_up_again=2_000,
    chronicle=chronicles.Sizes(
        entries=100_000, adds=200, questions=60, openings=11, first_searches=5, slice=2_000
    ),
    notebook=notebooks.Sizes(entries=(10_000, 100_000), times=40, part=2_000),
    recall=recalls.Sizes(entries=100_000, questions=60, colds=11, servers=3),
    timeline=timelines.Sizes(a_day=1_000, days=365, entries=MILLION, adds=200, questions=60),
    memories=memories.Sizes(users=1_000, rows=100, large=100_000, questions=60, saves=400),
    http=https.Sizes(owners=16, records=500, clients=32, seconds=60.0, warm_s=15.0),
    servers=servers.Sizes(owners=16, records=200, calls=160),
    sweeps=sweeps.Sizes(entries=2_000),
    transcripts=transcripts.Sizes(megabytes=200, times=3),
    hooks=hooks.Sizes(entries=100_000, recalled=10_000, times=15),
    pages=pages.Sizes(entries=100_000, timeline=20_000, times=15),
    copies=copies.Sizes(entries=100_000, times=3),
)
QUICK = Plan(
    entries=1_000,
    synthetic=0,
    starts=3,
    questions=15,
    writes=8,
    reindex=(2, 60),
    originals=originals.Sizes(entries=1_000, starts=3, writes=12, questions=15),
    catch_up_again=200,
    chronicle=chronicles.Sizes(
        entries=2_000, adds=30, questions=15, openings=3, first_searches=2, slice=1_200
    ),
    notebook=notebooks.Sizes(entries=(2_000,), times=15, part=300),
    recall=recalls.Sizes(entries=2_000, questions=15, colds=3, servers=1),
    timeline=timelines.Sizes(a_day=100, days=20, entries=4_000, adds=30, questions=15),
    memories=memories.Sizes(users=50, rows=40, large=3_000, questions=15, saves=60),
    http=https.Sizes(owners=8, records=50, clients=32, seconds=5.0),
    servers=servers.Sizes(owners=7, records=30, calls=32),
    sweeps=sweeps.Sizes(entries=500),
    transcripts=transcripts.Sizes(megabytes=10, times=3),
    hooks=hooks.Sizes(entries=2_000, recalled=2_000, times=5),
    pages=pages.Sizes(entries=2_000, timeline=730, times=5),
    copies=copies.Sizes(entries=2_000, times=2),
)


def main() -> None:
    """Measure what was asked for, print the table, write the JSON."""
    asked = _options()
    plan = QUICK if asked.quick else FULL
    if asked.million:
        plan = replace(plan, recall=replace(plan.recall, million=MILLION))
    parts = tuple(asked.only or PARTS)
    if "memory" in parts and not Path("/proc/self/status").exists():
        _say("Memory is not measured: this system has no /proc.")
        parts = tuple(part for part in parts if part != "memory")
    began = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="commonplace-bench-"))
    figures: list[Figure] = []
    try:
        for figure in _measured(plan, asked.cache, scratch, parts):
            figures.append(figure)
            _say(f"  {figure.name}: {figure.measured} {figure.unit}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(render_table(figures))
    if hasattr(os, "getloadavg"):
        print(f"* load of the last 15 minutes on {os.cpu_count()} cores: {os.getloadavg()[2]:.1f}.")
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = asked.json or RESULTS / f"{stamp}.json"
    mode = "quick" if asked.quick else "full"
    write_json(figures, path, mode=mode, seconds=time.monotonic() - began)
    _say(f"Written to {path}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 entries, few repetitions")
    parser.add_argument("--json", type=Path, metavar="PATH", help="where the JSON goes")
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        default=Path(tempfile.gettempdir()) / "commonplace-bench-cache",
        help="keeps prepared homes between runs (default: %(default)s)",
    )
    parser.add_argument(
        "--only", action="append", choices=PARTS, help="one part; may be given several times"
    )
    parser.add_argument(
        "--million",
        action="store_true",
        help=f"recall over an index of {MILLION:,} entries too; it takes 4 GB of the cache",
    )
    return parser.parse_args()


def _measured(plan: Plan, cache: Path, scratch: Path, parts: tuple[str, ...]) -> Iterator[Figure]:
    if set(parts) - _OF_OTHERS:
        yield from _of_private(plan, cache, scratch, parts)
    if "originals" in parts:
        _say("Beside the originals")
        yield from originals.original_figures(plan.originals, cache, scratch / "originals")
    if "chronicle" in parts:
        _say("Chronicle")
        yield from chronicles.chronicle_figures(plan.chronicle, cache, scratch)
    if "notebook" in parts:
        _say("The notebook")
        yield from notebooks.notebook_figures(plan.notebook, cache, scratch)
    if "openings" in parts:
        _say("Openings of sessions")
        yield from _opened(plan, cache)
    if "recall" in parts:
        _say("Recall")
        yield from recalls.recall_figures(plan.recall, cache)
    if "timeline" in parts:
        _say("The timeline")
        yield from timelines.timeline_figures(plan.timeline, cache, scratch)
    yield from _of_many_users(plan, cache, scratch, parts)
    yield from _of_sessions(plan, cache, scratch, parts)
    yield from _of_models(scratch, parts)


def _of_many_users(
    plan: Plan, cache: Path, scratch: Path, parts: tuple[str, ...]
) -> Iterator[Figure]:
    """What a server of many users does, and its database."""
    if "memories" in parts:
        _say("Memory in Postgres")
        yield from memories.memory_figures(plan.memories, scratch)
    if "http" in parts:
        _say("Many clients over HTTP")
        yield from https.http_figures(plan.http, cache)
        _say("Many clients over HTTP, their memories in Postgres")
        yield from https.http_postgres_figures(plan.http, scratch)
    if "servers" in parts:
        _say("Servers of many users on one Postgres")
        yield from servers.server_figures(plan.servers, scratch)
        _say("What a server reads again of a user's journals in files")
        yield from sweeps.sweep_figures(plan.sweeps, scratch)


def _of_sessions(
    plan: Plan, cache: Path, scratch: Path, parts: tuple[str, ...]
) -> Iterator[Figure]:
    """What is kept of clients' sessions, and what their hooks cost."""
    if "transcripts" in parts:
        _say("Importing sessions")
        yield from transcripts.transcript_figures(plan.transcripts, scratch / "transcripts")
    if "hooks" in parts:
        _say("Hooks")
        yield from hooks.hook_figures(plan.hooks, scratch / "hooks")
        yield from hooks.prompt_figures(plan.hooks, cache)
    if "pages" in parts:
        _say("Pages")
        yield from pages.page_figures(plan.pages, scratch / "pages")
    if "copies" in parts:
        _say("Copies of everything, and forgetting")
        yield from copies.copy_figures(plan.copies, scratch / "copies")


def _of_models(scratch: Path, parts: tuple[str, ...]) -> Iterator[Figure]:
    """What a model pays; and what it calls, by the model that this user's own settings name."""
    if "answers" in parts:
        _say("What lists and answers cost a model")
        yield from answers.list_figures(scratch / "lists")
        yield from answers.answer_figures(scratch / "answers")
    if "situations" not in parts:
        return
    settings = read_settings(cwd=Path.cwd(), home=Path.home())
    budget = TokenBudget(
        scratch / "llm",
        per_day=int(settings.llm.tokens_per_day),
        clock=utc_now,
        zone=settings.timezone,
    )
    model = Languages(settings, open_budget=lambda: budget).find(better=True)
    if model is None:
        _say("Situations are not measured: no language model is set (`commonplace config show`).")
        return
    with homes.Home(scratch / "situations").make().opened(encoder="absent") as app:
        yield situations.situation_figure(app.toolsets(), model)


def _of_private(plan: Plan, cache: Path, scratch: Path, parts: tuple[str, ...]) -> Iterator[Figure]:
    questions = make_questions(plan.questions)
    if "memory" in parts:
        yield _caught_up(plan, cache, scratch)
    home = homes.encoded_home(cache, plan.entries)
    if "memory" in parts:
        _say("Memory at rest")
        yield memory.steady_figure(home, questions, entries=plan.entries, repetitions=3)
    if "disk" in parts:
        yield filings.disk_figure(home, entries=plan.entries)
    if "starts" in parts:
        _say("Starts")
        places = {0: homes.Home(scratch / "empty").make()}
        places |= {n: homes.encoded_home(cache, n) for n in sorted({1_000, plan.entries})}
        yield from starts.start_figures(places, questions[0], repetitions=plan.starts)
    if "searches" in parts:
        _say("Searches")
        yield from searches.search_figures(
            home, searches.PRIVATE, questions, entries=plan.entries, allowed_ms=6.0
        )
        if plan.synthetic:
            _say(f"A home of {plan.synthetic:,} entries")
            large = homes.synthetic_home(cache, plan.synthetic)
            yield from searches.search_figures(
                large,
                searches.PRIVATE,
                questions,
                entries=plan.synthetic,
                allowed_ms=35.0,
                note=_SYNTHETIC,
            )
    if "writes" in parts:
        _say("Writes")
        yield writes.write_figure(home, entries=plan.entries, repetitions=plan.writes)
        yield catching_up.words_figure(scratch, entries=plan.entries)
        yield from catching_up.busy_figures(
            cache, scratch, entries=plan.entries, repetitions=plan.writes
        )
    if "reindex" in parts:
        _say("Reindex")
        rounds, entries = plan.reindex
        yield filings.reindex_figure(
            scratch, rounds=rounds, entries=entries, apart=timedelta(hours=9)
        )
    if "commands" in parts:
        _say("Commands")
        few = homes.Home(scratch / "commands").make()
        few.write(make_thoughts(100))
        yield from starts.command_figures(few, repetitions=plan.starts)


def _opened(plan: Plan, cache: Path) -> Iterator[Figure]:
    home = homes.encoded_home(cache, plan.entries)
    large = homes.synthetic_home(cache, plan.synthetic) if plan.synthetic else None
    question = make_questions(1)[0]
    yield from openings.opening_figures(home, large, question=question, repetitions=plan.starts)


def _caught_up(plan: Plan, cache: Path, scratch: Path) -> Figure:
    """The first time the server fills the home that is kept; later, part of one beside it."""
    home = homes.written_home(cache, plan.entries)
    _say(f"A server catches up {plan.entries:,} entries")
    if not homes.is_caught_up(home):
        return memory.catch_up_figure(home, entries=plan.entries, vectors=plan.entries)
    beside = homes.Home(scratch / "foreign").make()
    beside.write(make_thoughts(plan.entries))
    return memory.catch_up_figure(beside, entries=plan.entries, vectors=plan.catch_up_again)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
