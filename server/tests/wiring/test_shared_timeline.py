"""A served user's timeline lies in the database: two servers of two homes have one and the same."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

import psycopg
import pytest
from server.tests.two_homes import ask, settings_in, traces
from server.tests.wiring.shared_laws import SAID, SharedJournalLaws, all_found

from commonplace.app import Apps
from commonplace.app.process import ProcessContext
from commonplace.core.errors import Conflict, NotFound, Unavailable
from commonplace.core.values import Interval
from commonplace.journals.timeline.due_periods import bounds
from commonplace.journals.timeline.entry import id_of, pack_id
from commonplace.journals.timeline.expiry import apply_retention
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace.journals.timeline.moving import move_timeline
from commonplace.journals.timeline.retention import parse_retention
from commonplace.timeline import Timeline
from commonplace_server.postgres.database import Postgres
from commonplace_server.store.due_timelines import DueTimelines
from commonplace_server.store.timeline import PostgresRows, TimelinePostgres
from commonplace_server.wiring import memories
from commonplace_server.wiring.memories import open_worker
from commonplace_server.wiring.schema import check_database, check_worker
from commonplace_server.wiring.timelines import FedByDatabase
from commonplace_testing import FrozenClock, ReadySlot

LONG_AGO = "2026-01-05 09:00"
TABLES = (
    *("cp_timelines", "cp_series", "cp_rollups", "cp_rollup_sources", "cp_due"),
    *("cp_gone", "cp_expired", "cp_fed", "cp_fed_marks"),
)


def added(app, content, **given):
    """Record what happened; its ref."""
    return ask(app, "timeline_add", content=content, **given).facts["ref"]


def found(app, query):
    """The refs of the entries that a search of the timeline, and a recall, find for words."""
    hits = ask(app, "timeline_search", query=query, entry_types=["raw"]).facts["results"]
    return all_found(app, query, hits, "text")


def listed(app):
    """The texts of the newest."""
    return [x["text"] for x in ask(app, "timeline_range", level="raw").facts["entries"]]


class TestTimelineOnPostgres(SharedJournalLaws):
    """The timeline."""

    journal = "timeline"
    library = Timeline
    write = staticmethod(added)
    found = staticmethod(found)
    listed = staticmethod(listed)

    def write_once(self, app, text, key):
        return ask(app, "timeline_add", content=text, idempotency_key=key).facts

    def save(self, program, text):
        return program.save_entry(text)

    def check_saved(self, program, app, ref):
        program.expire(ref, app.clock() + timedelta(days=1))
        assert [each for each, _ in app.expiring.list_expiring()] == [ref]

    def remove(self, app, ref):
        app.timeline.journal.delete(ref.partition(":")[2])

    def test_the_timeline_is_fed_from_the_database(self):
        """Not by itself."""


def exported(app):
    """Every item of an export, summaries too, as it would be written."""
    portable = app.timeline.portable()
    items = [repr(item) for item in portable.export_items(None)]
    return items, [repr(item) for item in portable.export_summaries(None)]


def read_time(text):
    """A time of UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def day_of(app, at=LONG_AGO):
    """What the summary of a day says, once all that is due is rolled up."""
    app.timeline.service().catch_up()
    return ask(app, "timeline_rollup", period="daily", at=at[:10]).text


def test_what_is_recorded_on_one_is_summed_up_on_the_other(one, two):
    """At once: listed, by words, in a recall, by its ref, in its day; nothing lies on a disk."""
    ref = added(one, SAID, at=LONG_AGO, metadata={"projects": ["zoo"]})
    assert listed(two) == [SAID]
    assert found(two, "quokka gate") == [ref]
    assert SAID in ask(two, "open_ref", ref=ref).text
    assert "quokka gate" in day_of(two)
    summary = "timeline:rollup_daily_20260105"
    assert "quokka gate" in ask(one, "open_ref", ref=summary).text
    hits = ask(one, "timeline_search", query="quokka", entry_types=["daily_rollup"]).facts
    assert [x["ref"] for x in hits["results"]] == [summary]
    assert "zoo" in ask(two, "timeline_trends").text
    ask(one, "timeline_profile", text="Ann keeps the zoo.")
    assert "Ann keeps the zoo." in ask(two, "timeline_profile").text
    assert "quokka" in ask(two, "timeline_context", query="quokka").text
    assert not (one.folder / "journal").exists()
    counted = {x.name: x.entries for x in two.recall.status().journals}
    assert counted["timeline"] >= 2
    assert [*two.timeline.problems()] == [*two.timeline.repair()] == []


