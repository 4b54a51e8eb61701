"""The front leaves when its client does, whatever it is doing, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest
from tests.doors.raw_server import RawServer, prime_for, server_command
from tests.doors.stdio.test_front import (
    CALL,
    INITIALIZED,
    REFUSED,
    ask,
    handshake,
    has_sdk,
    on_the_wire,
)
from tests.patience import PATIENCE_S, until

from commonplace.doors.lifecycle import LAST_ANSWERS_S
from commonplace.doors.stdio.snapshot import snapshot_folder

ALONE = {"COMMONPLACE_PRELOAD": "0"}


@pytest.fixture
def server(tmp_path):
    """A server that answered the lists and imported no SDK."""
    with RawServer(cwd=tmp_path, env=ALONE, way="front") as running:
        running.handshake()
        running.ask("tools/list")
        assert not has_sdk(running)
        yield running


def test_the_end_of_stdin_ends_it(server):
    """Status 0, and no SDK was needed for it."""
    assert server.end() == 0
    assert server.stderr == ""


@pytest.mark.parametrize(("sign", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it(server, sign, status):
    """A host that terminates it is obeyed at once; what Ctrl-C ended says so."""
    server.process.send_signal(sign)
    assert server.process.wait(PATIENCE_S) == status


def test_a_client_that_does_not_read_ends_it(tmp_path):
    """A closed pipe is the end of the session, not an error, though stdin stays open."""
    prime_for([], tmp_path, {})
    reading, writing = os.pipe()
    process = subprocess.Popen(
        server_command(),
        stdin=subprocess.PIPE,
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    os.close(writing)
    os.close(reading)
    process.stdin.write(on_the_wire([handshake()]))
    process.stdin.flush()
    assert process.wait(PATIENCE_S) == 0
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


def test_calls_before_the_end_of_stdin_are_answered(tmp_path, words_only):
    """Handshake, lists, five writes and the end, in one packet: all are done and answered; then 0."""
    messages = [handshake(), INITIALIZED, ask(1, "tools/list")]
    messages += [ask(number, "tools/call", thought_of(number)) for number in range(2, 7)]
    with RawServer(cwd=tmp_path, env=ALONE, way="front") as server:
        server.send_raw(on_the_wire(messages))
        server.process.stdin.close()
        answered = {}
        while message := server.receive():
            answered[message["id"]] = str(message["result"])
        assert sorted(answered) == [0, *range(1, 7)]
        assert all("Thoughts recorded" in answered[number] for number in range(2, 7))
        began = time.monotonic()
        assert server.process.wait(PATIENCE_S) == 0
        # It waits for no answer that it gave: five times the 2 s that it promises.
        assert time.monotonic() - began < LAST_ANSWERS_S
    written = [path.read_text() for path in (tmp_path / "home").rglob("*.md")]
    assert sorted(text.split()[-1] for text in written) == [f"n{number}" for number in range(2, 7)]


def thought_of(number):
    return {"name": "process_thoughts", "arguments": {"feelings": f"thought n{number}"}}


HOST = """
import json, subprocess, sys
servers = [
    subprocess.Popen({command!r}, stdin=reading, stdout=writing)
    for reading, writing in json.loads(sys.argv[1])
]
print(*(server.pid for server in servers), flush=True)
sys.stdin.read()
"""
MOMENTS = ["before a word", "after the handshake", "while the SDK is imported", "after a call"]


def test_it_does_not_outlive_its_parent(tmp_path, words_only):
    """A host killed with -9 leaves no process, whatever each does, though their stdin stays open."""
    prime_for([], tmp_path, {})
    to_servers = [os.pipe() for _ in MOMENTS]
    from_servers = [os.pipe() for _ in MOMENTS]
    theirs = [(reads[0], writes[1]) for reads, writes in zip(to_servers, from_servers, strict=True)]
    host = subprocess.Popen(
        [sys.executable, "-c", HOST.format(command=server_command()), json.dumps(theirs)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[descriptor for pair in theirs for descriptor in pair],
        cwd=tmp_path,
    )
    try:
        pids = map(int, host.stdout.readline().split())
        servers = [psutil.Process(pid) for pid in pids]
        for moment, server, (_, stdin), (stdout, _) in zip(
            MOMENTS, servers, to_servers, from_servers, strict=True
        ):
            bring_to(moment, server, stdin, stdout)
        host.kill()
        host.wait()
        assert psutil.wait_procs(servers, timeout=PATIENCE_S)[1] == []
    finally:
        host.kill()
        host.communicate()
        for descriptor in (end for pair in (*to_servers, *from_servers) for end in pair):
            os.close(descriptor)


def bring_to(moment, server, stdin, stdout):
    """Have a server do what it does at that moment."""
    until(lambda: maps(server, "/select."), "the server to listen")
    if moment == "before a word":
        return
    os.write(stdin, on_the_wire([handshake(), INITIALIZED, ask(1, "ping")]))
    wait_for_answer(stdout, 1)
    if moment == "after a call":
        os.write(stdin, on_the_wire([CALL]))
        wait_for_answer(stdout, CALL["id"])
    if moment == "while the SDK is imported":
        os.write(stdin, on_the_wire([ask(2, "tools/list")]))
        until(lambda: maps(server, "pydantic_core"), "the import of the SDK")


def maps(process, name):
    return any(name in each.path for each in process.memory_maps())


def wait_for_answer(stdout, number):
    said = b""
    while f'"id":{number},'.encode() not in said:
        assert select.select([stdout], [], [], PATIENCE_S)[0], f"no answer to {number}"
        said += os.read(stdout, 1 << 16)


def test_sigterm_while_the_sdk_is_imported_ends_it(tmp_path, words_only):
    """The handler of the front has gone, that of the SDK's life is there: status 0."""
    with RawServer(cwd=tmp_path, way="front") as server:
        server.send_raw(on_the_wire([handshake(), INITIALIZED, CALL]))
        assert server.receive()["id"] == 0
        until(lambda: has_sdk(server), "the import of the SDK")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE_S) == 0


