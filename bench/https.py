"""What many clients of the HTTP server get: how much, how fast, and whether ever another's.

Never measures itself: the server and its clients are processes of their own, on the same machine.
"""

from __future__ import annotations

import http.client
import json
import random
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from examples.postgres import PostgresServer
from msgspec import Struct

from bench.corpus import make_lines, make_questions
from bench.figures import Figure, Spread
from bench.homes import ENCODER_WAIT_S, Home, is_marked, mark
from commonplace.app.process import ProcessContext
from commonplace.config.settings import read_settings
from commonplace.core.clock import utc_now
from commonplace.doors.protocol import CAPABILITIES_KEY, MODERN, VERSION_KEY
from commonplace.memory import Memory
from commonplace_server.postgres.migrate import migrate_postgres
from commonplace_server.tokens import TokenFile
from commonplace_server.wiring.memories import open_worker
from commonplace_server.wiring.schema import list_series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.config.table import Settings

_TOOLSETS = ("memory", "memory-write")


class Sizes(Struct, frozen=True, kw_only=True):
    """How many users with how many records each, how many clients, and for how long."""

    owners: int
    records: int
    clients: int
    seconds: float
    warm_s: float = 3.0


def http_figures(sizes: Sizes, cache: Path) -> Iterator[Figure]:
    """Throughput, times of answers, faults, and the server's memory; memories are files."""
    home = kept_home(cache, sizes)
    yield from _served("HTTP", home, home.environment(), sizes)


