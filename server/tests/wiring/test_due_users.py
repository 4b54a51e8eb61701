"""What is due of any user is done by any worker of the database, whichever home served them."""

from __future__ import annotations

from contextlib import ExitStack, closing
from datetime import timedelta

import pytest
from server.tests.two_homes import ask, settings_in, traces
from tests.journals.transcripts.sessions import said

from commonplace.app.process import ProcessContext
from commonplace_server.postgres.database import Postgres
from commonplace_server.store import due_users
from commonplace_server.store.due_users import DueUsers
from commonplace_server.wiring.memories import open_worker
from commonplace_server.wiring.schema import check_worker
from commonplace_server.wiring.servers import announce_settings, open_servers
from commonplace_testing import FrozenClock
from commonplace_testing.language import FakeLLM, summarising

LONG_AGO = "2026-01-05 09:00"
DAY_S = 86_400
SAID = "The quokka gate is open."


@pytest.fixture
def work(tmp_path, database, clock, slot):
    """Has a worker on a machine of its own do all that is due; given are its settings."""

    def run(name="worker", **given):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        urls = {"database.url": database.app_url, "database.worker_url": database.worker_url}
        said = {key: value for key, value in {**urls, **given}.items() if value}
        shared = ProcessContext(settings_in(folder, **said), encoder=slot)
        with ExitStack() as stack:
            stack.callback(shared.close)
            stack.enter_context(open_worker(shared, clock)).run_once()

    return run


@pytest.fixture
def announce(tmp_path, database):
    """Has a server of the database say its settings."""

    def say(**given):
        settings = settings_in(tmp_path, **{"database.url": database.app_url, **given})
        with open_servers(settings) as servers:
            announce_settings(settings, servers)

    return say


def waiting(admin):
    """Who is to be looked at, and of whom something is due ever."""
    return admin.execute(
        "SELECT user_id, unseen_since IS NOT NULL, upkeep_at IS NOT NULL FROM cp_kept ORDER BY 1"
    ).fetchall()


def test_who_only_logs_is_rolled_up(one, work, admin):
    """By a worker that has its own role alone; whose log is not to count has no timeline."""
    ask(one, "add_entry", message=SAID, at=LONG_AGO)
    alone = {"database.url": ""}
    work(**alone)
    assert admin.execute("SELECT count(*) FROM cp_timelines").fetchone() == (0,)
    ask(one, "add_entry", message="The harbour is closed.", at=LONG_AGO)
    work("other", **alone, **{"timeline.feed": "chronicle"})
    days = "SELECT body FROM cp_entries WHERE level = 2 AND body <> ''"
    ((said,),) = admin.execute(days).fetchall()
    assert "quokka" in said
    assert "harbour" in said


def test_who_is_idle_is_looked_at_once(one, work, admin):
    """Until they write again, alter an entry that stays as long as it was, or say when one expires."""
    ref = ask(one, "add_entry", message="aaaa", at=LONG_AGO).facts["ref"]
    for change in (
        lambda: None,
        lambda: one.amend.edit(ref, text="bbbb"),
        lambda: one.expiring.expire(ref, one.clock() + timedelta(days=9)),
    ):
        change()
        assert waiting(admin)[0][:2] == ("ann", True)
        work()
        assert waiting(admin)[0][:2] == ("ann", False)
    assert waiting(admin) == [("ann", False, True)]


def test_of_two_workers_one_has_a_user_in_hand(one, database, admin):
    """Until it is done, or dead for a while; what changes meanwhile is looked at again."""
    ref = ask(one, "add_entry", message=SAID).facts["ref"]
    now = one.clock()
    with ExitStack() as stack:
        pools = [Postgres(database.worker_url, check=check_worker) for _ in range(2)]
        first, second = (DueUsers(stack.enter_context(closing(pool))) for pool in pools)

        def lease(due):
            return due.lease_unseen(9, rest_s=0, seconds=60)

        (ann,) = lease(first)
        assert lease(second) == []
        one.amend.edit(ref, text="The harbour is closed.")
        first.note_seen(ann, now=now, rest_s=0)
        (ann,) = lease(first)
        second.note_seen(ann, now=now, rest_s=0)
        assert lease(second) == []
        admin.execute("UPDATE cp_kept SET leased_until = now() - interval '1 second'")
        (ann,) = lease(second)
        first.put_off(ann, rest_s=0)
        second.note_seen(ann, now=now, rest_s=0)
        assert lease(first) == []
        assert [each.owner for each in first.lease_upkeep(1, now=now, seconds=60)] == ["ann"]
        assert second.lease_upkeep(1, now=now, seconds=60) == []


