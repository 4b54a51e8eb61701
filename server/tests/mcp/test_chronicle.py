"""Chronicle through the SDK's client: tools, pages, prompts and errors; and through servers at once."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from msgspec import Struct, field
from tests.doors.raw_server import RawServer, call_of
from tests.doors.terminal import opened_app
from tests.patience import PATIENCE_S
from tests.proof.faults import Faults

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import Client

    from commonplace_testing import FrozenClock

NOTHING = "No entries found matching criteria."
PAGES = ["recent-activity", "tags", "today-summary", "project-context"]
PROMPTS = ["chronicle-getting-started", "daily-standup", "weekly-review"]


@pytest.fixture
def database(tmp_path) -> Path:
    """Where a new user's database is made."""
    return tmp_path / "home" / ".local" / "share" / "chronicle" / "chronicle.db"


@pytest.fixture
def start(tmp_path, words_only):
    """Starts servers in the project, each after its handshake."""
    with contextlib.ExitStack() as running:

        def start_(**env):
            server = RawServer(cwd=tmp_path / "project", env=env)
            running.enter_context(server).handshake()
            return server

        yield start_


def messages(result) -> list[str]:
    """The messages of a raw answer, of which the text holds each."""
    entries = result["structuredContent"]["entries"]
    assert all(entry["message"] in result["content"][0]["text"] for entry in entries)
    return [entry["message"] for entry in entries]


def rows(database: Path, sql: str) -> list[tuple]:
    """What a plain connection reads."""
    with contextlib.closing(sqlite3.connect(database)) as conn:
        return conn.execute(sql).fetchall()


@pytest.mark.design("004-04", "004-41")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_uses_tools_pages_and_prompts(client, mode):
    """Six tools, four pages and three prompts, through the official client."""

    async def scenario():
        async with client("chronicle,recall", mode=mode) as session:
            added = await session.call_tool(
                "add_entry", {"message": "deployed v2.1.0", "tags": ["release"]}
            )
            assert added.content[0].text.startswith("Entry created: chronicle:")
            identity = added.structured_content["id"]
            told = await session.call_tool("remember_this", {"activity": "fixed the login bug"})
            assert told.structured_content["tags"] == ["bug-fix"]
            for tool, arguments in [
                ("list_entries", {}),
                ("search_entries", {"text": "v2.1.0", "since": "today"}),
                ("what_was_i_doing", {}),
                ("find_when_i", {"what": "when did I last deploy v2.1.0"}),
            ]:
                answer = await session.call_tool(tool, arguments)
                assert not answer.is_error
                assert "deployed v2.1.0" in answer.content[0].text
                assert identity in [e["id"] for e in answer.structured_content["entries"]]
            listed = (await session.list_resources()).resources
            pages = [str(page.uri) for page in listed]
            assert pages == [
                *(f"chronicle://{name}" for name in PAGES),
                "commonplace://status",
                "ui://commonplace/search",
                "ui://commonplace/period",
            ]
            read = {
                name: (await session.read_resource(f"chronicle://{name}")).contents[0]
                for name in PAGES
            }
            assert json.loads(read["tags"].text) == {"bug-fix": 1, "release": 1}
            assert "deployed v2.1.0" in read["today-summary"].text
            assert read["today-summary"].mime_type == "text/markdown"
            assert json.loads(read["recent-activity"].text)["count"] == 2
            here = json.loads(read["project-context"].text)
            assert (here["has_project_config"], len(here["entries"])) == (False, 2)
            assert [p.name for p in (await session.list_prompts()).prompts] == PROMPTS
            for name in PROMPTS:
                prompt = await session.get_prompt(name)
                assert "what_was_i_doing" in prompt.messages[0].content.text

    anyio.run(scenario)


def test_the_next_step_stands_outside_of_the_fence(client):
    """What is inside is data to a model: there are the entries, and no note of ours."""

    async def scenario():
        async with client("chronicle,recall") as session:
            return await session.call_tool("find_when_i", {"what": "when did I restart the router"})

    fence, note = anyio.run(scenario).content[0].text.split("\n```\n")
    assert fence.endswith("```find_when_i\nNo entries found matching criteria.")
    assert (
        note == "\nNote: Only the log was searched; recall searches all that was said and written."
    )


@pytest.mark.design("004-34")
def test_each_tool_begins_with_its_journal_and_carries_its_effects(client):
    """The first word of a description is the journal; hosts see which tools write."""

    async def scenario():
        async with client("chronicle") as session:
            return (await session.list_tools()).tools

    tools = anyio.run(scenario)
    assert len(tools) == 6
    assert all(tool.description.startswith("Chronicle: ") for tool in tools)
    effects = {tool.name: tool.annotations for tool in tools}
    writing = {name for name, each in effects.items() if not each.read_only_hint}
    assert writing == {"add_entry", "remember_this"}
    assert effects["remember_this"].idempotent_hint is True
    assert all(effects[name].destructive_hint is False for name in writing)
    assert all(effects[name].destructive_hint is None for name in effects.keys() - writing)


