"""A raw line of JSON-RPC to the real server: what the SDK's client would hide is seen here."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, Self

from tests.patience import PATIENCE_S

from commonplace.doors.protocol import STRUCTURED_META

if TYPE_CHECKING:
    from pathlib import Path


def call_of(name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """What calls a tool and asks for JSON beside the text."""
    return {"name": name, "arguments": arguments or {}, "_meta": {STRUCTURED_META: True}}


def server_command(*flags: str, command: tuple[str, ...] = ("mcp",)) -> list[str]:
    """The real server, as a client's configuration starts it."""
    return [sys.executable, "-m", "commonplace", *command, *flags]


class RawServer:
    """The server in a process of its own; requests and answers as they are on the wire."""

    def __init__(
        self,
        *flags: str,
        cwd: Path,
        env: dict[str, str] | None = None,
        command: tuple[str, ...] = ("mcp",),
    ) -> None:
        self.process = subprocess.Popen(
            server_command(*flags, command=command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **(env or {})},
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._errors: list[bytes] = []
        self._unread_errors: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()
        self._next = 0

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._errors.append(line)
            self._unread_errors.put(line)

    @property
    def stderr(self) -> str:
        return b"".join(self._errors).decode()

    def next_error(self) -> str:
        """The next line of stderr."""
        return self._unread_errors.get(timeout=PATIENCE_S).decode()

    def send_raw(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def send(self, method: str, params: dict[str, Any] | None = None, *, reply: bool = True) -> int:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if reply:
            self._next += 1
            message["id"] = self._next
        self.send_raw(json.dumps(message).encode() + b"\n")
        return self._next

    def receive(self) -> dict[str, Any]:
        """The next line of stdout, which must be one JSON-RPC message; {} at the end."""
        line = self._lines.get(timeout=PATIENCE_S)
        return json.loads(line) if line else {}

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        number = self.send(method, params)
        while True:
            message = self.receive()
            if message.get("id") == number or not message:
                return message

    def handshake(self, revision: str = "2025-11-25") -> dict[str, Any]:
        answer = self.ask(
            "initialize",
            {
                "protocolVersion": revision,
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"},
            },
        )
        self.send("notifications/initialized", reply=False)
        return answer

    def call(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """What a call comes to, with JSON beside the text."""
        return self.ask("tools/call", call_of(name, arguments))["result"]

    def text(self, name: str, arguments: dict[str, Any] | None = None) -> str:
        """The text of a result, which is all of it where nothing else was asked for."""
        result = self.ask("tools/call", {"name": name, "arguments": arguments or {}})["result"]
        assert "structuredContent" not in result
        return result["content"][0]["text"]

    def end(self) -> int:
        """Close stdin and wait; the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()
