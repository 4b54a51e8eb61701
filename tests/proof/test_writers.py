"""Two servers and a terminal write to one folder at once: none lost, none doubled, all found."""

from __future__ import annotations

import re
import threading

import pytest
from tests.patience import PATIENCE_S, until

WRITERS = 8


def text_of(writer, number):
    return f"thought w{writer}e{number} of writer{writer} about entry{number}"


def write_by_pipe(server, writers, entries):
    """All the entries of some writers through one server, as many in flight as it takes."""
    sent = [
        server.send(
            "tools/call",
            {"name": "process_thoughts", "arguments": {"feelings": text_of(writer, number)}},
        )
        for number in range(entries)
        for writer in writers
    ]
    answers = {answer["id"]: answer["result"] for answer in (server.receive() for _ in sent)}
    assert set(answers) == set(sent)
    assert not any(result.get("isError") for result in answers.values())


def write_by_app(app, writer, entries):
    """The entries of one writer as the terminal's command makes them."""
    tool = app.private.toolset().tool("process_thoughts")
    for number in range(entries):
        tool.call({"feelings": text_of(writer, number)})


@pytest.mark.parametrize("entries", [25, pytest.param(200, marks=pytest.mark.whole)])
def test_eight_writers_at_once_lose_and_double_nothing(world, entries):
    """To 1,600 entries by two servers and a terminal; each is whole, once, filed and found."""
    first, second, app = world.server(), world.server(), world.app()
    failed = []

    def run(write, *arguments):
        try:
            write(*arguments)
        except BaseException as exc:
            failed.append(exc)
            raise

    threads = [
        threading.Thread(target=run, args=(write_by_pipe, first, (0, 1, 2), entries)),
        threading.Thread(target=run, args=(write_by_pipe, second, (3, 4, 5), entries)),
        threading.Thread(target=run, args=(write_by_app, app, 6, entries)),
        threading.Thread(target=run, args=(write_by_app, app, 7, entries)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert failed == []
    paths = world.entries()
    assert len(paths) == WRITERS * entries
    there = [re.search(r"thought (w\d+e\d+)", path.read_text())[1] for path in paths]
    assert len(set(there)) == len(there)
    refs = {f"private:user/{path.parent.name}/{path.stem}" for path in paths}
    assert set(app.index.known().stamps("private:")) == refs
    first.call("search_journal", {"query": "thought"})
    identity = "minilm-l6-v2:384:mean:l2:53aa5117"
    until(lambda: app.index.counts(identity).pending == 0, "each entry to have its vector")
    for server in (first, second):
        for writer in range(WRITERS):
            number = (entries - 1) * writer // WRITERS
            answer = server.call("search_journal", {"query": f"w{writer}e{number}"})
            assert not answer.get("isError"), answer
            best = answer["structuredContent"]["results"][0]
            assert text_of(writer, number) in best["excerpt"]
    assert world.temps() == []
    assert world.problems() == []
