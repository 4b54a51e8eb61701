"""A file is sent as long as who asked for it is let in."""

from __future__ import annotations

import itertools

import anyio
import pytest

from commonplace.core.errors import Unavailable
from commonplace.doors.web.downloads import send_file
from commonplace.doors.web.visit import Download

SIZE = 5 * 2**20


@pytest.fixture
def sent(tmp_path):
    """How many bytes of a file are sent, one second a part, and whether that is said to be all."""
    path = tmp_path / "export.zip"

    def send(may_go_on):
        path.write_bytes(bytes(SIZE))
        closed = []
        made = Download(
            path=path,
            name="export.zip",
            media_type="application/zip",
            close=lambda: closed.append(True),
        )
        seconds = itertools.count()
        response = send_file(made, may_go_on=may_go_on, monotonic=lambda: next(seconds))
        parts = []

        async def send_part(message):
            parts.append(message)

        anyio.run(response, {"type": "http"}, anyio.sleep_forever, send_part)
        assert closed
        assert not path.exists()
        is_all = parts[-1].get("more_body") is False
        return sum(len(part.get("body", b"")) for part in parts), is_all

    return send


def test_who_is_let_in_is_sent_all_of_it(sent):
    assert sent(lambda: True) == (SIZE, True)


def test_who_is_shut_out_is_sent_no_more(sent):
    """Not even its beginning, where that was while it was made; nor where it cannot be found out.

    No end is announced, which would be an error of a server that has named the length.
    """
    answers = iter([True, True, False])
    assert sent(lambda: next(answers)) == (2 * 2**20, False)
    assert sent(lambda: False) == (0, False)

    def fail():
        raise Unavailable("It does not answer.")

    assert sent(fail) == (0, False)
