"""A killed, starved or raced write leaves an entry wholly there or wholly absent."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import subprocess
import sys

import pytest
from tests.journals.private.killing import KILL_BEFORE
from tests.patience import PATIENCE_S

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Put, Since
from commonplace.journals.private.format import parse_entry
from commonplace.journals.private.source import sources_of

STEPS = ("open", "write", "fsync", "close", "link", "unlink", "mkdir", "chmod", "replace", "rmdir")
THOUGHTS = {"feelings": "F" * 200, "project_notes": "P" * 200}

PRELUDE = """
import itertools, json, os, signal, sys, threading
from datetime import UTC, datetime
from pathlib import Path
from commonplace.journals.private.journal import PrivateJournal
from commonplace.journals.private.roots import resolve_roots

def journal(folder, clock):
    roots = resolve_roots(home=folder / "home", project=folder / "project", temp=folder)
    return PrivateJournal(roots=roots, zone=UTC, clock=clock, keys=folder / "keys",
                          random_micros=lambda: os.urandom(1)[0])
"""

KILLED = (
    PRELUDE
    + KILL_BEFORE
    + """
def act(folder, verb, key, thoughts):
    opened = journal(folder, lambda: datetime(2026, 11, 21, 23, 19, 45, 15000, tzinfo=UTC))
    if verb == "write":
        opened.write(thoughts, idempotency_key=key)
        return
    (entry,) = opened.list_entries(limit=1, kind="user")
    if verb == "edit":
        opened.edit(entry.ref, "edited " * 50, expected=entry.version)
    else:
        opened.delete(entry.ref)

base, verb, key, steps, thoughts = json.loads(sys.argv[1])
for step in itertools.count(1):
    folder = Path(base) / str(step)
    for name in ("home", "project"):
        (folder / name).mkdir(parents=True)
    if verb != "write":
        act(folder, "write", None, thoughts)
    if verb == "delete the successor":
        opened = journal(folder, lambda: datetime(2026, 11, 22, tzinfo=UTC))
        opened.supersede(opened.list_entries(limit=1)[0].ref, "after")
    child = os.fork()
    if child == 0:
        kill_before(step, steps)
        act(folder, verb, key, thoughts)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status == 0:
        break
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
print(step)
"""
)

CROWD = (
    PRELUDE
    + """
folder, name, keyed = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "keyed"
opened = journal(folder, lambda: datetime(2026, 11, 21, 23, 19, 45, 15000, tzinfo=UTC))
refs = []

def write(thread):
    for number in range(50):
        label = f"{number}" if keyed else f"{name} {thread} {number}"
        key = f"key {number}" if keyed else None
        refs.extend(opened.write({"feelings": label}, idempotency_key=key).refs)

