"""Death at any moment of a write: what was acknowledged is there and whole, nothing else is half."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from tests.doors.raw_server import RawServer, call_of
from tests.patience import PATIENCE_S, until

WHOLE = re.compile(
    r'---\ntitle: "[^"\n]+"\ndate: \S+Z\ntimestamp: \d+\n---\n\n## Feelings\n\n(thought [^\n]+)\n'
)


def thoughts_of(world):
    """The thought of each entry; every file must be whole."""
    found = []
    for path in world.entries():
        match = WHOLE.fullmatch(path.read_text())
        assert match, path
        found.append(match[1])
    return found


def assert_clean(world):
    """After the next start and its sweep nothing is left of any death."""
    server = world.server()
    server.call("process_thoughts", {"feelings": "thought after all"})
    until(lambda: "Found" in server.text("search_journal", {"query": "thought after all"}))
    # A process that died over the encoding is given up after the length of its lease.
    until(lambda: all(path.with_suffix(".embedding").exists() for path in world.entries()))
    until(lambda: world.temps() == [])
    assert world.problems() == []
    found = world.app().index.since("").stamps("private:")
    assert len(found) == len(world.entries())


def write_command(text):
    command = [sys.executable, "-m", "commonplace", "private", "write", text]
    return [*command, "--category", "feelings"]


@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.long)])
def test_a_death_at_each_step_of_a_write(world, faults, counted, stride):
    """Killed before each step in turn: the entry is whole or absent, and whole if acknowledged."""
    # The first write makes folders and files that no later one makes again.
    subprocess.run(write_command("thought 0"), check=True, capture_output=True)
    step, nth, steps, left = "none yet", 1 - stride, set(), set()
    while step:
        nth += stride
        faults.plan(nth, "kill")
        done = subprocess.run(
            write_command(f"thought {nth}"),
            env={**os.environ, **faults.env},
            capture_output=True,
            text=True,
        )
        step = faults.lift()
        steps.add(step)
        assert (done.returncode == 0) == (step == ""), (step, done.stderr)
        there = thoughts_of(world)
        assert len(there) == len(set(there))
        left.add(f"thought {nth}" in there)
        assert f"thought {nth}" in there or "recorded" not in done.stdout, step
    if stride == 1:
        assert {"open", "write", "fsync", "link", "unlink"} <= steps
    assert left == {True, False}
    assert_clean(world)
    counted("a process killed at each step of a write", nth // stride + 1)


@pytest.mark.long
def test_a_death_at_each_step_of_filing_what_a_command_wrote(world, faults, counted):
    """Killed before each step of the next search: the entry is found by the one after it."""
    step, nth, steps = "none yet", 0, set()
    while step:
        nth += 1
        subprocess.run(write_command(f"thought {nth}"), check=True, capture_output=True)
        faults.plan(nth, "kill")
        search = [sys.executable, "-m", "commonplace", "private", "search", f"thought {nth}"]
        subprocess.run(search, env={**os.environ, **faults.env}, capture_output=True)
        step = faults.lift()
        steps.add(step)
        done = subprocess.run(search, check=True, capture_output=True, text=True)
        assert f"thought {nth}" in done.stdout, step
    assert {"mkdir", "write", "unlink", "sqlite COMMIT"} <= steps
    assert_clean(world)
    counted("a process killed at each step of filing", nth)


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.long)])
def test_death_at_random_moments_loses_no_acknowledged_write(world, counted, kills):
    """Servers are killed while they write: every acknowledged entry is there, none twice."""
    moments = random.Random(2)
    acknowledged = {}

    def write(server, name):
        for number in range(10_000):
            text = f"thought {name} {number}"
            try:
                answer = server.ask("tools/call", call_of("process_thoughts", {"feelings": text}))
            except (BrokenPipeError, ValueError):
                return
            if "result" not in answer:
                return
            acknowledged[text] = answer["result"]["structuredContent"]["paths"]

    for name in range(kills):
        server = world.server()
        writer = threading.Thread(target=write, args=(server, name))
        writer.start()
        until(lambda name=name: f"thought {name} 0" in acknowledged)
        threading.Event().wait(moments.uniform(0.0, 0.4))
        server.process.kill()
        server.process.wait()
        writer.join(PATIENCE_S)
        assert not writer.is_alive()
    there = thoughts_of(world)
    assert len(there) == len(set(there))
    assert set(acknowledged) <= set(there)
    assert len(there) - len(acknowledged) <= kills
    counted("a server killed at a random moment of writing", kills)
    for text, paths in acknowledged.items():
        assert all(text in Path(path).read_text() for path in paths)
    assert_clean(world)


def test_sigterm_in_the_middle_of_writing_ends_whole(world):
    """Fifty pipelined writes and a SIGTERM: status 0, and all that was answered is there."""
    server = world.server()
    numbers = [
        server.send("tools/call", {"name": "process_thoughts", "arguments": {"feelings": text}})
        for text in (f"thought {number}" for number in range(50))
    ]
    answered = [server.receive()["id"]]
    server.process.send_signal(signal.SIGTERM)
    while message := server.receive():
        answered.append(message["id"])
    assert server.process.wait(PATIENCE_S) == 0
    there = thoughts_of(world)
    assert len(there) == len(set(there))
    assert {f"thought {numbers.index(number)}" for number in answered} <= set(there)
    assert_clean(world)


def test_two_hundred_pipelined_calls_are_each_answered_once(world):
    """Writes, searches and lists at once through one pipe: each has its answer, no entry is lost."""
    server = world.server()
    for number in range(200):
        name, arguments = [
            ("process_thoughts", {"feelings": f"thought {number}"}),
            ("search_journal", {"query": f"thought {number}"}),
            ("list_recent_entries", {}),
            ("process_thoughts", {"feelings": f"thought {number}"}),
        ][number % 4]
        last = server.send("tools/call", {"name": name, "arguments": arguments})
    answers = [server.receive() for _ in range(200)]
    assert sorted(answer["id"] for answer in answers) == list(range(last - 199, last + 1))
    assert not any(answer["result"].get("isError") for answer in answers)
    assert sorted(thoughts_of(world)) == sorted(
        f"thought {n}" for n in range(200) if n % 4 in {0, 3}
    )
    assert_clean(world)


def test_servers_killed_at_any_age_leave_nothing(world):
    """Twenty starts, each killed or terminated before or after its handshake: no process, no lock."""
    moments = random.Random(7)
    for round_ in range(5):
        servers = [RawServer(cwd=world.project) for _ in range(4)]
        for number, server in enumerate(servers):
            server.send("initialize", HANDSHAKE)
            server.send("notifications/initialized", reply=False)
            server.send("tools/list")
            server.send(
                "tools/call",
                {
                    "name": "process_thoughts",
                    "arguments": {"feelings": f"thought {round_} {number}"},
                },
            )
        for server in servers:
            threading.Event().wait(moments.uniform(0.0, 0.6))
            children = psutil.Process(server.process.pid).children(recursive=True)
            server.process.send_signal(moments.choice([signal.SIGKILL, signal.SIGTERM]))
            server.process.wait(PATIENCE_S)
            assert psutil.wait_procs(children, timeout=PATIENCE_S)[1] == []
            server.__exit__()
    there = thoughts_of(world)
    assert len(there) == len(set(there))
    assert_clean(world)


HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}
