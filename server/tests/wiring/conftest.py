"""Two servers of two homes on one database, and its worker."""

from __future__ import annotations

from contextlib import ExitStack, closing

import psycopg
import pytest
from server.tests.two_homes import settings_in

from commonplace.app import Apps
from commonplace.app.process import ProcessContext
from commonplace_server.wiring.memories import open_worker
from commonplace_testing import FrozenClock, HashingEncoder, ReadySlot


@pytest.fixture
def clock():
    """The time on all servers."""
    return FrozenClock()


@pytest.fixture
def slot():
    """The encoder of all servers."""
    return ReadySlot(HashingEncoder())


@pytest.fixture
def servers(tmp_path, database, clock, slot):
    """Opens the app of an owner on a server, by the server's name; each has a home of its own.

    start: counts the starts of one server; feed: the journals that feed its timelines; quota: the most
    entries and bytes of an owner.
    """
    made = {}
    with ExitStack() as closing:

        def open_app(name, owner="ann", url=database.app_url, *, start=1, feed="", quota=()):
            key = (name, url, start, feed, quota)
            if key not in made:
                folder = tmp_path / name
                folder.mkdir(exist_ok=True)
                given = {"database.url": url, "timeline.feed": feed}
                given |= zip(("serve.most_entries", "serve.most_bytes"), quota, strict=False)
                settings = settings_in(folder, **{k: said for k, said in given.items() if said})
                shared = ProcessContext(settings, encoder=slot, serves_owners=True)
                closing.callback(shared.close)
                apps = Apps(settings, user_home=None, clock=clock, shared=shared)
                closing.callback(apps.close)
                made[key] = apps
            return closing.enter_context(made[key].using(owner))

        yield open_app


@pytest.fixture
def one(servers):
    """Ann's, on one server."""
    return servers("one")


@pytest.fixture
def two(servers):
    """Ann's, on another."""
    return servers("two")


@pytest.fixture
def admin(database):
    """The database as its owner sees it, who sees all rows."""
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def worker(database, clock, slot, tmp_path):
    """The worker of the database."""
    urls = {"database.url": database.app_url, "database.worker_url": database.worker_url}
    shared = ProcessContext(settings_in(tmp_path, **urls), encoder=slot)
    with closing(shared), open_worker(shared, clock) as opened:
        yield opened
