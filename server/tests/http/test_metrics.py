"""What a server counts of itself, and who may read it."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace
from server.tests.http.test_gate import OFFER, SMALL, World
from server.tests.http_world import HttpServer, Raw, bearer, token_for
from tests.patience import until

from commonplace.core.errors import Invalid
from commonplace_server.http.calls import FinishedCall
from commonplace_server.http.metrics import Metrics
from commonplace_server.tokens import METRICS_SCOPE
from commonplace_server.wiring.measures import Metric

OFFERED = "/metrics"
DOCS = Path(__file__).parents[2] / "docs"


def told_in(page):
    """The names of figures on a page, where … stands for how the one before began."""
    found = re.findall(r"`(?:(commonplace)|…)((?:_[a-z]+)+)`", (DOCS / page).read_text("utf-8"))
    whole, group = set(), ""
    for begins, rest in found:
        group = f"commonplace_{rest.split('_')[1]}" if begins else group
        whole.add(f"commonplace{rest}" if begins else f"{group}{rest}")
    return whole - {"commonplace_app", "commonplace_worker"}  # roles


def finished(tool, seconds, outcome="ok", owner="ann"):
    """A call of somebody's that is over."""
    return FinishedCall(
        owner=owner, token_id="12345678", tool=tool, outcome=outcome, seconds=seconds
    )


def test_what_is_counted_is_written_as_prometheus_reads_it():
    """Counters, a histogram whose buckets add up, and what is read at each asking."""
    metrics = Metrics(lambda: [Metric("commonplace_open_users", "Users.", 2)])
    metrics(finished("memory_search", 0.03))
    metrics(finished("memory_search", 0.05))
    metrics(finished("memory_search", 60.0, "unavailable", owner="bob"))
    metrics.count_refusal("per_second")
    assert metrics.render() == (
        "# HELP commonplace_calls_total Calls of tools that are over, by how they ended.\n"
        "# TYPE commonplace_calls_total counter\n"
        'commonplace_calls_total{tool="memory_search",outcome="ok"} 2\n'
        'commonplace_calls_total{tool="memory_search",outcome="unavailable"} 1\n'
        "# HELP commonplace_call_seconds How long calls of tools took.\n"
        "# TYPE commonplace_call_seconds histogram\n"
        'commonplace_call_seconds_bucket{tool="memory_search",le="0.005"} 0\n'
        'commonplace_call_seconds_bucket{tool="memory_search",le="0.01"} 0\n'
        'commonplace_call_seconds_bucket{tool="memory_search",le="0.025"} 0\n'
        'commonplace_call_seconds_bucket{tool="memory_search",le="0.05"} 2\n'
        'commonplace_call_seconds_bucket{tool="memory_search",le="0.1"} 2\n'
        'commonplace_call_seconds_bucket{tool="memory_search",le="0.25"} 2\n'
        'commonplace_call_seconds_bucket{tool="memory_search",le="0.5"} 2\n'
        'commonplace_call_seconds_bucket{tool="memory_search",le="1.0"} 2\n'
        'commonplace_call_seconds_bucket{tool="memory_search",le="2.5"} 2\n'
        'commonplace_call_seconds_bucket{tool="memory_search",le="5.0"} 2\n'
        'commonplace_call_seconds_bucket{tool="memory_search",le="10.0"} 2\n'
        'commonplace_call_seconds_bucket{tool="memory_search",le="+Inf"} 3\n'
        'commonplace_call_seconds_sum{tool="memory_search"} 60.08\n'
        'commonplace_call_seconds_count{tool="memory_search"} 3\n'
        "# HELP commonplace_refused_calls_total Calls that a limit of one user kept out, by the"
        " limit.\n"
        "# TYPE commonplace_refused_calls_total counter\n"
        'commonplace_refused_calls_total{limit="per_second"} 1\n'
        "# HELP commonplace_open_users Users.\n"
        "# TYPE commonplace_open_users gauge\n"
        "commonplace_open_users 2\n"
    )


def test_a_token_for_metrics_reads_them_and_opens_no_journal(tmp_path):
    """And a token that opens journals does not read them: a scraper's is no key to a memory."""
    world = World(tmp_path)
    assert world.ask(path=OFFERED).status_code == 401
    assert world.ask(path=OFFERED, headers=world.token("ann")).status_code == 403
    scraper = world.token("prometheus", scopes=[METRICS_SCOPE])
    read = world.ask(path=OFFERED, headers=scraper)
    assert (read.status_code, read.headers["content-type"]) == (
        200,
        "text/plain; version=0.0.4; charset=utf-8",
    )
    assert world.ask("POST", path="/mcp", json={}, headers=scraper).status_code == 403
    assert world.came == []
    named = scraper | {"host": "evil.example"}
    assert world.ask(path=OFFERED, headers=named).status_code == 421
    world.tokens.revoke(scraper["authorization"].split("_")[1])
    assert world.ask(path=OFFERED, headers=scraper).status_code == 401


def test_a_scope_opens_metrics_or_journals(tmp_path):
    """Never both."""
    world = World(tmp_path)
    with pytest.raises(Invalid, match="opens journals and metrics both"):
        world.token("ann", scopes=["read", METRICS_SCOPE])


