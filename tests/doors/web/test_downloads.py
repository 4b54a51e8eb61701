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
    """How many bytes of a file are sent to who is let in until a second, one second a part."""
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

        async def read():
            return sum([len(part) async for part in response.body_iterator])

        count = anyio.run(read)
        assert closed
        assert not path.exists()
        return count

    return send


def test_who_is_let_in_is_sent_all_of_it(sent):
    assert sent(lambda: True) == SIZE


def test_who_is_shut_out_is_sent_no_more(sent):
    """Not even its beginning, where that was while it was made; nor where it cannot be found out."""
    answers = iter([True, True, False])
    assert sent(lambda: next(answers)) == 2 * 2**20
    assert sent(lambda: False) == 0

    def fail():
        raise Unavailable("It does not answer.")

    assert sent(fail) == 0
