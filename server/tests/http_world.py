"""A real HTTP server in a process of its own, and what speaks with it."""

from __future__ import annotations

import contextlib
import os
import queue
import random
import re
import signal
import socket
import ssl
import threading
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.doors.forked import forked_commands
from tests.patience import PATIENCE_S

from commonplace.config.settings import read_settings
from commonplace.core.clock import utc_now
from commonplace_server.scope import STRUCTURED_HEADER
from commonplace_server.tokens import TokenFile
from commonplace_server.wiring.tokens import open_tokens

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ALL = "private,chronicle,recall,notebook,timeline,memory,memory-write,transcripts"
REVISION = "2025-11-25"
BOTH = {"accept": "application/json, text/event-stream"}
# The machine's authorities, of which no http asks, are 20 ms of a processor for each client.
UNUSED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class HttpServer:
    """`commonplace serve` on a free port of 127.0.0.1, with its own home.

    Forked off a process that has imported all that it imports, which is most of what a start costs:
    `tests/proof/test_ctrl_c.py` has it started as a person does.
    """

    def __init__(self, *flags: str, http: str = "127.0.0.1:0", **env: str) -> None:
        (self._out, out), (self._err, err) = os.pipe(), os.pipe()
        with open(os.devnull, "rb") as nothing:
            self.process = forked_commands().start(
                *("serve", "--http", http, *flags),
                streams=(nothing.fileno(), out, err),
                env={**os.environ, **env},
            )
        for each in (out, err):
            os.close(each)
        self._lines: queue.Queue[str] = queue.Queue()
        self._errors: list[str] = []
        self._readers = [
            threading.Thread(target=x, daemon=True) for x in (self._read, self._read_errors)
        ]
        for each in self._readers:
            each.start()
        self.url = ""
        line = self._lines.get(timeout=PATIENCE_S)
        found = re.fullmatch(r"Serving on (http://\S+)\n", line)
        if found:
            self.url = found[1]

    def _read(self) -> None:
        with open(self._out, encoding="utf-8") as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put("")

    def _read_errors(self) -> None:
        with open(self._err, encoding="utf-8") as lines:
            self._errors += lines

    @property
    def log(self) -> str:
        """All of stderr, once the process has ended."""
        for each in self._readers:
            each.join(PATIENCE_S)
        return "".join(self._errors)

    @property
    def base(self) -> str:
        """The address without the path."""
        return self.url.removesuffix("/mcp")

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.base.rpartition(":")[2])

    def end(self, number: int = signal.SIGTERM) -> int:
        """Signal it and wait; the exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for each in self._readers:
            each.join(PATIENCE_S)


def free_port() -> int:
    """A port that nothing listens on, of those that the system hands to nobody who names none.

    Else a connection of another test may have it before it is listened on.
    """
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise AssertionError("of a hundred ports none was free")


def home() -> Path:
    """Our folder in this test's home."""
    return Path(os.environ["XDG_DATA_HOME"]) / "commonplace"


@contextlib.contextmanager
def kept_tokens():
    """The tokens of this test's home, or of its database."""
    settings = read_settings(cwd=Path.cwd(), home=Path.home())
    if settings.database.url is None:
        yield TokenFile(home(), clock=utc_now)
        return
    with open_tokens(settings) as kept:
        yield kept


def token_for(owner: str, **given: Any) -> str:
    """A new token of that owner."""
    with kept_tokens() as kept:
        return kept.create(owner, **given)[1]


def revoke(token: str) -> None:
    """Let it in no more."""
    with kept_tokens() as kept:
        kept.revoke(token.split("_")[1])


def bearer(token: str) -> dict[str, str]:
    """The header that shows it."""
    return {"authorization": f"Bearer {token}"} if token else {}


@asynccontextmanager
async def connected(
    url: str, token: str = "", *, mode: str = "auto", **given: Any
) -> AsyncIterator[Client]:
    """The SDK's own client as somebody, which asks for JSON beside each text."""
    headers = {**bearer(token), STRUCTURED_HEADER: "1"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, verify=UNUSED) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, **given) as client:
            yield client


class Raw:
    """Requests and answers as they are on the wire, in a session of the handshake's protocol."""

    def __init__(self, url: str, token: str = "", **headers: str) -> None:
        self.url = url
        self.http = httpx2.Client(timeout=PATIENCE_S, verify=UNUSED)
        self.headers = {**BOTH, STRUCTURED_HEADER: "1", **bearer(token), **headers}
        self._next = 0

    def post(
        self, method: str, params: Any = None, *, reply: bool = True, **headers: str
    ) -> httpx2.Response:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if reply:
            self._next += 1
            message["id"] = self._next
        return self.http.post(self.url, json=message, headers={**self.headers, **headers})

    def handshake(self, capabilities: Any = None) -> httpx2.Response:
        answer = self.post(
            "initialize",
            {
                "protocolVersion": REVISION,
                "capabilities": capabilities or {},
                "clientInfo": {"name": "raw", "version": "1"},
            },
        )
        if answer.status_code == 200:
            self.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
            self.headers["mcp-protocol-version"] = REVISION
            self.post("notifications/initialized", reply=False)
        return answer

    def call(self, name: str, **arguments: Any) -> httpx2.Response:
        return self.post("tools/call", {"name": name, "arguments": arguments})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
