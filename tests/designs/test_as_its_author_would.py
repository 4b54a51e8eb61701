"""The first calls of each design, as its author would make them: its environment, names and folders."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.doors.raw_server import RawServer
from tests.patience import until

from commonplace.aio import JournalStorage
from commonplace.memory import Memory
from commonplace_testing import FrozenClock

FIVE_THOUGHTS = {
    "feelings": "Relieved that the sea wall held.",
    "project_notes": "The harbour log wants WAL.",
    "user_context": "Ada likes short answers.",
    "technical_insights": "A lock is no queue.",
    "world_knowledge": "Tides follow the moon.",
}
TWO_SEGMENTS = re.compile(r"\d{4}-\d\d-\d\d/\d\d-\d\d-\d\d-\d{6}\.md")


@pytest.fixture
def server(monkeypatch):
    """Servers of one journal's tools, in the project's folder, as a client starts them."""
    running = []

    def start(toolset="", *, command=("mcp",), **environ):
        for name, value in environ.items():
            monkeypatch.setenv(name, str(value))
        flags = ("--toolsets", toolset) if toolset else ()
        running.append(RawServer(*flags, cwd=Path.cwd(), command=command))
        running[-1].handshake()
        return running[-1]

    yield start
    for each in running:
        each.__exit__()


def names_of(server):
    return [tool["name"] for tool in server.ask("tools/list")["result"]["tools"]]


@pytest.mark.design(
    *("000-02", "000-03", "000-07", "000-17", "000-19", "000-21", "000-28", "000-29"),
    *("000-31", "000-32", "000-36", "000-37", "000-38", "000-39", "000-40", "000-42"),
    *("000-43", "000-55", "000-68", "000-69", "000-70"),
)
def test_the_private_journal(server):
    """Five thoughts go into two folders, are found and read; what has no vector gets one."""
    journal = server("private")
    user, project = Path.home() / ".private-journal", Path.cwd() / ".private-journal"
    assert names_of(journal)[:4] == [
        *("process_thoughts", "search_journal", "read_journal_entry", "list_recent_entries")
    ]
    said = journal.text("process_thoughts", FIVE_THOUGHTS)
    assert said.startswith("Thoughts recorded successfully.")
    (mine,), (theirs,) = user.rglob("*.md"), project.rglob("*.md")
    assert TWO_SEGMENTS.fullmatch(mine.relative_to(user).as_posix())
    assert FIVE_THOUGHTS["project_notes"] in theirs.read_text()
    headings = re.findall("^## (.*)$", mine.read_text(), re.MULTILINE)
    assert headings == ["Feelings", "User Context", "Technical Insights", "World Knowledge"]

    # A search waits a second or two for a vector: a busy machine may take longer to make the first.
    for entry in (mine, theirs):
        until(entry.with_suffix(".embedding").is_file, "the vectors of the first entries")
    found = journal.call("search_journal", {"query": "how did the storm go"})
    assert found["structuredContent"]["results"][0]["path"] == str(mine)
    only = {"query": "log", "limit": 1, "type": "project", "sections": ["project notes"]}
    (hit,) = journal.call("search_journal", only)["structuredContent"]["results"]
    assert hit["path"] == str(theirs)
    assert mine.read_text().strip() in journal.text("read_journal_entry", {"path": str(mine)})
    no_day = user / "drafts"
    no_day.mkdir()
    (no_day / mine.name).write_text(mine.read_text())
    assert journal.call("list_recent_entries")["structuredContent"]["count"] == 2
    last = {"limit": 1, "type": "user", "days": 30}
    listed = journal.call("list_recent_entries", last)["structuredContent"]["entries"]
    assert [entry["path"] for entry in listed] == [str(mine)]
    vector = json.loads(mine.with_suffix(".embedding").read_text())
    assert [*vector] == ["embedding", "text", "sections", "timestamp", "path"]
    assert len(vector["embedding"]) == 384
    assert sum(x * x for x in vector["embedding"]) == pytest.approx(1)
    assert vector["sections"] == headings
    assert vector["path"] == str(mine)
    journal.end()

    mine.with_suffix(".embedding").unlink()
    moved = server("private", JOURNAL_PATH=Path.home() / "notes")
    names_of(moved)
    until(mine.with_suffix(".embedding").is_file, "the vector that was missing")
    assert json.loads(mine.with_suffix(".embedding").read_text())["text"] == vector["text"]
    moved.text("process_thoughts", {"project_notes": "Elsewhere now."})
    assert [x.read_text().count("Elsewhere") for x in (Path.home() / "notes").rglob("*.md")] == [1]


@pytest.mark.design(
    *("001-02", "001-03", "001-07", "001-08", "001-10", "001-11", "001-12", "001-13"),
    *("001-14", "001-15", "001-16", "001-17", "001-18", "001-19", "001-20", "001-21"),
    *("001-22", "001-23", "001-24", "001-25", "001-26", "001-27", "001-30", "001-33"),
    *("001-35", "001-39", "001-51", "001-52"),
)
def test_the_git_journal(server):
    """A section grows by entries, its overview is replaced, and another session is refused."""
    place = Path.cwd() / "journal-data"
    subprocess.run(["git", "init", "-q", place], check=True)
    journal = server("notebook", COMMONPLACE_NOTEBOOK="./journal-data")
    section = "project-alpha/api-design"
    file = place / "project-alpha" / "api-design.md"
    journal.text("journal_toc", {"id": "", "depth": 1})
    first = "work_context: designing an API\n\n# Today\n\nREST it is."
    wrote = {"path": section, "entry": first, "summary": "REST"}
    written = journal.call("journal_write", wrote)["structuredContent"]
    log = ["git", "-C", str(place), "log", "--format=%H%n%B"]
    commit = subprocess.run(log, capture_output=True, text=True, check=True).stdout
    digest = commit.partition("\n")[0]
    assert "REST it is." in commit
    assert file.read_text() == "<!-- entry count: 1 -->\n"

    journal.text("journal_read", {"id": section})
    new = {"path": section, "entry": "Errors are JSON.", "overview": "# API\n\nREST, with JSON."}
    journal.text("journal_write", new)
    assert file.read_text() == "# API\n\nREST, with JSON.\n\n<!-- entry count: 2 -->\n"
    overview = journal.text("journal_read", {"id": section})
    assert "REST, with JSON." in overview
    assert "entry count" not in overview
    for id_ in (f"{section}#{digest}", f"{section}#{digest[:7]}", written["id"]):
        assert "REST it is." in journal.text("journal_read", {"id": id_})

    toc = journal.call("journal_toc", {"id": "project-alpha", "depth": 1})["structuredContent"]
    (child,) = toc["subsections"]
    assert (child["id"], child["entry_count"]) == (section, 2)
    assert {"type", "last_updated"} <= child.keys()
    paged = {"path": section, "start": 0, "length": 10}
    entries = journal.call("journal_list_entries", paged)["structuredContent"]["entries"]
    assert [entry["summary"] for entry in entries] == ["Errors are JSON.", "REST"]
    assert {"id", "timestamp"} <= entries[0].keys()
    asked = {"work_context": "designing an API", "content": "errors", "salience_threshold": 0.5}
    hit = journal.call("journal_search", asked)["structuredContent"]["results"][0]
    assert {"id", "content", "combined_score", "timestamp"} <= hit.keys()
    assert {"work_context_score", "content_score"} <= hit.keys()

    other = server("notebook")
    unread = other.ask(
        "tools/call",
        {"name": "journal_write", "arguments": {**new, "overview": "# API\n\nSOAP."}},
    )["result"]
    assert unread["isError"]
    assert "SOAP" not in file.read_text()
    other.text("journal_read", {"id": section})
    other.text("journal_write", {**new, "overview": "# API\n\nREST, and problem+json."})
    both = {"version_a": "# API\n\nREST.", "version_b": "# API\n\nJSON.", "work_context": "merging"}
    merged = other.text("journal_synthesize_conflict", {"section": section, **both})
    assert "REST." in merged
    assert "JSON." in merged


@pytest.mark.design(
    *("002-01", "002-04", "002-05", "002-06", "002-09", "002-11", "002-20", "002-30"),
    *("002-37", "002-40", "002-41", "002-43", "002-58", "002-59"),
)
def test_memory(server):
    """What the application keeps is found by `memory.search`, also what it writes by itself."""
    with Memory("me") as memory:
        memory.save_message("user", "My sister lives in Ipoh.")
        memory.save_message("assistant", "Ipoh is known for its white coffee.")
        memory.save_journal("Evening", "Walked home along the river.", is_draft=True)
        memory.save_todo("Buy cables for lab")
        memory.save_gratitude("A quiet morning")
        memory.save_preferences(language="en", religion="general")
    (database,) = Path.home().rglob("memory.db")
    with sqlite3.connect(database) as its_own:
        its_own.execute(
            "INSERT INTO wb_message (id, user_id, role, content, created_at)"
            " VALUES ('m-1', 'me', 'user', 'The ferry leaves at noon.', '2026-01-01T10:00:00.000000Z')"
        )
    its_own.close()
    search = server("memory", WB_EMBED_MODEL="miniLM")
    search_of = lambda **asked: search.call("memory.search", asked)["structuredContent"]  # noqa: E731

    payload = search_of(query="what do I need for the lab", filters={"kinds": ["todo"]}, top_k=8)
    payload = payload["payload"]
    assert payload["status"] == "ok"
    assert "duration_ms" in payload
    (hit,) = payload["results"]
    assert {"kind", "ref_id", "snippet", "score", "created_at"} <= hit.keys()
    assert (hit["kind"], hit["snippet"]) == ("todo", "Buy cables for lab")
    first = {
        question: search_of(query=question)["payload"]["results"][0]["snippet"]
        for question in ("sister", "white coffee", "quiet morning", "religion", "ferry")
    }
    assert first == {
        "sister": "(user) My sister lives in Ipoh.",
        "white coffee": "(assistant) Ipoh is known for its white coffee.",
        "quiet morning": "A quiet morning",
        "religion": "language=en; religion=general",
        "ferry": "(user) The ferry leaves at noon.",
    }
    assert not search_of(query="river", filters={"kinds": ["journal"]})["payload"]["results"]
    with sqlite3.connect(database) as its_own:
        logged = its_own.execute("SELECT tool, status FROM wb_tool_invocation_log").fetchall()
        tables = {row[0] for row in its_own.execute("SELECT name FROM sqlite_master")}
    its_own.close()
    assert logged == [("memory.search", "ok")] * 7
    assert "wb_activity_event" not in tables


@pytest.mark.design(
    *("003-08", "003-09", "003-15", "003-33", "003-35", "003-64", "003-65", "003-67"),
    *(
        "003-68",
        "003-69",
        "003-71",
        "003-72",
        "003-73",
        "003-74",
        "003-76",
        "003-77",
        "003-78",
        "003-21",
    ),
)
def test_the_timeline(tmp_path):
    """Entries of a February, asked for in March by the design's own four questions."""
    clock = FrozenClock(datetime(2025, 2, 4, 10, 15, 30, tzinfo=UTC))
    alice = "http_http_alice"
    metadata = {
        "source": "user_message",
        "message_id": "msg_456",
        "projects": ["work_log"],
        "action": "create_tdb_table",
        "tools_used": ["create_tdb_table"],
    }

    async def calls(journal):
        table = "Created work_log table with columns: date, task, duration"
        entry = await journal.add_entry(alice, table, metadata=metadata)
        await journal.add_entry(alice, "Alice is a product manager", entry_type="profile_snapshot")
        hour = (clock.at - timedelta(hours=1), clock.at + timedelta(hours=1))
        profile, raw = await journal.get_time_range(alice, *hour, rollup_level=0)
        assert profile["entry_type"] == "profile_snapshot"
        assert (raw["id"], raw["content"], raw["rollup_level"]) == (entry, table, 0)
        assert raw["metadata"]["message_id"] == "msg_456"
        clock.at = now = datetime(2025, 2, 12, 9, tzinfo=UTC)
        ago = now - timedelta(days=9)
        week = await journal.search(
            alice, "What was I working on?", time_range=(ago, now), entry_types=["weekly_rollup"]
        )
        assert [each["id"] for each in week] == ["rollup_weekly_2025W06"]
        going = "project status progress blockers issues"
        assert await journal.search(alice, going, time_range=(ago, now), limit=5)
        feb, mar = datetime(2025, 2, 1, tzinfo=UTC), datetime(2025, 3, 1, tzinfo=UTC)
        clock.at = mar + timedelta(days=2)
        months = await journal.get_time_range(alice, start=feb, end=mar, rollup_level=4)
        assert [each["id"] for each in months] == ["rollup_monthly_202502"]
        done = "accomplishments achievements completed"
        kinds = ["monthly_rollup", "weekly_rollup"]
        assert await journal.search(alice, done, time_range=(feb, mar), entry_types=kinds)
        hour = await journal.get_rollup(alice, "hourly", datetime(2025, 2, 4, 10, 15, tzinfo=UTC))
        assert hour["id"] == "rollup_hourly_20250204_10"
        assert hour["metadata"]["source_entries"] == [entry]
        assert await journal.get_rollup(alice, "daily") is None  # today still goes on
        profile = await journal.get_profile_snapshot(alice)
        assert profile["content"] == "Alice is a product manager"
        assert await journal.get_profile_snapshot("http_http_bob") is None
        memories = journal.timeline(alice).memories()
        memories.create_memory("Prefers brief responses", type="fact")
        assert [x["content"] for x in memories.list_memories()] == ["Prefers brief responses"]
        remembered = await journal.search(alice, "", entry_types=["profile_snapshot", "fact"])
        assert [x["content"] for x in remembered] == [
            "Prefers brief responses",
            "Alice is a product manager",
        ]
        (by_name, *_) = await journal.search(alice, "profile snapshot")
        assert by_name["entry_type"] == "profile_snapshot"
        listed = await journal.get_time_range(alice, feb, feb + timedelta(days=5), 0)
        assert [x["parent_id"] for x in listed] == [None, "rollup_hourly_20250204_10"]

    async def use():
        async with JournalStorage(home=tmp_path / "data", timezone="UTC", clock=clock) as journal:
            await calls(journal)

    asyncio.run(use())
    assert len([*(tmp_path / "data").glob("users/*/journal/journal.db")]) == 1


