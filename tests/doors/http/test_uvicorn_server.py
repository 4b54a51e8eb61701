"""What uvicorn leaves out: clients that are slow to ask, and slow to take what they asked for."""

from __future__ import annotations

import anyio
import pytest
from tests.patience import PATIENCE_S

from commonplace.core.errors import Invalid, Unavailable
from commonplace.doors.http.limits import Limits
from commonplace.doors.http.uvicorn_server import listen, make_server

LIMITS = Limits(head_s=0.2, send_s=0.5, finish_s=1)
LARGE = b"x" * (16 * 1024 * 1024)
ASK = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n"


async def answer(scope, _receive, send):
    body = LARGE if scope["path"] == "/large" else b"ok"
    length = str(len(body)).encode()
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]}
    )
    await send({"type": "http.response.body", "body": body})


def within_server(talk):
    """What `talk` returns, given a way to connect to a server."""

    async def scenario():
        opened = listen("127.0.0.1", 0)
        port = opened.getsockname()[1]
        server = make_server(answer, LIMITS)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [opened])
            with anyio.fail_after(PATIENCE_S):
                told = await talk(lambda: anyio.connect_tcp("127.0.0.1", port))
            server.should_exit = True
        return told

    return anyio.run(scenario)


async def read_all(stream):
    """All that comes until the server hangs up."""
    parts = b""
    try:
        while True:
            parts += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return parts


@pytest.mark.parametrize("begun", [b"", b"GET /", b"GET / HTTP/1.1\r\nhost: here\r\nx: y"])
def test_a_head_that_never_ends(begun):
    """Is waited for as long as the limit says, and not answered."""

    async def talk(connect):
        async with await connect() as stream:
            if begun:
                await stream.send(begun)
            return await read_all(stream)

    assert within_server(talk) == b""


def test_the_next_head_on_a_connection_is_waited_for_as_long():
    """An answered request buys no more time for another."""

    async def talk(connect):
        async with await connect() as stream:
            await stream.send(ASK)
            first = await stream.receive()
            await stream.send(ASK[:10])
            return first, await read_all(stream)

    first, rest = within_server(talk)
    assert first.startswith(b"HTTP/1.1 200 OK")
    assert rest == b""


def test_a_quiet_connection_is_kept():
    """Between requests nothing is begun, so nothing is late."""

    async def talk(connect):
        async with await connect() as stream:
            answers = []
            for _ in range(3):
                await stream.send(ASK)
                answers.append(await stream.receive())
                await anyio.sleep(LIMITS.head_s * 1.5)
            return answers

    answers = within_server(talk)
    # The head and the body come as one.
    assert [x.endswith(b"\r\n\r\nok") for x in answers] == [True] * 3


@pytest.mark.parametrize("drops", [1, 4])
def test_a_body_that_drips_in_after_its_answer(drops):
    """Buys no more time than a head does, however often a byte of it comes."""

    async def talk(connect):
        async with await connect() as stream:
            await stream.send(ASK.replace(b"host", b"content-length: 1000\r\nhost"))
            first = await stream.receive()
            for _ in range(drops):
                await stream.send(b"x")
                await anyio.sleep(LIMITS.head_s / 5)
            return first, await read_all(stream)

    first, rest = within_server(talk)
    assert first.endswith(b"ok")
    assert rest == b""


def test_requests_one_behind_the_other():
    """All are answered, in their order, and the connection is closed where it was asked for."""

    async def talk(connect):
        async with await connect() as stream:
            last = ASK.replace(b"host", b"connection: close\r\nhost")
            await stream.send(ASK + ASK + last)
            return await read_all(stream)

    assert within_server(talk).count(b"\r\n\r\nok") == 3


@pytest.mark.parametrize("ending", [b"", b"connection: close\r\n"])
def test_an_answer_that_is_not_taken(ending):
    """Is cut off once the time is over in which a part of it must be taken."""

    async def talk(connect):
        async with await connect() as stream:
            await stream.send(b"GET /large HTTP/1.1\r\n" + ending + b"host: here\r\n\r\n")
            await anyio.sleep(LIMITS.send_s * 3)
            return await read_all(stream)

    assert len(within_server(talk)) < len(LARGE)


def test_an_answer_that_is_taken_in_time():
    """Is no reason to hang up later."""

    async def talk(connect):
        async with await connect() as stream:
            await stream.send(ASK.replace(b"/", b"/large", 1))
            length = 0
            while length < len(LARGE):
                length += len(await stream.receive(1024 * 1024))
            await anyio.sleep(LIMITS.send_s * 2)
            await stream.send(ASK)
            return await stream.receive()

    assert within_server(talk).endswith(b"ok")


def test_where_one_cannot_listen():
    """Each with a next step."""
    taken = listen("127.0.0.1", 0)
    with taken, pytest.raises(Unavailable, match="Something else listens"):
        listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(Invalid, match="no address of this machine"):
        listen("192.0.2.1", 0)
    with pytest.raises(Invalid, match="no address of this machine"):
        listen("no such host.invalid", 0)
