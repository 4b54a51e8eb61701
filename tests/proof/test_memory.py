"""Users' memories under death and company: what was acknowledged is there, and found; else nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.memory_world import SqliteMemoryWorld
from tests.patience import PATIENCE_S

COMMITS = ("sqlite COMMIT",)
SAVE = """
import sys
from commonplace.memory import Memory
title, home = sys.argv[1:]
with Memory("ann", home=home) as memory:
    memory.save_todo(title)
"""
SEVERAL = """
import sys
from commonplace.memory import Memory
name, home = sys.argv[1:]
with Memory("ann", home=home) as memory:
    for number in range(20):
        ref_id = memory.save_todo(f"harbour {name}{number}")
        if number % 4 == 0:
            memory.delete(ref_id)
        elif number % 4 == 1:
            memory.edit_todo(ref_id, done=True)
        assert all(hit.entry.title.startswith("harbour ") for hit in memory.search("harbour").hits)
"""


@pytest.fixture
def world(tmp_path, monkeypatch):
    """One place for processes without a model, and for this one, which has one."""
    (tmp_path / "nothing").mkdir()
    monkeypatch.setenv("COMMONPLACE_ENCODER_FOLDER", str(tmp_path / "nothing"))
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "data"))
    made = SqliteMemoryWorld(tmp_path)
    yield made
    made.close()


def command(*words):
    return [sys.executable, "-m", "commonplace", "memory", *words, "--user", "ann"]


def saved_all_of(world):
    """Titles that are kept, each of which is found; nothing else is."""
    with world.open("ann") as mine:
        titles = {todo.title for todo in mine.todos()}
        found = {hit.entry.title for hit in mine.search("harbour", limit=100).hits}
        assert found == titles
        assert mine.stats().found == len(titles)
        return titles


def test_a_death_between_truth_and_filing_is_healed(world, faults):
    """Killed before each commit in turn: a save is there and found, or it is not there at all."""
    save = [sys.executable, "-c", SAVE]
    home = os.environ["COMMONPLACE_HOME"]
    subprocess.run([*save, "harbour 0", home], check=True, capture_output=True)
    step, nth, left = "none yet", 0, set()
    while step:
        nth += 1
        faults.plan(nth, "kill", *COMMITS)
        done = subprocess.run(
            [*save, f"harbour {nth}", home],
            env={**os.environ, **faults.env},
            capture_output=True,
        )
        step = faults.lift()
        assert (done.returncode == 0) == (step == ""), done.stderr
        is_there = f"harbour {nth}" in saved_all_of(world)
        assert is_there or step
        left.add(is_there)
    assert left == {True, False}
    assert nth > 2


def test_a_death_over_a_delete_leaves_no_byte(world, faults):
    """Killed before each commit in turn: it is still there whole, or no byte of it is."""
    step, nth, left = "none yet", 0, set()
    with world.open("ann") as mine:
        mine.save_todo("harbour of others")
    while step:
        nth += 1
        with world.open("ann") as mine:
            ref_id = mine.save_todo(f"harbour quokkarine{nth}x")
        faults.plan(nth, "kill", *COMMITS)
        subprocess.run(
            command("delete", "todo", ref_id, "--yes"),
            env={**os.environ, **faults.env},
            capture_output=True,
        )
        step = faults.lift()
        is_there = f"harbour quokkarine{nth}x" in saved_all_of(world)
        assert bool(world.traces(f"quokkarine{nth}x")) == is_there
        left.add(is_there)
    assert left == {True, False}
    assert nth > 2


def test_processes_share_a_memory(world):
    """Three at once save, alter, delete and search: nothing is lost, nothing comes back."""
    home = str(world.home)
    running = [
        subprocess.Popen([sys.executable, "-c", SEVERAL, name, home], stderr=subprocess.PIPE)
        for name in "abc"
    ]
    for process in running:
        _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, errors.decode()
    expected = {f"harbour {name}{number}" for name in "abc" for number in range(20) if number % 4}
    assert saved_all_of(world) == expected
    with world.open("ann") as mine:
        assert sum(todo.done for todo in mine.todos()) == 15
        assert mine.service.store.to_erase() == ()
