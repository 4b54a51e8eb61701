"""Nobody learns of what is another's, at any door: not its words, and not that it is there."""

from __future__ import annotations

import ast
import io
import itertools
import math
import random
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from server.tests.http_world import HttpServer, bearer, token_for
from server.tests.proof.isolation_roles import Roles
from server.tests.proof.isolation_world import TOOLSETS, UNASKED, VICTIMS, IsolationWorld
from server.tests.proof.probes import (
    FORMS,
    HERE,
    Name,
    Probe,
    probes_of_pages,
    probes_of_tools,
)
from tests.patience import PATIENCE_S

import commonplace_server
from commonplace.doors.mcp_offer import McpOffer
from commonplace.verbs.toolset import Toolset
from commonplace_server.mcp.server import make_server

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.long

SEED = 20261128
_NAMING = ("ref", "id", "query", "q", "text")
DOORS = ("api", "mcp", "session")
WITHOUT_NAME = (
    *("/", "/metrics", "/healthz", "/readyz"),
    *("/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"),
)
"""What is asked for without a name, by anybody."""

OF_STRANGERS = ("/token", "/register", "/revoke")
"""What takes a program's own secrets and no name of a user's thing: `http/test_token_endpoint`."""

ASKERS = 6
"""How many ask at once in a whole run; in a sample it is one."""

OTHER_WRITERS_EVERY = 400
OTHER_FORMS_EVERY = 40
"""After so many probes others ask, so that what they wrote themselves stays little."""

MOST_HEARD = 5_000
"""How many probes a victim may take to be told of its own at every door."""


@pytest.fixture
def server(request, words_only, monkeypatch):
    """Its users' journals lie in a database, or in files."""
    if request.param == "database":
        database = request.getfixturevalue("database")
        monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)
    monkeypatch.setenv("COMMONPLACE_SERVE_PER_SECOND", "100000")
    with HttpServer("--toolsets", TOOLSETS) as running:
        yield running


@pytest.fixture
def world(server):
    """Victims, and those who ask."""
    made = IsolationWorld(server)
    yield made
    made.close()


def rounds(user, chance) -> Iterator[Probe]:
    """Probes without end: of each argument of each tool at each door, and of each page."""
    tools, addresses = user.tools(), (*user.addresses(), "")
    while True:
        made = [probe for door in DOORS for probe in probes_of_tools(door, tools, chance)]
        made += probes_of_pages(chance)
        made += [
            Probe("resource", "read", "uri", {"uri": x + HERE}, writes=False) for x in addresses
        ]
        chance.shuffle(made)
        yield from made


def paths_in_code():
    """What the server's modules name as a path of their own."""
    for file in Path(commonplace_server.__file__).parent.rglob("*.py"):
        for each in ast.parse(file.read_text("utf-8")).body:
            value = getattr(each, "value", None)
            if isinstance(value, ast.Constant) and str(value.value).startswith("/"):
                yield value.value


def test_each_door_is_asked():
    """Each path and each method of MCP that the server knows, by a probe or without a name.

    Tools, resources, pages and the fields of these are what the server itself lists.
    """
    of_probes = {"/mcp", "/api/v1", "/web"}
    assert {*paths_in_code()} == {*of_probes, *WITHOUT_NAME, *OF_STRANGERS}
    server = make_server(McpOffer([Toolset(name="polite", guide="", tools=())]))
    assert {*server._request_handlers} == {*UNASKED, "prompts/get", "resources/read", "tools/call"}


class Asking:
    """Asks each probe for a thing and for its twin.

    What only reads is asked twice by one user. What may write is asked by two, who have done the
    same before, but for the twins.
    """

    def __init__(self, world, chance, seed):
        self._world = world
        self._chance = chance
        self._seed = seed
        self._reader = world.user(f"bob{seed}")
        self._pairs = {}
        self._number = 0

    def told(self, probe, name):
        """What a door gave away of a thing; empty for nothing. None where it had no twin so."""
        form = self._chance.choice(FORMS)
        asked = Name(form(name.real), form(name.twin))
        if asked.real == asked.twin:
            return None
        told = ""
        # Once more, where time alone made a difference, and by writers who have done nothing yet.
        for _ in range(3):
            one, two = self._users(probe)
            heard = [user.hear(probe, x) for user, x in zip((one, two), asked, strict=True)]
            one.asked += [asked, name]
            if given := self._world.secrets_in(heard[0].text, one.asked):
                return f"{probe} {asked}: {given}"
            plain = [
                x.plain(one.asked).replace(user.owner, "OWNER")
                for x, user in zip(heard, (one, two), strict=True)
            ]
            if not probe.writes:
                one.asked.clear()
            if plain[0] == plain[1]:
                return ""
            told = f"{probe} {asked}: {_where(*plain)}"
            self._pairs = {kind: (pair, math.inf) for kind, (pair, _) in self._pairs.items()}
        return told

    def _users(self, probe):
        if not probe.writes:
            return self._reader, self._reader
        kind = "form" if probe.door == "form" else "tool"
        most = OTHER_FORMS_EVERY if kind == "form" else OTHER_WRITERS_EVERY
        pair, used = self._pairs.get(kind, ((), most))
        if used >= most:
            for each in pair:
                each.close()
            self._number += 1
            name = f"{self._seed}-{self._number}"
            pair, used = [self._world.user(f"{x}{name}") for x in ("carl", "dora")], 0
        self._pairs[kind] = pair, used + 1
        return pair


