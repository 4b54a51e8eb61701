"""The clockwork of a server: what is due, of every owner, when it becomes due."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.journals.transcripts.sessions import said
from tests.patience import PATIENCE_S

from commonplace.app import Apps
from commonplace.config.settings import read_settings
from commonplace.core.errors import Unavailable
from commonplace_server.http import scheduler
from commonplace_server.http.scheduler import RollupScheduler
from commonplace_server.wiring.memories import has_due
from commonplace_testing import FrozenClock
from commonplace_testing.language import FakeLLM, summarising

AT = datetime(2020, 10, 7, 14, 5, tzinfo=UTC)


class World:
    """Two owners with a timeline each, one without, and a clockwork over them."""

    def __init__(self, grace=timedelta()):
        self.clock = FrozenClock(AT)
        settings = read_settings(flags={"toolsets": "all"}, cwd=Path.cwd(), home=Path.home())
        self.apps = Apps(settings, user_home=Path.home(), clock=self.clock)
        self.users = settings.home / "users"
        self.work = RollupScheduler(self.apps, users=self.users, grace=grace, clock=self.clock)

    def add(self, owner, text="Built the pier."):
        with self.apps.using(owner) as app:
            app.timeline.service().add(text)

    def due(self, owner):
        with self.apps.using(owner) as app:
            return sum(x.count for x in app.timeline.rollups.list_due())


@pytest.fixture
def world(words_only):
    made = World()
    yield made
    made.apps.close()


def test_what_is_due_of_every_owner_is_rolled_up(world):
    """The hour and nothing that still goes on; a day later the rest of that day."""
    world.add("ann")
    world.add("a/b")
    with world.apps.using("carl") as app:
        app.memory.write_toolset().tool("memory_save").call({"kind": "todo", "title": "x"})
    assert [*world.work.list_owners()] == ["a/b", "ann"]
    assert world.work.roll_up() == 0
    world.clock.at = AT + timedelta(hours=1)
    assert world.work.roll_up() == 2
    assert (world.due("ann"), world.due("a/b")) == (0, 0)
    world.clock.at = AT + timedelta(days=1)
    assert world.work.roll_up() == 2


def test_owners_take_turns(world, monkeypatch):
    """One with much to do does not hold up another: nobody is done before all had a turn."""
    monkeypatch.setattr(scheduler, "TURN_MOST", 1)
    world.add("ann")
    world.add("bob")
    world.clock.at = AT + timedelta(days=1)
    turns = []
    using = world.apps.using
    world.apps.using = lambda owner: turns.append(owner) or using(owner)
    # Each has an hour and a day to be rolled up.
    assert world.work.roll_up() == 4
    assert turns == ["ann", "bob", "ann", "bob"]


def test_a_sweep_that_fails_at_each_turn_takes_no_turn_away(words_only, monkeypatch, caplog):
    """What is due is rolled up to its end, and the fault is logged once."""
    monkeypatch.setattr(scheduler, "TURN_MOST", 1)
    monkeypatch.setenv("COMMONPLACE_TRANSCRIPTS_RETAIN_DAYS", "30")
    world = World()
    world.add("ann")
    with world.apps.using("ann") as app:
        app.transcripts.store.append("codex", "old", [said(1, at="2001-01-01T00:00:00.000Z")])
    world.apps.close()
    (catalog,) = (world.users / "ann" / "transcripts").glob("*.db")
    catalog.unlink()
    catalog.mkdir()
    world = World()
    world.clock.at = AT + timedelta(days=1)
    assert world.work.roll_up() == 2
    assert world.due("ann") == 0
    assert caplog.text.count("Not all that is due of one owner was done") == 1
    world.apps.close()


def test_one_owner_who_cannot_be_served_stops_no_other(world, caplog):
    """It is logged, without a word of what is written there."""
    world.add("ann")
    world.add("bob", "Built the secret pier.")
    (world.users / "%%nobody" / "journal").mkdir(parents=True)
    (world.users / "%%nobody" / "journal" / "journal.db").touch()
    world.apps.close()
    other = World()
    using = other.apps.using

    def failing(owner):
        if owner == "ann":
            raise Unavailable("Locked.")
        return using(owner)

    other.apps.using = failing
    other.clock.at = AT + timedelta(hours=1)
    assert other.work.roll_up() == 1
    assert "Locked." in caplog.text
    assert "belongs to no owner" in caplog.text
    assert "secret" not in caplog.text
    other.apps.close()


def test_it_looks_when_periods_end(world):
    """On every quarter of an hour, which is when hours end somewhere, and later by the grace."""
    assert world.work.next_at(AT) == AT.replace(minute=15)
    assert world.work.next_at(AT.replace(minute=45)) == AT.replace(hour=15, minute=0)
    assert world.work.next_at(AT.replace(hour=23, minute=59)) == datetime(2020, 10, 8, tzinfo=UTC)
    late = World(grace=timedelta(minutes=20))
    assert late.work.next_at(AT) == AT.replace(minute=20)
    assert late.work.next_at(AT.replace(minute=20)) == AT.replace(minute=35)


def test_it_runs_in_a_thread_until_it_is_stopped(world):
    """What is due is rolled up at the start, and again once the clock has gone on."""
    world.add("ann")
    world.clock.at = AT + timedelta(hours=1)
    rounds, left = threading.Semaphore(0), []
    using = world.apps.using

    @contextmanager
    def counted(owner):
        with using(owner) as app:
            yield app
            left.append(sum(x.count for x in app.timeline.rollups.list_due()))
        world.clock.at = AT + timedelta(days=1)  # the day goes by while the first round ends
        rounds.release()

    world.apps.using = counted
    world.work.start()
    for _ in range(2):
        assert rounds.acquire(timeout=PATIENCE_S)
    assert left == [0, 0]
    world.work.stop(20)
    assert "rollup scheduler" not in {thread.name for thread in threading.enumerate()}
    world.apps.using = using
    assert world.due("ann") == 0


@pytest.mark.parametrize("background", ["", "true"])
def test_a_model_is_asked_where_the_settings_let_a_server_ask(words_only, monkeypatch, background):
    """Not because one is set: `rollup --due` asks it then. The summary is there either way."""
    with FakeLLM(summarising("Built the pier")) as fake:
        monkeypatch.setenv("COMMONPLACE_LLM_URL", fake.url)
        monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "small")
        monkeypatch.setenv("COMMONPLACE_LLM_BACKGROUND", background)
        world = World()
        world.add("ann")
        world.clock.at = AT + timedelta(hours=1)
        assert world.work.roll_up() == 1
        world.work.roll_up()
        assert len(fake.asked) == (1 if background else 0)
        with world.apps.using("ann") as app:
            hour = app.timeline.rollups.read("hour", AT)
            assert hour.content.startswith("[14:00-15:00] ")
            assert app.languages.token_budget.spent() == (1050 if background else 0)
        world.apps.close()


@pytest.fixture
def in_database(words_only, database, monkeypatch):
    """Owners whose journals lie in a database, and a clockwork that asks it what is due."""
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)
    world = World()
    world.work = RollupScheduler(
        world.apps,
        users=world.users,
        grace=timedelta(),
        clock=world.clock,
        has_due=lambda owner: has_due(world.apps.shared, owner, world.clock()),
    )
    yield world
    world.apps.close()


def test_a_record_in_a_database_that_has_expired_goes(in_database):
    """Of each owner who was ever served here, though no call of theirs comes."""
    world = in_database
    for owner in ("ann", "bob"):
        with world.apps.using(owner) as app:
            save = app.toolset("memory-write").tool("memory_save")
            save.call({"kind": "todo", "title": "x", "expires": f"in {len(owner)} days"})
            app.expiry_book.keep_all(
                dict.fromkeys(app.expiry_book.read(), 9.0 if owner == "ann" else 2e9)
            )
    assert [*world.work.list_owners()] == ["ann"]
    world.work.roll_up()
    assert [*world.work.list_owners()] == []
    with world.apps.using("bob") as app:
        assert len(app.expiry_book.read()) == 1


def test_what_is_due_in_a_database_is_rolled_up(in_database):
    """Of each owner who was ever served here; one with nothing due is not opened."""
    world = in_database
    world.add("ann")
    with world.apps.using("bob") as app:
        app.memory.write_toolset().tool("memory_save").call({"kind": "todo", "title": "x"})
    assert [*world.work.list_owners()] == []
    world.clock.at = AT + timedelta(hours=1)
    assert [*world.work.list_owners()] == ["ann"]
    assert world.work.roll_up() == 1
    assert world.due("ann") == 0
    assert [*world.work.list_owners()] == []


def test_who_has_nothing_due_in_a_database_is_not_opened(words_only, monkeypatch, request):
    """Also where retention is on and a model may be asked, each of which has its time."""
    monkeypatch.setenv("COMMONPLACE_TIMELINE_RETENTION", "raw=2d")
    with FakeLLM(summarising("Built the pier")) as fake:
        monkeypatch.setenv("COMMONPLACE_LLM_URL", fake.url)
        monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "small")
        monkeypatch.setenv("COMMONPLACE_LLM_BACKGROUND", "true")
        world = request.getfixturevalue("in_database")
        world.add("ann")
        assert [*world.work.list_owners()] == []
        for hours in (1, 49):  # the hour is over; what is kept for two days is to go
            world.clock.at = AT + timedelta(hours=hours)
            assert [*world.work.list_owners()] == ["ann"]
            world.work.roll_up()
            assert [*world.work.list_owners()] == []


@pytest.mark.parametrize("place", ["files", "database"])
def test_sessions_that_are_kept_no_longer_go(words_only, monkeypatch, request, place):
    """Of each owner, also of one without a timeline, wherever they lie."""
    monkeypatch.setenv("COMMONPLACE_TRANSCRIPTS_RETAIN_DAYS", "30")
    world = World() if place == "files" else request.getfixturevalue("in_database")
    with world.apps.using("ann") as app:
        app.transcripts.store.append("codex", "old", [said(1, at="2001-01-01T00:00:00.000Z")])
    assert [*world.work.list_owners()] == ["ann"]
    world.work.roll_up()
    with world.apps.using("ann") as app:
        assert app.transcripts.store.sessions() == []
        assert not app.timeline.journal.exists
    assert place == "files" or [*world.work.list_owners()] == []
    world.apps.close()
