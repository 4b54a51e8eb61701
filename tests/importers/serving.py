"""Real MCP servers over stdio, which write the files that are imported."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading

LONGEST_S = 240.0
"""The slowest starts in half a minute where others work as well; one that hangs must end."""

HELLO = {
    "protocolVersion": "2024-11-05",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Served:
    """A server that is asked one thing after another."""

    def __init__(self, process):
        self._process = process
        self._asked = 0
        self._request("initialize", HELLO)
        self._send({"method": "notifications/initialized"})

    def call(self, tool, **arguments):
        """The text that a tool answers; an error fails the test."""
        result = self._request("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(each.get("text", "") for each in result["content"])
        assert not result.get("isError"), text
        return text

    def _send(self, message):
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def _request(self, method, params):
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._asked:
                return answer["result"]
        raise AssertionError(f"The server ended before it answered {method}.")


@contextlib.contextmanager
def served(words, **environ):
    """Start a server; it runs until the block ends."""
    process = subprocess.Popen(
        words,
        env={**os.environ, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    limit = threading.Timer(LONGEST_S, process.kill)
    limit.start()
    try:
        yield Served(process)
    finally:
        limit.cancel()
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()
