"""Two users of one server: neither sees, changes or guesses anything of the other, by any tool."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import anyio
import pytest
from server.tests.http_world import ALL, HttpServer, connected, home, token_for
from tests.doors.terminal import run

from commonplace.journals.transcripts.message import Message
from commonplace.journals.transcripts.store import TranscriptStore

SECRET = "zanzibar"
KEY = "the same key"
SESSION = "transcripts:claude-code/s1"

WRITES = {
    "process_thoughts": {"feelings": f"Afraid of {SECRET}.", "idempotency_key": KEY},
    "add_entry": {"message": f"Booked {SECRET}", "tags": [SECRET], "idempotency_key": KEY},
    "remember_this": {"activity": f"Packed for {SECRET}", "context": SECRET},
    "journal_write": {
        "path": f"travel/{SECRET}",
        "entry": f"To {SECRET}.",
        "overview": f"All about {SECRET}.",
        "idempotency_key": KEY,
    },
    "timeline_add": {
        "content": f"Flew to {SECRET}",
        "at": "2020-10-07 14:05",
        "metadata": {"projects": [SECRET]},
        "idempotency_key": KEY,
    },
    "timeline_profile": {"text": f"Likes {SECRET}."},
    "memory_save": {"kind": "todo", "title": f"Visit {SECRET}", "idempotency_key": KEY},
}
"""What ann writes, in every journal."""

READS = {
    "search_journal": [{"query": SECRET}],
    "read_journal_entry": [{"path": "HANDLE"}],
    "list_recent_entries": [{}],
    "read_recent_entries": [{}],
    "list_entries": [{}],
    "search_entries": [{"text": SECRET}, {"tags": [SECRET]}],
    "what_was_i_doing": [{"timeframe": "today"}],
    "find_when_i": [{"what": f"booked {SECRET}"}],
    "recall": [{"query": SECRET}],
    "list_by_time": [{}, {"when": "today"}],
    "open_ref": [{"ref": "HANDLE"}],
    "journal_read": [{"id": f"travel/{SECRET}"}, {"id": "HANDLE"}],
    "journal_list_entries": [{"path": f"travel/{SECRET}"}],
    "journal_toc": [{"depth": 3}],
    "journal_search": [{"content": SECRET}],
    "journal_synthesize_conflict": [
        {"section": f"travel/{SECRET}", "version_a": "HANDLE", "version_b": "x"}
    ],
    "timeline_search": [{"query": SECRET}],
    "timeline_range": [{"when": "2020-10"}, {"when": "2020-10", "level": "raw"}],
    "timeline_rollup": [{"period": "daily", "at": "2020-10-07 14:00"}],
    "timeline_trends": [{"when": "2020-10"}, {}],
    "timeline_profile": [{}],
    "timeline_context": [{"query": SECRET}],
    "memory_search": [{"query": SECRET}],
    "memory_list": [{"kind": "todo"}],
    "memory_save": [{"kind": "todo", "ref": "HANDLE", "title": "taken over"}],
    "memory_delete": [{"kind": "todo", "ref": "HANDLE"}],
    "list_sessions": [{}, {"project": SECRET}],
    "read_session": [{"ref": "HANDLE"}, {"ref": SESSION}],
    "amend": [
        {"ref": "HANDLE", "text": "taken over"},
        {"ref": "HANDLE", "text": "taken over", "supersede": True},
        {"ref": "HANDLE", "delete": True},
    ],
}
"""What others ask; HANDLE stands for each of ann's refs, ids, versions and paths in turn."""

_HANDLE = re.compile(r"^[a-z]+:\S+$|^/|^[0-9a-f-]{32,}$|^[0-9a-f]{40,64}$")


@pytest.fixture(scope="module")
def server(shared_world):
    """One server of every toolset, asked by the users of all tests here."""
    with pytest.MonkeyPatch.context() as here:
        shared_world.enter(here)
        running = HttpServer("--toolsets", ALL)
    with running:
        yield running


@pytest.fixture(autouse=True)
def _home(shared_world, monkeypatch):
    """Each test stands in the home of that server; what is found there is found by words."""
    shared_world.enter(monkeypatch)


def places():
    """Where on the server things lie: nobody who asks is told."""
    return str(Path.home()), os.environ["COMMONPLACE_ENCODER_FOLDER"]


def texts_in(value):
    """Every text in an answer."""
    if isinstance(value, dict):
        return [x for each in value.values() for x in texts_in(each)]
    if isinstance(value, list):
        return [x for each in value for x in texts_in(each)]
    return [value] if isinstance(value, str) else []


async def call(client, name, arguments):
    """All that a client hears of a call."""
    done = await client.call_tool(name, arguments)
    assert done.structured_content.get("code") != "internal", (name, done)
    told = json.dumps(done.structured_content, ensure_ascii=False)
    told += "".join(x.text for x in done.content)
    assert not any(x in told for x in places()), name
    return done, told


async def reads_of(client, handles):
    """Every reading tool's answers, and those of every resource, by what was asked."""
    heard = {}
    for name, asked in READS.items():
        for arguments in asked:
            text = json.dumps(arguments)
            used = handles if "HANDLE" in text else [""]
            for handle in used:
                given = json.loads(text.replace('"HANDLE"', json.dumps(handle)))
                _, heard[name, json.dumps(given)] = await call(client, name, given)
    for page in (await client.list_resources()).resources:
        read = await client.read_resource(page.uri)
        text = heard["resource", str(page.uri)] = "".join(x.text for x in read.contents)
        assert not any(x in text for x in places()), page.uri
    return heard


