"""claude-mem and mcp-memory-service: their databases are read without a touch, running or not."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from tests.importers.reading import read, written

from commonplace.core.errors import Invalid

MEMORIES = """CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL, content TEXT NOT NULL,
    tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL,
    created_at_iso TEXT, updated_at_iso TEXT, deleted_at REAL DEFAULT NULL);
    CREATE TABLE memory_graph (source_hash TEXT, target_hash TEXT, similarity REAL)"""
OBSERVED = """CREATE TABLE observations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT, project TEXT, text TEXT,
    type TEXT, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT,
    created_at TEXT, created_at_epoch INTEGER);
    CREATE TABLE session_summaries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT, project TEXT, request TEXT,
    investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT,
    created_at TEXT, created_at_epoch INTEGER);
    CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, prompt_text TEXT)"""
ENDLESS = """CREATE VIEW {0} AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
    SELECT count(*) AS x FROM n"""
AT = datetime(2024, 5, 3, 9, 30, tzinfo=UTC)
ADD = "INSERT INTO memories (content_hash, content, tags, created_at) VALUES (?, ?, ?, ?)"


@pytest.fixture
def memories(tmp_path):
    """A database of mcp-memory-service's with one memory."""
    path = tmp_path / "data" / "sqlite_vec.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(MEMORIES)
        database.execute(ADD, ("h1", "Ada likes tea.", "tea,person", AT.timestamp()))
    return path


def listing(folder):
    """The files of a folder with their bytes and times."""
    return {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in folder.iterdir()}


def test_memories_keep_time_tags_and_hash(memories):
    """A directory names the database in it; nothing there is touched."""
    before = listing(memories.parent)
    (entry,), left = read("mcp-memory-service", memories)
    assert (entry.id, entry.text, entry.at) == ("h1", "Ada likes tea.", AT)
    assert (entry.tags, entry.kind) == (("tea", "person"), "memory")
    assert not left
    assert read("mcp-memory-service", memories.parent)[0] == [entry]
    assert listing(memories.parent) == before


def test_deleted_ones_and_links_are_left_out(memories):
    """And rows whose values are of other kinds, each with its row."""
    with closing(sqlite3.connect(memories)) as database, database:
        database.execute("UPDATE memories SET deleted_at = 1.0")
        database.execute("INSERT INTO memory_graph VALUES ('h1', 'h2', 0.5)")
        database.execute(ADD, ("h2", b"\xff\x00", "", 1.0))
        database.execute(ADD, ("h3", "Late", "", "soon"))
        database.execute(ADD, ("h4", "No time", None, None))
    taken, left = read("mcp-memory-service", memories)
    assert [(each.id, each.at, each.is_dated) for each in taken] == [("h4", None, False)]
    assert [(each.why, each.where) for each in left] == [
        ("deleted there", "row 1 of memories"),
        ("its content is not a text", "row 2 of memories"),
        ("its created_at is not a time", "row 3 of memories: 'soon' is not a time"),
        ("links between memories", ""),
    ]


def test_what_a_newer_memory_replaced_is_left_out(memories):
    """As the program itself finds only the newest; an empty column says nothing."""
    with closing(sqlite3.connect(memories)) as database, database:
        database.execute("ALTER TABLE memories ADD COLUMN superseded_by TEXT")
        database.execute(ADD, ("h2", "Ada likes coffee.", "", 1.0))
        database.execute("UPDATE memories SET superseded_by = 'h2' WHERE content_hash = 'h1'")
        database.execute("UPDATE memories SET superseded_by = '' WHERE content_hash = 'h2'")
    taken, left = read("mcp-memory-service", memories)
    assert [each.id for each in taken] == ["h2"]
    assert [(each.why, each.where) for each in left] == [
        ("replaced there by a newer memory", "row 1 of memories")
    ]


