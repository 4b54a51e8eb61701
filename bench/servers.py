"""What one call costs a server of many users on a Postgres, and what a second server adds to it.

Never counts the client: the processors of the servers and of the database alone, since wall times
say little on a machine that has other work.
"""

from __future__ import annotations

import http.client
import socket
import statistics
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import psutil
from examples.postgres import PostgresServer
from msgspec import Struct

from bench.corpus import make_lines, make_questions
from bench.figures import Figure, Spread
from bench.homes import ENCODER_WAIT_S, Home
from bench.https import call_tool, file_saved
from commonplace.config.settings import read_settings
from commonplace_server.postgres.migrate import migrate_postgres
from commonplace_server.wiring.schema import list_series
from commonplace_server.wiring.tokens import open_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TIMES_BARE, TWO_SHARE, FIRST_MS = 5.0, 1.1, 60.0
_TOOLSETS = ("memory", "memory-write", "chronicle", "recall")
_KEPT_S = 1.0
_REST_S = 0.005
_TURNS = 4
_ENCODED = {"a memory_search", "a recall"}


class Sizes(Struct, frozen=True, kw_only=True):
    """How many users with how many records each, and how often each thing is called."""

    owners: int
    records: int
    calls: int


class _Call(NamedTuple):
    tool: str
    arguments: dict[str, Any]


_Asked: TypeAlias = "tuple[str, _Call]"
"""The token of a user, and what it is used for."""


class _Server(NamedTuple):
    """A server that runs: what asks it, and its process."""

    client: _Client
    process: psutil.Process


class _World(NamedTuple):
    """Two servers of one database, three of the SDK alone, and the users' tokens."""

    first: _Server
    second: _Server
    bare: _Server
    encoding: _Server
    also_encoding: _Server
    database: psutil.Process
    tokens: list[str]
    sizes: Sizes


