"""A server over stdio leaves when its client does, whatever it does, and leaves nothing behind."""

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
from tests.doors.jsonrpc import INITIALIZED, ask, handshake, on_the_wire
from tests.doors.raw_server import RawServer, server_command
from tests.patience import PATIENCE_S, until

from commonplace.doors.lifecycle import LAST_ANSWERS_S
from commonplace.index.sqlite import priority

ALONE = {"COMMONPLACE_PRELOAD": "0"}
REFUSED = {"name": "search_journal", "arguments": {"query": "x", "limit": 0}}
CALL = ask(5, "tools/call", REFUSED)


@pytest.fixture
def server(tmp_path):
    """A server that answered the lists and loaded no app."""
    with RawServer(cwd=tmp_path, env=ALONE) as running:
        running.handshake()
        running.ask("tools/list")
        assert not has_app(psutil.Process(running.process.pid))
        yield running


def has_app(process):
    """Whether the app is in a process: it rests on a compiled library."""
    return any("msgspec" in each.path for each in process.memory_maps())


def test_the_end_of_stdin_ends_it(server):
    """Status 0, and no app was needed for it."""
    assert server.end() == 0
    assert server.stderr == ""


@pytest.mark.parametrize(("sign", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it(server, sign, status):
    """A host that terminates it is obeyed at once; what Ctrl-C ended says so."""
    server.process.send_signal(sign)
    assert server.process.wait(PATIENCE_S) == status


def test_a_client_that_does_not_read_ends_it(tmp_path):
    """A closed pipe is the end of the session, not an error, though stdin stays open."""
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
    with RawServer(cwd=tmp_path, env=ALONE) as server:
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
MOMENTS = ["before a word", "after the handshake", "while the app is loaded", "after a call"]


def test_it_does_not_outlive_its_parent(tmp_path, words_only):
    """A host killed with -9 leaves no process, whatever each does, though their stdin stays open."""
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
    if moment == "before a word":
        return
    os.write(stdin, on_the_wire([handshake(), INITIALIZED, ask(1, "ping")]))
    wait_for_answer(stdout, 1)
    if moment == "after a call":
        os.write(stdin, on_the_wire([CALL]))
        wait_for_answer(stdout, CALL["id"])
    if moment == "while the app is loaded":
        os.write(stdin, on_the_wire([ask(2, "tools/list")]))
        until(lambda: has_app(server), "the app")


def wait_for_answer(stdout, number):
    said = b""
    while f'"id":{number},'.encode() not in said:
        assert select.select([stdout], [], [], PATIENCE_S)[0], f"no answer to {number}"
        said += os.read(stdout, 1 << 16)


def test_sigterm_while_the_app_is_loaded_ends_it(tmp_path, words_only):
    """Whatever is half imported: status 0."""
    with RawServer(cwd=tmp_path) as server:
        server.send_raw(on_the_wire([handshake(), INITIALIZED, CALL]))
        assert server.receive()["id"] == 0
        until(lambda: has_app(psutil.Process(server.process.pid)), "the app")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(
    "starts",
    [
        12,
        pytest.param(50, marks=pytest.mark.long),
        pytest.param(200, marks=pytest.mark.whole),
    ],
)
def test_starts_killed_at_random_leave_nothing(tmp_path, words_only, starts):
    """Each killed or terminated at any age."""
    moments = random.Random(8)
    servers = []
    for number in range(starts):
        server = RawServer(cwd=tmp_path, env=ALONE if number % 2 else {})
        servers.append(server)
        server.send_raw(on_the_wire([handshake(), INITIALIZED, ask(1, "tools/list")]))
        if number % 4 == 0:
            server.send_raw(on_the_wire([CALL]))
        # Half of them in the first answers, half while the app is loaded for the call.
        threading.Event().wait(moments.uniform(0.0, 0.05 if number % 8 < 4 else 0.2))
        server.process.send_signal(moments.choice([signal.SIGKILL, signal.SIGTERM]))
    for server in servers:
        server.process.wait(PATIENCE_S)
        server.__exit__()
    with RawServer(cwd=tmp_path) as last:
        last.handshake()
        last.ask("tools/list")
        assert last.end() == 0
    left = {x.suffix or x.name for x in (tmp_path / "home").rglob("*") if x.is_file()}
    lasting = {".json", ".db", ".db-wal", ".db-shm", priority.FILE_NAME}
    assert left <= lasting, "a lock or a temporary file"
