"""A private journal whose servers are killed: nothing is lost, nothing is there twice."""

from __future__ import annotations

from server.tests.proof.deaths import asked_of, check_told, kill_writers, wait_for
from server.tests.two_homes import settings_in

from commonplace.app import Apps
from commonplace.app.process import ProcessContext
from commonplace.private import Private
from commonplace_testing import ReadySlot

DEATHS = 12
POINTS = range(1, 60, 2)


def test_writers_are_killed_in_the_midst(world, database, children, tmp_path):
    """What was told to be done is so; what was not is whole or not at all, and once."""
    told = kill_writers("think", DEATHS, database, children, tmp_path)
    with Private("ann", settings=world.settings, encoder=ReadySlot(None)) as mine:
        there = {entry.ref: entry.text for entry in mine.list(limit=10_000)}
    check_told(told, there, DEATHS)


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
