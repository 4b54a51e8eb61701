"""The index torn, replaced or deleted under real servers: truth stays, search says so and heals."""

from __future__ import annotations

import os
import shutil
from contextlib import closing

import pytest
from tests.patience import PATIENCE_S, until

from commonplace_testing import HashingEncoder, ReadySlot

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


FAULTS = [_garbage, _torn, _replaced_by_garbage, _deleted, _folder_deleted, _page_flipped]


def fill(server):
    for text in TEXTS:
        assert "recorded" in server.text("process_thoughts", {"feelings": text})
    until(lambda: finds_all(server), "all that was written to be found")


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


def test_an_index_broken_under_two_servers_heals(world):
    """Writing goes on without an error, and both servers find everything again, old and new."""
    servers = first, second = world.server(), world.server()
    fill(first)
    until(lambda: finds_all(second), "the second server to find what the first filed")
    for number, fault in enumerate(FAULTS):
        fault(world.index)
        for server in servers:
            text = f"{server.process.pid} after {fault.__name__}"
            assert "recorded" in server.text("process_thoughts", {"observations": text})
        for server in servers:
            until(lambda server=server: finds_all(server), f"all to be found after {fault}")
        for server in servers:
            text = f"{server.process.pid} after {fault.__name__}"
            found = first.call("search_journal", {"query": text})
            assert found["structuredContent"]["results"][0]["excerpt"] == text
        assert world.problems() == [], fault
        assert len(world.entries()) == len(TEXTS) + 2 * (number + 1)
    second.end()
    _page_flipped(world.index)
    again = world.server()
    until(lambda: finds_all(again), "a server of a broken index to find all")


@pytest.mark.parametrize("fault", FAULTS)
def test_an_index_broken_between_two_starts_heals(world, fault):
    """The next process finds everything, old and new."""
    encoder = ReadySlot(HashingEncoder())
    with closing(world.app(encoder)) as app:
        for text in TEXTS:
            app.private.service().process_thoughts(feelings=text)
        assert found_by(app) == TEXTS
    fault(world.index)
    with closing(world.app(encoder)) as app:
        app.private.service().process_thoughts(observations="The tower was lit.")
        assert found_by(app) == TEXTS
        app.filing.settle(HashingEncoder.identity, PATIENCE_S)
        assert app.index.problems() == []
        assert app.index.counts(HashingEncoder.identity).pending == 0
        assert len(app.index.known().stamps("private:")) == len(world.entries())


def found_by(app):
    """The texts that their own words find, first and by meaning too."""
    app.filing.catch_up()
    found = []
    for text in TEXTS:
        answer = app.private.service().search_journal(query=text, explain=True).facts
        (best, *_) = answer["results"]
        found += [text for text in TEXTS if text in best["excerpt"] and best["by"] == "both"]
    return found
