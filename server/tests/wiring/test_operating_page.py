"""What the pages tell to set, for Patroni, PgBouncer and haproxy, is what the proofs run."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

import yaml
from server.tests.proof import pgbouncer
from server.tests.proof.cluster import AGREED, ENCODED, FOLLOWING
from server.tests.proof.haproxy import read_pages
from server.tests.two_homes import settings_in

from commonplace_server.postgres.database import DEADLINE_S, MOVING_S

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text("utf-8")

UNITS = {"s": 1, "m": 60}


def block(kind, first):
    """The block of the page that begins so."""
    return first + PAGE.partition(f"```{kind}\n{first}")[2].partition("\n```")[0]


def pooled(text):
    """The settings of a PgBouncer."""
    parser = ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser["pgbouncer"]


def test_patroni_is_as_in_the_proof_of_failover():
    """What nodes agree on, how databases are encoded, and how a node comes to follow."""
    set_there = yaml.safe_load(block("yaml", "scope: "))
    initdb = [{name: x} for name, x in ENCODED.items()]
    assert set_there["bootstrap"] == {"dcs": AGREED, "initdb": initdb}
    assert FOLLOWING.items() <= set_there["postgresql"].items()


def test_pgbouncer_is_as_in_the_proofs():
    """What transactions of a server, and a new primary, depend on."""
    on_page, run = pooled(block("ini", "[databases]")), pooled(pgbouncer.CONF)
    for name in ("pool_mode", "server_login_retry"):
        assert on_page[name] == run[name]


def test_haproxy_waits_longer_than_what_is_behind_it(tmp_path):
    """Proofs run what the pages tell, of which each wait ends after the product's own."""
    servers, nodes = (
        [int(count) * UNITS[unit] for count, unit in re.findall(r"timeout server (\d+)(\w)", x)]
        for x in read_pages()
    )
    asked, downloads = servers
    assert asked > settings_in(tmp_path).llm.timeout_s + DEADLINE_S
    assert min(downloads, *nodes) >= MOVING_S
