"""Two servers of two homes on one database, and its worker."""

from __future__ import annotations

from contextlib import ExitStack, closing

import psycopg
import pytest
from server.tests.two_homes import settings_in
from starlette.testclient import TestClient
from tests.doors.web.web_world import ADDRESS

from commonplace.app import Apps
from commonplace.app.process import ProcessContext
from commonplace.doors.web.guard import PageLimits
from commonplace_server.http.limits import Limits, RateLimiter
from commonplace_server.http.served_pages import pages_for_tokens
from commonplace_server.tokens import TokenFile
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
def browse(tmp_path, clock, slot):
    """Opens the pages of a server by its settings: its apps, its tokens and a browser."""
    with ExitStack() as held:

        def open_pages(**given):
            settings = settings_in(tmp_path, **given)
            shared = ProcessContext(settings, encoder=slot, serves_owners=True)
            held.callback(shared.close)
            apps = Apps(settings, user_home=None, clock=clock, shared=shared)
            held.callback(apps.close)
            tokens = TokenFile(settings.home, clock=clock)
            rates = RateLimiter(Limits(), clock.seconds)
            pages = pages_for_tokens(
                apps,
                tokens=tokens,
                knows_host=lambda _: True,
                may_write=True,
                clock=clock,
                screen=shared.screen,
                prefix="/web",
                limits=PageLimits(rates=rates, drafts=rates, body_bytes=10_000),
                is_stopping=lambda: False,
            )
            headers = {"origin": ADDRESS}
            web = TestClient(pages, base_url=ADDRESS, headers=headers, follow_redirects=False)
            held.callback(web.close)
            return apps, tokens, web

        yield open_pages


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
