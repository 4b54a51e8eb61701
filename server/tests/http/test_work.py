"""Calls that outlast their requests: with the real SDK's sessions, asked within this process."""

from __future__ import annotations

import threading

import anyio
import httpx2
import pytest
from server.tests.http_world import BOTH, REVISION
from tests.patience import PATIENCE_S

from commonplace.core.values import Answer
from commonplace.doors.mcp_offer import McpOffer
from commonplace.verbs.toolset import Tool, Toolset
from commonplace_server.http.authenticator import Caller
from commonplace_server.http.limits import Limits, RateLimiter
from commonplace_server.http.sessions import Callers
from commonplace_server.mcp.server import HttpServer

ANN = Caller(token_id="1", owner="ann", toolsets=("slow",), may_write=True)
BOB = Caller(token_id="2", owner="bob", toolsets=("slow",), may_write=True)
LIMITS = Limits(at_once=2, session_idle_s=100.0)
URL = "http://127.0.0.1/mcp"


class World:
    """Callers of a server whose one tool works until it is told to end."""

    def __init__(self, tasks):
        self.now = 0.0
        self.begun = 0
        self.has_begun = anyio.Event()
        self.may_end = threading.Event()

        def work() -> Answer:
            """Work on."""
            self.begun += 1
            anyio.from_thread.run_sync(self.has_begun.set)
            self.may_end.wait(PATIENCE_S)
            return Answer(text="Done.", facts={})

        toolset = Toolset(name="slow", guide="", tools=(Tool(run=work, title="Work"),))
        server = HttpServer(McpOffer([toolset]))
        self.callers = Callers(
            lambda _caller: server.sessions(
                body_bytes=LIMITS.body_bytes, most=LIMITS.sessions, idle_s=LIMITS.session_idle_s
            ),
            tasks=tasks,
            limits=LIMITS,
            rate_limiter=RateLimiter(LIMITS, lambda: self.now),
            refused=lambda _limit: None,
            monotonic=lambda: self.now,
        )

    def client(self, caller):
        async def application(scope, receive, send):
            await self.callers.answer(caller, scope, receive, send)

        transport = httpx2.ASGITransport(app=application)
        return httpx2.AsyncClient(transport=transport, headers=dict(BOTH))

    async def handshake(self, client):
        client.headers["mcp-session-id"] = (
            await self.ask(
                client,
                "initialize",
                protocolVersion=REVISION,
                capabilities={},
                clientInfo={"name": "raw", "version": "1"},
            )
        ).headers["mcp-session-id"]
        client.headers["mcp-protocol-version"] = REVISION
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await client.post(URL, json=initialized)

    async def ask(self, client, method, **params):
        message = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
        return await client.post(URL, json=message)

    async def drop(self, client, number):
        """A call whose client hangs up as soon as it works."""
        call = {"name": "work", "arguments": {}}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
        self.has_begun = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: client.post(URL, json=message))
            await self.has_begun.wait()
            tasks.cancel_scope.cancel()


def within_world(scenario):
    """Run a scenario in a world, and end all that it opened."""

    async def held():
        async with anyio.create_task_group() as tasks:
            world = World(tasks)
            try:
                with anyio.fail_after(PATIENCE_S):
                    await scenario(world)
            finally:
                world.may_end.set()
            tasks.cancel_scope.cancel()

    anyio.run(held)


def test_calls_whose_clients_hung_up_are_counted():
    """As long as they work: no owner has more at work at once than may be; others are answered."""

    async def scenario(world):
        async with world.client(ANN) as hers, world.client(BOB) as his:
            await world.handshake(hers)
            await world.handshake(his)
            for number in range(LIMITS.at_once):
                await world.drop(hers, number)
            refused = await world.ask(hers, "tools/call", name="work", arguments={})
            assert "More than 2 calls at once." in refused.text
            assert '"code":"unavailable"' in refused.text
            assert world.begun == LIMITS.at_once
            assert '"tools"' in (await world.ask(his, "tools/list")).text
            world.may_end.set()
            await world.callers.wait_for_calls()
            assert "Done." in (await world.ask(hers, "tools/call", name="work", arguments={})).text

    within_world(scenario)


def test_who_is_worked_for_is_not_idle():
    """Nothing of it is closed, and the server's end waits for it."""

    async def scenario(world):
        async with world.client(ANN) as hers:
            await world.handshake(hers)
            await world.drop(hers, 7)
            with pytest.raises(TimeoutError), anyio.fail_after(0.05):
                await world.callers.wait_for_calls()
            world.now = LIMITS.session_idle_s * 2
            world.callers.close_idle()
            assert '"tools"' in (await world.ask(hers, "tools/list")).text
            world.may_end.set()
            await world.callers.wait_for_calls()

    within_world(scenario)
