"""What each hook of a client costs: processor time and memory, beside a bare interpreter.

Never measures in this process: a small one starts each hook, since a child counts the memory of
the process that started it as its own.
"""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from bench.corpus import make_thoughts
from bench.figures import Figure, Spread
from bench.homes import Home, is_marked, mark
from bench.logs import write_log
from bench.recalls import mixed_home
from bench.sessions import OURS, session
from commonplace.doors.hooks.client_messages import EVENTS
from commonplace.doors.prompt_socket import FOLDER, SUFFIX, receive_line

if TYPE_CHECKING:
    from collections.abc import Iterator

CPU_MS = 60.0
PEAK_MB = 15.0

ANSWER_MS = 100.0

_ANSWER = "The ferry to Anholt leaves at noon"
_PROMPT = "When does the ferry to Anholt leave?"
_PATIENCE_S = 10.0

TURNS = 40
"""Messages of a turn that a pause copies; the others take the same."""

_SPAWN = """
import os, sys
sent, *command = sys.argv[1:]
opened = [
    (os.POSIX_SPAWN_OPEN, 0, sent, os.O_RDONLY, 0),
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
]
pid = os.posix_spawn(command[0], command, os.environ, file_actions=opened)
_, status, used = os.wait4(pid, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss, status)
"""


class Sizes(Struct, frozen=True, kw_only=True):
    """How large and how often.

    entries: of chronicle, a quarter of them the project's. recalled: those a prompt is looked for
    in.
    """

    entries: int
    recalled: int
    times: int


class Cost(NamedTuple):
    """What a process took: milliseconds of processor, and megabytes at most."""

    cpu_ms: float
    peak_mb: float


