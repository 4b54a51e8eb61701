"""A bridge from HTTP to a server over stdio, for a suite that speaks HTTP alone.

One process for each session, and one for all requests of none; what the server asks its client meanwhile goes out in the stream of
the request that is open.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SESSION = "Mcp-Session-Id"


class _Server:
    """A server over stdio, and who waits for which of its answers."""

    def __init__(self, command: Sequence[str], cwd: Path) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd
        )
        self._waiting: dict[Any, queue.Queue[dict[str, Any]]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message:  # the server asks: whoever waits brings it to the client
                next(reversed(self._waiting.values())).put(message)
            else:
                self._waiting[message["id"]].put(message)

    def tell(self, message: dict[str, Any]) -> queue.Queue[dict[str, Any]] | None:
        """Send a message; a request gets what its answers come in."""
        answers: queue.Queue[dict[str, Any]] | None = None
        if "method" in message and "id" in message:
            answers = self._waiting[message["id"]] = queue.Queue()
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return answers


class HttpBridge:
    """Serves on loopback while it is entered.

    Args:
        command: Starts the server over stdio.
        cwd: Where it is started.
    """

    def __init__(self, command: Sequence[str], cwd: Path) -> None:
        servers: dict[str, _Server] = {}

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                begins = message.get("method") == "initialize"
                session = uuid.uuid4().hex if begins else self.headers.get(SESSION, "none")
                if session not in servers:
                    servers[session] = _Server(command, cwd)
                answers = servers[session].tell(message)
                self.send_response(200 if answers else 202)
                self.send_header(SESSION, session)
                if answers is None:
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                said: dict[str, Any] = {}
                while said.get("id") != message["id"] or "method" in said:
                    said = answers.get(timeout=PATIENCE_S)
                    self.wfile.write(f"event: message\ndata: {json.dumps(said)}\n\n".encode())
                    self.wfile.flush()

            def do_GET(self) -> None:
                self.send_error(405)

            def do_DELETE(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """The suite says what it asked."""

        self._servers = servers
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/mcp"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        for server in self._servers.values():
            server.process.kill()
            server.process.communicate()
