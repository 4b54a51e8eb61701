"""The manifests for Kubernetes: what their operator does in Postgres is enough for us.

Done here by hand, since no Kubernetes runs: roles, database and extension as they say, and then
`migrate` as the owner, who is no superuser, a server and a search.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
import yaml
from psycopg import sql
from server.tests.databases import SERIES
from server.tests.proof.cluster import ENCODED
from server.tests.proof.pgbouncer import CONF
from server.tests.two_homes import ask

from commonplace_server.postgres.migrate import migrate_postgres

MANIFESTS = Path(__file__).parents[2] / "deploy" / "cloudnativepg.yaml"


@pytest.fixture(scope="module")
def said():
    """What each manifest wants, by its kind."""
    return {x["kind"]: x["spec"] for x in yaml.safe_load_all(MANIFESTS.read_text("utf-8"))}


@pytest.mark.long
def test_what_they_set_up_is_enough(said, own_server, servers):
    """The roles can log in and own nothing; the owner of the tables makes no role or extension."""
    begun, names = said["Cluster"]["bootstrap"]["initdb"], sql.Identifier
    owner, database = begun["owner"], begun["database"]
    made = "CREATE DATABASE {} OWNER {} TEMPLATE template0 ENCODING {} LOCALE {}"
    with psycopg.connect(own_server.url(), autocommit=True) as conn:
        for role in ({"name": owner, "login": True}, *said["Cluster"]["managed"]["roles"]):
            assert role["login"]
            conn.execute(sql.SQL("CREATE ROLE {} LOGIN").format(names(role["name"])))
        given = names(database), names(owner), begun["encoding"], begun["locale"]
        conn.execute(sql.SQL(made).format(*given))
    with psycopg.connect(own_server.url("postgres", database), autocommit=True) as conn:
        for statement in begun["postInitApplicationSQL"]:
            conn.execute(statement)
    migrate_postgres(own_server.url(owner, database), SERIES)
    roles = [role["name"] for role in said["Cluster"]["managed"]["roles"]]
    assert roles == ["commonplace_app", "commonplace_worker"]
    app = servers("one", url=own_server.url("commonplace_app", database))
    ref = ask(app, "add_entry", message="the quokka gate is open").facts["ref"]
    assert ask(app, "recall", query="quokka gate").facts["results"][0]["ref"] == ref


def test_they_are_as_what_the_proofs_run_on(said):
    """Commits wait for another node, nothing that has them is passed over; the pool is the proofs'."""
    cluster = said["Cluster"]
    begun, held = cluster["bootstrap"]["initdb"], cluster["postgresql"]["synchronous"]
    assert {x: begun[x] for x in ENCODED} == ENCODED
    assert (held["number"], held["dataDurability"], held["failoverQuorum"]) == (1, "required", True)
    pool = said["Pooler"]["pgbouncer"]
    lines = CONF.splitlines()
    assert f"pool_mode = {pool['poolMode']}" in lines
    assert f"server_login_retry = {pool['parameters']['server_login_retry']}" in lines


def test_each_names_the_others(said):
    """The cluster that they are of, the store of its log, and the plugin that copies."""
    (plugin,) = said["Cluster"]["plugins"]
    named = [x["metadata"] for x in yaml.safe_load_all(MANIFESTS.read_text("utf-8"))]
    assert {x["name"] for x in named} == {"memories", "memories-pooler"}
    assert plugin["parameters"] == {"barmanObjectName": "memories"}
    assert said["ScheduledBackup"]["pluginConfiguration"]["name"] == plugin["name"]
    assert [said[x]["cluster"] for x in ("Pooler", "ScheduledBackup")] == [{"name": "memories"}] * 2
