"""The real jrnl, basic-memory and mcp-memory-service write, and what they wrote comes in.

`make test-long` installs each in an environment of its own. None of them reaches a network here:
the two servers run without an embedding model, which only their own searches would use.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.doors.terminal import facts, run
from tests.importers.serving import served
from tests.patience import PATIENCE_S

TOOLS = Path(__file__).parents[3] / ".tools"

WITH_EXTENSIONS = """
import sys
try:
    import pysqlite3
except ImportError:
    pass
else:
    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2
from mcp_memory_service.server import main
main()
"""
"""The server with a sqlite3 that loads extensions, which that of many Pythons does not."""


class Jrnl:
    """The command `jrnl`, with the journal that its first call makes."""

    into = "private"

    def __init__(self, program):
        self._program = program / "jrnl"
        self.path = Path(os.environ["XDG_DATA_HOME"]) / "jrnl" / "journal.txt"

    def _call(self, *words, answers=""):
        subprocess.run(
            [self._program, *words], input=answers, text=True, check=True, timeout=PATIENCE_S
        )

    def write(self):
        """Entries of four days, one of which looks like two."""
        no_password, no_colours = "n", "n"
        self._call(
            "2024-05-03 09:30: Walked to the harbour. It was cold, être — ☕ @sea",
            answers=f"\n{no_password}\n{no_colours}\n",
        )
        self._call('2024-05-04 22:00: *Bread. Baked "twice" \\t with {rye} 🥖 @food @été')
        self._call("2024-05-05 07:00: Lists.\n[x] done\n\n[not a time] [[Tea]] 日本語 @日本")
        self._call("2025-12-31 23:59: Happy new year! #2026")
        return {
            "harbour": (
                "Walked to the harbour.\nIt was cold, être — ☕ @sea",
                "2024-05-03T09:30",
                [],
            ),
            "bread": (
                'Bread.\nBaked "twice" \\t with {rye} 🥖 @food @été',
                "2024-05-04T22:00",
                ["starred"],
            ),
            "lists": (
                "Lists.\n[x] done\n\n[not a time] [[Tea]] 日本語 @日本",
                "2024-05-05T07:00",
                [],
            ),
            "happy": ("Happy new year!\n#2026", "2025-12-31T23:59", []),
        }

    def change(self):
        """An entry is edited; another is written."""
        editor = ["--config-override", "editor", "sed -i s/twice/thrice/"]
        self._call("-on", "2024-05-04", *editor, "--edit")
        self._call("2026-02-03 10:00: Herring again.")
        return "bread", "thrice"


class BasicMemory:
    """The MCP server `basic-memory mcp`."""

    into = "timeline"

    def __init__(self, server, path):
        self._server = server
        self.path = path

    def _write(self, title, content, tags, *, created="", **more):
        self._server.call(
            "write_note",
            title=title,
            directory="notes",
            content=content,
            tags=tags,
            metadata={"created": created} if created else None,
            **more,
        )

    def write(self):
        """Notes with the titles and tags that YAML must quote, and one too long for its line."""
        long = "A title that is so long that it takes more than one line of what is written: " * 2
        tea = 'Tea: it\'s "good" — ☕'
        green = "Ada drinks it green.\n\n- [method] Two minutes #brewing (from Bo)\n- relates_to [[Milk]]"
        self._write(
            tea,
            green,
            ["food", "été", "yes", "12:30", "a: b", "it's"],
            created="2024-05-03T09:30:00+02:00",
        )
        self._write(long.strip(), "Herring.", ["日本"], created="2024-05-04 22:00")
        self._write("back\\slash\ttab", "Odd \\ characters.\n\n---\n\nbelow a rule", [])
        os.utime(next(self.path.rglob("back*.md")), (1_700_000_000, 1_700_000_000))
        return {
            "green": (
                f"# {tea}\n\n{green}",
                "2024-05-03T07:30",
                ["food", "été", "yes", "12:30", "a: b", "it's", "brewing"],
            ),
            "herring": (f"# {long.strip()}\n\nHerring.", "2024-05-04T22:00", ["日本"]),
            "characters": (
                "# back\\slash\ttab\n\nOdd \\ characters.\n\n---\n\nbelow a rule",
                "2023-11-14T22:13",
                [],
            ),
        }

    def change(self):
        """A note is edited by its tool; another is written."""
        self._server.call(
            "edit_note",
            identifier='Tea: it\'s "good" — ☕',
            operation="find_replace",
            find_text="green",
            content="black, not green",
        )
        self._write("Milk", "Goes in last.", [])
        return "green", "black"


class MemoryService:
    """The MCP server `memory server`, with the vectors by hashes that it makes without a model."""

    into = "timeline"

    def __init__(self, server, path):
        self._server = server
        self.path = path

    def _store(self, content, *, at="", **metadata):
        said = self._server.call("memory_store", content=content, metadata=metadata)
        found = re.search(r"hash: ([0-9a-f]{64})", said)
        assert found, said
        if at:
            self._set_time(found[1], at)
        return found[1]

    def _set_time(self, memory, at):
        instant = datetime.fromisoformat(at).replace(tzinfo=UTC)
        times = {"created_at": instant.timestamp(), "created_at_iso": instant.isoformat()}
        self._update(memory, preserve_timestamps=False, updates=times)

    def _update(self, memory, **more):
        return self._server.call("memory_update", content_hash=memory, **more)

    def write(self):
        """Memories of three days, one that is deleted there, and one that a newer one replaced."""
        self._tea = self._store(
            "Ada likes tea — ☕ être 日本語",
            at="2024-05-03T09:30",
            tags=["tea", "été", "two words"],
            type="note",
            mood={"calm": 1},
        )
        self._store('Herring\n\n"boats"\tcame \\ in {1}', at="2024-05-04T22:00", tags="sea,日本")
        self._store("Bread with rye 🥖", at="2025-01-01T00:00", tags=[])
        gone = self._store("To be deleted at once: a wheelbarrow.")
        self._server.call("memory_delete", content_hash=gone)
        old = self._store("Coffee comes on Mondays.")
        newer = {"content": "Coffee comes on Fridays.", "tags": ["shop"]}
        said = self._update(old, versioned=True, updates=newer)
        self._set_time(
            *[x for x in re.findall("[0-9a-f]{64}", said) if x != old][:1], "2025-03-04T05:06"
        )
        return {
            "coffee": ("Coffee comes on Fridays.", "2025-03-04T05:06", ["shop"]),
            "tea": (
                "Ada likes tea — ☕ être 日本語",
                "2024-05-03T09:30",
                ["tea", "été", "two words"],
            ),
            "herring": ('Herring\n\n"boats"\tcame \\ in {1}', "2024-05-04T22:00", ["sea", "日本"]),
            "bread": ("Bread with rye 🥖", "2025-01-01T00:00", ["untagged"]),
        }

    def change(self):
        """A memory has other tags; another is stored. Its content is its identity there."""
        self._update(self._tea, updates={"tags": ["tea", "kettle"]})
        self._store("Milk goes in last.")
        return "tea", "kettle"


@contextmanager
def opened(name, folder):
    """A program, whose server runs as long as its test."""
    program = TOOLS / name / "bin"
    if not (program / "python").exists():
        pytest.skip(f"{name} is not installed: `make test-long` does it, where it can.")
    if name == "jrnl":
        yield Jrnl(program)
    elif name == "basic-memory":
        path = folder / "basic-memory"
        settings = {
            "BASIC_MEMORY_HOME": str(path),
            "BASIC_MEMORY_AUTO_UPDATE": "false",
            "BASIC_MEMORY_NO_PROMOS": "1",
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
        }
        with served([program / "basic-memory", "mcp"], **settings) as server:
            yield BasicMemory(server, path)
    else:
        path = folder / "memories" / "sqlite_vec.db"
        settings = {
            "MCP_MEMORY_BASE_DIR": str(path.parent),
            "MCP_MEMORY_SQLITE_PATH": str(path),
            "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
            "MCP_MEMORY_ALLOW_HASH_EMBEDDINGS": "1",
            "MCP_MEMORY_ONNX_ALLOW_DOWNLOAD": "0",
            "HF_HUB_OFFLINE": "1",
        }
        with served([program / "python", "-c", WITH_EXTENSIONS], **settings) as server:
            yield MemoryService(server, path)


@pytest.fixture(params=["jrnl", "basic-memory", "mcp-memory-service"])
def name(request):
    """Of a program in the table of those that are imported."""
    return request.param


@pytest.fixture
def program(name, tmp_path, no_weights):
    """The real one."""
    with opened(name, tmp_path) as started:
        yield started


def said(entry):
    """The text, the minute and the tags of an entry; the private journal has a frontmatter."""
    front, body, tags = "", entry["text"], entry["tags"]
    if entry["journal"] == "private":
        front, body = body.removeprefix("---\n").split("\n---\n", 1)
        tags = [
            x for line in re.findall("^tags: (.*)$", front, re.MULTILINE) for x in line.split(", ")
        ]
    return body.strip(), entry["at"][:16], tags


def found(word):
    """The entry that is found first by a word, whole."""
    return facts("open", facts("recall", word)["items"][0]["ref"])


@pytest.mark.long
def test_what_the_real_program_wrote_comes_in(name, program):
    """Text, time and tags; once; a change there is taken over; what is deleted here stays so."""
    wrote = program.write()
    words = ("import", name, str(program.path))
    look = facts(*words, "--dry-run")
    assert (look["new"], look["into"]) == (len(wrote), program.into), look
    assert not facts("list")["items"]
    done = facts(*words)
    assert (done["new"], done["items"]) == (look["new"], look["items"])
    refs = {}
    for word, expected in wrote.items():
        entry = found(word)
        refs[word] = entry["ref"]
        assert said(entry) == expected
        assert entry["origin"].startswith(f"{name}, ")
    again = facts(*words)
    assert (again["new"], again["there"], again["updated"]) == (0, len(wrote), 0)

    run("delete", refs[list(wrote)[-1]], "--yes")
    changed, now_says = program.change()
    after = facts(*words)
    assert (after["new"], after["updated"], after["deleted_here"]) == (1, 1, 1), after
    text, _, tags = said(facts("open", refs[changed]))
    assert now_says in text or now_says in tags
    again = facts(*words)
    assert (again["new"], again["updated"], again["deleted_here"]) == (0, 0, 1)
