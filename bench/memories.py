"""What memory in Postgres costs: searches of small users and of a large one, saves, the worker.

Never measures a server somewhere else: it is the wheel's, on this machine, reached by a socket.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import psutil
import psycopg
from msgspec import Struct

from bench.corpus import make_lines, make_questions
from bench.figures import Figure, Spread
from bench.homes import ENCODER_WAIT_S, Home
from bench.memory_database import LARGE, Filled, filled, record_number
from commonplace.__main__ import collect_rarely
from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.values import Asked, Filter
from commonplace.journals.memory.records import RecordDraft
from commonplace.search import policy
from commonplace.verbs.memory.finding import MemoryQuestion
from commonplace_server.wiring.memories import open_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from commonplace.core.ports import Encoder, OwnerIndex
    from commonplace.core.values import Vector
    from commonplace.verbs.memory.service import MemoryService

SMALL_MS, LARGE_MS = 5.0, 25.0
SMALL_RECALL, LARGE_RECALL = 1.0, 0.98
SAVE_SHARE, WORKER_SHARE = 1.3, 1.3
_TOP = policy.MEMORY_K
_SPUN_S = 0.01
_TURNS = 3
_SERVING = "commonplace_app"
_NOTE = "messages of 15 to 30 words; vectors mixed from real ones."
_ADD_MESSAGE = (
    "INSERT INTO wb_message (user_id, id, role, content, created_at)"
    " VALUES (%s, %s, 'user', %s, now())"
)


class Sizes(Struct, frozen=True, kw_only=True):
    """How many users of how many records, how many of the large one's, and how often."""

    users: int
    rows: int
    large: int
    questions: int
    saves: int


