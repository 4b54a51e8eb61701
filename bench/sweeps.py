"""What following a served user's journals in files costs beside the answers of that user.

Never counts an answer's own thread: what follows journals works in threads of its own, and their
processor time is what is measured, so that other work on the machine changes little.
"""

from __future__ import annotations

import threading
import time
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from itertools import cycle, islice
from typing import TYPE_CHECKING

from msgspec import Struct

from bench.corpus import make_lines, make_questions, make_thoughts
from bench.figures import Figure, Spread
from bench.homes import (
    BEGIN,
    ENCODER_WAIT_S,
    Home,
    add_sessions,
    put_synthetic_vectors,
)
from commonplace.app.apps import Apps
from commonplace.config.settings import read_settings
from commonplace.core.clock import utc_now
from commonplace.journals.memory.records import RecordDraft
from commonplace.journals.private.embedding import DIMENSIONS, Embedding, render_embedding
from commonplace.journals.transcripts.message import Message
from commonplace.search.policy import SWEEP_EVERY_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from commonplace.app import App

SHARE = 0.1
_USER = "ada"
_BURST = 3
_ROUNDS = 5
_BEHIND = ("look ", "file ", "erasing")


class Sizes(Struct, frozen=True, kw_only=True):
    """How many entries each journal of the user has, and how long a pause is, and a look behind."""

    entries: int
    pauses_s: tuple[float, float] = (SWEEP_EVERY_S + 0.5, 0.5)


def sweep_figures(sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """What is read behind the answers of one user, whose journals lie in files."""
    home = Home(scratch / "sweeps").make()
    questions = cycle(make_questions(20))
    with _opened(home) as app:
        _fill(app, home, sizes)
    with _served(home) as app:
        put_synthetic_vectors(app)
        app.filing.catch_up()
        writers = _writers(app)
        rounds = [_round(app, writers, questions, sizes) for _ in range(_ROUNDS + 1)][1:]
    yield _figure(
        "following a served user's journals in files",
        rounds,
        f"{_BURST} writes of each of five journals of {sizes.entries:,} entries and two searches"
        " with a pause: the threads behind the answers, beside that of the answers.",
    )
    back = [_come_back(home, questions, sizes) for _ in range(_ROUNDS)]
    yield _figure(
        "following them when a process opens them again",
        back,
        "the first search, and one after a pause.",
    )


def _figure(name: str, rounds: list[tuple[float, float]], note: str) -> Figure:
    answers = Spread.of([answer for _, answer in rounds])
    return Figure(
        name=name,
        unit="ms",
        measured=Spread.of([behind for behind, _ in rounds]),
        floor=answers,
        limit=SHARE * answers.median,
        rule=f"{SHARE} x the answers",
        note=note,
    )


def _fill(app: App, home: Home, sizes: Sizes) -> None:
    """Entries of each journal whose sweep reads files or rows; words alone are filed."""
    lines = cycle([*islice(make_lines(seed=7), sizes.entries)])
    vector = (1.0, *[0.0] * (DIMENSIONS - 1))
    kept = render_embedding(Embedding(vector=vector, text="", sections=(), timestamp=0, path=""))
    thoughts = (each for each in make_thoughts(3 * sizes.entries) if not each.is_project)
    for path in home.write([*islice(thoughts, sizes.entries)]):
        path.with_suffix(".embedding").write_text(kept, encoding="utf-8")
    (root,) = app.private.files.roots
    root.path.parent.mkdir(parents=True, exist_ok=True)
    home.roots[0].rename(root.path)
    for number in range(sizes.entries):
        at = BEGIN + timedelta(minutes=number)
        app.chronicle.journal.add_event(next(lines), at=at)
        app.timeline.journal.add(next(lines), at=at)
        app.memory.service().store.save(_gratitude(next(lines)))
    add_sessions(app, [*islice(lines, sizes.entries)])
    app.filing.sweep()


def _gratitude(text: str) -> RecordDraft:
    return RecordDraft(kind="gratitude", fields={"text": text})


def _writers(app: App) -> list[Callable[[str], object]]:
    """What writes a line into each journal, and files it as a call does."""
    log, notes = app.chronicle.service(), app.private.service()
    timeline, memory = app.timeline.service(), app.memory.service()
    sessions = app.transcripts.files

    def say(text: str) -> None:
        now = f"{utc_now():%Y-%m-%dT%H:%M:%S}.000Z"
        said = Message(id=f"{time.monotonic_ns()}", role="user", at=now, text=text)
        sessions.append("claude-code", "today", [said])

    return [
        log.add,
        lambda text: notes.process_thoughts(feelings=text),
        timeline.add,
        lambda text: memory.save(_gratitude(text)),
        say,
    ]


def _round(
    app: App, writers: Sequence[Callable[[str], object]], texts: Iterator[str], sizes: Sizes
) -> tuple[float, float]:
    """A burst of writes, and searches after it: processor ms behind the answers, and of them."""
    behind, began = _behind_ms(), time.thread_time()
    for write in writers:
        for _ in range(_BURST):
            write(next(texts))
    before_s, behind_s = sizes.pauses_s
    _ask(app, next(texts))
    time.sleep(before_s)
    _ask(app, next(texts))
    time.sleep(behind_s)  # so long is looked at what the search began
    return _behind_ms() - behind, (time.thread_time() - began) * 1000


def _come_back(home: Home, texts: Iterator[str], sizes: Sizes) -> tuple[float, float]:
    """The first searches of a process that opens what another had open: as `_round`."""
    with _served(home) as app:
        return _round(app, (), texts, sizes)


def _ask(app: App, question: str) -> None:
    app.recall.toolset().tool("recall").call({"query": question})


@contextmanager
def _opened(home: Home) -> Iterator[App]:
    """The app of the user as a server opens it."""
    settings = read_settings(environ=home.environment(), cwd=home.project, home=home.user)
    with closing(Apps(settings, user_home=home.user)) as apps, apps.using(_USER) as app:
        yield app


@contextmanager
def _served(home: Home) -> Iterator[App]:
    """The app of the user, its encoder loaded."""
    with _opened(home) as app:
        app.encoder.start()
        assert app.encoder.get(ENCODER_WAIT_S) is not None
        yield app


def _behind_ms() -> float:
    """Processor time so far of the threads that follow journals."""
    total = 0.0
    for thread in threading.enumerate():
        if thread.name.startswith(_BEHIND) and thread.ident is not None:
            with suppress(OSError):  # it has ended
                total += time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
    return total * 1000
