"""Two servers of one database behind one proxy are as one: in every journal, for every call."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from psycopg.conninfo import conninfo_to_dict
from server.tests.http_world import HttpServer, revoke, token_for
from server.tests.proof.haproxy import HaProxy
from server.tests.proof.journal_calls import EVERYWHERE, ROWS, TOOLSETS, Caller, Naming, filled
from server.tests.proof.pgbouncer import PgBouncer
from tests.patience import until

from commonplace.config.settings import parse_setting
from commonplace.timeline import Timeline
from commonplace_testing import ReadySlot

pytestmark = pytest.mark.long

SEED = 20261128
FLAGS = ("--toolsets", TOOLSETS)
WORDS = tuple("quokka gate tide harbour ferry lantern rope anchor mist pier gull chart".split())
HELD_S = 1.0
"""Within that time a revocation holds everywhere: the promise itself."""


@pytest.fixture
def bouncer(words_only, database):
    """A PgBouncer before the database, which hands out each transaction by itself."""
    found = conninfo_to_dict(database.app_url)
    made = PgBouncer(host=found["host"], name=found["dbname"])
    until(lambda: made.is_there, "the pgbouncer to answer")
    yield made.database(database.admin_url)
    made.close()


@pytest.fixture
def serve(bouncer, monkeypatch):
    """Starts servers, which end with the test."""
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", bouncer.app_url)
    monkeypatch.setenv("COMMONPLACE_SERVE_PER_SECOND", "100000")
    with ExitStack() as held:
        yield lambda *flags, **env: held.enter_context(HttpServer(*flags, **env))


@pytest.fixture
def both(serve):
    """Two servers of one home, which offer the verbs of all journals together too."""
    return serve(*FLAGS), serve(*FLAGS)


@pytest.fixture
def apart(serve, tmp_path):
    """Two servers of two homes, which have nothing but the database in common."""
    (other := tmp_path / "other").mkdir()
    return serve(*FLAGS), serve("--shared-only", COMMONPLACE_HOME=str(other))


def token_of(owner):
    """A token that opens all of a user's journals."""
    return token_for(owner, toolsets=parse_setting("toolsets", TOOLSETS))


def shows(caller, row, word, ref):
    """Whether each verb that reads shows an entry; those that do not agree fail."""
    calls = (call for call in (*row.reads, *row.by_now, *EVERYWHERE) if call[0] in caller.tools)
    asked = [filled(call, WORD=word, REF=ref) for call in calls]
    found = {call[0]: word in _told(caller.call(*call)) for call in asked}
    listed = [_told(caller.done(filled(call, WORD=word, REF=ref))) for call in row.lists]
    found |= {"lists": any(word in text for text in listed)}
    assert len({*found.values()}) == 1, found
    return found["lists"]


def _told(told):
    """What was answered, without the question."""
    return (
        str({**told.facts, **dict.fromkeys(("query", "missing", "about"), "")})
        if told.is_done
        else ""
    )


MADE_OF_ENTRIES = {
    *("timeline_rollup", "timeline_trends", "timeline_profile", "journal_toc"),
    "journal_synthesize_conflict",
    # As `amend` does.
    "memory_delete",
}
"""What shows no entry by its words: `wiring/test_shared_timeline` and its like have two servers too."""


@pytest.mark.parametrize("servers", ["both", "apart"])
def test_each_verb_of_one_is_seen_by_the_other_at_once(request, servers):
    """What is written, keyed, edited, taken back, superseded and deleted at either, by every read."""
    first, second = request.getfixturevalue(servers)
    with Caller(first.base, token := token_of("ann")) as one, Caller(second.base, token) as two:
        calls = (x for row in ROWS for x in (*row.writes, *row.reads, *row.by_now, *row.lists))
        asked = {tool for tool, _ in (*calls, *EVERYWHERE)} | {"amend"}
        assert one.tools == two.tools == asked | MADE_OF_ENTRIES
        for row, a, b in ((x, *pair) for x in ROWS for pair in ((one, two), (two, one))):
            for number, write in enumerate(row.writes):
                word = f"quokka{row.name}{number}{'ab'[a is two]}z"
                given = {"AT": f"2025-03-04 14:05:{number:02}", "KEY": word}
                ref = a.done(filled(write, TEXT=f"the {word} gate", **given)).ref
                if "AT" not in write[1].values():
                    continue  # it is of no year that is listed
                assert shows(b, row, word, ref)
                if "KEY" in write[1].values():
                    assert b.done(filled(write, TEXT=f"the {word} gate", **given)).ref == ref
                    assert shows(a, row, word, ref)
                if "amend" in one.tools & two.tools:
                    amended(a, b, row, ref, word)


