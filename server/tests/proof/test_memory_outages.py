"""A server that stops, dies or freezes under every tool: an error of ours in time, and no more than that."""

from __future__ import annotations

import logging
import threading
import time

import pytest
from msgspec.structs import replace
from server.tests.memory_postgres_world import PostgresMemoryWorld
from server.tests.proof.memory_server import database_on

from commonplace.core.errors import CommonplaceError, Unavailable

pytestmark = pytest.mark.long

# Of a call with all of its transactions, on a machine that is busy with other things.
CALL_S = 15.0
SECRETS = ("quokkarine", "commonplace_app", "hunter2", "INSERT", "SELECT", "wb_")


@pytest.fixture
def world(own_server, tmp_path):
    database = database_on(own_server)
    made = PostgresMemoryWorld(database, tmp_path, worker=False)
    named = replace(made.settings.database, url=f"{database.app_url}&password=hunter2")
    made.settings = replace(made.settings, database=named)
    yield made
    made.close()


class Caller:
    """Calls the tools of one user, and looks at how long that takes and what errors tell."""

    def __init__(self, memory):
        tools = memory.service
        self._tools = {
            x.name: x
            for x in (
                *tools.toolset(lambda: tools).tools,
                *tools.write_toolset(lambda: tools).tools,
            )
        }

    def call(self, name, **arguments):
        began = time.monotonic()
        try:
            return self._tools[name].call(arguments).facts
        finally:
            assert time.monotonic() - began < CALL_S

    def fails(self, name, **arguments):
        with pytest.raises(Unavailable) as told:
            self.call(name, **arguments)
        shown = f"{told.value.message} {told.value.hint}"
        assert told.value.hint
        assert not [secret for secret in SECRETS if secret in shown]
        assert told.value.__cause__ is None or isinstance(told.value.__cause__, CommonplaceError)
        return told.value


@pytest.mark.parametrize("fault", ["stop", "freeze", pytest.param("kill", marks=pytest.mark.whole)])
def test_every_call_ends_in_time_and_goes_on_by_itself(world, own_server, caplog, fault):
    """Many connections idle: each call is told what is wrong; then all is as it was, and found."""
    caplog.set_level(logging.DEBUG)
    memory = world.open("ann")
    tools = Caller(memory)
    kept = tools.call("memory_save", kind="todo", title="quokkarine harbour")["ref_id"]
    fill_the_pool(tools)
    getattr(own_server, fault)()
    todo = {"kind": "todo", "title": "quokkarine again"}
    tools.fails("memory_save", **todo, idempotency_key="k")
    tools.fails("memory_save", **todo, ref=kept)
    tools.fails("memory_list", kind="todo")
    tools.fails("memory_delete", kind="todo", ref=kept)
    error = tools.fails("memory_search", query="quokkarine")
    assert error.error_code == "VECTOR_SEARCH_FAILED"
    with pytest.raises(Unavailable):
        world.work()
    if fault == "freeze":
        own_server.thaw()
    else:
        own_server.start()
    again = tools.call("memory_save", **todo, idempotency_key="k")["ref_id"]
    assert tools.call("memory_save", **todo, idempotency_key="k")["ref_id"] == again
    # What was frozen may have been done all the same; the caller was told to look.
    there = {todo.id: todo.title for todo in memory.todos()}
    assert there in (
        {kept: "quokkarine harbour", again: "quokkarine again"},
        {again: "quokkarine again"},
    )
    world.work()
    found = tools.call("memory_search", query="quokkarine")["payload"]["results"]
    assert {hit["ref_id"] for hit in found} == {*there}
    assert not [secret for secret in ("quokkarine", "hunter2", "INSERT") if secret in caplog.text]
    assert "quokkarine" not in own_server.log()


def fill_the_pool(tools):
    """As many connections as there may be, all idle."""
    threads = [
        threading.Thread(target=lambda: [tools.call("memory_list", kind="todo") for _ in range(9)])
        for _ in range(12)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
