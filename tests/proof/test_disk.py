"""A disk that fails under the real server: nothing half, nothing claimed, and the next call works."""

from __future__ import annotations

import os
import re
from itertools import product

import pytest
from tests.patience import until
from tests.proof.conftest import refs_in

THOUGHTS = {"feelings": "The harbour was quiet.", "project_notes": "Moor at the north pier."}
WHOLE = re.compile(
    r'---\ntitle: "[^"\n]+"\ndate: \S+Z\ntimestamp: \d+\n---\n\n## [A-Z][^\n]*\n\n[^\n]+\n'
)


@pytest.fixture(scope="module")
def shared_server(shared_world, shared_faults):
    """A server whose encoder is there, so that every write goes all the way to its vector.

    Without a brief, which a thread of its own writes: at any of the steps that are counted.
    """
    server = shared_world.server(env={**shared_faults.env, "COMMONPLACE_BRIEF_TOKENS": "0"})
    server.call("process_thoughts", {"feelings": "A first thought."})
    until(lambda: not notes_of(server), "the encoder to be loaded")
    return server


@pytest.fixture
def server(shared_server, shared_faults):
    """The same one, on a disk that is well."""
    shared_faults.lift()
    yield shared_server
    shared_faults.lift()


def notes_of(server):
    return server.call("search_journal", {"query": "x"})["structuredContent"]["notes"]


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO", "EROFS", "EACCES"])
def test_every_step_of_a_write_may_fail(shared_world, server, shared_faults, fault):
    """At each step: an error that names what of the call is written, or two whole entries."""
    world, faults = shared_world, shared_faults
    met = []
    while True:
        before = set(world.entries())
        faults.plan(len(met) + 1, fault)
        answer = server.call("process_thoughts", THOUGHTS)
        step = faults.lift()
        made = [path for path in world.entries() if path not in before]
        text = answer["content"][0]["text"]
        assert all(WHOLE.fullmatch(path.read_text()) for path in made), step
        if answer.get("isError"):
            assert step, text
            assert answer["structuredContent"]["code"] in {"unavailable", "denied"}, text
            assert len(refs_in(text)) == len(made), (step, text)
        else:
            assert len(made) == 2, (step, text)
        if not step:
            break
        met.append(step)
    assert {"write", "fsync", "link", "sqlite COMMIT"} <= set(met)
    found = server.call("search_journal", {"query": "quiet harbour pier", "limit": 100})
    hits = found["structuredContent"]["results"]
    texts = [path.read_text() for path in world.entries()]
    written = sum("harbour" in text or "north pier" in text for text in texts)
    assert sum(1 + len(hit["also"]) for hit in hits) == written
    until(
        lambda: all(path.with_suffix(".embedding").exists() for path in world.entries()),
        "each entry to have its vector",
    )
    assert world.temps() == []
    assert world.problems() == []


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
def test_a_call_repeated_with_its_key_after_a_fault_is_one_entry(
    shared_world, server, shared_faults, fault
):
    """Whatever step failed, the same call again completes it and doubles nothing."""
    world, faults = shared_world, shared_faults
    step, nth = "all", 0
    while step:
        nth += 1
        before = set(world.entries())
        call = {**THOUGHTS, "idempotency_key": f"{fault} {nth}"}
        faults.plan(nth, fault)
        server.call("process_thoughts", call)
        step = faults.lift()
        again = server.call("process_thoughts", call)
        assert not again.get("isError"), (step, again)
        made = [path for path in world.entries() if path not in before]
        assert sorted(path.parts[-3] for path in made) == [".private-journal"] * 2, step
        assert len({path.parents[1] for path in made}) == 2, step
        assert len(again["structuredContent"]["refs"]) == 2, step
    assert world.temps() == []
    assert world.problems() == []


def test_a_disk_that_never_syncs_records_nothing(shared_world, server, shared_faults):
    """Every fsync fails: no write is called recorded, and what was written before is read."""
    world, faults = shared_world, shared_faults
    server.call("process_thoughts", {"feelings": "Before the fault."})
    before = world.entries()
    faults.plan(1, "EIO", "fsync", ever=True)
    for _ in range(3):
        answer = server.call("process_thoughts", THOUGHTS)
        assert answer["isError"] is True
        assert "recorded" not in answer["content"][0]["text"]
    assert "Before the fault." in server.text("read_recent_entries")
    faults.lift()
    assert world.entries() == before
    assert "recorded" in server.text("process_thoughts", THOUGHTS)


def test_a_read_only_disk_is_read_and_searched(shared_world, server, shared_faults, subtests):
    """Nothing can be written anywhere: writing says why, all else works, at a new start too."""
    world, faults = shared_world, shared_faults
    server.call("process_thoughts", THOUGHTS)
    faults.plan(1, "EROFS", ever=True)
    again = world.server(env=faults.env)
    for fault, asked in product(("EROFS", "EACCES"), (server, again)):
        faults.plan(1, fault, ever=True)
        with subtests.test(fault=fault, is_new=asked is again):
            check_read_only(world, asked)
    faults.lift()
    for asked in (server, again):
        assert "recorded" in asked.text("process_thoughts", THOUGHTS)


def check_read_only(world, server):
    answer = server.call("process_thoughts", THOUGHTS)
    assert answer["structuredContent"]["code"] == "denied"
    assert str(world.home) in answer["content"][0]["text"]
    assert "Found" in server.text("search_journal", {"query": "harbour"})
    assert "Moor at the north pier." in server.text("read_recent_entries")
    assert "Recent entries" in server.text("list_recent_entries")


_REFUSING = """\
import errno, os

real = os.open

def refusing(path, *args, **rest):
    if "refused" in os.fsdecode(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    return real(path, *args, **rest)

os.open = refusing
"""


def test_one_file_that_cannot_be_read_hides_no_other(
    world, tmp_path, no_weights, counted, subtests
):
    """A read error of the disk, a name that no ref can hold, a pipe: all else is listed and found."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(_REFUSING)
    server = world.server(env={"PYTHONPATH": str(site)})
    assert "recorded" in server.text("process_thoughts", {"feelings": "The harbour was quiet."})
    (day,) = world.user_root.glob("20*")
    for number, name in enumerate(("10-00-00-refused.md", "back\\slash.md", "a pipe.md")):
        with subtests.test(name=name):
            if name == "a pipe.md":
                os.mkfifo(day / name)
            else:
                (day / name).write_text("## Feelings\n\nThe harbour was loud.\n")
            for _ in range(2):
                assert "was quiet" in server.text("read_recent_entries", {"limit": 50})
                assert "was quiet" in server.text("list_recent_entries", {"limit": 50})
                assert "was quiet" in server.text("search_journal", {"query": "quiet harbour"})
                still = {"feelings": f"The harbour was still, {number}."}
                assert "recorded" in server.text("process_thoughts", still)
            assert f"still, {number}" in server.text("search_journal", {"query": f"{number}"})
            (day / name).unlink()
    counted("files in a journal that cannot be read or named", 3)
