"""What is open for each caller: sessions, streams, and their ends; with a protocol that is none."""

from __future__ import annotations

import json
import threading
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread
import pytest
from tests.patience import PATIENCE_S

from commonplace_server.http.authenticator import Caller
from commonplace_server.http.limits import Limits, RateLimiter
from commonplace_server.http.sessions import Callers
from commonplace_server.scope import SESSION, STREAM

ANN = Caller(token_id="1", owner="ann", toolsets=("private",), may_write=True)
BOB = Caller(token_id="2", owner="bob", toolsets=("private",), may_write=True)


class FakeProtocols:
    """Opens a session for whoever has none, knows it until it is deleted, and may hang."""

    def __init__(self, made):
        self.made = made
        self.sessions = set()
        self.is_running = False

    @asynccontextmanager
    async def run(self):
        self.is_running = True
        yield
        self.is_running = False

    async def handle_request(self, scope, _receive, send):
        given = dict(scope["headers"]).get(b"mcp-session-id")
        status = 200 if given is None or given in self.sessions else 404
        if scope["method"] == "DELETE":
            self.sessions.discard(given)
        elif given is None:
            given = b"session %d" % len(self.made.seen)
            self.sessions.add(given)
        self.made.seen.append(scope.get(SESSION))
        headers = [(b"mcp-session-id", given)]
        if self.made.hangs:
            await anyio.sleep_forever()
        await anyio.to_thread.run_sync(self.made.working.wait)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if STREAM in scope:
            await anyio.sleep_forever()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class World:
    def __init__(self, tasks, **limits):
        self.seen = []
        self.open = {}
        self.hangs = False
        self.working = threading.Event()
        self.working.set()
        self.now = 0.0
        self.limits = Limits(**limits)
        self.callers = Callers(
            self.open_one,
            tasks=tasks,
            limits=self.limits,
            rate_limiter=RateLimiter(self.limits, lambda: self.now),
            refused=lambda _limit: None,
            monotonic=lambda: self.now,
        )

    def open_one(self, caller):
        return self.make(caller)  # which a test may replace

    def make(self, caller):
        self.open[caller] = FakeProtocols(self)
        return self.open[caller]

    async def ask(
        self, caller, session=None, *, method="POST", stream=False, send=None, path="/mcp"
    ):
        """One request; its status, its session, and whether its answer came to an end."""
        sent = []

        async def note(message):
            sent.append(message)

        headers = [] if session is None else [(b"mcp-session-id", session)]
        scope = {"method": method, "path": path, "headers": headers}
        scope |= {STREAM: True} if stream else {}
        await self.callers.answer(caller, scope, None, send or note)
        if not sent:
            return None
        told = dict(sent[0]["headers"])
        return sent[0]["status"], told.get(b"mcp-session-id"), not sent[-1].get("more_body")


def within_world(scenario, **limits):
    """Run a scenario in a world, and end all that it opened."""

    async def held():
        async with anyio.create_task_group() as tasks:
            with anyio.fail_after(PATIENCE_S):
                told = await scenario(World(tasks, **limits), tasks)
            tasks.cancel_scope.cancel()
            return told

    return anyio.run(held)


def test_a_session_keeps_what_is_its_own():
    """From its first request to its end; a request without one keeps nothing."""

    async def scenario(world, _tasks):
        _, first, _ = await world.ask(ANN)
        _, second, _ = await world.ask(ANN)
        for session in (first, second, first):
            await world.ask(ANN, session)
        a, b, again_a, again_b, once_more_a = world.seen
        assert a is again_a is once_more_a
        assert b is again_b
        assert a is not b
        assert a.owner == "ann"
        await world.ask(ANN, first, method="DELETE")
        assert (await world.ask(ANN, first))[0] == 404
        assert world.seen[-1] is not a

    within_world(scenario)


def test_callers_share_nothing():
    """A session of one is unknown to another."""

    async def scenario(world, _tasks):
        _, session, _ = await world.ask(ANN)
        assert (await world.ask(BOB, session))[0] == 404
        assert [x.owner for x in world.seen] == ["ann", "bob"]
        assert (await world.ask(ANN, session))[0] == 200

    within_world(scenario)


def test_a_client_that_never_says_that_it_is_done():
    """Its oldest idle session ends when there are too many; one with an open stream does not."""

    async def scenario(world, tasks):
        sessions = [(await world.ask(ANN))[1] for _ in range(2)]
        tasks.start_soon(lambda: world.ask(ANN, sessions[0], method="GET", stream=True))
        await anyio.wait_all_tasks_blocked()
        third = (await world.ask(ANN))[1]
        known = world.open[ANN].sessions
        assert known == {sessions[0], third}

    within_world(scenario, sessions=2)


