"""A private journal whose servers are killed: nothing is lost, nothing is there twice."""

from __future__ import annotations

import os
import signal
from functools import partial

import psutil
from server.tests.two_homes import settings_in
from tests.patience import until

from commonplace.app import Apps
from commonplace.app.process import ProcessContext
from commonplace.private import Private
from commonplace_testing import ReadySlot

DEATHS = 12
POINTS = range(1, 60, 2)


def asked_of(database, folder, **given):
    """What a child is told."""
    urls = {"app_url": database.app_url, "worker_url": database.worker_url}
    return {"home": str(folder), "user": "ann", **urls, **given}


def wait_for(child):
    """Until a child is gone."""
    until(lambda: not psutil.pid_exists(child), "the child is gone")


def _has_lines(told, count):
    return told.read_text().count("\n") >= count


def test_writers_are_killed_in_the_midst(world, database, children, tmp_path):
    """What was told to be done is so; what was not is whole or not at all, and once."""
    told, first = tmp_path / "told", 0
    told.touch()
    for _ in range(DEATHS):
        home = tmp_path / f"home {first}"
        home.mkdir()
        before = told.read_text().count("\n")
        child = children.start("think", **asked_of(database, home, told=str(told), first=first))
        enough = partial(_has_lines, told, before + 7)
        until(enough, "the child has written some")
        os.kill(child, signal.SIGKILL)
        wait_for(child)
        first = 1 + max(int(line.split()[1]) for line in told.read_text().splitlines())
    with Private("ann", settings=world.settings, encoder=ReadySlot(None)) as mine:
        there = {entry.ref: entry.text for entry in mine.list(limit=10_000)}
    acts = {}
    for act, number, ref in map(str.split, told.read_text().splitlines()):
        acts.setdefault(int(number), []).append((act, ref))
    for number, done in acts.items():
        ref = done[0][1]
        last = done[-1][0]
        texts = {"saved": f"harbour n{number}.", "altered": f"fence n{number}."}
        if last == "deleted":
            assert ref not in there
        elif number % 5 or ref in there:
            later = texts["altered"] if number % 3 == 0 else texts[last]
            assert there[ref] in {texts[last], later}
    numbers = [text.rpartition("n")[2] for text in there.values()]
    assert len(numbers) == len({*numbers})
    assert len(acts) >= DEATHS


def test_a_move_is_killed_at_every_step(world, database, children, tmp_path):
    """No entry is lost, none comes twice, and in the end nothing of it lies on the disk."""
    settings = settings_in(tmp_path)
    shared = ProcessContext(settings, encoder=ReadySlot(None), serves_owners=True)
    apps = Apps(settings, user_home=None, shared=shared)
    with apps.using("ann") as app:
        journal = app.private.files
        refs = [
            journal.write({"reflections": f"n{number}"}, idempotency_key=f"k{number}").refs[0]
            for number in range(6)
        ]
        contents = {x: journal.read_entry(x).raw for x in refs}
        root = journal.roots[0].path
    apps.close()
    shared.close()
    for point in POINTS:
        child = children.start(
            "move", **asked_of(database, tmp_path, journal="private", point=point)
        )
        wait_for(child)
        left = {x.stem for x in root.rglob("*.md")}
        with Private("ann", settings=world.settings, encoder=ReadySlot(None)) as mine:
            there = {entry.ref: entry.raw for entry in mine.list()}
        for ref in refs:
            assert there.get(ref) == contents[ref] or ref.rpartition("/")[2] in left
    wait_for(children.start("move", **asked_of(database, tmp_path, journal="private", point=10**9)))
    with Private("ann", settings=world.settings, encoder=ReadySlot(None)) as mine:
        assert {entry.ref: entry.raw for entry in mine.list()} == contents
        again = mine.save_entry("reflections", "another", idempotency_key="k3")
    assert again == refs[3]
    assert not root.exists()