def hook_figures(sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """Time and memory of each event; a bare interpreter takes turns with it."""
    home = make_home(scratch, entries=sizes.entries)
    for event in EVENTS:
        bare: list[Cost] = []
        costs: list[Cost] = []
        for number in range(sizes.times):
            sent = send(home, number)
            bare.append(run_alone([sys.executable, "-c", "pass"], home, sent))
            costs.append(run_alone([*_command(), event], home, sent))
        name = f"hook {event}, {sizes.entries:,} entries"
        yield _figure(f"{name}, CPU", "ms", [x.cpu_ms for x in costs], [x.cpu_ms for x in bare])
        yield _figure(f"{name}, peak", "MB", [x.peak_mb for x in costs], [x.peak_mb for x in bare])


def prompt_figures(sizes: Sizes, cache: Path) -> Iterator[Figure]:
    """What a prompt costs where `hooks.recall` is on and a server answers, and how soon it does."""
    home = mixed_home(cache, sizes.recalled)
    settings = home.user / ".config" / "commonplace" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[hooks]\nrecall = true\n")
    if not is_marked(home, "answer"):
        command = [sys.executable, "-P", "-m", "commonplace", "log", _ANSWER]
        environment = home.environment()
        subprocess.run(command, env=environment, cwd=home.project, check=True, capture_output=True)
        mark(home, "answer")
    name = f"recalling, {sizes.recalled:,} entries"
    with session(OURS, home) as server:
        server.initialize()
        server.list_tools()
        server.call("recall", query=_PROMPT)
        folder = home.own / "users" / "me" / FOLDER
        while not (found := [*folder.glob(f"*-{server.pid}{SUFFIX}")]):
            time.sleep(0.05)
        while _ask(found[0]) is None:  # the entry is being encoded
            time.sleep(0.05)
        taken = [ms for _ in range(sizes.times) if (ms := _ask(found[0])) is not None]
        bare: list[Cost] = []
        costs: list[Cost] = []
        for number in range(sizes.times):
            sent = home.folder / "sent.json"
            said = {"session_id": f"{time.time_ns()}-{number}", "cwd": str(home.project)}
            sent.write_text(json.dumps({**said, "prompt": _PROMPT}))
            bare.append(run_alone([sys.executable, "-c", "pass"], home, sent))
            costs.append(run_alone([*_command(), "prompt"], home, sent))
    settings.unlink()
    yield Figure(
        name=f"prompt to answer, {name}",
        unit="ms",
        measured=Spread.of(taken),
        floor=None,
        limit=ANSWER_MS,
        rule=f"{ANSWER_MS:.0f} ms, after which a hook says nothing",
        note="On the socket of a server with its search loaded.",
    )
    yield _figure(
        f"hook prompt, {name}, CPU", "ms", [x.cpu_ms for x in costs], [x.cpu_ms for x in bare]
    )
    yield _figure(
        f"hook prompt, {name}, peak", "MB", [x.peak_mb for x in costs], [x.peak_mb for x in bare]
    )


def _ask(path: Path) -> float | None:
    """Milliseconds until a server has answered a prompt; None where it found nothing."""
    began = time.perf_counter()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(json.dumps({"prompt": _PROMPT, "shown": []}).encode() + b"\n")
        line = receive_line(connection, time.monotonic() + _PATIENCE_S)
    taken = (time.perf_counter() - began) * 1000
    return taken if json.loads(line)["refs"] else None


def make_home(folder: Path, *, entries: int) -> Home:
    """A home whose chronicle has so many entries, a quarter of them of its project, and notes.

    Args:
        folder: Where it is made.
        entries: Of chronicle.
    """
    home = Home(folder).make()
    write_log(home, entries)
    with closing(sqlite3.connect(home.chronicle)) as conn, conn:
        conn.execute(
            "UPDATE entries SET working_directory = ? WHERE working_directory = '/home/ada/api'",
            [str(home.project)],
        )
    home.write(make_thoughts(200))
    return home


def send(home: Home, number: int) -> Path:
    """What a client sends at a pause, once a turn was added to its session; the file's path."""
    transcript = home.user / ".claude" / "projects" / "-project" / "s-1.jsonl"
    transcript.parent.mkdir(parents=True, exist_ok=True)
    with transcript.open("a") as file:
        for each in range(TURNS):
            role = "assistant" if each % 2 else "user"
            line = {
                "type": role,
                "uuid": f"{number}-{each}-{transcript.stat().st_size}",
                "sessionId": "s-1",
                "timestamp": "2026-11-22T10:00:00.000Z",
                "cwd": str(home.project),
                "message": {"role": role, "content": "The ferry leaves at noon. " * 40},
            }
            file.write(json.dumps(line) + "\n")
    said = {"session_id": "s-1", "cwd": str(home.project), "transcript_path": str(transcript)}
    sent = home.folder / "sent.json"
    sent.write_text(json.dumps({**said, "source": "startup", "prompt": "When does it leave?"}))
    return sent


def run_alone(command: list[str], home: Home, sent: Path) -> Cost:
    """What a command costs that reads a file on stdin, started by a process that is small.

    Args:
        command: The program, by its whole path, and its words.
        home: Whose environment it has.
        sent: What it reads.
    """
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _SPAWN, str(sent), *command],
        env=home.environment(),
        cwd=home.project,
        capture_output=True,
        check=True,
        text=True,
    )
    seconds, kilobytes, status = done.stdout.split()
    if int(status):
        sys.exit(f"{' '.join(command)} ended with {status}")
    return Cost(float(seconds) * 1000, float(kilobytes) / 1024)


def _command() -> list[str]:
    script = Path(sys.executable).with_name("commonplace")
    begin = [str(script)] if script.exists() else [sys.executable, "-P", "-m", "commonplace"]
    return [*begin, "hook"]


def _figure(name: str, unit: str, measured: list[float], bare: list[float]) -> Figure:
    limit = CPU_MS if unit == "ms" else PEAK_MB
    return Figure(
        name=name,
        unit=unit,
        measured=Spread.of(measured),
        floor=Spread.of(bare),
        limit=limit,
        rule=f"{limit:.0f} {unit}; beside it bare python",
    )
