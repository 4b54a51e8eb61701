"""What the page `Operating it` tells to set, for Patroni and PgBouncer, is what the proofs run."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

import yaml
from server.tests.proof import pgbouncer
from server.tests.proof.cluster import AGREED, ENCODED, FOLLOWING

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text("utf-8")


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
