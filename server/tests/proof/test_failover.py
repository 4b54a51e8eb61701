"""Writes of every journal while nodes of the database die, freeze and change places.

Two servers behind one haproxy: one names the places of nodes in its address, the other asks a PgBouncer,
which asks an haproxy that knows the primary.
"""

from __future__ import annotations

import itertools
import logging
import math
import random
import signal
import threading
import time
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from server.tests.databases import SERIES
from server.tests.http_world import HttpServer, token_for
from server.tests.proof.cluster import TTL_S, Cluster
from server.tests.proof.haproxy import HaProxy
from server.tests.proof.journal_calls import ROWS, TOOLSETS, YEAR, Caller, filled
from server.tests.proof.pgbouncer import PgBouncer
from tests.patience import PATIENCE_S, until

from commonplace.config.settings import parse_setting
from commonplace_server.postgres.migrate import migrate_postgres

pytestmark = pytest.mark.long

LOG = logging.getLogger(__name__)
WRITTEN = tuple(row for row in ROWS if "AT" in row.writes[0][1].values())
"""The journals whose entries are given their time, by which they are listed in the end."""

USERS = ("ann", "bob", "cy")
CALL_S = 25.0
"""The longest that a call may take: less than half of what the official clients wait for."""

BOUNDS = {
    "switch over": 10.0,
    "kill postgres": 10.0,
    "kill the pooler": 10.0,
    "kill": TTL_S + 5.0,
    "replace": TTL_S + 5.0,
    "freeze": TTL_S + 5.0,
}
"""Within how many seconds a write is answered again, by fault: the promise itself."""

STEPS_DOWN_S = 10.0
"""Within how many seconds a node that had been frozen, and goes on, has ended its Postgres."""

OF_ITSELF = "timeline:rollup_"
"""How the refs begin of what the timeline makes by itself."""

SAMPLE = ("switch over", "kill postgres", "freeze")


class Outcome(NamedTuple):
    """How a call ended."""

    tool: str
    began: float
    ended: float
    told: object

    @property
    def is_done(self):
        return self.told.is_done


class GoingOn:
    """When the last node that had been frozen went on, until its Postgres had ended.

    It takes itself for the primary then. It acknowledges no write, as no standby follows it, but
    it answers what is read from before: docs/limits.md says so.
    """

    def __init__(self):
        self.began = self.ended = math.inf
        self.longest = 0.0

    @contextmanager
    def now(self):
        self.ended = math.inf
        self.began = time.monotonic()
        yield
        self.ended = time.monotonic()
        self.longest = max(self.longest, self.ended - self.began)

    def touches(self, outcome):
        """Whether that node may have given this answer."""
        return outcome.began <= self.ended and outcome.ended >= self.began


class Writer(threading.Thread):
    """A user who writes, edits and deletes in every journal; what is not done is asked again."""

    def __init__(self, base, user, going_on):
        super().__init__(daemon=True)
        self._going_on = going_on
        self._caller = Caller(base, token_for(user, toolsets=parse_setting("toolsets", TOOLSETS)))
        self.user = user
        self.stopping = threading.Event()
        self.outcomes = []
        self.kept = {}
        self.gone = set()
        self.missed = 0  # answers of "not found", perhaps from a node that goes on
        self.error = None

    def run(self):
        try:
            for number in itertools.count():
                if self.stopping.is_set():
                    return
                self._turn(WRITTEN[number % len(WRITTEN)], number)
        except BaseException as exc:  # noqa: BLE001  whatever it is, the test tells it
            self.error = exc

    def _turn(self, row, number):
        text = f"the {self.user}z{number}n gate is open"
        # A second of its own: the private journal may give the ref of one that is deleted to another
        # of the same second.
        at = f"2025-03-04 {10 + number // 3600}:{number // 60 % 60:02}:{number % 60:02}"
        given = {"TEXT": text, "KEY": text, "AT": at}
        ref = self._surely(filled(row.writes[0], **given)).ref
        assert ref not in self.kept
        assert ref not in self.gone
        self.kept[ref] = text
        if number % 3 == 0:
            text = text.replace("open", "shut")
            assert self._surely(("amend", {"ref": ref, "text": text})).ref == ref
            self.kept[ref] = text
        if number % 5 == 0:
            del self.kept[ref]
            self.gone.add(ref)
            # Not found: it was done, and its answer lost.
            self._surely(("amend", {"ref": ref, "delete": True}), may_be={404})

    def _surely(self, call, may_be=frozenset()):
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends:
            outcome = self._ask(call)
            told = outcome.told
            if told.status == 404 and self._going_on.touches(outcome):
                self.missed += 1
                continue  # perhaps from before: what is so the other node says as well
            if told.is_done or told.status in may_be:
                return told
            assert told.facts["code"] == "unavailable", told
            assert told.facts["hint"], told
        raise AssertionError(told)

    def _ask(self, call):
        began = time.monotonic()
        told = self._caller.call(*call)
        outcome = Outcome(call[0], began, time.monotonic(), told)
        self.outcomes.append(outcome)
        return outcome

    def end(self):
        self.stopping.set()
        self.join()
        if self.error is not None:
            raise self.error

    def check(self):
        """All that was acknowledged is there, once, as it was last told; nothing else is."""
        with self._caller:
            for ref, text in self.kept.items():
                assert text in self._surely(("open_ref", {"ref": ref})).facts["text"]
            for ref in self.gone:
                assert self._surely(("open_ref", {"ref": ref}), may_be={404}).status == 404
            listed, start = [], 0
            while start is not None:
                asked = {"when": YEAR, "limit": 100, "start": start}
                page = self._surely(("list_by_time", asked)).facts
                listed += [x["ref"] for x in page["results"] if OF_ITSELF not in x["ref"]]
                start = page["next_start"]
        assert sorted(listed) == sorted(self.kept)


