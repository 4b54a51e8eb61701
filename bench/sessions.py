"""A client of a stdio server that does as little as a client can: lines of JSON over pipes.

Never waits without an end: a server that does not answer is killed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from commonplace.doors.protocol import STRUCTURED_META

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench.homes import Home

OURS = (sys.executable, "-m", "commonplace", "mcp")
BARE = (sys.executable, str(Path(__file__).with_name("bare_server.py")))
_PATIENCE_S = 120.0
_REVISION = "2025-06-18"


class Session:
    """One server process, from its spawn on; times are in ms since then."""

    def __init__(self, process: subprocess.Popen[bytes], spawned: float) -> None:
        self._process = process
        self._spawned = spawned
        self._asked = 0

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    def ms(self) -> float:
        """Milliseconds since the spawn."""
        return (time.perf_counter() - self._spawned) * 1000

    def initialize(self) -> float:
        """Shake hands; when the answer was there."""
        self.ask(
            "initialize",
            {
                "protocolVersion": _REVISION,
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        )
        at = self.ms()
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return at

    def list_tools(self) -> float:
        """Ask for the tools; when the answer was there."""
        tools = self.ask("tools/list")["tools"]
        at = self.ms()
        assert tools, "a server that offers nothing is no floor"
        return at

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; its structured content."""
        result = self.ask(
            "tools/call", {"name": name, "arguments": arguments, "_meta": {STRUCTURED_META: True}}
        )
        if result.get("isError"):
            sys.exit(f"{name} failed: {result['content'][0]['text']}")
        return dict(result["structuredContent"])

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self._asked += 1
        request = {"jsonrpc": "2.0", "id": self._asked, "method": method}
        self._send(request if params is None else {**request, "params": params})
        assert self._process.stdout is not None
        watchdog = threading.Timer(_PATIENCE_S, self._process.kill)
        watchdog.start()
        try:
            while line := self._process.stdout.readline():
                answer = json.loads(line)
                if answer.get("id") == self._asked:
                    return dict(answer["result"])
        finally:
            watchdog.cancel()
        sys.exit(f"The server ended, or was silent for {_PATIENCE_S:.0f} s, at {method}.")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def cpu_ms(self) -> float:
        """Milliseconds of processor time that all threads of the process took so far."""
        spent = psutil.Process(self.pid).cpu_times()
        return float(spent.user + spent.system) * 1000

    def rss_mb(self) -> float:
        """Memory the process holds now."""
        return self._status_mb("VmRSS")

    def peak_rss_mb(self) -> float:
        """The most memory it ever held."""
        return self._status_mb("VmHWM")

    def _status_mb(self, key: str) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(status.split(f"{key}:")[1].split()[0]) / 1024


@contextmanager
def session(
    command: tuple[str, ...], home: Home, more: Mapping[str, str] | None = None
) -> Iterator[Session]:
    """Start a server in a home; at the end its stdin is closed and its exit awaited.

    more: environment variables besides the home's.
    """
    spawned = time.perf_counter()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**home.environment(), **(more or {})},
        cwd=home.project,
    ) as process:
        try:
            yield Session(process, spawned)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
