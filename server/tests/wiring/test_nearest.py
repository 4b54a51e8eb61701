"""Who has become large gets an index of the nearest, made by the tables' owner alone."""

import threading

import pytest
from tests.patience import PATIENCE_S

from commonplace.core.errors import Unavailable
from commonplace_server.wiring import nearest as memory_nearest
from commonplace_server.wiring.nearest import update_nearest, updating_nearest


def test_the_owner_of_the_tables_need_not_be_a_superuser(database):
    """It sees how many vectors each user has, and no row of theirs besides."""
    database.run("DROP ROLE IF EXISTS plain_owner")
    database.run("CREATE ROLE plain_owner LOGIN")
    database.run("ALTER TABLE wb_embeddings OWNER TO plain_owner")
    database.run("ALTER TABLE wb_models OWNER TO plain_owner")
    try:
        assert update_nearest(database.admin_url.replace("user=postgres", "user=plain_owner")) == []
    finally:
        database.run("REASSIGN OWNED BY plain_owner TO postgres")
        database.run("DROP OWNED BY plain_owner")
        database.run("DROP ROLE plain_owner")


def test_a_database_that_is_away_is_told(database):
    """It says so, and a thread that looks now and then goes on."""
    away = database.admin_url.replace("dbname=", "dbname=no_")
    with pytest.raises(Unavailable):
        update_nearest(away)
    with updating_nearest(away, every_s=0.01):
        pass


def test_a_thread_looks_now_and_then(database, monkeypatch):
    """More than once while it is open; without an address, never."""
    looked = threading.Semaphore(0)
    monkeypatch.setattr(memory_nearest, "update_nearest", lambda _url: looked.release() or [])
    with updating_nearest(None):
        assert not looked.acquire(blocking=False)
    with updating_nearest(database.admin_url, every_s=0.001):
        assert looked.acquire(timeout=PATIENCE_S)
        assert looked.acquire(timeout=PATIENCE_S)