def test_a_lease_that_ran_out_ends_no_later_one(one, database, admin):
    """Of the same worker, too, which looks at users in one thread and keeps them up in another."""
    ask(one, "add_entry", message=SAID)
    now = one.clock()
    with closing(Postgres(database.worker_url, check=check_worker)) as pool:
        due = DueUsers(pool)

        def lease():
            return due.lease_upkeep(9, now=now, seconds=60)

        (looked_at,) = due.lease_unseen(9, rest_s=0, seconds=60)
        admin.execute(
            "UPDATE cp_kept SET upkeep_at = '2001-01-01', leased_until = now() - interval '1 second'"
        )
        (kept_up,) = lease()
        due.note_seen(looked_at, now=now, rest_s=0)
        due.put_off(looked_at, rest_s=0)
        assert lease() == []
        due.put_off(kept_up, rest_s=0)
        assert [each.owner for each in lease()] == ["ann"]


def test_what_expired_of_any_user_goes(one, servers, work, clock, admin):
    """Also of one whom no home has served that a worker runs in, and of each journal."""
    bob = servers("two", "bob")
    ask(bob, "add_entry", message="fed the wombats", expires="in 9 days")
    ask(one, "memory_save", kind="todo", title=SAID, expires="tomorrow")
    ask(one, "add_entry", message=SAID, expires="tomorrow")
    ask(one, "process_thoughts", reflections=SAID, expires="tomorrow")
    ask(one, "timeline_add", content=SAID, at=LONG_AGO, expires="tomorrow")
    assert "quokka" in ask(one, "timeline_rollup", period="daily", at=LONG_AGO[:10]).text
    work()
    assert "cp_entries" in traces(admin, "quokka")
    clock.advance(2 * DAY_S)
    work("none", **{"database.url": ""})
    assert "cp_entries" in traces(admin, "quokka")
    work()
    assert traces(admin, "quokka") == []
    assert "cp_entries" in traces(admin, "wombats")


def kept(admin):
    """What is left of what was recorded, by level."""
    rows = "SELECT level, count(*) FROM cp_entries WHERE journal = 'timeline' GROUP BY 1 ORDER BY 1"
    return dict(admin.execute(rows).fetchall())


OLD = {"timeline.retention": "raw=2d", "transcripts.retain_days": "30"}


@pytest.fixture
def agreed(announce):
    """A server has said these."""
    announce(**OLD)


@pytest.fixture
def aged(one, clock):
    """A user who recorded something a long time ago, and has an old session."""
    ask(one, "timeline_add", content=SAID, at=LONG_AGO)
    turn = said(1, "What of the wombats?", at="2001-01-01T00:00:00.000Z")
    one.transcripts.store.append("codex", "old", [turn])
    return one


@pytest.mark.usefixtures("agreed")
def test_what_is_old_of_any_user_goes(aged, work, clock, admin):
    """By the settings of the worker, which are the servers'."""
    work(**OLD)
    assert traces(admin, "wombats") == []
    assert kept(admin)[0] == 1
    clock.advance(9 * DAY_S)
    work(**OLD)
    assert 0 not in kept(admin)
    assert "quokka" in ask(aged, "timeline_rollup", period="daily", at=LONG_AGO[:10]).text


def test_what_an_edit_replaced_goes_of_any_user(one, work, announce, clock, admin):
    """Once it is kept no longer, unless a server keeps it for longer."""
    ref = ask(one, "memory_save", kind="todo", title="Feed the wombats.").facts["ref"]
    one.amend.edit(ref, text=SAID)
    announce(**{"undo.keep_days": "90"})
    work()
    clock.advance(31 * DAY_S)
    work()
    assert "wb_former" in traces(admin, "wombats")
    announce()
    clock.advance(DAY_S)
    work()
    assert traces(admin, "wombats") == []


def test_what_a_server_keeps_no_worker_deletes(aged, work, announce, admin, clock):
    """Where their settings differ, or no server said any; once they are the same it goes."""
    for settings, are_left in ((None, True), ({}, True), (OLD, False)):
        if settings is not None:
            announce(**settings)
        for _ in range(2):
            work(**OLD)
            clock.advance(9 * DAY_S)
        assert (traces(admin, "wombats") != []) is are_left
        assert (kept(admin).get(0) == 1) is are_left


@pytest.mark.usefixtures("aged", "agreed")
def test_a_worker_of_other_settings_leaves_nobody_as_done(work, admin):
    """By those of the servers something may be due that it would keep."""
    work()
    assert waiting(admin) == [("ann", False, True)]


@pytest.mark.usefixtures("agreed")
def test_a_fault_with_one_user_stops_no_other(aged, servers, work, clock, admin):
    """Of the one nothing goes, and all others have their turn."""
    ask(servers("two", "bob"), "timeline_add", content=SAID, at=LONG_AGO)
    work(**OLD)
    admin.execute("UPDATE cp_entries SET more = 'no JSON' WHERE user_id = 'ann' AND level = 0")
    clock.advance(9 * DAY_S)
    work(**OLD)
    left = "SELECT user_id FROM cp_entries WHERE journal = 'timeline' AND level = 0"
    assert admin.execute(left).fetchall() == [("ann",)]