def test_a_foreign_file_is_named_and_the_other_journal_goes_on(client, world):
    """Every chronicle tool and page tells the path; private entries are written and found."""
    database = world.chronicle_path
    database.parent.mkdir(parents=True)
    database.write_text("somebody else's notes")

    async def scenario():
        async with client("private,chronicle,recall") as session:
            for tool, arguments in [("add_entry", {"message": "x"}), ("list_entries", {})]:
                answer = await session.call_tool(tool, arguments)
                assert answer.is_error is True
                assert str(database) in answer.content[0].text
                assert "CHRONICLE_DB_PATH" in answer.structured_content["hint"]
            with pytest.raises(MCPError) as refused:
                await session.read_resource("chronicle://recent-activity")
            assert str(database) in refused.value.error.message
            await session.call_tool("process_thoughts", {"feelings": "The garden calms me."})
            found = await session.call_tool("search_journal", {"query": "garden"})
            assert "The garden calms me." in found.content[0].text

    anyio.run(scenario)
    assert database.read_text() == "somebody else's notes"


@pytest.fixture
def faults(tmp_path):
    return Faults(tmp_path / "faults")


def test_a_disk_that_cannot_be_written_is_named(start, faults, database):
    """Read-only and full: the path and the next step, no entry; reading goes on, then writing."""
    server = start(**faults.env)
    server.call("add_entry", {"message": "before"})
    for fault, words in [("EROFS", "read-only"), ("ENOSPC", "full")]:
        faults.plan(1, fault, "sqlite INSERT", ever=True)
        answer = server.call("add_entry", {"message": "lost"})
        assert faults.lift() == "sqlite INSERT"
        assert answer["isError"] is True
        assert str(database) in answer["content"][0]["text"]
        assert words in answer["content"][0]["text"]
        assert answer["structuredContent"]["hint"]
        assert messages(server.call("list_entries")) == ["before"]
    server.call("add_entry", {"message": "after"})
    assert messages(server.call("list_entries")) == ["after", "before"]


def test_two_servers_add_while_a_third_process_searches(start, database):
    """No entry is lost or twice, no search or recall fails, and the original's word index is whole.

    What both are told at the same time is logged once, and answered with one id.
    """
    servers = [start(), start()]
    reader = opened_app()
    search = reader.toolset("chronicle").tool("search_entries").call
    recall = reader.toolset("recall").tool("recall").call
    added = []

    def add(server, name):
        for number in range(15):
            answer = server.call("add_entry", {"message": f"watered bed {name}{number}"})
            added.append(not answer.get("isError"))

    adding = [threading.Thread(target=add, args=each) for each in zip(servers, "ab", strict=True)]
    for each in adding:
        each.start()
    counts = []
    while any(each.is_alive() for each in adding):
        counts.append(search({"text": "watered", "limit": 100}).facts["count"])
        recall({"query": "watered beds"})
    assert counts == sorted(counts)
    assert added == [True] * 30
    found = search({"text": "watered", "limit": 100}).facts["entries"]
    expected = sorted(f"watered bed {name}{number}" for name in "ab" for number in range(15))
    assert sorted(entry["message"] for entry in found) == expected
    assert sorted(x for (x,) in rows(database, "SELECT message FROM entries")) == expected
    rows(database, "INSERT INTO entries_fts(entries_fts, rank) VALUES('integrity-check', 1)")

    for number in range(4):
        asked = call_of("remember_this", {"activity": f"fixed bug {number}"})
        for server in servers:
            server.send("tools/call", asked)
        answers = [server.receive()["result"]["structuredContent"] for server in servers]
        assert answers[0]["id"] == answers[1]["id"]
        assert sorted(answer["repeated"] for answer in answers) == [False, True]
    assert rows(database, "SELECT count(*) FROM entries WHERE message LIKE 'fixed%'") == [(4,)]
    reader.close()


@pytest.mark.long
def test_death_between_row_and_index_heals_at_the_next_search(start, faults, database):
    """Killed before each commit in turn: what is in the database is found, what is not is not."""
    start().call("add_entry", {"message": "watered bed 0"})
    states, wanted = set(), {(False, False), (True, False)}
    for bed, nth in enumerate((1, 2, 3) * 4, 1):
        # Again, where what is done in the background had one of those commits.
        if nth == 1 and wanted <= states:
            break
        server = start(**faults.env)
        server.call("list_entries")
        faults.plan(nth, "kill", "sqlite COMMIT")
        message = f"watered bed {bed}"
        server.send("tools/call", {"name": "add_entry", "arguments": {"message": message}})
        answered = bool(server.receive())
        step = faults.lift()
        there = rows(database, f"SELECT id FROM entries WHERE message = '{message}'")
        assert answered <= bool(there)
        if step:
            server.process.wait(PATIENCE_S)
            states.add((bool(there), bool(there) and f"chronicle:{there[0][0]}" in filed()))
        fresh = start()
        found = messages(fresh.call("search_entries", {"text": message, "limit": 100}))
        assert (message in found) == bool(there)
        assert sorted(found) == sorted(x for (x,) in rows(database, "SELECT message FROM entries"))
    assert wanted <= states