def memory_figures(sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """All figures of memory in Postgres."""
    home = Home(scratch / "memories").make()
    with home.opened() as plain:
        encoder = plain.encoder.get()
        assert encoder is not None
        with (
            filled(
                # A short path: a socket lies in it.
                Path(f"{scratch}-pg"),
                encoder,
                users=sizes.users,
                rows=sizes.rows,
                large=sizes.large,
            ) as full,
            _opened(home, full) as app,
        ):
            yield from _searches(app, encoder, full, sizes)
            yield _save_figure(app, full, sizes)
            yield from _worker_figures(app, encoder, full.users)


@contextmanager
def _opened(home: Home, full: Filled) -> Iterator[App]:
    environment = {
        **home.environment(),
        "COMMONPLACE_DATABASE_URL": full.url("commonplace_app"),
        "COMMONPLACE_DATABASE_WORKER_URL": full.url("commonplace_worker"),
    }
    settings = read_settings(environ=environment, cwd=home.project, home=home.user)
    app = App(settings, user_home=home.user)
    try:
        app.encoder.start()
        assert app.encoder.get(ENCODER_WAIT_S) is not None
        yield app
    finally:
        app.close()


class _Took(NamedTuple):
    wall_ms: float
    cpu_ms: float


class _Clock:
    """Time on the wall, and on processors: this process's and the server's."""

    def __init__(self, server: int) -> None:
        self._server = psutil.Process(server)

    def take(self, run: Callable[[], object]) -> _Took:
        """What a call takes."""
        served, own, began = self._served(), time.process_time(), time.perf_counter()
        run()
        wall = time.perf_counter() - began
        # The encoder's threads spin a little after each run: that is part of what it takes.
        time.sleep(_SPUN_S)
        cpu = time.process_time() - own + self._served() - served
        return _Took(wall * 1000, cpu * 1000)

    def _served(self) -> float:
        return sum(_seconds(each.pid) for each in self._server.children() if _serves(each))


def _serves(process: psutil.Process) -> bool:
    """Whether it answers us: whoever vacuums meanwhile does that for nobody's search."""
    try:
        return _SERVING in " ".join(process.cmdline())
    except psutil.Error:
        return False


def _seconds(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)


def _searches(app: App, encoder: Encoder, full: Filled, sizes: Sizes) -> Iterator[Figure]:
    questions = make_questions(sizes.questions)
    clock = _Clock(full.server.pid)
    users = full.users[: len(questions)]
    services = [app.memory.service_of(user) for user in users]
    asked = list(zip(services, questions, strict=False))
    first = [clock.take(partial(_ask, *each)) for each in asked]
    encoding, took = _in_turns(clock, encoder, asked)
    name = f"memory search, one of {sizes.users:,} users, {sizes.rows:,} records"
    yield Figure(
        name=name,
        unit="ms",
        measured=Spread.of([each.cpu_ms for each in took]),
        floor=(floor := Spread.of([each.cpu_ms for each in encoding])),
        limit=floor.median + SMALL_MS,
        rule=f"query encoding + {SMALL_MS:.0f}",
        note=f"processor time of this process and the server, {_told(took)}; the first search of"
        f" each user {_told(first)}. {_NOTE}",
    )
    exact = [
        _recall(service, encoder, question, full, user)
        for user, (service, question) in zip(users, asked, strict=True)
    ]
    yield _recall_figure(name, exact, SMALL_RECALL)
    large = app.memory.service_of(LARGE)
    begun = clock.take(partial(_ask, large, questions[0]))
    # A server that has just begun has hardly a page of so many in its memory.
    others = make_questions(2 * sizes.questions)[sizes.questions :]
    cold = [clock.take(partial(_ask, large, each)) for each in others]
    encoding, took = _in_turns(clock, encoder, [(large, each) for each in questions])
    name = f"memory search, a user of {sizes.large:,} records"
    yield Figure(
        name=name,
        unit="ms",
        measured=Spread.of([each.wall_ms for each in took]),
        floor=(floor := Spread.of([each.wall_ms for each in encoding])),
        limit=floor.median + LARGE_MS,
        rule=f"query encoding + {LARGE_MS:.0f}",
        note=f"{_told(took)}; {len(cold)} other questions before them, from a cold server,"
        f" {_told(cold)}; the first search of a process {begun.wall_ms:.0f} ms. {_NOTE}",
    )
    found = [_recall(large, encoder, each, full, LARGE) for each in questions]
    yield _recall_figure(name, found, LARGE_RECALL)


def _in_turns(
    clock: _Clock, encoder: Encoder, asked: Sequence[tuple[MemoryService, str]]
) -> tuple[list[_Took], list[_Took]]:
    """What questions take to be encoded, and to be answered: one after the other, by turns first.

    A machine computes faster in one second than in the next.
    """
    encoding: list[_Took] = []
    took: list[_Took] = []
    for number, (service, question) in enumerate(asked):
        answer = partial(_ask, service, question)
        if number % 2:
            took.append(clock.take(answer))
        encoding.append(clock.take(partial(encoder.encode_query, question)))
        if not number % 2:
            took.append(clock.take(answer))
    return encoding, took


def _told(took: Sequence[_Took]) -> str:
    """Both medians."""
    wall, cpu = (float(np.median(column)) for column in zip(*took, strict=True))
    return f"{wall:.1f} ms on the clock, {cpu:.1f} on processors"


def _ask(service: MemoryService, question: str) -> None:
    found = service.search(MemoryQuestion(text=question))
    assert not found.notes, found.notes


def _recall(
    service: MemoryService, encoder: Encoder, question: str, full: Filled, user: str
) -> float:
    """The share of the nearest records by exact products that the index finds."""
    query = encoder.encode_query(question)
    numbers = full.numbers_of(user)
    exact = full.vectors[numbers] @ query
    nearest = {int(number) for number in numbers[np.argsort(-exact)[:_TOP]]}
    return len(nearest & _nearest(service.index(), encoder.identity, query)) / len(nearest)


def _nearest(index: OwnerIndex, identity: str, query: Vector) -> set[int]:
    found = index.candidates(
        Asked(
            words="",
            vector=lambda: query,
            identity=identity,
            where=Filter(),
            limit=policy.MEMORY.pool(_TOP),
            weighing=policy.MEMORY.weighing,
        )
    )
    best = np.argsort(-found.similarity)[:_TOP]
    return {record_number(doc.ref) for doc in found.read(found.keys[best].tolist()).values()}


def _recall_figure(name: str, shares: Sequence[float], least: float) -> Figure:
    return Figure(
        name=f"{name}, recall",
        unit="share",
        measured=Spread.of([float(np.mean(shares))]),
        floor=None,
        limit=least,
        rule=f"{least}",
        at_least=True,
        note=f"of the {_TOP} records nearest by exact products; {len(shares)} questions.",
    )


def _save_figure(app: App, full: Filled, sizes: Sizes) -> Figure:
    """Saves and bare transactions of the same shape take turns."""
    texts = list(islice(make_lines(seed=41), sizes.saves))
    store = app.memory.service_of(full.users[0]).store
    took: list[float] = []
    floors: list[float] = []
    with psycopg.connect(
        full.url("commonplace_app"), autocommit=True, prepare_threshold=None
    ) as conn:
        for number, text in enumerate(texts):
            draft = RecordDraft(kind="message", fields={"role": "user", "text": text})
            bare = partial(_save_bare, conn, full.users[1], f"bare-{number}", text)
            if number % 2:
                took.append(_ms(partial(store.save, draft)))
            floors.append(_ms(bare))
            if not number % 2:
                took.append(_ms(partial(store.save, draft)))
    floor = Spread.of(floors)
    return Figure(
        name="memory save",
        unit="ms",
        measured=Spread.of(took),
        floor=floor,
        limit=floor.median * SAVE_SHARE,
        rule=f"{SAVE_SHARE} x a bare transaction",
        note="the floor sets the user and inserts the record and a line of the outbox, in as many"
        " round trips as it has statements; both are synced.",
    )


def _ms(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) * 1000


def _save_bare(conn: psycopg.Connection, user: str, ref_id: str, text: str) -> None:
    conn.execute("BEGIN")
    conn.execute(f"SET LOCAL app.user_id = '{user}'")
    conn.execute(_ADD_MESSAGE, [user, ref_id, text])
    conn.execute("COMMIT")


def _worker_figures(app: App, encoder: Encoder, users: Sequence[str]) -> Iterator[Figure]:
    """A record for each user there is, of whichever users: what a worker takes, and an encoder."""
    collect_rarely()  # as the command does
    mixed = [users[number if number % 2 else 0] for number in range(len(users))]
    owners = {
        "all of one user": [users[0]] * len(users),
        "half of one user": mixed,
        "one of each user": users,
    }
    lines = make_lines(seed=42)
    for name, of_each in owners.items():
        took = [_filed_ms(app, encoder, lines, of_each) for _ in range(_TURNS)]
        floor = Spread.of([bare for _, bare in took])
        yield Figure(
            name=f"a worker, a record, {name}",
            unit="ms",
            measured=Spread.of([filed for filed, _ in took]),
            floor=floor,
            limit=floor.median * WORKER_SHARE,
            rule=f"{WORKER_SHARE} x the bare encoding",
            note=f"of the worker's processor, of {len(users):,} messages; the floor encodes as many"
            " texts of those lengths.",
        )


def _filed_ms(
    app: App, encoder: Encoder, lines: Iterator[str], owners: Sequence[str]
) -> tuple[float, float]:
    """Processor time of a text of each of these users: of the worker, of the encoding alone."""
    texts = list(islice(lines, len(owners)))
    with open_worker(app.shared) as worker:
        worker.work()  # what was saved to be measured
        for owner, text in zip(owners, texts, strict=True):
            draft = RecordDraft(kind="message", fields={"role": "user", "text": text})
            app.memory.service_of(owner).store.save(draft)
        began = time.process_time()
        assert worker.work() == len(texts)
        filed = time.process_time() - began
    others = [f"{text}." for text in sorted(texts, key=len)]
    began = time.process_time()
    for at in range(0, len(others), policy.CHUNKS_AT_ONCE):
        encoder.encode_passages(others[at : at + policy.CHUNKS_AT_ONCE])
    bare = time.process_time() - began
    return filed * 1000 / len(texts), bare * 1000 / len(texts)
