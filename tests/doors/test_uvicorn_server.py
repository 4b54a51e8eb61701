"""The HTTP server itself: connections that are kept, and where it cannot listen."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import anyio
import pytest
from anyio.abc import SocketAttribute
from msgspec.structs import replace
from tests.patience import PATIENCE_S

from commonplace.core.errors import Invalid, Unavailable
from commonplace.doors.connections import SWEEP_S, ConnectionLimits
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


LIMITS = ConnectionLimits(most=100, of_a_peer=100, kept=0)


def within_server(talk, limits=LIMITS, answer=answer):
    """What `talk` returns, given a way to connect to a server."""

    async def scenario():
        opened = listen("127.0.0.1", 0, option="--http")
        port = opened.getsockname()[1]
        server = make_server(answer, limits=limits, finish_s=1)
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


HALF = b"GET / HTTP/1.1\r\nhost: he"


@pytest.mark.parametrize("before", [b"", ASK], ids=["the first head", "a later head"])
def test_a_head_that_does_not_end(before):
    """Is not waited for, though a byte of it comes every now and then."""

    async def talk(connect):
        async with await connect() as stream, anyio.create_task_group() as tasks:
            await stream.send(before + HALF)
            tasks.start_soon(drip, stream)
            answers = await read_all(stream)
            tasks.cancel_scope.cancel()
            return answers

    async def drip(stream):
        with suppress(anyio.BrokenResourceError):
            while True:
                await stream.send(b"e")
                await anyio.sleep(0.01)

    limits = replace(LIMITS, head_s=0.3, keep_alive_s=0)
    answers = within_server(talk, limits)
    assert answers.count(b"HTTP/1.1") == answers.count(b" 200 ") == bool(before)


def test_a_request_that_comes_while_the_server_stands_still():
    """Is answered, though the server reads it later than it may come."""

    async def talk(connect):
        async with await connect() as stream, await connect() as another:
            await stream.send(HALF)
            await another.send(ASK)
            await read_answer(another)  # the half is read by then
            stand_still(stream.extra(SocketAttribute.raw_socket).fileno())
            return await read_answer(stream)

    def stand_still(client):
        os.write(client, ASK.removeprefix(HALF))
        time.sleep(SWEEP_S * 1.5)  # both ends run in this thread: as if the process was stopped

    assert within_server(talk, replace(LIMITS, head_s=SWEEP_S * 1.2)).endswith(b"ok")


def test_an_answer_that_is_not_taken():
    """Is not waited for either; one that is made for long is."""

    async def talk(connect):
        async with await connect() as slow, await connect() as stream:
            await slow.send(ASK.replace(b"/", b"/large", 1))
            await stream.send(ASK)
            answered = await read_answer(stream)
            await ended.wait()
            return answered

    async def answer_late(scope, receive, send):
        if scope["path"] == "/large":
            part = {"type": "http.response.body", "body": LARGE, "more_body": True}
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send(part)
            await send(part)
            ended.set()
        else:
            await ended.wait()
            await answer(scope, receive, send)

    ended = anyio.Event()
    limits = replace(LIMITS, send_s=0.2, head_s=0.2, keep_alive_s=0)
    assert within_server(talk, limits, answer_late).endswith(b"ok")


def test_where_one_cannot_listen():
    """Each with a next step."""
    taken = listen("127.0.0.1", 0, option="--http")
    with taken, pytest.raises(Unavailable, match="Another process listens"):
        listen("127.0.0.1", taken.getsockname()[1], option="--http")
    with pytest.raises(Invalid, match="not an address of this machine"):
        listen("192.0.2.1", 0, option="--http")
    with pytest.raises(Invalid, match="not an address of this machine"):
        listen("no such host.invalid", 0, option="--http")
