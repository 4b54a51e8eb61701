"""Who keeps a server waiting keeps nobody else out: real servers, real sockets."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import socket
import subprocess
import sys

import anyio
import httpx2
import pytest
from server.tests.http_world import HttpServer, token_for
from tests.doors.test_uvicorn_server import ASK, answer, read_answer, within_server
from tests.patience import PATIENCE_S, until

from commonplace.doors.connections import ConnectionLimits
from commonplace.doors.peer_account import account_of

HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
FORM = (
    b"POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nSec-Fetch-Site: none\r\nContent-Length: 99\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\nkey="
)
NOBODY = 65534
OWN = -1
IS_LINUX = hasattr(socket, "AF_NETLINK")
other_account = pytest.mark.skipif(
    not IS_LINUX or os.geteuid() != 0, reason="only root can be another account"
)

# Opens connections as an account, sends each a half request, and holds them until its input ends.
HOLD = """
import os, socket, sys
account, count, port, half = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if account >= 0:
    os.setuid(account)
held = []
for _ in range(count):
    one = socket.socket()
    one.connect(("127.0.0.1", port))
    try:
        one.send(half.encode())
    except OSError:  # it was closed at once
        pass
    held.append(one)
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def holding(count, port, half, account=OWN):
    """Another process, which holds so many half-sent requests."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 500), hard))
    words = [sys.executable, "-c", HOLD, str(account), str(count), str(port), half.decode()]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert process.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            process.kill()


@contextlib.contextmanager
def web():
    """`commonplace web`: its link."""
    words = [sys.executable, "-m", "commonplace", "web", "--no-open", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            text = ""
            while not text.endswith("}\n"):
                text += process.stdout.readline()
            yield json.loads(text)["url"]
        finally:
            process.kill()


def port_of(url):
    return int(re.search(r":(\d+)/", url)[1])


half_sent = pytest.mark.parametrize("of_a_form", [False, True], ids=["half a head", "half a form"])


@pytest.mark.parametrize("account", [OWN, pytest.param(NOBODY, marks=other_account)])
@half_sent
def test_half_sent_requests_shut_nobody_out_of_the_pages(words_only, counted, account, of_a_form):
    """260 of them, and the owner's link still opens: of another account, or of the owner's own."""
    with web() as link:
        port = port_of(link)
        half = FORM % (b"/enter", port) if of_a_form else HEAD
        with holding(260, port, half, account), httpx2.Client(timeout=PATIENCE_S) as browser:
            first = browser.get(link, follow_redirects=True)
            assert first.status_code == 200
            assert "Calendar" in first.text
    counted("half-sent requests that are held", 260)


def test_half_sent_requests_shut_nobody_out_of_the_server(words_only, counted):
    """More of them than it has places, of a head and of a form; a client with a token is served."""
    account = NOBODY if os.geteuid() == 0 else OWN
    headers = {"authorization": f"Bearer {token_for('ann')}", "accept": "application/json"}
    with HttpServer() as server:
        for half in (HEAD, FORM % (b"/web/enter", server.port)):
            with holding(1100, server.port, half, account):
                answer = httpx2.post(server.url, json={}, headers=headers, timeout=PATIENCE_S)
                assert answer.status_code not in {401, 503}
            counted("half-sent requests that are held", 1100)


@other_account
def test_places_are_kept_for_the_owner():
    """Though another account has as many requests answered as it may: its next one is refused."""
    limits = ConnectionLimits(most=10, of_a_peer=10, kept=3)

    async def answer_owner(scope, receive, send):
        if scope["path"] == "/slow":
            slow.append(scope["client"])
            await anyio.sleep_forever()
        await answer(scope, receive, send)

    async def talk(connect):
        async with await connect() as stream:
            port = stream.extra(anyio.abc.SocketAttribute.remote_port)
            await stream.send(ASK)
            await read_answer(stream)
            held = holding(10, port, ASK.replace(b"/", b"/slow", 1), NOBODY)
            await anyio.to_thread.run_sync(held.__enter__)
            async with await connect() as other:
                await other.send(ASK)
                answered = await read_answer(other)
            await anyio.to_thread.run_sync(held.__exit__, None, None, None)
            return answered

    slow = []
    assert within_server(talk, limits, answer_owner).endswith(b"ok")
    assert len(slow) == limits.most - limits.kept


@other_account
def test_the_system_says_which_account_connects():
    """On IPv4, IPv6 and an address of IPv4 written as one of IPv6."""
    for family, host, to in (
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET6, "::1", "::1"),
        (socket.AF_INET6, "::", "127.0.0.1"),
    ):
        with socket.socket(family) as listener:
            listener.bind((host, 0))
            listener.listen()
            port = listener.getsockname()[1]
            with socket.socket() if ":" not in to else socket.socket(socket.AF_INET6) as mine:
                mine.connect((to, port))
                accepted, peer = listener.accept()
                with accepted:
                    here = accepted.getsockname()[:2]
                    assert account_of(peer[:2], here) == os.geteuid(), host
            assert account_of(("192.0.2.1", 1), here) is None
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with holding(1, port, b"x", NOBODY):
            accepted, peer = listener.accept()
            with accepted:
                assert account_of(peer, accepted.getsockname()) == NOBODY


def test_a_client_that_left_leaves_its_place(words_only):
    """However often one comes and goes, there is room."""
    with web() as link:
        for _ in range(3):
            with holding(150, port_of(link), HEAD):
                pass
        until(lambda: httpx2.get(link.partition("?")[0]).status_code == 403, "an answer")
