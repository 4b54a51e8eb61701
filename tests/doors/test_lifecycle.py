"""The front leaves when its client does, whatever it is doing, and leaves nothing behind."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import threading

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


def test_calls_before_the_end_of_stdin_are_answered(tmp_path):
    """Handshake, lists, five calls and the end, in one packet: every answer, in 2 s of the last."""
    messages = [handshake(), INITIALIZED, ask(1, "tools/list")]
    messages += [ask(number, "tools/call", REFUSED) for number in range(2, 7)]
    with RawServer(cwd=tmp_path, env=ALONE, way="front") as server:
        server.send_raw(on_the_wire(messages))
        server.process.stdin.close()
        answered = []
        while message := server.receive():
            answered.append(message["id"])
        assert sorted(answered) == [0, *range(1, 7)]
        assert server.process.wait(PATIENCE_S) == 0


HOST = """
import subprocess, sys, time
server = subprocess.Popen({command!r}, stdin=int(sys.argv[1]))
print(server.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    "moment", ["before a word", "after the lists", "while the SDK is imported"]
)
def test_it_does_not_outlive_its_parent(tmp_path, moment):
    """A host killed with -9 leaves no process, though stdin stays open."""
    env = {} if moment == "while the SDK is imported" else ALONE
    prime_for([], tmp_path, env)
    reading, writing = os.pipe()
    host = subprocess.Popen(
        [sys.executable, "-c", HOST.format(command=server_command()), str(reading)],
        stdout=subprocess.PIPE,
        pass_fds=(reading,),
        cwd=tmp_path,
        env={**os.environ, **env},
    )
    try:
        server = psutil.Process(int(host.stdout.readline()))
        until(lambda: any("/select." in x.path for x in server.memory_maps()))
        if moment != "before a word":
            os.write(writing, on_the_wire([handshake(), INITIALIZED, ask(1, "tools/list")]))
            assert select.select([host.stdout], [], [], PATIENCE_S)[0], "no answer"
            assert b'"id":0' in host.stdout.readline()
        if moment == "while the SDK is imported":
            until(lambda: any("pydantic_core" in x.path for x in server.memory_maps()))
        host.kill()
        host.wait()
        assert psutil.wait_procs([server], timeout=PATIENCE_S)[1] == []
    finally:
        host.kill()
        host.wait()
        host.stdout.close()
        os.close(reading)
        os.close(writing)


def test_sigterm_while_the_sdk_is_imported_ends_it(tmp_path):
    """The handler of the front has gone, that of the SDK's life is there: status 0."""
    with RawServer(cwd=tmp_path, way="front") as server:
        server.send_raw(on_the_wire([handshake(), INITIALIZED, CALL]))
        assert server.receive()["id"] == 0
        until(lambda: has_sdk(server))
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE_S) == 0


def test_a_megabyte_without_an_end_does_not_end_the_session(server):
    """What is too long for a request goes to the SDK, which drops it; the next one is answered."""
    server.send_raw(b"x" * 1_000_000)
    server.send_raw(b"\n")
    assert server.call("search_journal", REFUSED["arguments"])["isError"] is True


@pytest.mark.parametrize("starts", [50, pytest.param(200, marks=pytest.mark.long)])
def test_starts_killed_at_random_leave_nothing(tmp_path, starts):
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
        until(lambda: any(name.endswith(".json") for name in listed()))
        assert last.end() == 0
    left = {x.suffix or x.name for x in (tmp_path / "home").rglob("*") if x.is_file()}
    assert left <= {".json", ".db", ".db-wal", ".db-shm"}, "a lock or a temporary file"


def listed():
    folder = snapshot_folder()
    return os.listdir(folder) if os.path.isdir(folder) else []
