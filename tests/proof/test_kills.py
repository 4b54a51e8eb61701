"""Death at any moment of a write: what was acknowledged is there and whole, nothing else is half."""

from __future__ import annotations

import itertools
import random
import re
import signal
import threading
from pathlib import Path

import psutil
import pytest
from tests.doors.raw_server import RawServer, call_of
from tests.patience import PATIENCE_S, until

from commonplace_testing import HashingEncoder, ReadySlot

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


def assert_clean(world, *, has_weights=False):
    """After the next start and its sweep nothing is left of any death.

    has_weights: Whether a death may have come over a vector, which a server then makes.
    """
    if has_weights:
        server = world.server()
        server.call("process_thoughts", {"feelings": "thought after all"})
        # A process that died over the encoding is given up after the length of its lease.
        until(
            lambda: all(path.with_suffix(".embedding").exists() for path in world.entries()),
            "each entry to have its vector",
        )
        until(lambda: world.temps() == [], "the files that deaths left to be swept")
    app = world.app(ReadySlot(HashingEncoder()))
    app.filing.start()
    app.private.service().process_thoughts(feelings="thought after all")
    question = {"query": "thought after all", "limit": 1}
    (found,) = app.private.service().search_journal(**question).facts["results"]
    assert "thought after all" in found["excerpt"]
    until(lambda: world.temps() == [], "the files that deaths left to be swept")
    assert world.problems() == []
    stamps = app.index.known().stamps("private:")
    assert len(stamps) == len(world.entries())
    app.close()


def write(commands, world, text):
    """Run the command that writes a thought."""
    return commands.run(world.folder, "private", "write", text, "--category", "feelings")


def test_a_death_at_each_step_of_a_write(world, shared_commands, shared_faults, counted, tmp_path):
    """Killed before each step in turn: the entry is whole or absent, and whole if acknowledged."""
    commands, faults = shared_commands, shared_faults
    # The first write makes folders and files that no later one makes again.
    assert write(commands, world, "thought 0").code == 0
    step, nth, steps, left = "none yet", 0, set(), set()
    while step:
        nth += 1
        faults.plan(nth, "kill")
        done = write(commands, world, f"thought {nth}")
        step = faults.lift()
        steps.add(step)
        assert (done.code == 0) == (step == ""), (step, done.err)
        there = thoughts_of(world)
        assert len(there) == len(set(there))
        left.add(f"thought {nth}" in there)
        assert f"thought {nth}" in there or "recorded" not in done.out, step
    assert {"open", "write", "fsync", "link", "unlink"} <= steps
    assert left == {True, False}
    assert_clean(world)
    counted("a process killed at each step of a write", nth)


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.long)])
def test_a_death_at_each_step_of_filing_what_a_command_wrote(
    world, shared_commands, shared_faults, counted, stride
):
    """Killed before each step of the next search: the entry is found by the one after it."""
    commands, faults, deaths = shared_commands, shared_faults, 0

    def dies_filing(nth, *names):
        """The step that a search died before, empty where it did not."""
        nonlocal deaths
        deaths += 1
        text = f"thought {deaths}"
        assert write(commands, world, text).code == 0
        faults.plan(nth, "kill", *names)
        commands.run(world.folder, "private", "search", text)
        step = faults.lift()
        done = commands.run(world.folder, "private", "search", text)
        assert done.code == 0, done.err
        assert text in done.out, step
        return step

    steps = {*itertools.takewhile(bool, map(dies_filing, itertools.count(1, stride)))}
    assert len(steps) > 1
    # The thread of the brief writes between the steps of filing: by number alone none is sure.
    for name in ("mkdir", "sqlite COMMIT", "write", "replace"):
        assert dies_filing(1, name) == name
    assert_clean(world)
    counted("a process killed at each step of filing", deaths)


@pytest.mark.parametrize(
    ("kills", "has_weights"),
    [
        (2, False),
        pytest.param(3, True, marks=pytest.mark.long),
        pytest.param(20, True, marks=pytest.mark.whole),
    ],
)
def test_death_at_random_moments_loses_no_acknowledged_write(
    world, request, counted, kills, has_weights
):
    """Servers are killed while they write: every acknowledged entry is there, none twice."""
    if not has_weights:
        request.getfixturevalue("no_weights")
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
        until(lambda name=name: f"thought {name} 0" in acknowledged, "the first write")
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
    assert_clean(world, has_weights=has_weights)


def test_sigterm_in_the_middle_of_writing_ends_whole(world, no_weights):
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


def test_two_hundred_pipelined_calls_are_each_answered_once(world, no_weights):
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


@pytest.mark.parametrize("rounds", [1, pytest.param(5, marks=pytest.mark.long)])
def test_servers_killed_at_any_age_leave_nothing(world, no_weights, rounds):
    """Four starts at once, killed or terminated before or after the handshake: no process, no lock."""
    moments = random.Random(7)
    for round_ in range(rounds):
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