def _where(one, two):
    """Where two answers begin to differ."""
    ends = min(len(one), len(two))
    place = max(next((x for x in range(ends) if one[x] != two[x]), ends) - 60, 0)
    return f"{one[place : place + 160]!r} beside {two[place : place + 160]!r}"


def ask_doors(world, count, seed):
    """Ask so many probes; what was given away."""
    chance = random.Random(seed)
    asking = Asking(world, chance, seed)
    probes = rounds(world.victims[0].user, chance)
    answered = (asking.told(probe, chance.choice(world.names)) for probe in probes)
    return [x for x in itertools.islice((x for x in answered if x is not None), count) if x]


def ask_roles(database, world, count, seed):
    """Ask the database itself so often; what was given away."""
    chance = random.Random(seed)
    with closing(Roles(database, VICTIMS, chance)) as roles:
        told = ((name, *roles.ask(name)) for name in chance.choices(world.names, k=count))
        return [
            f"{what} {name}: {one!r} beside {two!r}"
            for name, what, one, two in told
            if one != two or world.secrets_in(one, [name])
        ]


def elsewhere(world, server):
    """All that is told without a name: descriptions, figures, health, an export of another."""
    other = world.user("eve")
    figures = token_for("eve", scopes=["metrics"])
    addresses = ("/api/v1/openapi.json", *WITHOUT_NAME)
    texts = [
        httpx2.get(server.base + x, headers=bearer(y), timeout=PATIENCE_S).text
        for x in addresses
        for y in (token_for("eve"), figures, "")
    ]
    with zipfile.ZipFile(io.BytesIO(other.export())) as whole:
        exported = [whole.read(x).decode("utf-8", "replace") for x in whole.namelist()]
    assert any("quokka" in x for x in exported)
    told = (*texts, *exported, *other.unasked())
    return [x for each in told for x in world.secrets_in(each, ())]


def hears_itself(world, chance):
    """Ask as the victim until it is told of its own at every door: else the probes prove nothing."""
    victim = world.victims[0]
    victim.user.own = (victim.words[0], *victim.refs[:7])
    names = [x for x in victim.names if x.real in {*victim.words, *victim.refs}]
    silent = {*DOORS, "page"}
    for probe in itertools.islice(rounds(victim.user, chance), MOST_HEARD):
        if not silent:
            return
        if probe.door in silent and not probe.writes and probe.field in _NAMING:
            name = chance.choice(names)
            one, two = (victim.user.hear(probe, x).plain([name]) for x in name)
            silent -= {probe.door} if one != two else set()
    raise AssertionError(f"nothing of their own was told at {silent}")


@pytest.mark.parametrize(
    ("server", "count"),
    [
        ("database", {"doors": 250, "roles": 1_500}),
        ("files", {"doors": 150}),
        pytest.param("database", {"doors": 8_040, "roles": 86_040}, marks=pytest.mark.whole),
        pytest.param("files", {"doors": 6_000}, marks=pytest.mark.whole),
    ],
    indirect=["server"],
)
def test_nothing_of_a_user_is_told_to_another(request, server, world, counted, count):
    """What is asked for is answered as what never was, and victims' journals stay as they were."""
    before = [each.read() for each in world.victims]
    hears_itself(world, random.Random(SEED))
    asked = [("doors", partial(ask_doors, world), count["doors"])]
    if "roles" in count:
        database = request.getfixturevalue("database")
        asked.append(("roles", partial(ask_roles, database, world), count["roles"]))
    found = elsewhere(world, server)
    with ThreadPoolExecutor(2 * ASKERS) as pool:
        askers = 1 if count["doors"] < 1_000 else ASKERS
        parts = [
            pool.submit(ask, number // askers, SEED + x)
            for _, ask, number in asked
            for x in range(askers)
        ]
        found += [told for each in parts for told in each.result()]
    assert not found, "\n".join(found[:60])
    assert [each.read() for each in world.victims] == before
    counted("probes of another user's things", sum(count.values()))