threads = [threading.Thread(target=write, args=(n,)) for n in range(int(sys.argv[4]))]
sys.stdin.readline()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(refs))
"""
)


def _killed_at_each_step(world, verb: str, *, key: str | None, thoughts: dict[str, str]) -> int:
    """Run a verb once a step, each killed before that step, in folders 1, 2, …; how many were."""
    argument = json.dumps([str(world.temp), verb, key, STEPS, thoughts])
    done = subprocess.run(
        [sys.executable, "-c", KILLED, argument], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout) - 1


def _reopened(world, step: int):
    """The journal that was killed at a step, opened anew."""
    folder = world.temp / str(step)
    world.home, world.project = folder / "home", folder / "project"
    world.user_root = world.home / ".private-journal"
    world.project_root = world.project / ".private-journal"
    world.keys = folder / "keys"
    return world.open()


def _temps(world) -> list[str]:
    return [x for x in world.files() if x.endswith(".tmp")]


@pytest.mark.parametrize("thoughts", [{"feelings": THOUGHTS["feelings"]}, THOUGHTS])
def test_a_killed_write_is_whole_or_absent(world, thoughts):
    """Killed before each step in turn: no torn entry, doctor is content, the next write works."""
    steps = _killed_at_each_step(world, "write", key=None, thoughts=thoughts)
    assert steps > 10
    seen = set()
    for step in range(1, steps + 1):
        journal = _reopened(world, step)
        entries = journal.list_entries(limit=10)
        seen.add(len(entries))
        assert all(x.text in {"F" * 200, "P" * 200} for x in entries)
        assert journal.problems() == []
        refs = journal.write(THOUGHTS).refs
        assert len(journal.list_entries(limit=10)) == len(entries) + 2
        assert all(journal.read_entry(x) for x in refs)
        assert _temps(world) == []
    assert seen == set(range(len(thoughts) + 1))


def test_a_killed_write_with_a_key_is_finished_by_the_next(world):
    """Killed before each step, then called again: each thought is there exactly once."""
    steps = _killed_at_each_step(world, "write", key="k", thoughts=THOUGHTS)
    assert steps > 20
    for step in range(1, steps + 1):
        journal = _reopened(world, step)
        refs = journal.write(THOUGHTS, idempotency_key="k").refs
        assert [journal.read_entry(x).text for x in refs] == ["F" * 200, "P" * 200]
        assert len(journal.list_entries(limit=10)) == 2
        assert journal.problems() == []


def test_a_killed_edit_leaves_the_old_or_the_new(world):
    """Killed before each step of an edit: one whole text, whichever."""
    steps = _killed_at_each_step(world, "edit", key=None, thoughts={"feelings": "F" * 200})
    seen = set()
    for step in range(1, steps + 1):
        journal = _reopened(world, step)
        (entry,) = journal.list_entries(limit=10)
        seen.add(entry.text)
        assert journal.edit(entry.ref, "again").text == "again"
    assert seen == {"F" * 200, ("edited " * 50).strip()}


def test_a_killed_deletion_is_done_or_not(world):
    """Killed before each step of a deletion: the entry is there or gone, and goes the next time."""
    steps = _killed_at_each_step(world, "delete", key=None, thoughts={"feelings": "F" * 200})
    seen = set()
    for step in range(1, steps + 1):
        journal = _reopened(world, step)
        entries = journal.list_entries(limit=10)
        seen.add(len(entries))
        for entry in entries:
            journal.delete(entry.ref)
        assert journal.list_entries(limit=10) == []
    assert seen == {0, 1}


def test_a_killed_deletion_of_a_successor_leaves_one_that_holds(world):
    """The former names it, or is as it was written, and is so once it is deleted again."""
    verb = "delete the successor"
    steps = _killed_at_each_step(world, verb, key=None, thoughts={"feelings": "F" * 200})
    seen = set()
    for step in range(1, steps + 1):
        journal = _reopened(world, step)
        *later, former = journal.list_entries(limit=10)
        assert former.text == "F" * 200
        assert former.superseded_by in {"", *(entry.ref for entry in later)}
        assert all(entry.supersedes == former.ref for entry in later)
        seen.add((len(later), bool(former.superseded_by)))
        for entry in later:
            journal.delete(entry.ref)
        (left,) = journal.list_entries(limit=10)
        assert "superseded_by" not in left.raw
        assert journal.problems() == []
    assert seen == {(1, True), (1, False), (0, False)}


class FailingDisk:
    """Lets the n-th step fail with an errno; every other step is the system's own."""

    def __init__(self, monkeypatch, step: int, code: int) -> None:
        self.left = step
        for name in STEPS:
            monkeypatch.setattr(os, name, self._failing(getattr(os, name), code, name))

    def _failing(self, real, code, name):
        def call(*args, **kwargs):
            self.left -= 1
            if self.left == 0:
                if name == "close":
                    real(*args)
                raise OSError(code, os.strerror(code))
            return real(*args, **kwargs)

        return call


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_is_told_and_leaves_nothing(world, monkeypatch, code, key):
    """Each step fails once: an error and no entry, or success and one; then all works."""
    step, failures = 0, 0
    while True:
        step += 1
        journal, before = world.open(), len(world.files())
        with monkeypatch.context() as patch:
            disk = FailingDisk(patch, step, code)
            try:
                journal.write({"feelings": f"step {step}"}, idempotency_key=key and f"{key} {step}")
                written = 1
            except CommonplaceError as exc:
                written = 0
                told = str(exc)
        if disk.left > 0:
            break
        assert _temps(world) == []
        assert len(world.files()) == before + written
        if not written:
            failures += 1
            assert re.search(r"space is left|cannot be read or written", told)
            journal.write({"feelings": f"step {step}"}, idempotency_key=key and f"{key} {step}")
            assert len(world.files()) == before + 1
    assert failures > 8
    texts = [x.text for x in journal.list_entries(limit=1000)]
    assert sorted(texts) == sorted({f"step {n}" for n in range(1, step + 1)})


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_an_edit_on_a_failing_disk_leaves_one_whole_text(world, monkeypatch, code):
    """Each step of an edit fails once: the old or the new text is there, and no temp."""
    journal = world.open()
    (ref,) = journal.write({"feelings": "start"}).refs
    step, seen = 0, {"start"}
    while True:
        step += 1
        with monkeypatch.context() as patch:
            disk = FailingDisk(patch, step, code)
            with contextlib.suppress(CommonplaceError):
                journal.edit(ref, f"step {step}")
        seen.add(f"step {step}")
        assert journal.read_entry(ref).text in seen
        assert _temps(world) == []
        if disk.left > 0:
            break
    assert step > 8
    assert journal.read_entry(ref).text == f"step {step}"


