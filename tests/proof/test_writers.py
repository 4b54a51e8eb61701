"""Two servers and a terminal write to one folder at once: none lost, none doubled, all found."""

from __future__ import annotations

import re
import threading

from tests.patience import PATIENCE_S, until

WRITERS = 8
ENTRIES = 200


def text_of(writer, number):
    return f"thought w{writer}e{number} of writer{writer} about entry{number}"


def write_by_pipe(server, writers):
    """All the entries of some writers through one server, as many in flight as it takes."""
    sent = [
        server.send(
            "tools/call",
            {"name": "process_thoughts", "arguments": {"feelings": text_of(writer, number)}},
        )
        for number in range(ENTRIES)
        for writer in writers
    ]
    answers = {answer["id"]: answer["result"] for answer in (server.receive() for _ in sent)}
    assert set(answers) == set(sent)
    assert not any(result.get("isError") for result in answers.values())


def write_by_app(app, writer):
    """The entries of one writer as the terminal's command makes them."""
    tool = app.private.tools.toolset.tool("process_thoughts")
    for number in range(ENTRIES):
        tool.call({"feelings": text_of(writer, number)})


def test_eight_writers_at_once_lose_and_double_nothing(world):
    """1,600 entries by two servers and a terminal; every one is whole, once, filed and found."""
    first, second, app = world.server(), world.server(), world.app()
    failed = []

    def run(write, *arguments):
        try:
            write(*arguments)
        except BaseException as exc:
            failed.append(exc)
            raise

    threads = [
        threading.Thread(target=run, args=(write_by_pipe, first, (0, 1, 2))),
        threading.Thread(target=run, args=(write_by_pipe, second, (3, 4, 5))),
        threading.Thread(target=run, args=(write_by_app, app, 6)),
        threading.Thread(target=run, args=(write_by_app, app, 7)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert failed == []
    paths = world.entries()
    assert len(paths) == WRITERS * ENTRIES
    there = [re.search(r"thought (w\d+e\d+)", path.read_text())[1] for path in paths]
    assert len(set(there)) == len(there)
    refs = {f"private:user/{path.parent.name}/{path.stem}" for path in paths}
    assert set(app.index.since("").stamps("private:")) == refs
    first.call("search_journal", {"query": "thought"})
    identity = "minilm-l6-v2:384:mean:l2:53aa5117"
    until(lambda: app.index.counts(identity).pending == 0)
    for server in (first, second):
        for writer in range(WRITERS):
            answer = server.call("search_journal", {"query": f"w{writer}e{17 * writer}"})
            assert not answer.get("isError"), answer
            best = answer["structuredContent"]["results"][0]
            assert text_of(writer, 17 * writer) in best["excerpt"]
    assert world.temps() == []
    assert world.problems() == []