def test_a_key_outlives_its_entry(one, two):
    """On whichever server it was used, and is used again."""
    ref = added(one, SAID, idempotency_key="k")
    assert added(two, "x", idempotency_key="k") == ref
    two.amend.delete(ref)
    assert added(one, "x", idempotency_key="k") == ref
    assert listed(one) == []


def test_what_is_superseded_on_one_holds_no_longer_on_the_other(one, two):
    """Once; and the day tells what took its place."""
    old = added(one, "The quokka API listens on port 8000.", at=LONG_AGO)
    assert "port 8000" in day_of(one)
    new = two.amend.supersede(old, "The quokka API listens on port 9000.").ref
    with pytest.raises(Conflict, match=new):
        one.amend.supersede(old, "The quokka API listens on port 1.")
    assert "port 9000" in day_of(one)
    assert "port 8000" not in day_of(one)
    assert one.timeline.pages().read_ref(old).superseded_by == new


def test_what_is_deleted_on_one_leaves_every_summary(one, two, admin):
    """Of the entry, and of an entry of another journal that counts."""
    ref = added(one, SAID, at=LONG_AGO)
    added(one, "The harbour is closed.", at=LONG_AGO)
    assert "quokka" in day_of(two)
    two.amend.delete(ref)
    assert traces(admin, "quokka") == []
    assert "harbour" in day_of(one)
    assert "quokka" not in day_of(one)


def test_a_rollup_holds_no_connection_while_it_wants_another(servers, monkeypatch):
    """Behind a pooler that has two, two that did waited for each other until their deadline."""
    monkeypatch.setattr(memories, "Postgres", partial(Postgres, most=1))
    app = servers("one")
    ref = added(app, SAID, at=LONG_AGO)
    added(app, "The harbour is closed.", at=LONG_AGO)
    assert "quokka" in day_of(app)
    app.amend.edit(ref, text="The quokka gate is shut.")
    assert "shut" in day_of(app)
    app.amend.delete(ref)
    assert "quokka" not in day_of(app)
    assert "harbour" in ask(app, "timeline_rollup", period="yearly", at="2026").text


def test_retention_holds_no_connection_while_it_wants_another(servers, monkeypatch, clock):
    """What an entry replaced that grew old does not hold again, on whichever server."""
    monkeypatch.setattr(memories, "Postgres", partial(Postgres, most=1))
    app = servers("one")
    service = app.timeline.service()
    plan = service.add("The quokka ships.", at=clock() + timedelta(days=30)).entry
    service.add("The quokka stays at home.", at=clock(), supersedes=plan.ref)
    deleted = 0
    for _ in range(3):
        clock.advance(8 * 86_400)
        done = apply_retention(app.timeline.rollups, parse_retention("raw=2d"))
        deleted += done.deleted.get("raw", 0)
    assert deleted == 1
    assert plan.ref in app.timeline.journal.replaced.read()


def test_what_expires_on_one_is_shown_by_no_other(one, two, clock, admin):
    """And is gone from the database, with its time and all that was derived from it."""
    ref = added(one, SAID, at=LONG_AGO, expires="tomorrow")
    added(one, "The harbour is closed.", at=LONG_AGO)
    assert found(two, "quokka gate") == [ref]
    assert "quokka" in day_of(one)
    assert two.expiring.list_expiring() == one.expiring.list_expiring() != []
    clock.advance(3 * 86_400)
    assert listed(two) == ["The harbour is closed."]
    assert found(two, "quokka gate") == []
    assert "quokka" not in day_of(two)
    assert traces(admin, "quokka") == []
    assert admin.execute("SELECT count(*) FROM wb_times").fetchone() == (0,)