def test_what_a_running_program_wrote_last_is_read(memories):
    """It stands in the log alone, which stays as it is; a lock does not matter."""
    with closing(sqlite3.connect(memories, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("BEGIN IMMEDIATE")
        database.execute(ADD, ("h2", "Bread", "", 1.0))
        database.execute("COMMIT")
        database.execute("BEGIN IMMEDIATE")
        database.execute(ADD, ("h3", "Not yet", "", 1.0))
        before = listing(memories.parent)
        assert [each.id for each in read("mcp-memory-service", memories)[0]] == ["h1", "h2"]
        assert listing(memories.parent) == before
        database.execute("ROLLBACK")


def test_a_transaction_that_was_cut_off_is_rolled_back_in_a_copy(memories):
    """As the program itself would do it; its own files stay."""
    with closing(sqlite3.connect(memories, isolation_level=None)) as database:
        database.execute("PRAGMA cache_size = 1")
        database.execute("BEGIN EXCLUSIVE")
        for number in range(200):
            database.execute(ADD, (f"x{number}", "x" * 4000, "", 1.0))
        folder = memories.parent / "cut"
        folder.mkdir()
        for end in ("", "-journal"):
            (folder / f"a.db{end}").write_bytes(
                (memories.parent / f"{memories.name}{end}").read_bytes()
            )
        database.execute("ROLLBACK")
    before = listing(folder)
    assert [each.id for each in read("mcp-memory-service", folder / "a.db")[0]] == ["h1"]
    assert listing(folder) == before


def test_what_is_no_such_database_is_named(memories, tmp_path):
    """With what is there instead, and the next step."""
    with pytest.raises(Invalid, match="is not a SQLite database"):
        read("claude-mem", written(tmp_path / "a.db", "hello"))
    with pytest.raises(Invalid, match="has no table `observations`") as caught:
        read("claude-mem", memories)
    assert "Tables there: memories, memory_graph" in caught.value.hint
    with closing(sqlite3.connect(memories)) as database, database:
        database.execute("ALTER TABLE memories RENAME COLUMN content TO words")
    with pytest.raises(Invalid, match="has no column `content` in `memories`"):
        read("mcp-memory-service", memories)


@pytest.mark.parametrize(
    ("program", "table"),
    [
        ("mcp-memory-service", "memories"),
        ("claude-mem", "observations"),
        ("claude-mem", "user_prompts"),
    ],
)
def test_a_view_is_no_table(tmp_path, program, table):
    """One that never ends would keep an import busy for ever: it is not asked."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(MEMORIES + ";" + OBSERVED)
        database.executescript(f"ALTER TABLE {table} RENAME TO kept; {ENDLESS.format(table)}")
    if table == "user_prompts":  # what is not needed is as if it were not there
        assert read(program, path) == ([], [])
        return
    with pytest.raises(Invalid, match=f"has no table `{table}`"):
        read(program, path)


def test_a_damaged_database_gives_what_can_be_read_then_an_error(memories):
    """Never a crash."""
    with closing(sqlite3.connect(memories)) as database, database:
        for number in range(500):
            database.execute(ADD, (f"x{number}", "x" * 500, "", 1.0))
    with memories.open("r+b") as file:
        file.seek(os.path.getsize(memories) // 2)
        file.write(b"\xff" * 40_000)
    with pytest.raises(Invalid, match="cannot be read: database disk image is malformed"):
        read("mcp-memory-service", memories)


def test_observations_and_summaries_are_entries(tmp_path):
    """With project, session and concepts; prompts are left out and counted."""
    path = tmp_path / "claude-mem.db"
    millis = int(AT.timestamp() * 1000)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(OBSERVED)
        database.execute(
            "INSERT INTO observations (memory_session_id, project, type, title, facts, narrative,"
            " concepts, created_at_epoch) VALUES ('s1', 'api', 'bugfix', 'The lock is stale', ?,"
            " 'A crash left it.', ?, ?)",
            (json.dumps(["It is a file"]), json.dumps(["locks"]), millis),
        )
        database.execute(
            "INSERT INTO observations (text, created_at_epoch, facts) VALUES ('', 1, '{')"
        )
        database.execute(
            "INSERT INTO session_summaries (project, request, learned, created_at_epoch)"
            " VALUES ('api', 'Fix it', 'Locks age', ?)",
            (millis,),
        )
        database.execute("INSERT INTO user_prompts VALUES (1, 'fix')")
    taken, left = read("claude-mem", path)
    assert [(each.text, each.kind, each.at) for each in taken] == [
        ("The lock is stale\n\nA crash left it.\n\n- It is a file", "bugfix", AT),
        ("Asked: Fix it\nLearned: Locks age", "summary", AT),
    ]
    assert taken[0].tags == ("locks",)
    assert taken[0].metadata == {"projects": ["api"], "session": "s1"}
    assert [(each.why.partition(" (")[0], each.count) for each in left] == [
        ("there is no text in it", 1),
        ("prompts", 1),
    ]
