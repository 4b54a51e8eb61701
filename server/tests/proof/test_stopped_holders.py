"""A process that is stopped with the locks of all journals in files keeps no call waiting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from server.tests.http_world import ALL, HttpServer
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP")]

HOLDER = """
import fcntl, os, signal, sqlite3, sys
held = []
for path in sys.argv[1:]:
    if os.path.isdir(path):
        held.append(os.open(path, os.O_RDONLY))
        fcntl.flock(held[-1], fcntl.LOCK_EX)
    else:
        held.append(sqlite3.connect(path, isolation_level=None, timeout=60))
        held[-1].execute("BEGIN IMMEDIATE")
print("held", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""

GIVES_UP_S = 60.0
"""After so long the first of the clients that were looked at gives up."""

READS = [
    ("recall", {"query": "the crabs"}),
    ("list_by_time", {}),
    ("list_entries", {}),
    ("timeline_search", {"query": "the tide"}),
    ("journal_toc", {}),
    ("memory_search", {"query": "paint"}),
]
WRITES = [
    ("process_thoughts", {"feelings": "the sea is calm"}),
    ("add_entry", {"message": "fed the crabs"}),
    ("timeline_add", {"content": "the tide is low"}),
    ("journal_write", {"path": "harbour", "entry": "a buoy", "overview": "All buoys."}),
    ("memory_save", {"kind": "todo", "title": "paint the buoy"}),
]


def call(server, name, given):
    """The status of a call, what it says, and how long it took."""
    began = time.monotonic()
    url = f"{server.base}/api/v1/tools/{name}"
    answer = httpx2.post(url, json=given, timeout=PATIENCE_S)
    return answer.status_code, answer.json(), time.monotonic() - began


def places():
    """All folders and databases of the home, each of which some writer locks."""
    for folder, _, names in os.walk(Path.home()):
        yield folder
        yield from (os.path.join(folder, name) for name in names if name.endswith(".db"))


def test_each_call_ends_in_time_though_all_locks_are_held_by_one_that_is_stopped(words_only):
    """What only reads is answered; a write is done, or told as unavailable with a next step."""
    with HttpServer("--toolsets", ALL) as server:
        ref = call(server, *WRITES[0])[1]["ref"]
        for each in WRITES[1:]:
            assert call(server, *each)[0] == 200
        corrections = [
            ("amend", {"ref": ref, "text": "calm"}),
            ("amend", {"ref": ref, "delete": True}),
        ]
        asked = [*READS, *WRITES, *corrections]
        command = [sys.executable, "-c", HOLDER, *places()]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder,
            ThreadPoolExecutor(len(asked)) as threads,
        ):
            try:
                assert holder.stdout.readline() == "held\n"
                answers = [*threads.map(lambda each: call(server, *each), asked)]
            finally:
                holder.send_signal(signal.SIGCONT)
        told = [(name, *answer) for (name, _), answer in zip(asked, answers, strict=True)]
        assert not [x for x in told if x[3] > GIVES_UP_S], told
        assert {x[1] for x in told[: len(READS)]} == {200}, told
        refused = [x[2] for x in told if x[1] != 200]
        assert len(refused) >= len(WRITES) + len(corrections) - 1, told
        assert {x["code"] for x in refused} == {"unavailable"}
        assert all(x["hint"] for x in refused)
        assert [call(server, *each)[0] for each in (*WRITES, corrections[0])] == [200] * 6