def test_nobody_sees_another_s(one, servers):
    """Not by its ref, a search, a list, a summary, an export or a plan to forget."""
    ref = added(one, SAID, at=LONG_AGO)
    day_of(one)
    bob = servers("two", "bob")
    assert listed(bob) == []
    assert found(bob, "quokka gate") == []
    assert "quokka" not in day_of(bob)
    assert exported(bob) == ([], [])
    acts = (
        bob.amend.read_text,
        bob.amend.delete,
        lambda x: bob.amend.edit(x, "mine"),
        lambda x: bob.amend.supersede(x, "mine"),
        bob.timeline.pages().read_ref,
        lambda x: bob.forgetting().plan([x]),
    )
    for act in acts:
        for each in (ref, "timeline:rollup_daily_20260105"):
            with pytest.raises(NotFound):
                act(each)
    assert listed(one) == [SAID]


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_guarded_one_by_one(one, two, database, admin, table):
    """Without a user there is none; with another's none is read, changed or deleted."""
    ref = added(one, SAID, at=LONG_AGO)
    day_of(one)
    two.amend.delete(ref)
    with psycopg.connect(database.app_url) as conn:
        assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        conn.execute("SET LOCAL app.user_id = 'bob'")
        assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        assert conn.execute(f"DELETE FROM {table}").rowcount == 0
    guarded = "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = %s"
    assert admin.execute(guarded, (table,)).fetchone() == (True, True)


def test_the_worker_makes_its_vectors(one, two, worker, database):
    """Words are found at once, meaning when the worker was there; what is gone leaves it."""
    ref = added(one, "The ship left the harbour.", at=LONG_AGO)
    assert worker.work() == 1
    assert database.rows("SELECT kind, ref_id FROM wb_embeddings") == [("raw", f":{ref}")]
    assert "harbour" in day_of(one)
    worker.work()
    assert {kind for (kind,) in database.rows("SELECT kind FROM wb_embeddings")} == {
        *("raw", "hourly_rollup", "daily_rollup", "weekly_rollup", "monthly_rollup")
    }
    two.amend.delete(ref)
    worker.run_once()
    assert database.rows("SELECT count(*) FROM wb_embeddings") == [(0,)]
    assert database.rows("SELECT count(*) FROM wb_outbox WHERE due OR erase") == [(0,)]


def test_a_worker_rolls_any_user_up(one, servers, worker, admin):
    """Also one whom nobody asks for; of a user whom another worker has in hand it makes nothing."""
    added(one, SAID, at=LONG_AGO)
    added(servers("two", "bob"), "fed the wombats", at=LONG_AGO)
    worker.run_once()
    made = "SELECT user_id, count(*) FROM cp_entries WHERE level = 2 AND body <> '' GROUP BY 1"
    assert sorted(admin.execute(made).fetchall()) == [("ann", 1), ("bob", 1)]
    late = "SELECT count(*) FROM cp_due WHERE period_end < '2026-02-02'"
    assert admin.execute(late).fetchone() == (0,)
    assert "quokka" in day_of(servers("two"))


@pytest.fixture
def leases(database):
    """Opens what another worker leases by."""
    with ExitStack() as stack:

        def open_due():
            pool = Postgres(database.worker_url, check=check_worker)
            stack.callback(pool.close)
            return DueTimelines(pool)

        yield open_due


