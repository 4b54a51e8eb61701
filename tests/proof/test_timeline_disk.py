"""A disk that fails under the timeline: nothing half, nothing claimed, and what is there is read."""

from __future__ import annotations

import pytest

TIMELINE = {"COMMONPLACE_TOOLSETS": "timeline"}


@pytest.fixture(scope="module")
def server(shared_world, shared_faults):
    """A server with an entry."""
    server = shared_world.server(env={**shared_faults.env, **TIMELINE})
    server.call("timeline_add", {"content": "The harbour was there first."})
    return server


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
def test_every_step_of_an_add_may_fail(server, shared_faults, fault):
    """At each step: an error and no entry, or one whole entry; the same call again completes it."""
    step, nth = "all", 0
    while step:
        nth += 1
        text = f"The quay was quiet, {fault} {nth}."
        call = {"content": text, "idempotency_key": f"{fault} {nth}"}
        shared_faults.plan(nth, fault)
        answer = server.call("timeline_add", call)
        step = shared_faults.lift()
        if answer.get("isError"):
            assert answer["structuredContent"]["code"] == "unavailable", answer
        again = server.call("timeline_add", call)
        assert not again.get("isError"), (step, again)
        listed = server.call("timeline_range", {"when": "today", "level": "raw", "limit": 100})
        entries = listed["structuredContent"]["entries"]
        assert len([x for x in entries if fault in str(x)]) == nth, step


def test_a_read_only_disk_is_read(shared_world, server, shared_faults):
    """Nothing can be written anywhere: adding says why, reading works, at a new start too."""
    server.call("timeline_add", {"content": "The harbour is there still."})
    shared_faults.plan(1, "EROFS", ever=True)
    for asked in (server, shared_world.server(env={**shared_faults.env, **TIMELINE})):
        answer = asked.call("timeline_add", {"content": "Another."})
        assert answer["structuredContent"]["code"] in {"denied", "unavailable"}
        assert "harbour" in asked.text("timeline_range", {"when": "today"})
        assert "harbour" in asked.text("timeline_rollup", {"period": "daily"})
    shared_faults.lift()
    assert "Recorded" in server.text("timeline_add", {"content": "And on."})
