"""The index torn, replaced or deleted under real servers: truth stays, search says so and heals."""

from __future__ import annotations

import os
import shutil

import pytest
from tests.patience import until

TEXTS = [f"The {word} was quiet at dawn." for word in ("harbour", "station", "library", "airfield")]


def _garbage(path):
    path.write_bytes(b"\xde\xad" * 5000)


def _torn(path):
    os.truncate(path, path.stat().st_size // 2 + 100)


def _replaced_by_garbage(path):
    path.unlink()
    _garbage(path)


def _deleted(path):
    path.unlink()


def _folder_deleted(path):
    shutil.rmtree(path.parent)


def _page_flipped(path):
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\x5a" * (path.stat().st_size - 8192))


def _matrices_broken(path):
    for matrix in path.parent.glob("*.matrix"):
        matrix.write_bytes(b"\0" * 64)


FAULTS = [_garbage, _torn, _replaced_by_garbage, _deleted, _folder_deleted, _page_flipped]


def fill(server):
    for text in TEXTS:
        assert "recorded" in server.text("process_thoughts", {"feelings": text})
    until(lambda: finds_all(server))


def finds_all(server):
    """Whether each text is found by its word and by meaning; any error must say what to do."""
    for text in TEXTS:
        answer = server.call("search_journal", {"query": text, "explain": True})
        if answer.get("isError"):
            facts = answer["structuredContent"]
            assert facts["code"] == "unavailable", facts
            assert facts["hint"], facts
            return False
        facts = answer["structuredContent"]
        hits = [hit for hit in facts["results"] if text in hit["excerpt"]]
        if facts["notes"] or [hit["by"] for hit in hits] != ["both"]:
            return False
    return True


@pytest.mark.parametrize("fault", FAULTS)
def test_an_index_broken_under_two_servers_heals(world, fault):
    """Writing goes on without an error, and both servers find everything again, old and new."""
    first, second = world.server(), world.server()
    fill(first)
    until(lambda: finds_all(second))
    fault(world.index)
    for server in (first, second):
        assert "recorded" in server.text(
            "process_thoughts", {"observations": f"{server.process.pid}"}
        )
    until(lambda: finds_all(first))
    until(lambda: finds_all(second))
    for server in (first, second):
        found = first.call("search_journal", {"query": f"{server.process.pid}"})
        assert found["structuredContent"]["results"][0]["excerpt"] == str(server.process.pid)
    assert world.problems() == []


@pytest.mark.parametrize("fault", FAULTS)
def test_an_index_broken_between_two_starts_heals(world, fault):
    """The next server finds everything."""
    first = world.server()
    fill(first)
    first.end()
    fault(world.index)
    again = world.server()
    until(lambda: finds_all(again))
    assert world.problems() == []
