"""The HTTP server itself: connections that are kept, and where it cannot listen."""

from __future__ import annotations

import anyio
import pytest
from tests.patience import PATIENCE_S

from commonplace.core.errors import Invalid, Unavailable
from commonplace.doors.uvicorn_server import listen, make_server

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
        opened = listen("127.0.0.1", 0, option="--http")
        port = opened.getsockname()[1]
        server = make_server(answer, connections=100, keep_alive_s=75, finish_s=1)
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


async def read_answer(stream):
    """One short answer, in however many parts it comes."""
    parts = b""
    while not parts.endswith(b"\r\n\r\nok"):
        parts += await stream.receive()
    return parts


def test_a_connection_is_kept():
    """One request after the other, on one connection."""

    async def talk(connect):
        async with await connect() as stream:
            answers = []
            for _ in range(3):
                await stream.send(ASK)
                answers.append(await read_answer(stream))
            return answers

    answers = within_server(talk)
    assert [x.endswith(b"\r\n\r\nok") for x in answers] == [True] * 3


def test_requests_one_behind_the_other():
    """All are answered, in their order, and the connection is closed where it was asked for."""

    async def talk(connect):
        async with await connect() as stream:
            last = ASK.replace(b"host", b"connection: close\r\nhost")
            await stream.send(ASK + ASK + last)
            return await read_all(stream)

    assert within_server(talk).count(b"\r\n\r\nok") == 3


@pytest.mark.parametrize(
    "framing",
    [
        b"content-length: 5\r\ntransfer-encoding: chunked\r\n",
        b"Transfer-Encoding: Chunked\r\nContent-Length: 5\r\n",
        b"content-length: 5\r\ncontent-length: 6\r\n",
        b"transfer-encoding: gzip, chunked\r\n",
    ],
)
def test_a_request_whose_end_is_disputed(framing):
    """Is refused, and closes the connection: what follows it is not answered as a request."""

    async def talk(connect):
        async with await connect() as stream:
            await stream.send(
                b"POST / HTTP/1.1\r\nhost: here\r\n" + framing + b"\r\n0\r\n\r\n" + ASK
            )
            return await read_all(stream)

    answers = within_server(talk)
    assert answers.startswith(b"HTTP/1.1 400 ")
    assert answers.count(b"HTTP/1.1") == 1


def test_a_large_answer():
    """Comes whole, and the connection stays."""

    async def talk(connect):
        async with await connect() as stream:
            await stream.send(ASK.replace(b"/", b"/large", 1))
            length = 0
            while length < len(LARGE):
                length += len(await stream.receive(1024 * 1024))
            await stream.send(ASK)
            return await read_answer(stream)

    assert within_server(talk).endswith(b"ok")


def test_where_one_cannot_listen():
    """Each with a next step."""
    taken = listen("127.0.0.1", 0, option="--http")
    with taken, pytest.raises(Unavailable, match="Another process listens"):
        listen("127.0.0.1", taken.getsockname()[1], option="--http")
    with pytest.raises(Invalid, match="not an address of this machine"):
        listen("192.0.2.1", 0, option="--http")
    with pytest.raises(Invalid, match="not an address of this machine"):
        listen("no such host.invalid", 0, option="--http")