def filed() -> set[str]:
    """The refs of chronicle's entries that the index holds now."""
    app = opened_app()
    try:
        return set(app.index.known().stamps("chronicle:"))
    finally:
        app.close()


# Five everyday conversations. A scripted stand-in takes the model's part: it sees only what a
# server lists, so each step proves that the tool is there, describes the situation and takes the
# arguments. Whether a real model would choose it is not measured here.


class ScriptedModel(Struct):
    """Picks a tool by the situation its description tells of, and calls it with what it takes."""

    session: Client
    clock: FrozenClock
    tools: dict[str, Any] = field(default_factory=dict)

    async def join(self) -> None:
        """Read what the server lists."""
        self.tools = {tool.name: tool for tool in (await self.session.list_tools()).tools}

    async def act(self, situation: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        """Call the one tool for the situation, a second later; its text and its facts."""
        self.clock.advance(1)
        fitting = [tool for tool in self.tools.values() if situation in self._words(tool)]
        assert len(fitting) == 1, situation
        schema = fitting[0].input_schema
        assert set(schema.get("required", [])) <= set(arguments) <= set(schema["properties"])
        answer = await self.session.call_tool(fitting[0].name, arguments)
        assert not answer.is_error, answer.content[0].text
        return answer.content[0].text, answer.structured_content

    @staticmethod
    def _words(tool: Any) -> str:
        return " ".join(tool.description.split())


async def finishing_work(model):
    """A deployment is logged unasked; later the user asks when it was."""
    _, logged = await model.act("log, unasked", activity="Deployed v2.1.0 to staging")
    assert logged["tags"] == ["deployment"]
    text, found = await model.act("'when did I deploy X'", what="when did I deploy v2.1.0?")
    assert found["entries"][0]["id"] == logged["id"]
    assert "(just now) Deployed v2.1.0 to staging" in text


async def taking_up_the_thread(model):
    """A new session begins with what was done; the log is empty, then it is not."""
    situation = "for 'where did I leave off' and 'what did I do today'"
    text, _ = await model.act(situation)
    assert NOTHING in text
    assert "Nothing was ever logged here." in text
    await model.act("log, unasked", activity="Decided to use WAL", context="locks under load")
    text, told = await model.act(situation, timeframe="last 3 hours")
    assert "Decided to use WAL (locks under load) [decision" in text
    assert told["count"] == 1


async def noting_on_request(model):
    """The user asks to note something, then to see recent work; a retried note is one entry."""
    note = {"message": "Lunch with Bo", "tags": ["people"], "idempotency_key": "note-1"}
    _, first = await model.act("asks to log, track or note", **note)
    _, again = await model.act("asks to log, track or note", **note)
    assert (first["id"], again["repeated"]) == (again["id"], True)
    text, listed = await model.act("'show my recent work'")
    assert [entry["message"] for entry in listed["entries"]] == ["Lunch with Bo"]
    assert "Lunch with Bo [people]" in text


async def preparing_the_standup(model):
    """The prompt names the tool; the answer has yesterday's entries, then the decisions."""
    await model.act("asks to log", message="Closed the till", at="yesterday 5pm")
    await model.act("asks to log", message="Chose oak shelves", tags=["Decision"])
    prompt = await model.session.get_prompt("daily-standup")
    assert "`what_was_i_doing` with `yesterday`" in prompt.messages[0].content.text
    text, _ = await model.act("tell what the user did in a time", timeframe="yesterday")
    assert "17:00 Closed the till" in text
    text, found = await model.act("find past activities", tags=["decision"], since="this week")
    assert [entry["message"] for entry in found["entries"]] == ["Chose oak shelves"]
    assert "\nTime: after " in text


async def counting_and_paging(model):
    """How often something was done, then every entry, page by page."""
    for number in range(5):
        await model.act("asks to log", message=f"Restarted redis {number}")
    counting = "'how many times did I'"
    text, counted = await model.act(counting, what="how many times did I restart redis this year?")
    assert "\n5 entries match.\n" in text
    assert counted["matching"] == 5
    seen, cursor = [], ""
    while cursor or not seen:
        _, page = await model.act("find past activities", text="redis", limit=2, cursor=cursor)
        seen += [entry["message"] for entry in page["entries"]]
        cursor = page["cursor"]
    assert sorted(seen) == [f"Restarted redis {number}" for number in range(5)]


CONVERSATIONS = [
    finishing_work,
    taking_up_the_thread,
    noting_on_request,
    preparing_the_standup,
    counting_and_paging,
]


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda each: each.__name__)
def test_an_everyday_conversation_runs_end_to_end(client, world, conversation):
    """Every step finds its tool among those listed, and its answer leads to the next."""

    async def scenario():
        async with client("chronicle,recall") as session:
            model = ScriptedModel(session, world.clock)
            await model.join()
            await conversation(model)

    anyio.run(scenario)
