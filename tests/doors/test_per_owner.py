"""The toolsets of many owners: one list, and each call on its own owner's journals."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from commonplace.app import App, Apps
from commonplace.config import read_settings
from commonplace.core.errors import Internal
from commonplace.doors.pace import Pace
from commonplace.doors.per_owner import PerOwner
from commonplace.doors.warming import WarmedApps
from commonplace.tools.session import Session, current_session, within


@pytest.fixture
def apps(words_only):
    settings = read_settings(flags={"toolsets": "all"}, cwd=Path.cwd(), home=Path.home())
    opened = Apps(settings, user_home=Path.home())
    yield opened
    opened.close()


@pytest.fixture
def sample(apps):
    return App(apps.settings, user_home=None, shared=apps.shared).toolsets()


def test_a_call_is_its_sessions_owners(apps, sample):
    """And nobody's where no session is set."""
    shared = PerOwner(apps, sample, pace=Pace()).toolsets
    save, found = shared["memory-write"].tool("memory_save"), shared["memory"].tool("memory_search")
    with within(Session("ann")):
        save.call({"kind": "todo", "title": "Buy cables"})
        assert "cables" in found.call({"query": "cables"}).text
    with within(Session("bob")):
        assert "Buy" not in found.call({"query": "cables"}).text
    with pytest.raises(Internal, match="without an owner"):
        found.call({"query": "cables"})
    assert current_session() is None


def test_all_of_each_toolset_is_there_under_its_own_words(apps, sample):
    """Names, schemas, effects, aliases, resources and prompts are those of any owner."""
    shared = PerOwner(apps, sample, pace=Pace()).toolsets
    for toolset in sample:
        same = shared[toolset.name]
        assert same.guide == toolset.guide
        assert [
            (x.name, x.description, x.schema, x.effects, x.aliases, x.samples) for x in same.tools
        ] == [
            (x.name, x.description, x.schema, x.effects, x.aliases, x.samples)
            for x in toolset.tools
        ]
        with within(Session("ann")):
            assert all(isinstance(x.read(), str) for x in same.resources)
            assert [x.write() for x in same.prompts] == [x.write() for x in toolset.prompts]


def test_an_app_is_warmed_up_once_behind_its_first_use(apps):
    """And again when it was closed and opened anew; a failure stops nothing."""
    warmed = threading.Semaphore(0)
    seen = []

    class Fake:
        def warm_up(self):
            seen.append(self)
            warmed.release()
            raise Internal("No.")

    first, second = Fake(), Fake()
    given = {"ann": first, "bob": second}

    class FakeApps:
        @contextmanager
        def using(self, owner):
            yield given[owner]

    warm = WarmedApps(FakeApps())
    for owner in ("ann", "ann", "bob", "ann"):
        with warm.using(owner) as app:
            assert app is given[owner]
    for _ in range(2):
        assert warmed.acquire(timeout=20)
    assert seen == [first, second]