def keep_session(owner):
    """What was said in a session, which no tool writes; its refs."""
    store = TranscriptStore(str(home() / "users" / owner / "transcripts"))
    at = "2026-11-22T10:00:00.000Z"
    store.append("claude-code", "s1", [Message("m1", "user", at, f"Take me to {SECRET}.")])
    store.close()
    return [SESSION, f"{SESSION}#1"]


async def write_all(client):
    """Write in every journal; the handles of what was written."""
    handles = set()
    for name, arguments in WRITES.items():
        done, _ = await call(client, name, arguments)
        assert not done.is_error, done
        handles |= {x for x in texts_in(done.structured_content) if _HANDLE.match(x)}
    read = await client.call_tool("journal_read", {"id": f"travel/{SECRET}"})
    handles |= {x for x in texts_in(read.structured_content) if _HANDLE.match(x)}
    return sorted(handles)


def test_nothing_of_one_user_reaches_another(server):
    """Every tool and resource of every toolset, with all that another user could guess or steal."""
    ann = token_for("ann")

    async def scenario(url):
        async with connected(url, ann) as hers:
            tools = {x.name for x in (await hers.list_tools()).tools}
            assert tools == {*WRITES, *READS}
            handles = [*await write_all(hers), *keep_session("ann")]
            assert len(handles) >= 10
        for name, mode, tried in (("bob", "auto", handles), ("carl", "legacy", handles[::3])):
            async with connected(url, token_for(name), mode=mode) as his:
                heard = await reads_of(his, tried)
                for (tool, asked), told in heard.items():
                    unsaid = told.replace(asked[1:-1], "")
                    for handle in handles:
                        unsaid = unsaid.replace(handle, "") if handle in asked else unsaid
                        assert handle not in unsaid, (tool, asked)
                    known = SECRET in asked or tool == "resource"
                    assert known or SECRET not in unsaid, (tool, asked, told)
                    assert "Afraid of" not in told, tool
                    assert "All about" not in told, tool
                    assert not re.search(
                        rf"(Booked|Packed for|Flew to|Likes|Visit|me to) {SECRET}", told
                    )
                    assert tool != "resource" or SECRET not in told, asked
                # The same idempotency keys are other keys.
                for tool, arguments in WRITES.items():
                    changed = json.loads(json.dumps(arguments).replace(SECRET, name))
                    done, told = await call(his, tool, changed)
                    assert not done.is_error, done
                    assert done.structured_content.get("repeated", False) is False
                    assert SECRET not in told
        async with connected(url, ann) as hers:
            refs = [handle for handle in handles if ":" in handle]
            heard = await reads_of(hers, refs)
            found = {tool for (tool, _), told in heard.items() if SECRET in told}
            assert set(READS) - found <= {
                "amend",
                "memory_delete",
                "memory_save",
                "journal_synthesize_conflict",
            }
            assert not any("bob" in told or "carl" in told for told in heard.values())

    anyio.run(scenario, server.url)
    folders = {x.name for x in (home() / "users").iterdir()}
    assert folders >= {"ann", "bob", "carl"}


def test_the_machine_users_own_folders_are_its_owners_alone(server):
    """What the machine's user wrote at a terminal is reached by a token for its owner, no other."""
    run("private", "write", "Afraid of marzipan.")
    run("log", "Booked marzipan")

    async def scenario(url):
        seen = {}
        for owner in ("dan", "ME", "me"):
            async with connected(url, token_for(owner)) as client:
                _, first = await call(client, "search_journal", {"query": "afraid"})
                _, second = await call(client, "search_entries", {"text": "booked"})
                _, third = await call(client, "recall", {"query": "afraid booked"})
                seen[owner] = tuple("marzipan" in told for told in (first, second, third))
        return seen

    seen = anyio.run(scenario, server.url)
    nothing, everything = (False, False, False), (True, True, True)
    assert seen == {"dan": nothing, "ME": nothing, "me": everything}


def test_calls_of_many_users_at_once_do_not_mix(server):
    """Eight clients of four users, in turns that chance decides: each finds its own word alone."""
    owners = ["eve", "fay", "Eve", "e/f"]

    async def one(url, owner, mode, seed):
        chance = random.Random(seed)
        mine, others = f"word{owners.index(owner)}", {f"word{n}" for n in range(4)}
        others.discard(mine)
        async with connected(url, token_for(owner), mode=mode) as client:
            for _ in range(12):
                name, given = chance.choice(
                    [
                        ("add_entry", {"message": f"common {mine}"}),
                        ("memory_save", {"kind": "gratitude", "text": f"common {mine}"}),
                        ("search_entries", {"text": "common"}),
                        ("memory_search", {"query": "common"}),
                        ("recall", {"query": "common"}),
                        ("list_entries", {}),
                    ]
                )
                _, told = await call(client, name, given)
                assert not any(x in told for x in others), (owner, name, told)
        return mine

    async def scenario(url):
        async with anyio.create_task_group() as tasks:
            for n in range(8):
                tasks.start_soon(one, url, owners[n % 4], ("auto", "legacy")[n // 4], n)

    anyio.run(scenario, server.url)