def test_who_is_shut_out_is_ended_at_once():
    """Streams end cleanly, open calls are told, and the rest goes on."""

    async def scenario(world, tasks):
        told = []

        async def ask(caller, **how):
            told.append(await world.ask(caller, **how))

        tasks.start_soon(lambda: ask(ANN, method="GET", stream=True))
        await anyio.wait_all_tasks_blocked()
        world.hangs = True
        tasks.start_soon(lambda: ask(ANN))
        await anyio.wait_all_tasks_blocked()
        assert world.callers.disconnect_unless(lambda caller: caller is BOB) == 1
        await anyio.wait_all_tasks_blocked()
        assert sorted((status, ended) for status, _, ended in told) == [(200, True), (503, True)]
        assert not world.open[ANN].is_running
        await world.callers.wait_for_calls()

    within_world(scenario)


@pytest.mark.parametrize("works_on", [False, True], ids=["waits", "works on in a thread"])
@pytest.mark.parametrize("path", ["/mcp", "/api/v1/tools/memory_list"])
def test_a_call_that_is_cut_short_is_told_so(path, works_on):
    """As its client reads every other answer: in JSON, with what to do; and nothing else, later."""

    async def scenario(world, tasks):
        parts, is_told = [], anyio.Event()

        async def note(message):
            parts.append(message)
            if message["type"] == "http.response.body":
                is_told.set()

        world.hangs = not works_on
        if works_on:
            world.working.clear()
        tasks.start_soon(lambda: world.ask(ANN, path=path, send=note))
        await anyio.wait_all_tasks_blocked()
        world.callers.disconnect_unless(lambda _caller: False)
        await is_told.wait()
        world.working.set()
        await world.callers.wait_for_calls()
        facts = json.loads(b"".join(x.get("body", b"") for x in parts))
        said = facts if path.startswith("/api") else facts["error"]["data"]
        assert (said["code"], said["hint"][:8]) == ("unavailable", "It may h")
        assert dict(parts[0]["headers"])[b"retry-after"] == b"1"

    within_world(scenario)


def test_the_end_of_streams_is_not_the_end_of_calls():
    """At a stop calls are waited for."""

    async def scenario(world, tasks):
        world.hangs = True
        tasks.start_soon(lambda: world.ask(ANN))
        tasks.start_soon(lambda: world.ask(ANN, method="GET", stream=True))
        await anyio.wait_all_tasks_blocked()
        world.callers.end_streams()
        with anyio.move_on_after(0.05) as waiting:
            await world.callers.wait_for_calls()
        assert waiting.cancelled_caught
        world.callers.disconnect_unless(lambda _caller: False)
        await world.callers.wait_for_calls()

    within_world(scenario)


def test_what_is_idle_is_closed():
    """After the time a session may be idle; of too many, the longest unused at once."""

    async def scenario(world, _tasks):
        await world.ask(ANN)
        world.now = 50.0
        await world.ask(BOB)
        world.now = 101.0
        world.callers.close_idle()
        await anyio.wait_all_tasks_blocked()
        assert (world.open[ANN].is_running, world.open[BOB].is_running) == (False, True)
        await world.ask(ANN)
        await anyio.wait_all_tasks_blocked()
        assert not world.open[BOB].is_running

    within_world(scenario, session_idle_s=100.0, callers=1)


def test_who_comes_when_all_others_are_busy():
    """Is answered all the same: nobody is closed in the middle of an answer."""

    async def scenario(world, tasks):
        tasks.start_soon(lambda: world.ask(ANN, method="GET", stream=True))
        await anyio.wait_all_tasks_blocked()
        assert (await world.ask(BOB))[0] == 200
        assert world.open[ANN].is_running

    within_world(scenario, callers=1)


def test_a_protocol_that_fails_ends_one_caller_alone(caplog):
    """It is logged, and others are answered."""

    async def scenario(world, _tasks):
        class Broken(FakeProtocols):
            @asynccontextmanager
            async def run(self):
                raise ValueError(self)
                yield

        make = world.make
        world.make = lambda caller: Broken(world) if caller is ANN else make(caller)
        await world.ask(ANN)
        assert (await world.ask(BOB))[0] == 200

    within_world(scenario)
    assert "What one caller had open ended" in caplog.text


@pytest.mark.parametrize("sessions", [1, 3])
def test_sessions_never_exceed_their_limit(sessions):
    """However many are begun."""

    async def scenario(world, _tasks):
        for _ in range(10):
            assert (await world.ask(ANN))[0] == 200
        assert len(world.open[ANN].sessions) == sessions

    within_world(scenario, sessions=sessions)