def test_a_megabyte_without_an_end_does_not_end_the_session(server):
    """What is too long for a request goes to the SDK, which drops it; the next one is answered."""
    server.send_raw(b"x" * 1_000_000)
    server.send_raw(b"\n")
    assert server.call("search_journal", REFUSED["arguments"])["isError"] is True


@pytest.mark.parametrize(
    "starts",
    [
        12,
        pytest.param(50, marks=pytest.mark.long),
        pytest.param(200, marks=pytest.mark.whole),
    ],
)
def test_starts_killed_at_random_leave_nothing(tmp_path, words_only, starts):
    """Each killed or terminated at any age, the first ones while the snapshot is made."""
    moments = random.Random(8)
    servers = []
    for number in range(starts):
        server = RawServer(cwd=tmp_path, env=ALONE if number % 2 else {})
        servers.append(server)
        server.send_raw(on_the_wire([handshake(), INITIALIZED, ask(1, "tools/list")]))
        if number % 4 == 0:
            server.send_raw(on_the_wire([CALL]))
        # Half of them in the first answers, half while the SDK is imported for the call.
        threading.Event().wait(moments.uniform(0.0, 0.05 if number % 8 < 4 else 0.2))
        server.process.send_signal(moments.choice([signal.SIGKILL, signal.SIGTERM]))
    for server in servers:
        server.process.wait(PATIENCE_S)
        server.__exit__()
    with RawServer(cwd=tmp_path) as last:
        last.handshake()
        last.ask("tools/list")
        until(lambda: any(name.endswith(".json") for name in listed()), "the snapshot")
        assert last.end() == 0
    left = {x.suffix or x.name for x in (tmp_path / "home").rglob("*") if x.is_file()}
    assert left <= {".json", ".db", ".db-wal", ".db-shm"}, "a lock or a temporary file"


def listed():
    folder = snapshot_folder()
    return os.listdir(folder) if os.path.isdir(folder) else []