@pytest.mark.design(
    *("004-01", "004-02", "004-03", "004-04", "004-07", "004-08", "004-09", "004-10", "004-11"),
    *("004-12", "004-13", "004-14", "004-15", "004-18", "004-19", "004-20", "004-22"),
    *("004-23", "004-25", "004-27", "004-28", "004-29", "004-31", "004-33", "004-42"),
    *("004-44", "004-45"),
)
def test_chronicle(server):
    """Six tools, four resources and a prompt, of the database that its command line has."""
    log = server(command=("chronicle", "mcp"))
    assert names_of(log) == [
        *("add_entry", "list_entries", "search_entries"),
        *("remember_this", "what_was_i_doing", "find_when_i"),
    ]
    added = log.call("add_entry", {"message": "deployed the api", "tags": ["deployment"]})
    entry = added["structuredContent"]
    assert entry["id"]
    assert entry["at"]
    assert "Entry created" in added["content"][0]["text"]
    fixed = {"activity": "fixed the login bug", "context": "nobody could sign in"}
    assert log.call("remember_this", fixed)["structuredContent"]["tags"] == ["bug-fix"]

    newest, former = log.call("list_entries", {"limit": 10})["structuredContent"]["entries"]
    assert newest["message"] == "fixed the login bug (nobody could sign in)"
    assert (former["message"], former["tags"]) == ("deployed the api", ["deployment"])
    asked = {"text": "deploy", "tags": ["deployment"], "since": "yesterday", "until": "today"}
    found = log.call("search_entries", {**asked, "limit": 20})["structuredContent"]["entries"]
    assert [each["id"] for each in found] == [entry["id"]]
    for timeframe in ("today", "last 3 hours", "this week"):
        assert "deployed the api" in log.text("what_was_i_doing", {"timeframe": timeframe})
    assert "deployed the api" not in log.text("what_was_i_doing", {"timeframe": "yesterday"})
    assert "deployed the api" in log.text("find_when_i", {"what": "when did I deploy the api"})

    def read(uri):
        return log.ask("resources/read", {"uri": uri})["result"]["contents"][0]["text"]

    recent = json.loads(read("chronicle://recent-activity"))["entries"]
    assert [each["id"] for each in recent] == [newest["id"], former["id"]]
    assert {"hostname", "username", "directory", "tags"} <= recent[0].keys()
    assert json.loads(read("chronicle://tags")) == {"bug-fix": 1, "deployment": 1}
    assert "## deployment" in read("chronicle://today-summary")
    context = json.loads(read("chronicle://project-context"))
    assert context["has_project_config"] is False
    assert len(context["entries"]) == 2
    prompt = log.ask("prompts/get", {"name": "chronicle-getting-started"})["result"]
    assert "deploy" in prompt["messages"][0]["content"]["text"]

    database = Path.home() / ".local" / "share" / "chronicle" / "chronicle.db"
    with sqlite3.connect(database) as its_own:
        assert its_own.execute("SELECT count(*) FROM entries").fetchone() == (2,)
    its_own.close()
    elsewhere = Path.home() / "elsewhere.db"
    moved = server(command=("chronicle", "mcp", "serve"), CHRONICLE_DB_PATH=elsewhere)
    moved.text("add_entry", {"message": "moved"})
    assert elsewhere.is_file()