@pytest.fixture
def cluster():
    """Two nodes, empty."""
    made = Cluster()
    yield made
    made.close()


@pytest.fixture
def bouncer(cluster):
    """A PgBouncer that is led to the primary."""
    until(lambda: any(cluster.proxy.sends_to(x.port) for x in cluster.nodes), "a primary")
    made = PgBouncer(host="127.0.0.1", port=cluster.proxy.port, name="postgres")
    until(lambda: made.is_there, "the pgbouncer to answer")
    yield made
    made.close()


@pytest.fixture
def base(words_only, cluster, bouncer, monkeypatch):
    """The address of what spreads calls over two servers."""
    direct = cluster.database()
    migrate_postgres(direct.admin_url, SERIES)
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", direct.app_url)
    monkeypatch.setenv("COMMONPLACE_SERVE_PER_SECOND", "100000")
    pooled = bouncer.database(direct.admin_url).app_url
    flags = ("--toolsets", TOOLSETS)
    with (
        HttpServer(*flags) as one,
        HttpServer(*flags, COMMONPLACE_DATABASE_URL=pooled) as two,
        HaProxy([one.port, two.port]) as proxy,
    ):
        for each in (one, two):
            until(lambda x=each.port: proxy.sends_to(x), "both servers to be ready")
        yield f"http://127.0.0.1:{proxy.port}"


@contextmanager
def broken(cluster, bouncer, fault, going_on):
    """The cluster after a fault, which is mended at the end."""
    node = cluster.primary()
    match fault:
        case "switch over":
            node.switch_over()
        case "kill postgres":
            node.signal_postgres(signal.SIGKILL)
        case "kill the pooler":
            bouncer.kill()
            bouncer.start()
        case "kill" | "replace":
            node.signal(signal.SIGKILL)
        case "freeze":
            node.signal(signal.SIGSTOP)
    yield
    match fault:
        case "kill":
            node.start()
        case "replace":
            cluster.replace(node)
        case "freeze":
            with going_on.now():
                node.go_on()


def answered_since(writers, at):
    """Whether a call that began since is done, of anybody."""
    return any(x.is_done and x.began >= at for each in writers for x in [*each.outcomes])


def longest_gap(outcomes, since, until_):
    """The longest time without a call that was done, in seconds, of any that ends in a time."""
    ends = sorted(x.ended for x in outcomes if x.is_done)
    pairs = itertools.pairwise(ends)
    return max(after - before for before, after in pairs if after >= since and before <= until_)


@pytest.mark.parametrize(
    "plan",
    [
        # Beside all the tests of a run no bound of seconds says anything of the servers.
        pytest.param((SAMPLE, dict.fromkeys((*SAMPLE, "call", "step down"), PATIENCE_S)), id="3"),
        pytest.param(
            ((*BOUNDS,) * 10, {**BOUNDS, "call": CALL_S, "step down": STEPS_DOWN_S}),
            marks=pytest.mark.whole,
            id="60",
        ),
    ],
)
def test_nothing_acknowledged_is_lost_or_doubled(cluster, bouncer, base, counted, plan):
    """Each call ends in time, with what to do; the next is answered within the fault's bound."""
    faults, within = plan
    going_on = GoingOn()
    writers = [Writer(base, user, going_on) for user in USERS]
    for each in writers:
        each.start()
    times = []
    for fault in random.Random(37).sample(faults, len(faults)):
        began = time.monotonic()
        until(
            lambda at=began: answered_since(writers, at) or _failed(writers),
            "a call before the fault",
        )
        at = time.monotonic()
        with broken(cluster, bouncer, fault, going_on):
            struck = time.monotonic()
            until(lambda at=struck: answered_since(writers, at) or _failed(writers), "an answer")
        until(lambda: cluster.is_whole or _failed(writers), "both nodes to be there")
        times.append((fault, at, time.monotonic()))
        if _failed(writers):
            break
    for each in writers:
        each.end()
    outcomes = [x for each in writers for x in each.outcomes]
    gaps = [(fault, longest_gap(outcomes, *window)) for fault, *window in times]
    report(gaps, outcomes, going_on, sum(each.missed for each in writers))
    for each in writers:
        each.check()
    assert max(x.ended - x.began for x in outcomes) < within["call"]
    assert going_on.longest < within["step down"]
    late = [(fault, gap) for fault, gap in gaps if gap > within[fault]]
    assert not late
    counted("nodes of a database killed, frozen or switched under writes", len(faults))


def _failed(writers):
    return any(each.error for each in writers)


def report(gaps, outcomes, going_on, missed):
    """Log what happened: `--log-cli-level=INFO` shows it."""
    for fault in BOUNDS:
        found = sorted(gap for name, gap in gaps if name == fault)
        if found:
            LOG.info(
                "%s: %d, nothing done for %.1f to %.1f s", fault, len(found), found[0], found[-1]
            )
    took = sorted(x.ended - x.began for x in outcomes)
    failed = [x for x in outcomes if not x.is_done]
    slow = max((x.ended - x.began for x in failed), default=0)
    led = going_on.longest, missed
    asked = len(outcomes), len(failed), took[-1], slow
    LOG.info("%d calls, %d not done; the longest %.1f s, of those %.1f", *asked)
    LOG.info("a frozen node that went on led for %.1f s; %d times not found then", *led)
