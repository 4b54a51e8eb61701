"""`commonplace serve` where a database keeps the memories of all users, with its worker."""

from __future__ import annotations

import anyio
import pytest
from server.tests.http_world import HttpServer, connected, token_for


@pytest.fixture(autouse=True)
def _words(words_only):
    """What is found here is found by words."""


def test_each_token_opens_its_users_rows_alone(database, monkeypatch):
    """Saved, found, listed and deleted in one database by two users at once, in both manager."""

    async def one(url, owner, mode, word):
        async with connected(url, token_for(owner), mode=mode) as client:
            refs = []
            for n in range(5):
                saved = await client.call_tool(
                    "memory_save", {"kind": "todo", "title": f"buy {word} {n}"}
                )
                refs.append(saved.structured_content["ref"])
            listed = await client.call_tool("memory_list", {"kind": "todo"})
            assert {x["ref"] for x in listed.structured_content["records"]} == set(refs)
            found = await client.call_tool("memory_search", {"query": "buy"})
            assert {x["ref"] for x in found.structured_content["payload"]["results"]} == set(refs)
            return refs

    async def scenario(url):
        refs = {}

        async def keep(owner, mode, word):
            refs[owner] = await one(url, owner, mode, word)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep, "ann", "auto", "cables")
            tasks.start_soon(keep, "bob", "legacy", "ladders")
        async with connected(url, token_for("bob")) as his:
            gone = {"kind": "todo", "ref": refs["ann"][0]}
            stolen = await his.call_tool("memory_delete", gone)
            assert stolen.structured_content["code"] == "not_found"
            altered = await his.call_tool("memory_save", gone | {"title": "taken"})
            assert altered.structured_content["code"] == "not_found"
        async with connected(url, token_for("ann")) as hers:
            assert (await hers.call_tool("memory_delete", gone)).structured_content["deleted"]

    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)
    env = {"COMMONPLACE_DATABASE_WORKER_URL": database.worker_url}
    with HttpServer("--toolsets", "memory,memory-write,recall", **env) as server:
        anyio.run(scenario, server.url)
        assert server.end() == 0
        assert "cables" not in server.log
        assert "The worker of memory" not in server.log