def server_figures(sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """All figures of servers on one database."""
    home = Home(scratch / "servers").make()
    with _opened(home, Home(scratch / "second").make(), sizes, Path(f"{scratch}-ps")) as world:
        yield from _first_answers(world)
        yield from _answers(world)
        yield _two_servers(world)


@contextmanager
def _opened(home: Home, other: Home, sizes: Sizes, folder: Path) -> Iterator[_World]:
    """All of it, filled; folder: a short path, since a socket lies in it."""
    database = PostgresServer(folder, is_durable=True)
    database.start()
    try:
        migrate_postgres(database.url(), list_series())
        environment = {
            **home.environment(),
            "COMMONPLACE_DATABASE_URL": database.url("commonplace_app"),
            "COMMONPLACE_SERVE_PER_SECOND": "100000",
        }
        tokens = _tokens(home, environment, sizes)
        with _serving(home, environment) as filling:
            _fill(filling.client, tokens, sizes)
        worker = {"COMMONPLACE_DATABASE_WORKER_URL": database.url("commonplace_worker")}
        working = {**environment, **worker}
        file_saved(read_settings(environ=working, cwd=home.project, home=home.user))
        with (
            _serving(home, environment) as first,
            _serving(other, environment, "--shared-only") as second,
            _bare("bench.bare_server") as bare,
            _bare("bench.encoding_server", str(home.folder)) as encoding,
            _bare("bench.encoding_server", str(home.folder)) as also_encoding,
        ):
            beside = psutil.Process(database.pid)
            servers = (first, second, bare, encoding, also_encoding)
            yield _World(*servers, beside, tokens, sizes)
    finally:
        database.remove()


def _tokens(home: Home, environment: dict[str, str], sizes: Sizes) -> list[str]:
    settings = read_settings(environ=environment, cwd=home.project, home=home.user)
    with open_tokens(settings) as tokens:
        return [
            tokens.create(f"user{number:03}", toolsets=_TOOLSETS)[1]
            for number in range(sizes.owners)
        ]


@contextmanager
def _serving(home: Home, environment: dict[str, str], *flags: str) -> Iterator[_Server]:
    """`commonplace serve` in a home of its own, on a free port."""
    environment = {**environment, "COMMONPLACE_HOME": str(home.own), "HOME": str(home.user)}
    command = [sys.executable, "-m", "commonplace", "serve", "--http", "127.0.0.1:0", *flags]
    with subprocess.Popen(
        command, env=environment, cwd=home.project, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().removeprefix("Serving on ").strip()
            with closing(_Client(url)) as client:
                client.await_ready()
                yield _Server(client, psutil.Process(server.pid))
        finally:
            server.terminate()


@contextmanager
def _bare(module: str, *arguments: str) -> Iterator[_Server]:
    """A server of the SDK alone, on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", module, str(port), *arguments]
    with subprocess.Popen(command, cwd=Path(__file__).parents[1]) as server:
        try:
            with closing(_Client(f"http://127.0.0.1:{port}/mcp")) as client:
                client.await_open()
                yield _Server(client, psutil.Process(server.pid))
        finally:
            server.terminate()


def _fill(client: _Client, tokens: Sequence[str], sizes: Sizes) -> None:
    """Each user's records, a quarter of them a chronicle's."""
    lines = make_lines(seed=7)
    for token in tokens:
        for number, line in enumerate(islice(lines, sizes.records)):
            if number % 4:
                client.ask(token, _Call("memory_save", {"kind": "gratitude", "text": line}))
            else:
                client.ask(token, _Call("add_entry", {"message": line}))


def _calls(questions: Sequence[str]) -> dict[str, list[_Call]]:
    """What is asked, by its kind."""
    return {
        "a memory_list of 20": [_Call("memory_list", {"kind": "gratitude", "limit": 20})]
        * len(questions),
        "a memory_search": [_Call("memory_search", {"query": each}) for each in questions],
        "a recall": [_Call("recall", {"query": each}) for each in questions],
        "a memory_save": [
            _Call("memory_save", {"kind": "gratitude", "text": each}) for each in questions
        ],
        "an add_entry": [_Call("add_entry", {"message": each}) for each in questions],
    }


def _first_answers(world: _World) -> Iterator[Figure]:
    """What a server answers first to users whom it has not seen since it began."""
    client, tokens = world.first.client, world.tokens
    questions = make_questions(len(tokens), seed=3)
    asked = [
        _Call("recall", {"query": question})
        if number % 2
        else _Call("memory_search", {"query": question})
        for number, question in enumerate(questions)
    ]
    # The server's own first answers load what all of them need.
    for call in asked[:2]:
        client.ask(tokens[0], call)
    took: dict[str, list[float]] = {}
    for token, call in zip(tokens[1:], asked[1:], strict=True):
        began = time.perf_counter()
        client.ask(token, call)
        took.setdefault(call.tool, []).append((time.perf_counter() - began) * 1000)
    for tool, each in took.items():
        yield Figure(
            name=f"the first {tool} of a user not seen before",
            unit="ms",
            measured=Spread.of(each),
            floor=None,
            limit=FIRST_MS,
            rule=f"{FIRST_MS:.0f}",
            note="on the clock, by a server that has answered others.",
        )


class _Clock:
    """Milliseconds of processors: of servers, and of the database."""

    def __init__(self, database: psutil.Process, *servers: _Server) -> None:
        self._database, self._servers = database, servers

    def take(self, run: Callable[[], object]) -> tuple[float, float]:
        """Of the servers and of the database, while this runs."""
        before = self._now()
        run()
        after = self._now()
        return (after[0] - before[0]) * 1000, (after[1] - before[1]) * 1000

    def _now(self) -> tuple[float, float]:
        served = sum(_seconds(each.process) for each in self._servers)
        return served, _seconds_of_all(self._database)


def _seconds(process: psutil.Process) -> float:
    # What clock_getcpuclockid gives: nanoseconds, where cpu_times counts hundredths of a second.
    return time.clock_gettime((~process.pid << 3) | 2)


def _seconds_of_all(postmaster: psutil.Process) -> float:
    """Of the sessions of a database that there are, and of those that ended."""
    times = postmaster.cpu_times()
    there = 0.0
    for each in postmaster.children():
        with suppress(OSError):  # it ended just now
            there += int(Path(f"/proc/{each.pid}/schedstat").read_text("ascii").split()[0]) / 1e9
    return float(times.children_user + times.children_system) + there


def _answers(world: _World) -> Iterator[Figure]:
    """What calls cost beside what the SDK alone costs, and the encoding of the question.

    What an encoding takes is what it adds to a call of the SDK alone.
    """
    client, tokens, database = world.first.client, world.tokens, world.database
    questions = make_questions(world.sizes.calls, seed=5)
    # A bare answer of 1.2 kB takes 1.9 ms, one of 7.2 kB 2.1: a recall's 4 kB are not its cost.
    nothing = [_Call("search", {"query": each}) for each in questions]
    encoded = [_Call("encode", each.arguments) for each in nothing]
    for calls in _calls(questions[: len(tokens)]).values():
        _pace(client, calls, tokens)
    _pace(world.bare.client, nothing)
    _pace(world.encoding.client, encoded)
    took: dict[str, list[tuple[float, float]]] = {}
    floors: list[float] = []
    encodings: list[float] = []
    part = world.sizes.calls // _TURNS
    for begin in range(0, part * _TURNS, part):
        some = slice(begin, begin + part)
        floors.append(_bare_ms(world, world.bare, nothing))
        encodings.append(_bare_ms(world, world.encoding, encoded) - floors[-1])
        for name, calls in _calls(questions[some]).items():
            served, asked = _Clock(database, world.first).take(
                partial(_pace, client, calls, tokens)
            )
            took.setdefault(name, []).append((served / part, asked / part))
    floor = Spread.of(floors)
    for name, each in took.items():
        encoding = statistics.median(encodings) if name in _ENCODED else 0.0
        yield Figure(
            name=f"{name} at a server with Postgres",
            unit="ms",
            measured=Spread.of([served - encoding for served, _ in each]),
            floor=floor,
            limit=TIMES_BARE * floor.median,
            rule=f"{TIMES_BARE:.0f} x a bare SDK server's call",
            note=f"of the server's processor, beside {encoding:.1f} for the encoding; the"
            f" database's takes {statistics.median(asked for _, asked in each):.1f}.",
        )


def _bare_ms(world: _World, server: _Server, calls: Sequence[_Call]) -> float:
    """What one of these calls takes of a bare server."""
    clock = _Clock(world.database, server)
    return clock.take(partial(_pace, server.client, calls))[0] / len(calls)


def _pace(client: _Client, calls: Sequence[_Call], tokens: Sequence[str] = ("",)) -> None:
    """Ask one after the other, as several clients do who rest between their calls."""
    for number, call in enumerate(calls):
        client.ask(tokens[number % len(tokens)], call)
        time.sleep(_REST_S)


def _two_servers(world: _World) -> Figure:
    """The same calls at one server, and shared between two, in turns."""
    calls = 3 * world.sizes.calls
    one, two = _one_and_two(world, [world.first, world.second], _mixed(world, calls))
    questions = make_questions(calls, seed=11)
    encoded = [("", _Call("encode", {"query": each})) for each in questions]
    bare, both = _one_and_two(world, [world.encoding, world.also_encoding], encoded)
    floor = Spread.of(one)
    return Figure(
        name="a call with two servers",
        unit="ms",
        measured=Spread.of(two),
        floor=floor,
        limit=TWO_SHARE * floor.median,
        rule=f"{TWO_SHARE} x with one",
        note="7 searches, 2 lists, 1 save of ten, by turns at each; processors of the servers and"
        " of the database. Two of the SDK alone that encode, and share nothing, take by turns"
        f" {statistics.median(both) / statistics.median(bare):.2f} x as much as one.",
    )


def _one_and_two(
    world: _World, servers: Sequence[_Server], asked: Sequence[_Asked]
) -> tuple[list[float], list[float]]:
    """Milliseconds a call, all at the first of two servers, and by turns at both."""
    clock, part = _Clock(world.database, *servers), world.sizes.calls
    took: tuple[list[float], list[float]] = ([], [])
    for each in servers:
        _share([each], asked[:part])
    for begin in range(0, len(asked), part):
        for used, found in zip((servers[:1], servers), took, strict=True):
            run = partial(_share, used, asked[begin : begin + part])
            found.append(sum(clock.take(run)) / part)
    return took


def _share(servers: Sequence[_Server], asked: Sequence[_Asked]) -> None:
    for number, (token, call) in enumerate(asked):
        servers[number % len(servers)].client.ask(token, call)


def _mixed(world: _World, calls: int) -> list[_Asked]:
    """Seven searches, two lists and a save of each ten, which one user asks for."""
    questions = make_questions(world.sizes.calls, seed=11)
    asked: list[_Asked] = []
    for number in range(calls):
        question = questions[number % len(questions)]
        call = _Call("memory_search", {"query": question})
        if number % 10 in {3, 6}:
            call = _Call("memory_list", {"kind": "gratitude", "limit": 20})
        elif number % 10 == 9:  # noqa: PLR2004  one of ten
            call = _Call("memory_save", {"kind": "gratitude", "text": question})
        asked.append((world.tokens[number // 10 % len(world.tokens)], call))
    return asked


class _Client:
    """One client on one connection."""

    def __init__(self, url: str) -> None:
        self._place = urlsplit(url)
        assert self._place.hostname is not None
        self._connection = http.client.HTTPConnection(
            self._place.hostname, self._place.port, timeout=60
        )
        self._used_at = 0.0

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def await_open(self) -> None:
        """Wait until something listens."""
        until = time.monotonic() + ENCODER_WAIT_S
        while True:
            try:
                self._connection.connect()
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
            else:
                return

    def await_ready(self) -> None:
        """Wait until the server has its encoder."""
        until = time.monotonic() + ENCODER_WAIT_S
        while True:
            self._connection.request("GET", "/readyz")
            said = self._connection.getresponse().read().decode()
            if "loaded" in said:
                return
            assert time.monotonic() < until, said
            time.sleep(0.1)

    def ask(self, token: str, call: _Call) -> str:
        """The answer to a call, which is no error."""
        if time.monotonic() > self._used_at + _KEPT_S:  # the other side closes what idles
            self._connection.close()
        self._used_at = time.monotonic()
        status, text = call_tool(self._connection, self._place.path, token, *call)
        assert status == http.client.OK, f"{status} {text}"
        assert '"isError":true' not in text, text
        return text