def amended(a, b, row, ref, word):
    """Change an entry at both in turn, and look at the other."""
    other, third = word.replace("quokka", "wombat"), word.replace("quokka", "koala")
    edited = b.done(("amend", {"ref": ref, "text": f"the {other} gate"}))
    assert shows(a, row, other, edited.ref)
    if edited.ref != ref:  # a message keeps its text: another takes its place
        return
    assert not shows(a, row, word, ref)
    a.done(("amend", {"ref": ref, "undo": True}))
    assert shows(b, row, word, ref)
    new = b.done(("amend", {"ref": ref, "text": f"the {third} gate", "supersede": True})).ref
    assert new in a.done(("open_ref", {"ref": ref})).text
    assert third in a.done(("open_ref", {"ref": new})).text
    for each in (new, ref):
        a.done(("amend", {"ref": each, "delete": True}))
        assert b.call("open_ref", {"ref": each}).status == 404
    assert not shows(b, row, third, new)
    assert not shows(b, row, word, ref)


class Player:
    """A user who makes random calls; what is told depends on nothing but the seed."""

    def __init__(self, caller, owner, seed, timeline):
        self._caller = caller
        self._timeline = timeline
        self._owner = owner
        self._chance = random.Random(f"{SEED} {seed}")
        writes = {row.name: [*filter(_has_own_time, row.writes)] for row in ROWS}
        self._writes = {name: own for name, own in writes.items() if own}
        self._rows = [row for row in ROWS if row.name in self._writes]
        self._naming = Naming()
        self._refs = []
        self._count = 0

    def play(self):
        """Make one call; what was told, its refs and times numbered."""
        row = self._chance.choice(self._rows)
        tool, arguments = self._next(row)
        told = self._caller.call(tool, arguments)
        assert told.status in {200, 400, 404, 409}, (tool, arguments, told)
        wrote = {each[0] for each in row.writes} | {"amend"}
        if told.is_done and tool in wrote:
            self._refs += [told.ref] if told.ref else []
            # A call of the timeline sums up for half a second at the most: how much is chance.
            self._timeline.roll_up()
        return tool, self._naming.plain(told).replace(self._owner, "OWNER")

    def _next(self, row):
        chance = self._chance
        self._count += 1
        at = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=self._count)
        given = {
            "TEXT": f"{' '.join(chance.sample(WORDS, 3))} n{self._count}",
            "KEY": f"key {chance.randrange(self._count // 2 + 1)}",
            "AT": f"{at:%Y-%m-%d %H:%M}",
            "WORD": chance.choice(WORDS),
            "REF": chance.choice(self._refs[-20:] or ["memory:todo/none"]),
        }
        match chance.randrange(10):
            case 0 | 1 | 2 | 3:
                return filled(chance.choice(self._writes[row.name]), **given)
            case 4 | 5 | 6:
                return filled(chance.choice((*row.reads, *EVERYWHERE)), **given)
            case 7:
                return filled(chance.choice(row.lists), **given)
        how = chance.choice(({"text": "TEXT"}, {"delete": True}, {"undo": True}, {}))
        if how:
            return filled(("amend", {"ref": "REF", **how}), **given)
        tool, arguments = chance.choice(self._writes[row.name])
        # Of one time the order is that of random ids.
        superseding = {} if row.keeps_time else {"supersedes": "REF"}
        return filled((tool, {**arguments, **superseding}), **given)


def _has_own_time(write):
    """Whether what it makes has a time of its own: of one time the order is that of random ids.

    What is of now has another at each server; a message that is edited, that of the former.
    """
    return "AT" in write[1].values() and write[1].get("kind") != "message"


@contextmanager
def players(base, users):
    """Some users of what answers there."""
    with ExitStack() as held:
        yield [
            Player(
                held.enter_context(Caller(base, token_of(user))),
                user,
                seed,
                held.enter_context(Timeline(user, encoder=ReadySlot(None))),
            )
            for seed, user in enumerate(users)
        ]


@pytest.mark.parametrize("calls", [300, pytest.param(10_000, marks=pytest.mark.whole)])
def test_calls_that_a_proxy_spreads_equal_those_of_one_server(serve, both, counted, calls):
    """Random calls of each journal by three users; three others ask the same of one server."""
    spread, alone = [[f"{x}{number}" for number in range(3)] for x in ("spread", "alone")]
    with HaProxy([server.port for server in both]) as proxy:
        for server in both:
            until(lambda x=server.port: proxy.sends_to(x), "both servers to be ready")
        base = proxy.url.removesuffix("/mcp")
        with players(base, spread) as many, players(both[0].base, alone) as one:
            for number in range(calls):
                # The pair plays by one seed.
                each, other = many[number % 3], one[number % 3]
                assert each.play() == other.play(), number
        sent = [proxy.sent_to(server.port) for server in both]
    assert min(sent) > calls // 3
    counted("calls spread over two servers that equal those of one", calls)


def test_a_revocation_holds_at_both_within_a_second(both, counted):
    """A call that begins later is refused by either, though either just let the token in."""
    rounds = 5
    for number in range(rounds):
        token = token_of(f"ann{number}")
        with Caller(both[0].base, token) as one, Caller(both[1].base, token) as two:
            asked = ("memory_list", {"kind": "todo"})
            for each in (one, two):
                each.done(asked)
            revoke(token)
            ends = time.monotonic() + HELD_S
            while (began := time.monotonic()) <= ends:
                for each in (one, two):
                    assert each.call(*asked).status in {200, 401, 503}
            assert began > ends
            assert [each.call(*asked).status for each in (one, two)] == [401, 401]
    counted("revocations that held at two servers within a second", rounds)
