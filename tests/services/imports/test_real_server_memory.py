"""The real server-memory writes a graph, and it comes in."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from tests.doors.npm import PROGRAMS, needs_npm
from tests.services.imports.reading import read

pytestmark = needs_npm

ADA = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
KNOWS = {"from": "Ada", "to": "Ada", "relationType": "knows"}
HELLO = {
    "protocolVersion": "2024-11-05",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture
def graph(tmp_path):
    """A file that the server wrote, asked by its own tools."""
    path = tmp_path / "memory.jsonl"
    environ = {**os.environ, "MEMORY_FILE_PATH": str(path)}
    server = subprocess.Popen(
        [PROGRAMS / "mcp-server-memory"],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    calls = [
        ("initialize", HELLO),
        ("tools/call", {"name": "create_entities", "arguments": {"entities": [ADA]}}),
        ("tools/call", {"name": "create_relations", "arguments": {"relations": [KNOWS]}}),
    ]
    try:
        for number, (method, params) in enumerate(calls):
            asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            server.stdin.write(json.dumps(asked) + "\n")
            server.stdin.flush()
            assert "result" in json.loads(server.stdout.readline())
            if not number:
                server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    finally:
        server.stdin.close()
        server.stdout.close()
        server.kill()
        server.wait()
    return path


def test_its_graph_comes_in(graph):
    """An entity and a relation."""
    taken, left = read("server-memory", graph)
    assert not left
    assert [each.text for each in taken] == ["Ada (person)\n- likes tea", "Ada knows Ada"]
