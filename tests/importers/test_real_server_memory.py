"""The real server-memory writes a graph, and it comes in."""

from __future__ import annotations

from tests.doors.npm import PROGRAMS, needs_npm
from tests.importers.reading import read
from tests.importers.serving import served

pytestmark = needs_npm

ADA = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
KNOWS = {"from": "Ada", "to": "Ada", "relationType": "knows"}


def test_its_graph_comes_in(tmp_path):
    """An entity and a relation."""
    path = tmp_path / "memory.jsonl"
    with served([PROGRAMS / "mcp-server-memory"], MEMORY_FILE_PATH=str(path)) as server:
        server.call("create_entities", entities=[ADA])
        server.call("create_relations", relations=[KNOWS])
    taken, left = read("server-memory", path)
    assert not left
    assert [each.text for each in taken] == ["Ada (person)\n- likes tea", "Ada knows Ada"]
