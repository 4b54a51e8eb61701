"""Faults for real processes: a disk that fails, and a death, at the n-th step of what is under way.

Works through a `sitecustomize` that counts the writing system calls of a process; a plan in a file
says which of them fails, so that one server can meet many faults.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_SITE = '''\
import errno, json, os, sqlite3, stat, threading

PLAN = os.environ["FAULT_PLAN"]
lock = threading.Lock()
counted = {}

def step(name):
    """Count one step; fail or die when the plan says so."""
    if os.environ.get("FAULT_SPARES") == str(os.getpid()):
        return None
    try:
        with open(PLAN) as file:
            plan = json.load(file)
    except (OSError, ValueError):
        return None
    if plan["steps"] and name not in plan["steps"]:
        return None
    with lock:
        counted[plan["id"]] = count = counted.get(plan["id"], 0) + 1
    if count != plan["nth"] and not (plan["ever"] and count > plan["nth"]):
        return None
    # Written whole: the test may read it while another thread meets the fault as well.
    fresh = f"{PLAN}.hit.{os.getpid()}.{threading.get_ident()}"
    descriptor = real["open"](fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    real["write"](descriptor, name.encode())
    os.close(descriptor)
    real["replace"](fresh, PLAN + ".hit")
    if plan["fault"] == "kill":
        os.kill(os.getpid(), 9)
    return plan["fault"]

real = {name: getattr(os, name) for name in
        ("open", "write", "fsync", "link", "unlink", "replace", "mkdir")}

def wrapped(name):
    def call(*args, **rest):
        writing = name != "open" or (args[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        # The pipes of the protocol are no disk.
        if writing and not (name == "write" and stat.S_ISFIFO(os.fstat(args[0]).st_mode)):
            fault = step(name)
            if fault:
                raise OSError(getattr(errno, fault), os.strerror(getattr(errno, fault)))
        return real[name](*args, **rest)
    return call

for name in real:
    setattr(os, name, wrapped(name))

class Connection(sqlite3.Connection):
    writing = False

    def execute(self, sql, *args):
        if sql.startswith("BEGIN"):
            self.writing = "IMMEDIATE" in sql
        writes = sql.startswith(("VACUUM", "PRAGMA wal_checkpoint"))
        # The end of a reading transaction touches no disk.
        if self.writing and sql.startswith(("COMMIT", "INSERT", "UPDATE", "DELETE")):
            writes = True
        if writes:
            fault = step("sqlite " + sql.split()[0])
            if fault:
                exc = sqlite3.OperationalError("a fault")
                exc.sqlite_errorcode = {
                    "ENOSPC": sqlite3.SQLITE_FULL, "EROFS": sqlite3.SQLITE_READONLY,
                    "EACCES": sqlite3.SQLITE_READONLY,
                }.get(fault, sqlite3.SQLITE_IOERR)
                raise exc
        return super().execute(sql, *args)

connect = sqlite3.connect
def connect_with_faults(*args, factory=sqlite3.Connection, **rest):
    faulty = type(factory.__name__, (Connection, factory), {})
    return connect(*args, factory=faulty, **rest)
sqlite3.connect = connect_with_faults
'''


class Faults:
    """A plan of faults that processes started with `env` follow."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(_SITE)
        self._plan = folder / "plan.json"
        self._hit = folder / "plan.json.hit"
        self._plans = 0
        self.env = {"PYTHONPATH": str(folder), "FAULT_PLAN": str(self._plan)}

    def plan(self, nth: int, fault: str, *steps: str, ever: bool = False) -> None:
        """From now on the n-th step fails with this errno, or kills; ever: so do all after it."""
        self._plans += 1
        self._hit.unlink(missing_ok=True)
        plan = {"id": self._plans, "nth": nth, "fault": fault, "steps": steps, "ever": ever}
        # Written whole: a process may read it at any moment.
        fresh = self._plan.with_suffix(".new")
        fresh.write_text(json.dumps(plan))
        os.replace(fresh, self._plan)

    def lift(self) -> str:
        """No fault any more; the step that met one, empty if none did."""
        self._plan.unlink(missing_ok=True)
        return self._hit.read_text() if self._hit.exists() else ""