def test_on_loopback_only_a_proxy_needs_a_token(tmp_path):
    """Where the machine's user says so."""
    world = World(tmp_path, offer=replace(OFFER, metrics="loopback"))
    assert world.ask(path=OFFERED).status_code == 200
    assert world.ask(path=OFFERED, headers={"x-forwarded-for": "203.0.113.7"}).status_code == 401
    assert world.ask(path=OFFERED, headers={"origin": "http://evil.example"}).status_code == 403


def test_metrics_that_are_off_are_not_there(tmp_path):
    """Not even for who has a token."""
    world = World(tmp_path, offer=replace(OFFER, metrics="off"))
    scraper = world.token("prometheus", scopes=[METRICS_SCOPE])
    assert world.ask(path=OFFERED, headers=scraper).status_code == 404


def test_what_a_limit_keeps_out_is_counted(tmp_path):
    """By the name of the limit; three in one go where one a second is allowed."""
    world = World(tmp_path, limits=SMALL)
    ann = world.token("ann")
    assert [world.ask(headers=ann).status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    world.clock.at += timedelta(seconds=1)
    assert world.ask(headers=ann).status_code == 200
    assert 'commonplace_refused_calls_total{limit="per_second"} 2' in world.metrics.render()


def read(server, token):
    """What a server has counted: each line's number by what stands before it."""
    answer = httpx2.get(f"{server.base}{OFFERED}", headers=bearer(token))
    assert answer.status_code == 200
    lines = [x for x in answer.text.splitlines() if not x.startswith("#")]
    return {name: float(value) for name, _, value in (x.rpartition(" ") for x in lines)}


def test_a_real_server_counts_calls_and_names_nobody(words_only):
    """By tool and outcome, whatever other name the tool was called by."""
    ann, scraper = token_for("ann"), token_for("prometheus", scopes=[METRICS_SCOPE])
    with HttpServer("--toolsets", "memory,memory-write") as server:
        with Raw(server.url, ann) as raw:
            raw.handshake()
            raw.call("memory_save", kind="todo", title="Buy xylophone cables")
            raw.call("memory.search", query="xylophone")
            raw.call("memory_search", query="x", top_k=0)
            raw.call("memory_delete", kind="todo", ref="unknown")
            raw.call("xylophone", query="x")
            assert (
                raw.http.post(f"{server.base}/web/enter", data={"token": scraper}).status_code
                != 303
            )
        counted = read(server, scraper)
        text = httpx2.get(f"{server.base}{OFFERED}", headers=bearer(scraper)).text
        assert server.end() == 0
    calls = {name: n for name, n in counted.items() if name.startswith("commonplace_calls")}
    assert calls == {
        'commonplace_calls_total{tool="memory_delete",outcome="not_found"}': 1,
        'commonplace_calls_total{tool="memory_save",outcome="ok"}': 1,
        'commonplace_calls_total{tool="memory_search",outcome="invalid"}': 1,
        'commonplace_calls_total{tool="memory_search",outcome="ok"}': 1,
    }
    assert counted['commonplace_call_seconds_count{tool="memory_search"}'] == 2
    assert counted["commonplace_open_users"] == 1
    assert not re.search("ann|xylophone|prometheus|cables", text)


def test_a_server_with_a_worker_counts_what_waits_and_encodes(database, small_model):
    """And how busy the connections to its database are, and what a quota kept out."""
    ann, scraper = token_for("ann"), token_for("prometheus", scopes=[METRICS_SCOPE])
    env = {
        "COMMONPLACE_DATABASE_URL": database.app_url,
        "COMMONPLACE_DATABASE_WORKER_URL": database.worker_url,
        "COMMONPLACE_SERVE_MOST_ENTRIES": "1",
    }
    with HttpServer("--toolsets", "memory,memory-write", **env) as server:
        with Raw(server.url, ann) as raw:
            raw.handshake()
            raw.call("memory_save", kind="todo", title="Buy cables")
        over = httpx2.post(
            f"{server.base}/api/v1/tools/memory_save",
            json={"kind": "todo", "title": "Buy more"},
            headers=bearer(ann),
        )
        assert (over.status_code, over.json()["code"]) == (403, "denied")
        assert "1 of at most 1 entries" in over.json()["message"]
        name = "commonplace_encoder_texts_total"
        until(lambda: read(server, scraper).get(name, 0) > 0, "the worker to encode")
        pending = "commonplace_worker_pending"
        unpacked = "commonplace_worker_unpacked_oldest_seconds"
        counted = {}  # one reading, in which all was counted at once

        def nothing_waits_but_to_be_packed():
            counted.update(read(server, scraper))
            return counted.get(pending) == 0 and counted[unpacked] > 0

        until(nothing_waits_but_to_be_packed, "what was saved to be filed")
        assert server.end() == 0
    assert counted["commonplace_quota_refusals_total"] == 1
    assert counted["commonplace_encoder_seconds_total"] > 0
    assert counted["commonplace_worker_pending_oldest_seconds"] == 0
    assert counted["commonplace_worker_unpacked_failed"] == 0
    assert counted["commonplace_database_connections"] >= 1
    assert counted["commonplace_database_connections_in_use"] >= 0
    assert counted["commonplace_database_waits_total"] >= 0
    served = {re.sub(r"(_bucket|_sum|_count)?\{.*", "", x) for x in counted}
    assert served | {"commonplace_refused_calls_total"} == told_in("http.md")
    assert told_in("operating.md") <= told_in("http.md")
