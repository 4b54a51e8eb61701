"""A disk that fails under the timeline: nothing half, nothing claimed, and what is there is read."""

from __future__ import annotations

import pytest

TIMELINE = {"COMMONPLACE_TOOLSETS": "timeline"}


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
def test_every_step_of_an_add_may_fail(world, faults, fault):
    """At each step: an error and no entry, or one whole entry; the same call again completes it."""
    server = world.server(env={**faults.env, **TIMELINE})
    server.call("timeline_add", {"content": "A first entry."})
    step, nth = "all", 0
    while step:
        nth += 1
        call = {"content": f"The harbour was quiet, {nth}.", "idempotency_key": f"key {nth}"}
        faults.plan(nth, fault)
        answer = server.call("timeline_add", call)
        step = faults.lift()
        if answer.get("isError"):
            assert answer["structuredContent"]["code"] == "unavailable", answer
        again = server.call("timeline_add", call)
        assert not again.get("isError"), (step, again)
        listed = server.call("timeline_range", {"when": "today", "level": "raw", "limit": 100})
        assert len(listed["structuredContent"]["entries"]) == nth + 1, step


def test_a_read_only_disk_is_read(world, faults):
    """Nothing can be written anywhere: adding says why, reading works, at a new start too."""
    first = world.server(env={**faults.env, **TIMELINE})
    first.call("timeline_add", {"content": "The harbour was quiet."})
    faults.plan(1, "EROFS", ever=True)
    for server in (first, world.server(env={**faults.env, **TIMELINE})):
        answer = server.call("timeline_add", {"content": "Another."})
        assert answer["structuredContent"]["code"] in {"denied", "unavailable"}
        assert "harbour" in server.text("timeline_range", {"when": "today"})
        assert "harbour" in server.text("timeline_rollup", {"period": "daily"})
    faults.lift()
    assert "Recorded" in first.text("timeline_add", {"content": "And on."})
