"""Processes of an application and of a worker, made to be killed: forked off one that has loaded all.

Run as a program it reads what to do, a line of JSON for each child, and tells the child's number.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from functools import partialmethod
from pathlib import Path

from tests.patience import PATIENCE_S

from commonplace.app import Apps
from commonplace.app.process import ProcessContext
from commonplace.config.settings import read_settings
from commonplace.journals.timeline.database import SqliteRows
from commonplace.memory import Memory
from commonplace.private import Private
from commonplace.timeline import Timeline
from commonplace_server.index.index import PostgresIndex
from commonplace_server.index.packing import PackSizes
from commonplace_server.store.timeline import PostgresRows
from commonplace_server.wiring.memories import open_worker
from commonplace_server.worker import numbers
from commonplace_testing import HashingEncoder, ReadySlot

LEASE_S = 0.5
RECORDED_FROM = datetime(2026, 1, 5, 9, tzinfo=UTC)


class SlowEncoder(HashingEncoder):
    """Takes as long as an encoder does, so that a death may fall into it."""

    def encode_passages(self, texts):
        threading.Event().wait(0.01)
        return super().encode_passages(texts)


class Children:
    """Where they come from. Close it."""

    def __init__(self) -> None:
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "server.tests.proof.memory_children"],
            cwd=Path(__file__).parents[3],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, what, **asked) -> int:
        """A child that does this; its number."""
        self._nursery.stdin.write(json.dumps({"what": what, **asked}) + "\n")
        self._nursery.stdin.flush()
        return int(self._nursery.stdout.readline())

    def close(self) -> None:
        self._nursery.stdin.close()
        self._nursery.wait(PATIENCE_S)
        self._nursery.stdout.close()


def save(asked):
    """Save to-dos."""
    with Memory(asked["user"], settings=_settings(asked), encoder=ReadySlot(None)) as memory:
        _write_on(
            asked,
            lambda number, key: memory.save_todo(f"harbour n{number}", idempotency_key=key),
            lambda ref, number: memory.edit_todo(ref, title=f"fence n{number}"),
            memory.delete,
        )


def think(asked):
    """Write thoughts."""
    with Private(asked["user"], settings=_settings(asked), encoder=ReadySlot(None)) as mine:

        def write(number, key):
            return mine.save_entry("reflections", f"harbour n{number}.", idempotency_key=key)

        def edit(ref, number):
            mine.edit(ref, f"## Reflections\n\nfence n{number}.\n")

        _write_on(asked, write, edit, mine.delete)


def record(asked):
    """Record what happens, and roll up before each."""
    with Timeline(asked["user"], settings=_settings(asked), encoder=ReadySlot(None)) as mine:

        def write(number, key):
            if asked.get("rolls_up", True):
                mine.roll_up()
            at = RECORDED_FROM + timedelta(minutes=number)
            return mine.save_entry(f"harbour n{number}.", at=at, idempotency_key=key)

        _write_on(
            asked, write, lambda ref, number: mine.edit(ref, f"fence n{number}."), mine.delete
        )


def _write_on(asked, write, edit, delete):
    """Write with keys from a number on, alter and delete some; tell each in a file, once done."""
    told = os.open(asked["told"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def tell(*words):
        os.write(told, (" ".join(map(str, words)) + "\n").encode())

    for number in range(asked["first"], 10**9):
        ref = write(number, f"key {number}")
        tell("saved", number, ref)
        if number % 3 == 0:
            edit(ref, number)
            tell("altered", number, ref)
        if number % 5 == 0:
            delete(ref)
            tell("deleted", number, ref)


STEPS = {"os.remove", "os.rename", "os.rmdir", "socket.connect", "subprocess.Popen", "open"}


def move(asked):
    """Open a journal whose files move into the database, and die at a given step of that."""
    left = itertools.count(asked["point"], -1)

    def die(event, args):
        if event in STEPS and not next(left):
            os.kill(os.getpid(), signal.SIGKILL)

    shared = ProcessContext(_settings(asked), encoder=ReadySlot(None), serves_owners=True)
    apps = Apps(shared.settings, user_home=None, shared=shared)
    with apps.using(asked["user"]) as app:
        sys.addaudithook(die)
        getattr(app, asked["journal"]).journal  # noqa: B018  opens it


def move_timeline(asked):
    """Open a timeline whose file moves into the database, and die after a given query of that."""
    left = itertools.count(asked["point"], -1)

    def dying(run):
        def run_and_die(self, *given):
            done = run(self, *given)
            if not next(left):
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return run_and_die

    for rows in (SqliteRows, PostgresRows):
        rows.run = dying(rows.run)
    shared = ProcessContext(_settings(asked), encoder=ReadySlot(None), serves_owners=True)
    apps = Apps(shared.settings, user_home=None, shared=shared)
    with apps.using(asked["user"]) as app:
        app.timeline.journal  # noqa: B018  opens it


def work(asked):
    """What a worker does, a few at a time, with leases that soon run out."""
    numbers.BACKLOG_LEASE_S, numbers.BACKLOG_BATCH, numbers.BACKLOG_POLL_S = LEASE_S, 8, 0.01
    numbers.ROLLING_LEASE_S, numbers.ROLLING_POLL_S, numbers.ROLLED_OF_ONE = LEASE_S, 0.01, 3
    numbers.ROLLING_REST_S = 0.01
    numbers.UNSEEN_REST_S, numbers.UPKEEP_POLL_S, numbers.UPKEEP_LEASE_S = 0.0, 0.01, LEASE_S
    numbers.UPKEEP_REST_S, numbers.UPKEEP_PAUSE_S = 0.0, 0.01
    numbers.PACKING_POLL_S, numbers.PACK_EVERY_S, numbers.PACKING_LEASE_S = 0.05, 0.0, LEASE_S
    open_index = PostgresIndex.__init__
    sizes = PackSizes(least=1, segment=3, at_once=3)
    PostgresIndex.__init__ = partialmethod(open_index, pack_sizes=sizes)
    shared = ProcessContext(_settings(asked), encoder=ReadySlot(SlowEncoder()))
    with open_worker(shared) as worker:
        worker.run(threading.Event())


def _settings(asked):
    flags = {
        "home": asked["home"],
        "timezone": "UTC",
        "database.url": asked["app_url"],
        "database.worker_url": asked["worker_url"],
    }
    return read_settings(flags=flags, environ={}, cwd=Path(asked["home"]), home=None)


DOING = {
    "save": save,
    "work": work,
    "think": think,
    "move": move,
    "record": record,
    "move timeline": move_timeline,
}


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            os.close(0)
            DOING[asked["what"]](asked)
            os._exit(0)
        print(child, flush=True)  # noqa: T201  the answer


if __name__ == "__main__":
    main()