def _crowd(world, keyed: str, threads: int, processes: int) -> list[list[str]]:
    """Let processes of several threads write at once; the refs each was given."""
    folder = world.home.parent
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CROWD, str(folder), f"process {n}", keyed, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(processes)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [json.loads(process.communicate(timeout=PATIENCE_S)[0]) for process in running]


def test_a_crowd_of_writers_loses_and_doubles_nothing(world):
    """Two processes of four writers, fifty entries each, all in one millisecond: 400 files."""
    refs = [ref for each in _crowd(world, "plain", 4, 2) for ref in each]
    assert len(refs) == len(set(refs)) == 400
    texts = [x.text for x in world.open().list_entries(limit=1000)]
    expected = [f"process {p} {t} {n}" for p in range(2) for t in range(4) for n in range(50)]
    assert sorted(texts) == sorted(expected)
    assert _temps(world) == []


def test_racing_calls_with_one_key_make_one_entry(world):
    """Two processes of two writers use the same fifty keys: fifty entries, and equal answers."""
    answers = _crowd(world, "keyed", 2, 2)
    assert {ref for each in answers for ref in each} == set(answers[0])
    assert len(set(answers[0])) == 50
    texts = [x.text for x in world.open().list_entries(limit=1000)]
    assert sorted(texts) == sorted(str(n) for n in range(50))


def test_a_scan_during_writes_misses_nothing(world):
    """What a catch-up does not see while entries arrive, the next one sees."""
    journal = world.open()
    source = sources_of(journal)[0]
    stamps: dict[str, str] = {}
    mark = None

    def known(prefix: str) -> dict[str, str]:
        return {ref: stamp for ref, stamp in stamps.items() if ref.startswith(prefix)}

    for number in range(30):
        taken = source.mark()
        changes = source.scan(Since(mark=mark, stamps=known))
        journal.write({"feelings": f"{number}"})
        for change in changes:
            assert isinstance(change, Put)
            stamps[change.doc.ref] = change.doc.stamp
            assert parse_entry(change.doc.text).text == change.doc.text
        mark = taken
    assert source.mark() != mark
    for change in source.scan(Since(mark=mark, stamps=known)):
        assert isinstance(change, Put)
        stamps[change.doc.ref] = change.doc.stamp
    assert len(stamps) == 30