@pytest.mark.usefixtures("agreed")
def test_a_fault_in_one_duty_holds_up_no_other_of_a_user(aged, work, clock, admin):
    """What cannot be forgotten stays, and is tried again; all else of the user goes in time."""
    ask(aged, "add_entry", message="fed the wombats", expires="tomorrow")
    ask(aged, "memory_save", kind="todo", title="A dingo.", expires="in 8 days")
    admin.execute("UPDATE cp_entries SET more = 'no JSON' WHERE body LIKE 'fed the%'")
    clock.advance(2 * DAY_S)
    work(**OLD)
    left = "SELECT count(*) FROM cp_transcripts WHERE messages > 0"
    assert admin.execute(left).fetchone() == (0,)
    assert "cp_entries" in traces(admin, "wombats")
    ((due,),) = admin.execute("SELECT upkeep_at FROM cp_kept").fetchall()
    assert due <= clock()


def test_other_settings_count_for_who_is_idle_too(aged, work, announce, admin):
    """Everybody is judged again once a worker has others, though at first that cannot be noted."""
    announce()
    work()
    assert waiting(admin) == [("ann", False, False)]
    work()
    assert "cp_entries" in traces(admin, "wombats")
    announce(**OLD)
    admin.execute("REVOKE UPDATE (upkeep_at) ON cp_kept FROM commonplace_worker")
    work(**OLD)
    admin.execute("GRANT UPDATE (upkeep_at) ON cp_kept TO commonplace_worker")
    assert "cp_entries" in traces(admin, "wombats")
    work(**OLD)
    assert traces(admin, "wombats") == []


def test_everybody_is_judged_again_some_at_a_time(database, admin, clock, monkeypatch):
    """Those too of whom nothing was due, and nobody later than they were to be."""
    monkeypatch.setattr(due_users, "_ASKED_AT_ONCE", 2)
    now, before = clock(), clock() - timedelta(days=1)
    for user in ("ann", "bob", "cat", "dan", "eve"):
        at = before if user == "bob" else None
        row = "INSERT INTO cp_kept (user_id, entries, bytes, upkeep_at) VALUES (%s, 1, 1, %s)"
        admin.execute(row, (user, at))
    with closing(Postgres(database.worker_url, check=check_worker)) as pool:
        DueUsers(pool).ask_for_all(now)
    found = admin.execute("SELECT upkeep_at FROM cp_kept ORDER BY user_id").fetchall()
    assert [at for (at,) in found] == [now, before, now, now, now]


class TickingClock(FrozenClock):
    """One that goes on whenever it is asked."""

    def __call__(self):
        return self.advance(0.001)


@pytest.mark.parametrize("clock", [TickingClock()])
def test_what_no_model_may_be_shown_is_tried_again_a_day_later(one, work, clock, admin):
    """Though time goes by while a worker asks what is due, and words are waited for all the time."""
    ask(one, "process_thoughts", reflections=SAID, at=LONG_AGO)
    asks = {"llm.url": "https://llm.example.org/v1", "llm.model": "small"}
    for _ in range(2):
        work(**asks, **{"llm.background": "true", "timeline.feed": "private"})
        clock.advance(600)
    made = "SELECT bool_or(is_private = 1) FROM cp_rollups WHERE generator LIKE 'extractive %'"
    assert admin.execute(made).fetchone() == (True,)
    ((due,),) = admin.execute("SELECT upkeep_at FROM cp_kept").fetchall()
    assert due > clock() + timedelta(hours=23)


@pytest.mark.long
def test_models_of_two_workers_that_fail_in_turns_are_not_asked_for_ever(one, work, clock, admin):
    """Each summary is asked for three times in all, whoever has their turn."""
    ask(one, "timeline_add", content=SAID, at=LONG_AGO)
    with FakeLLM("PWNED") as fake:
        for name in ("worker", "other") * 4:
            model = {"llm.url": fake.url, "llm.model": name, "llm.background": "true"}
            work(name, **model)
            clock.advance(DAY_S)
    made = "SELECT count(*) FROM cp_rollups WHERE attempts > 0"
    ((count,),) = admin.execute(made).fetchall()
    assert len(fake.asked) == 3 * count > 0


def test_a_model_is_asked_once_for_a_period(one, work, clock, admin):
    """By whichever of two workers comes first, where the settings let it ask."""
    ask(one, "timeline_add", content=SAID, at=LONG_AGO)
    with FakeLLM(summarising("Opened the quokka gate")) as fake:
        asks = {"llm.url": fake.url, "llm.model": "small", "llm.background": "true"}
        work(**{**asks, "llm.background": "false"})
        assert fake.asked == []
        for name in ("worker", "other", "worker"):
            work(name, **asks)
            clock.advance(600)
    made = "SELECT period_key FROM cp_rollups WHERE generator NOT LIKE 'extractive %'"
    periods = {"2026-01-05T09", "2026-01-05", "2026-W02", "2026-01"}
    assert {key for (key,) in admin.execute(made).fetchall()} == periods
    assert len(fake.asked) == len(periods)