def http_postgres_figures(sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """The same where a real Postgres on this machine keeps the memories; the server works them."""
    home = Home(scratch / "http-postgres").make()
    with _database(scratch) as urls:
        environment = {**home.environment(), **urls}
        _fill_database(home, environment, sizes)
        yield from _served("HTTP, Postgres", home, environment, sizes)


def _served(name: str, home: Home, environment: dict[str, str], sizes: Sizes) -> Iterator[Figure]:
    settings = read_settings(environ=environment, cwd=home.project, home=home.user)
    file = TokenFile(settings.home, clock=utc_now)
    tokens = [file.create(name_of(n), toolsets=_TOOLSETS)[1] for n in range(sizes.owners)]
    command = [sys.executable, "-m", "commonplace", "serve", "--http", "127.0.0.1:0"]
    with subprocess.Popen(
        command, env=environment, cwd=home.project, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().removeprefix("Serving on ").strip()
            _loaded(url, tokens, sizes, sizes.warm_s)
            before = _resident_mb(server.pid)
            told = _loaded(url, tokens, sizes, sizes.seconds)
            after = _resident_mb(server.pid)
        finally:
            server.terminate()
        status = server.wait()
    yield from _figures(name, sizes, told, before, after)
    yield _told(f"{name}: exit of the server", "status", status, limit=0)


def name_of(number: int) -> str:
    """The owner of this number; its records hold its name as a word."""
    return f"owner{number:03d}"


def kept_home(cache: Path, sizes: Sizes) -> Home:
    """A home of so many users' memories, encoded by the product; kept in the cache."""
    home = Home(cache / f"http-{sizes.owners}-{sizes.records}").make()
    if is_marked(home, "saved"):
        return home
    settings = read_settings(environ=home.environment(), cwd=home.project, home=home.user)
    lines = make_lines(seed=7)
    with Memory(name_of(0), settings=settings) as first:
        for number in range(sizes.owners):
            with first.beside(name_of(number)) as memory:
                for line in islice(lines, sizes.records):
                    memory.save_gratitude(f"{name_of(number)} {line}")
                memory.service.filing().catch_up()
    mark(home, "saved")
    return home


@contextmanager
def _database(scratch: Path) -> Iterator[dict[str, str]]:
    """A server's addresses, as a process's environment names them."""
    # A short path: a socket lies in it.
    server = PostgresServer(Path(f"{scratch}-ph"), is_durable=True)
    server.start()
    try:
        migrate_postgres(server.url(), list_series())
        yield {
            "COMMONPLACE_DATABASE_URL": server.url("commonplace_app"),
            "COMMONPLACE_DATABASE_WORKER_URL": server.url("commonplace_worker"),
        }
    finally:
        server.remove()


def _fill_database(home: Home, environment: dict[str, str], sizes: Sizes) -> None:
    """Every user's records, saved and filed by the product."""
    settings = read_settings(environ=environment, cwd=home.project, home=home.user)
    lines = make_lines(seed=7)
    with Memory(name_of(0), settings=settings) as first:
        for number in range(sizes.owners):
            with first.beside(name_of(number)) as memory:
                for line in islice(lines, sizes.records):
                    memory.save_gratitude(f"{name_of(number)} {line}")
    assert file_saved(settings) == sizes.owners * sizes.records


def file_saved(settings: Settings) -> int:
    """File what all users saved in a database, with vectors; how many entries that were."""
    shared = ProcessContext(settings)
    try:
        shared.encoder.start()
        assert shared.encoder.get(ENCODER_WAIT_S) is not None
        with open_worker(shared) as worker:
            return worker.work()
    finally:
        shared.close()


def _figures(
    name: str, sizes: Sizes, told: dict[str, Any], before: float | None, after: float | None
) -> Iterator[Figure]:
    who = f"{sizes.clients} clients of {sizes.owners} users, {sizes.records} records each"
    times = sorted(told["ms"])
    note = f"{who}: 7 searches, 2 lists, 1 save of ten; clients and server share the machine."
    yield _told(f"{name}: answers", "per s", len(times) / told["seconds"], note=note)
    for share in (50, 95, 99):
        at = times[min(len(times) - 1, len(times) * share // 100)]
        yield _told(f"{name}: p{share} of an answer", "ms", at)
    for kind, of_kind in sorted(told["kinds"].items()):
        yield _told(f"{name}: p50 of {kind}", "ms", sorted(of_kind)[len(of_kind) // 2])
    yield _told(f"{name}: errors", "answers", told["errors"], limit=0, note=told["first_error"])
    yield _told(f"{name}: rows of others", "rows", told["foreign"], limit=0)
    if before is not None and after is not None:
        rule = f"of {before:.0f} MB when warm"
        yield _told(f"{name}: growth of the server", "MB", after - before, rule=rule)


def _told(
    name: str,
    unit: str,
    value: float,
    *,
    limit: float | None = None,
    rule: str = "",
    note: str = "",
) -> Figure:
    return Figure(
        name=name,
        unit=unit,
        measured=Spread.of([value]),
        floor=None,
        limit=limit,
        rule=rule or ("none at all" if limit == 0 else ""),
        note=note,
    )


def _loaded(url: str, tokens: list[str], sizes: Sizes, seconds: float) -> dict[str, Any]:
    """What the clients saw in so many seconds."""
    asked = {"url": url, "tokens": tokens, "clients": sizes.clients, "seconds": seconds}
    done = subprocess.run(
        [sys.executable, "-m", "bench.https"],
        input=json.dumps(asked),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _resident_mb(pid: int) -> float | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return None
    kilobytes = next(x for x in status.splitlines() if x.startswith("VmRSS")).split()[1]
    return int(kilobytes) / 1024


def call_tool(
    connection: http.client.HTTPConnection,
    path: str,
    token: str,
    tool: str,
    arguments: dict[str, Any],
) -> tuple[int, str]:
    """Call a tool of a server; the status and the text of the answer."""
    meta = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    connection.request("POST", path, json.dumps(message), headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


class _Client:
    """One client in a thread of its own: asks one thing after the other on one connection."""

    def __init__(self, url: str, token: str, number: int, owners: int, until: float) -> None:
        self._place = urlsplit(url)
        self._token = token
        self._owner = name_of(number % owners)
        self._others = [name_of(n) for n in range(owners) if n != number % owners]
        self._chance = random.Random(number)  # noqa: S311  the same calls each time
        self._questions = make_questions(200, seed=number)
        self._until = until
        self.times: dict[str, list[float]] = {}
        self.errors: list[str] = []
        self.foreign = 0

    def run(self) -> None:
        """Ask until it is time."""
        assert self._place.hostname is not None
        connection = http.client.HTTPConnection(self._place.hostname, self._place.port, timeout=60)
        while time.monotonic() < self._until:
            kind, arguments = self._next()
            began = time.perf_counter()
            try:
                status, text = call_tool(connection, self._place.path, self._token, kind, arguments)
            except (OSError, http.client.HTTPException) as exc:
                self.errors.append(type(exc).__name__)
                connection.close()
                continue
            self.times.setdefault(kind, []).append((time.perf_counter() - began) * 1000)
            if status != http.client.OK or '"isError":true' in text or '"result"' not in text:
                self.errors.append(f"{status} {text[:200]}")
            self.foreign += sum(name in text for name in self._others)
        connection.close()

    def _next(self) -> tuple[str, dict[str, Any]]:
        drawn = self._chance.random()
        if drawn < 0.7:  # noqa: PLR2004  seven of ten
            return "memory_search", {"query": self._chance.choice(self._questions)}
        if drawn < 0.9:  # noqa: PLR2004  two of ten
            return "memory_list", {"kind": "gratitude", "limit": 20}
        text = f"{self._owner} {self._chance.choice(self._questions)}"
        return "memory_save", {"kind": "gratitude", "text": text}


def _main() -> None:
    asked = json.load(sys.stdin)
    tokens = asked["tokens"]
    began = time.monotonic()
    until = began + asked["seconds"]
    clients = [
        _Client(asked["url"], tokens[n % len(tokens)], n, len(tokens), until)
        for n in range(asked["clients"])
    ]
    threads = [threading.Thread(target=client.run) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kinds: dict[str, list[float]] = {}
    for client in clients:
        for kind, times in client.times.items():
            kinds.setdefault(kind, []).extend(times)
    errors = [error for client in clients for error in client.errors]
    told = {
        "seconds": time.monotonic() - began,
        "ms": [x for times in kinds.values() for x in times],
        "kinds": kinds,
        "errors": len(errors),
        "first_error": errors[0] if errors else "",
        "foreign": sum(client.foreign for client in clients),
    }
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    _main()