def test_of_two_who_roll_up_one_passes_on(one, clock, leases, admin):
    """Until the other is done, or has been dead for a while; what is asked for is told all the same."""
    added(one, SAID, at=LONG_AGO)
    until, service = bounds(clock(), timedelta()), one.timeline.service()
    first, second = leases(), leases()
    assert first.lease(9, bounds=until, seconds=60) == ["ann"]
    assert second.lease(9, bounds=until, seconds=60) == []
    assert service.catch_up() == 0
    assert "quokka" in service.rollup("daily", read_time(LONG_AGO)).content
    second.give_back("ann", rest_s=0)
    assert second.lease(9, bounds=until, seconds=60) == []
    first.give_back("ann", rest_s=60)
    assert first.lease(9, bounds=until, seconds=60) == []
    assert service.catch_up() > 0
    added(one, "The harbour is closed.", at=LONG_AGO)
    admin.execute("UPDATE cp_timelines SET leased_until = now() - interval '1 second'")
    assert second.lease(9, bounds=until, seconds=60) == ["ann"]
    assert second.lease(9, bounds=bounds(read_time(LONG_AGO), timedelta()), seconds=60) == []


def test_a_worker_writes_summaries_and_nothing_that_anybody_wrote(one, database):
    """As the user whose they are, and of no other."""
    added(one, SAID, at=LONG_AGO)
    ask(one, "add_entry", message=SAID)
    day_of(one)
    with psycopg.connect(database.worker_url) as conn:
        assert conn.execute("UPDATE cp_rollups SET points = '[]'").rowcount == 0
        conn.execute("SET LOCAL app.user_id = 'ann'")
        altered = conn.execute("UPDATE cp_entries SET body = 'mine' RETURNING level").fetchall()
        assert altered
        assert all(level for (level,) in altered)
        assert all(conn.execute("DELETE FROM cp_entries RETURNING level").fetchone())
        conn.execute("SAVEPOINT before")
        row = "'ann', %s, 'x', now(), 0, now(), '', 'x', '{}', '{}', '', '{}'"
        columns = (
            "user_id, journal, id, at, nanos, written_at, scope, body, tags, folded, supersedes"
        )
        for journal in ("chronicle", "private"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(f"INSERT INTO cp_entries ({columns}, more) VALUES ({row})", (journal,))
            conn.execute("ROLLBACK TO before")
        for altered in ("user_id = 'eve'", "zone = 'UTC'"):  # it leases all users' timelines
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(f"UPDATE cp_timelines SET {altered}")
            conn.execute("ROLLBACK TO before")
        conn.rollback()
    assert listed(one) == [SAID]


FEEDING = {
    "chronicle": ("add_entry", {"message": SAID}),
    "private": ("process_thoughts", {"reflections": SAID}),
    "notebook": ("journal_write", {"path": "gate", "entry": SAID}),
}


@pytest.mark.parametrize("journal", FEEDING)
def test_a_worker_sums_up_what_feeds_a_timeline(journal, tmp_path, database, admin):
    """Of each journal that lies in the database, with what the timeline itself says."""
    urls = {"database.url": database.app_url, "database.worker_url": database.worker_url}
    settings = settings_in(tmp_path, **urls, **{"timeline.feed": journal})
    with ExitStack() as closing:
        shared = ProcessContext(settings, encoder=ReadySlot(None), serves_owners=True)
        closing.callback(shared.close)
        clock = FrozenClock(read_time(LONG_AGO))
        apps = Apps(settings, user_home=None, clock=clock, shared=shared)
        closing.callback(apps.close)
        ann = closing.enter_context(apps.using("ann"))
        added(ann, "The harbour is closed.")
        verb, given = FEEDING[journal]
        ask(ann, verb, **given)
        closing.enter_context(open_worker(shared)).run_once()
    days = "SELECT body FROM cp_entries WHERE level = 2 AND starts < '2026-01-06' AND body <> ''"
    ((said,),) = admin.execute(days).fetchall()
    assert "harbour" in said
    assert "quokka" in said


def test_what_lies_on_a_disk_is_left_to_its_server():
    """A worker makes no summary that would lack a part of what it is made from."""
    with pytest.raises(Unavailable, match="notebook"):
        FedByDatabase(None, ["chronicle"]).read(["chronicle:1", "notebook:api#2"])


def test_what_lay_in_a_file_moves_into_the_database(servers, admin):
    """Once, as it was: summaries, zone, ends, former texts, keys; nothing of it comes back."""
    before = servers("one", url="")
    before.timeline.journal.set_zone("Asia/Tokyo")
    kept = added(before, SAID, at=LONG_AGO, idempotency_key="k")
    gone = added(before, "The harbour is closed.", at=LONG_AGO)
    never = added(before, "The walrus sings.", at=LONG_AGO, idempotency_key="never")
    before.amend.edit(kept, f"{SAID} Twice.")
    before.expiring.expire(gone, before.clock() + timedelta(days=9))
    assert found(before, "quokka gate") == [kept]
    assert "harbour" in day_of(before)
    before.amend.delete(never)
    kept_as, day = exported(before), day_of(before)
    path = before.timeline.journal.database.path
    before.close()
    content = path.read_bytes()
    one = servers("one")
    assert exported(one) == kept_as
    assert day_of(one) == day
    for word in (b"quokka", b"harbour", b"walrus"):
        assert word not in path.read_bytes()
    assert not one.index.known().stamps("timeline:")
    assert found(one, "quokka gate") == [kept]
    two = servers("two")
    assert [ref for ref, _ in two.expiring.list_expiring()] == [gone]
    assert added(two, "other", idempotency_key="k") == kept
    assert added(two, "other", idempotency_key="never") == never
    one.amend.undo(kept)
    two.amend.delete(gone)
    assert listed(two) == [SAID]
    # A move that was killed before they had left it is done again, and brings nothing back.
    path.write_bytes(content)
    again = servers("one", start=2)
    assert listed(again) == [SAID]
    assert b"quokka" not in path.read_bytes()
    assert "walrus" not in day_of(again)


def test_what_another_program_wrote_into_the_file_moves_as_it_is(servers, admin):
    """Also what is no JSON, or has no period that we would cut."""
    before = servers("one", url="")
    ref = added(before, SAID, at=LONG_AGO)
    with before.timeline.journal.database.bare() as conn:
        conn.execute(
            "INSERT INTO journal_entries (seq, id, thread_id, content, entry_type, timestamp,"
            " period_start, period_end, metadata, rollup_level, status, created_at, updated_at, hash)"
            " SELECT 99, 'odd', thread_id, 'a' || char(0) || 'b', 'profile_snapshot', timestamp, period_start,"
            " period_start, 'no JSON', 0, 'deleted', created_at, updated_at, hash FROM journal_entries"
        )
    before.close()
    assert listed(servers("one")) == [SAID]
    odd = "SELECT body, more, state, place FROM cp_entries WHERE id = 'odd'"
    assert admin.execute(odd).fetchall() == [("a\ufffdb", "no JSON", "deleted", 99)]
    assert added(servers("two"), "more") != ref
    assert admin.execute("SELECT max(place) > 99 FROM cp_entries").fetchone() == (True,)


def test_what_expired_in_a_file_is_shown_by_no_server(servers, clock):
    """Not even in the first answer after it moved."""
    before = servers("one", url="")
    ref = added(before, SAID, at=LONG_AGO)
    day_of(before)
    before.expiring.expire(ref, clock() + timedelta(days=1))
    before.close()
    clock.advance(2 * 86_400)
    one = servers("one")
    assert one.timeline.journal.list_entries(Interval()).entries == ()
    assert one.timeline.journal.find(id_of(ref)) is None


def test_an_export_moves_a_user_either_way(one, servers):
    """From the database into files and back, whole: an export of each is the same bytes."""
    first = added(one, SAID, at=LONG_AGO, metadata={"tags": ["gate", "Ä"]})
    one.amend.supersede(first, "The quokka gate has a bell now.")
    ask(one, "timeline_profile", text="Ann keeps the zoo.")
    day_of(one)
    into = servers("files", url="")

    def lines(app):
        return exported(app)[0]

    into.timeline.portable().import_items(one.timeline.portable().export_items(None))
    assert lines(into) == lines(one)
    bob = servers("two", "bob")
    bob.timeline.portable().import_items(into.timeline.portable().export_items(None))
    assert lines(bob) == lines(one)
    assert bob.timeline.portable().import_items(into.timeline.portable().export_items(None)) == 0
    assert day_of(bob) == day_of(into) == day_of(one)
    files = [app.folder / "export" for app in (one, into, bob)]
    for app, path in zip((one, into, bob), files, strict=True):
        app.exporting().export(path, journals=["timeline"])
    told = [(path / "timeline" / "entries.jsonl").read_bytes() for path in files]
    assert told[0] == told[1] == told[2]


def test_what_lay_in_files_of_two_homes_becomes_one(servers):
    """Whichever came first: nothing is lost or doubled, and what either had deleted stays so."""
    homes = [servers(name, url="") for name in ("one", "two")]
    both = [added(app, "fed the wombats", at=LONG_AGO, idempotency_key="both") for app in homes]
    assert both[0] == both[1]
    kept = [added(app, f"{SAID} From {n}.", at=LONG_AGO) for n, app in enumerate(homes)]
    for app, key in zip(homes, ("first", "second"), strict=True):
        added(app, "The walrus sings.", at=LONG_AGO, idempotency_key=key)
        app.amend.delete(added(app, "x", idempotency_key=key))
        day_of(app)
        app.close()
    one, two = servers("one"), servers("two")
    for app in (one, two, one):
        assert set(found(app, "quokka gate")) <= set(kept)
    assert sorted(listed(one)) == sorted(listed(two))
    assert len(listed(one)) == 3
    for key in ("first", "second"):
        added(two, "The walrus sings.", idempotency_key=key)
    assert len(listed(one)) == 3
    read = one.timeline.service().rollup("daily", one.timeline.journal.read(id_of(kept[0])).at)
    assert read.metadata["entries"] == 3


class OfACall(TimelinePostgres):
    """A transaction of a call ends after so many queries, as it does after so many seconds."""

    @contextmanager
    def writing(self):
        left, run = count(200, -1), PostgresRows.run
        with super().writing() as rows:

            def run_in_time(*given):
                if not next(left):
                    raise Unavailable("The transaction took too long.")
                return run(rows, *given)

            rows.run = run_in_time
            yield rows


def test_however_much_was_deleted_in_a_file_moves(database, clock, tmp_path):
    """Beside entries that are there, in a transaction that may take as long as that takes."""
    given = {"owner": "ann", "zone": UTC, "clock": clock}
    files = TimelineJournal(tmp_path, **given)
    files.add("The harbour is closed.")
    with files.database.writing() as rows:
        gone = ({"seq": 9 + n, "id": pack_id(f"gone {n}"), "expired": False} for n in range(99))
        rows.run_each("bury", gone)
    with closing(Postgres(database.app_url, check=check_database)) as pool:
        store = OfACall(pool, owner="ann", clock=clock)
        there = TimelineJournal(store=store, **given)
        there.add(SAID)
        assert move_timeline(files, there, store, unfile=lambda _refs: None)
    assert database.rows("SELECT count(*) FROM cp_gone") == [(99,)]


def test_a_journal_that_feeds_it_lies_there_too(servers, admin):
    """What is deleted in it leaves every summary at once, and either server sees what came."""
    one, two = (servers(name, feed="chronicle,private") for name in ("one", "two"))
    ref = ask(one, "add_entry", message=SAID, at=LONG_AGO).facts["ref"]
    other = ask(two, "process_thoughts", reflections="The harbour is closed.", at=LONG_AGO)
    assert "quokka" in day_of(two)
    assert "harbour" in day_of(one)
    plan = two.forgetting().plan([ref])
    assert "timeline:rollup_daily_20260105" in plan.remade
    proof = two.forgetting().carry_out(plan)
    assert proof.is_clean, proof
    assert traces(admin, "quokka") == []
    assert "quokka" not in day_of(one)
    one.amend.delete(other.facts["ref"])
    assert traces(admin, "harbour") == []


def test_the_machine_s_own_user_keeps_the_file(servers):
    """It is served from the disk, as chronicle and the private journal are."""
    mine = servers("one", "me")
    ref = added(mine, SAID)
    assert (mine.folder / "journal" / "journal.db").exists()
    assert not mine.timeline.is_shared
    assert found(mine, "quokka gate") == [ref]
