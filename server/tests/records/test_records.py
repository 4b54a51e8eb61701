"""What Postgres adds to a user's memory: company, a queue of what waits, and its own kinds of hostile ids."""

import threading
from collections import Counter
from contextlib import closing
from datetime import timedelta
from itertools import product
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from server.tests.memory_postgres_world import PostgresMemoryWorld
from tests.patience import until

from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.journals.memory.records import Call, RecordDraft
from commonplace_server.postgres.database import Postgres
from commonplace_server.postgres.migrate import migrate_postgres
from commonplace_server.records.backlog import MemoryBacklog
from commonplace_server.records.outbox_checks import note_filed
from commonplace_server.records.store import MemoryPostgres, list_record_migrations
from commonplace_server.records.times import MemoryTimes
from commonplace_server.records.upkeep import MemoryUpkeep
from commonplace_server.store.timeline import TimelinePostgres
from commonplace_server.wiring.schema import check_database, check_worker, list_series
from commonplace_server.worker import numbers
from commonplace_testing import FrozenClock


@pytest.fixture
def clock():
    return FrozenClock()


@pytest.fixture
def pool(database):
    made = Postgres(database.app_url, check=check_database)
    yield made
    made.close()


@pytest.fixture
def mine(pool, clock):
    return MemoryPostgres(pool, owner="ann", clock=clock)


@pytest.fixture
def backlog(database):
    made = Postgres(database.worker_url, check=check_worker)
    yield MemoryBacklog(made)
    made.close()


@pytest.fixture
def other_backlog(database):
    made = Postgres(database.worker_url, check=check_worker)
    yield MemoryBacklog(made)
    made.close()


@pytest.fixture
def upkeep(database, clock):
    made = Postgres(database.worker_url, check=check_worker)
    yield MemoryUpkeep(made, clock=clock)
    made.close()


def noted(pool, lines):
    """Which of these lines, whose words were filed, had not changed since."""
    with pool.owner_transaction("ann") as conn:
        return note_filed(lines)(conn)()


def todo(title, **more):
    return RecordDraft(kind="todo", fields={"title": title}, **more)


def at_once(*calls):
    """Call all of them, each in a thread of its own, and give what they gave or raised."""
    given = [None] * len(calls)
    ready = threading.Barrier(len(calls))

    def call(number, one):
        ready.wait()
        try:
            given[number] = one()
        except Conflict as exc:
            given[number] = exc

    threads = [threading.Thread(target=call, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return given


def taken(backlog, limit=100, encoder="e"):
    return [(x.owner, x.ref_id) for x in backlog.lease(limit, encoder=encoder, seconds=60)]


class TestCompany:
    def test_one_key_by_many_at_once_is_one_record(self, mine, database):
        """One of them makes it; all are given the same."""
        for number in range(5):
            calls = [lambda n=n, k=number: mine.save(todo(f"t{n}", key=f"k{k}")) for n in range(4)]
            saved = at_once(*calls)
            assert len({each.ref_id for each in saved}) == 1
            assert len({each.record.title for each in saved}) == 1
            assert sum(each.is_new for each in saved) == 1
        assert database.rows("SELECT count(*) FROM wb_todo") == [(5,)]

    def test_the_first_preferences_by_many_at_once_are_all_kept(self, mine):
        """Whoever comes second alters what the first has made."""

        def keep(number):
            return mine.save(
                RecordDraft(kind="preference", fields={"flags": {f"f{number}": number}})
            )

        at_once(*(lambda n=n: keep(n) for n in range(3)))
        assert dict(mine.find("preference", "preferences").flags) == {"f0": 0, "f1": 1, "f2": 2}

    def test_edits_at_once_lose_nothing(self, mine):
        """Each alters what the one before has left."""
        ref_id = mine.save(RecordDraft(kind="journal", fields={"title": "t", "body": "b"})).ref_id
        edits = ({"title": "new"}, {"body": "new"}, {"is_draft": True})
        at_once(
            *(
                lambda f=f: mine.save(RecordDraft(kind="journal", fields=f, ref_id=ref_id))
                for f in edits
            )
        )
        found = mine.find("journal", ref_id)
        assert (found.title, found.body, found.is_draft) == ("new", "new", True)


class TestIds:
    def test_an_id_that_is_none_is_not_there(self, mine, subtests):
        """Whatever the driver would choke on."""
        mine.save(todo("kept"))
        for ref_id in ("\0", "a\0b", "\ud800", "é", "' OR true --", "x" * 100_000):
            with subtests.test(ref_id=ref_id[:20]):
                assert mine.find("todo", ref_id) is None
                assert mine.delete("todo", ref_id) is False
                with pytest.raises(NotFound):
                    mine.save(todo("x", ref_id=ref_id))
                assert len(mine.list_records("todo", limit=9).records) == 1

    def test_a_cursor_that_is_none_is_refused(self, mine, subtests):
        """Before or by the database; nothing of it is said of the query."""
        for cursor in ("x/y", "' OR 1=1 --", "0" * 27 + "/x", "\0" * 27 + "/", "é" * 27 + "/"):
            with subtests.test(cursor=cursor):
                with pytest.raises(Invalid) as told:
                    mine.list_records("todo", limit=5, cursor=cursor)
                assert "SELECT" not in str(told.value)


def keeps_nothing_before(reader, written):
    """Begin to look as of now; whether a transaction of another database keeps no more than that."""
    reader.rollback()
    reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    oldest = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
    return reader.execute(oldest).fetchone()[0] > written


class TestBacklog:
    def test_nobody_is_given_what_another_has(self, mine, pool, backlog, database):
        """Oldest first, of all users, until a lease runs out or is given back."""
        other = MemoryPostgres(pool, owner="bob")
        refs = [("ann", mine.save(todo(str(n))).ref_id) for n in range(3)]
        refs += [("bob", other.save(todo(str(n))).ref_id) for n in range(3)]
        first = backlog.lease(4, encoder="e", seconds=60)
        assert {(x.owner, x.ref_id) for x in first} == set(refs[:4])
        assert set(taken(backlog)) == set(refs[4:])
        assert taken(backlog) == []
        backlog.give_back(first[:1])
        assert taken(backlog) == [(first[0].owner, first[0].ref_id)]
        database.run("UPDATE wb_outbox SET leased_until = now() - interval '1 s'")
        assert set(taken(backlog)) == set(refs)

    def test_of_many_some_of_each_come_together(self, pool, backlog):
        """Of the eight users who wait longest, an eighth each; of fewer, what waits of all."""
        stores = [MemoryPostgres(pool, owner=f"user-{n}") for n in range(10)]
        for _ in range(3):
            for each in stores:
                each.save(todo("x"))
        leased = [Counter(owner for owner, _ in taken(backlog, limit=16)) for _ in range(3)]
        assert leased == [
            {f"user-{n}": 2 for n in range(8)},
            {f"user-{n}": 1 if n < 8 else 3 for n in range(10)},
            {},
        ]

    def test_a_lease_that_ran_out_is_another_s(self, mine, backlog, other_backlog, database):
        """Whoever had it before neither holds it nor ends it, though what it filed is filed."""
        refs = [("ann", mine.save(todo(x)).ref_id) for x in ("a", "b")]
        mine_before = backlog.lease(9, encoder="e", seconds=60)
        database.run("UPDATE wb_outbox SET leased_until = now() - interval '1 s'")
        assert len(other_backlog.lease(9, encoder="e", seconds=60)) == 2
        until = database.rows("SELECT leased_until FROM wb_outbox ORDER BY ref_id")
        backlog.hold(mine_before, seconds=3600)
        backlog.give_back(mine_before[1:])
        assert backlog.done(mine_before[:1], encoder="e") == []
        assert database.rows("SELECT leased_until FROM wb_outbox ORDER BY ref_id") == until
        assert backlog.waiting()[0] == 1
        assert taken(backlog) == []
        other_backlog.give_back(mine_before)
        assert taken(backlog) == [refs[1]]

    def test_a_lease_is_held_for_longer(self, mine, backlog, database):
        """By whoever has it, even where it ran out and nobody came; what is done is not held."""
        mine.save(todo("a"))
        leased = backlog.lease(9, encoder="e", seconds=60)
        database.run("UPDATE wb_outbox SET leased_until = now() - interval '1 s'")
        backlog.hold(leased, seconds=60)
        assert taken(backlog) == []
        backlog.done(leased, encoder="e")
        backlog.hold(leased, seconds=60)
        assert database.rows("SELECT leased_until FROM wb_outbox") == [(None,)]

    def test_what_changes_meanwhile_is_not_done(self, mine, backlog):
        """It waits again; the rest is done, and its words too."""
        stays, changes = (mine.save(todo(x)).ref_id for x in ("a", "b"))
        leased = backlog.lease(9, encoder="e", seconds=60)
        mine.save(todo("new", ref_id=changes))
        again = backlog.done(leased, encoder="e")
        assert [x.ref_id for x in again] == [changes]
        assert [x.ref_id for x in mine.unfiled(9)] == [changes]
        assert taken(backlog) == [("ann", changes)]
        assert stays != changes

    @pytest.mark.parametrize("case", list(product(["search", "worker"], [False, True])))
    def test_an_earlier_text_is_not_the_last_that_is_filed(
        self, mine, pool, backlog, database, case
    ):
        """Who read before a change and files after another has filed it, has it filed again."""
        by_search, is_deleted = case[0] == "search", case[1]
        ref_id = mine.save(todo("old")).ref_id
        early = mine.unfiled(9) if by_search else backlog.lease(9, encoder="e", seconds=60)
        if is_deleted:
            mine.delete("todo", ref_id)
            mine.erased([f"memory:todo/{ref_id}"])
        else:
            mine.save(todo("new", ref_id=ref_id))
        database.run("UPDATE wb_outbox SET leased_until = NULL")
        backlog.done(backlog.lease(9, encoder="e", seconds=60), encoder="e")
        database.run("UPDATE wb_outbox SET stale = false")
        assert (backlog.waiting()[0], mine.unfiled(9), mine.to_erase()) == (0, [], ())
        if by_search:
            assert noted(pool, early) == [False]
        else:
            assert [x.changes for x in backlog.done(early, encoder="e")] == [2]
        assert backlog.waiting()[0] == 1
        assert [x.changes for x in mine.unfiled(9)] == [2] * (not is_deleted)
        assert mine.to_erase() == (f"memory:todo/{ref_id}",) * is_deleted
        assert database.rows("SELECT stale FROM wb_outbox") == [(True,)]
        backlog.done(backlog.lease(9, encoder="e", seconds=60), encoder="e")
        assert (backlog.waiting()[0], mine.unfiled(9), mine.to_erase()) == (0, [], ())

    def test_without_an_encoder_words_are_filed_and_vectors_wait(self, mine, backlog):
        """Until there is one; then nothing of it waits but for another one."""
        ref = ("ann", mine.save(todo("a")).ref_id)
        leased = backlog.lease(9, encoder="", seconds=60)
        assert backlog.done(leased, encoder="") == []
        assert mine.unfiled(9) == []
        assert taken(backlog, encoder="") == []
        backlog.done(backlog.lease(9, encoder="e", seconds=60), encoder="e")
        assert taken(backlog, encoder="e") == []
        for other in ("d", "f"):
            leased = backlog.lease(9, encoder=other, seconds=60)
            assert [(x.owner, x.ref_id) for x in leased] == [ref]
            backlog.give_back(leased)

    def test_it_tells_what_waits_and_lets_all_wait_again(self, mine, backlog, database):
        """What is deleted, too: to leave the index, where a mistake has left it; not to come back."""
        kept = mine.save(todo("kept"))
        mine.delete("todo", mine.save(todo("gone")).ref_id)
        database.run("UPDATE wb_outbox SET at = now() - interval '90 s'")
        waiting, oldest_s = backlog.waiting()
        assert (waiting, oldest_s > 89) == (2, True)
        backlog.done(backlog.lease(9, encoder="e", seconds=60), encoder="e")
        assert backlog.waiting()[0] == 0
        assert backlog.renew() == 2
        leased = backlog.lease(9, encoder="e", seconds=60)
        assert {(x.ref_id == kept.ref_id, x.is_lost, x.gone) for x in leased} == {
            (True, True, False),
            (False, False, True),
        }
        assert mine.unfiled(9) == []  # a search could not tell what is lost

    def test_who_marks_many_at_once_waits_and_nobody_is_turned_away(self, mine, pool, backlog):
        """Each names the same lines in another order."""
        for number in range(100):
            mine.save(todo(str(number)))
        leased = backlog.lease(100, encoder="e", seconds=60)
        for _ in range(10):
            given = at_once(
                lambda: backlog.done(leased, encoder="e"),
                lambda: len(noted(pool, leased[::-1])),
                lambda: backlog.give_back(leased[::-1]),
                lambda: mine.erased([f"memory:todo/{x.ref_id}" for x in leased]),
                backlog.renew,
            )
            assert given == [[], 100, None, True, 100]

    def test_old_calls_of_all_users_go_once_a_day(self, mine, upkeep, clock, database):
        """Of those, too, who do not come back, and of whom nothing else was ever kept."""
        call = Call(tool="memory.search", status="ok", duration_ms=1, top_k_effective=8)
        mine.note_call(call)
        clock.advance(timedelta(days=31).total_seconds())
        upkeep.vacuum()
        assert database.rows("SELECT 1 FROM wb_tool_invocation_log") == []

    @pytest.mark.parametrize(
        "mode", ["ACCESS SHARE", pytest.param("SHARE UPDATE EXCLUSIVE", marks=pytest.mark.long)]
    )
    def test_a_table_that_is_in_use_is_vacuumed_the_next_time(
        self, mine, backlog, upkeep, database, mode
    ):
        """The others are vacuumed now, and nobody is told of a failure.

        Whether it is read, or cleaned by another; each lock is waited for two seconds.
        """
        mine.delete("todo", mine.save(todo("harbour")).ref_id)
        backlog.done(backlog.lease(9, encoder="e", seconds=60), encoder="e")
        files = "SELECT pg_relation_filenode('wb_todo')"
        before = database.rows(files)
        with psycopg.connect(database.admin_url) as busy:
            busy.execute(f"LOCK TABLE wb_message IN {mode} MODE")
            assert upkeep.vacuum() == 1
        assert database.rows(files) != before
        assert upkeep.vacuum() == 1
        while upkeep.vacuum():  # a session that begins in another database may hold all back
            pass
        assert database.rows("SELECT stale FROM wb_outbox") == [(False,)]

    def test_what_is_deleted_is_not_vacuumed_before_it_is_out_of_the_index(
        self, mine, backlog, upkeep
    ):
        """A desk has forgotten it; a worker that came too early may not know yet."""
        ref_id = mine.save(todo("harbour")).ref_id
        mine.delete("todo", ref_id)
        mine.erased([f"memory:todo/{ref_id}"])
        assert upkeep.vacuum() == 0
        backlog.done(backlog.lease(9, encoder="e", seconds=60), encoder="e")
        assert upkeep.vacuum() == 1

    def test_what_an_older_snapshot_keeps_is_looked_at_again(
        self, mine, backlog, upkeep, database, caplog
    ):
        """Until nobody can see it any more: vacuumed, it may still lie in the pages."""
        mine.delete("todo", mine.save(todo("harbour")).ref_id)
        backlog.done(backlog.lease(9, encoder="e", seconds=60), encoder="e")
        ((written,),) = database.rows("SELECT max(xmin::text::bigint) FROM wb_outbox")
        # In no table of ours, as a backup's is in another: nobody is in the way.
        with psycopg.connect(database.admin_url) as reader:
            until(lambda: keeps_nothing_before(reader, written), "no older snapshot")
            mine.delete("todo", mine.save(todo("wall")).ref_id)
            backlog.done(backlog.lease(9, encoder="e", seconds=60), encoder="e")
            assert upkeep.vacuum() == 2
            # A session that begins in another database may hold all of a server back for a moment.
            while upkeep.vacuum() != 1:
                assert database.rows("SELECT stale FROM wb_outbox ORDER BY at")[1] == (True,)
            assert database.rows("SELECT stale FROM wb_outbox ORDER BY at") == [(False,), (True,)]
            # Nor is anything written anew for nothing as long as that lasts, and that is told.

            def is_left_alone():
                before = database.rows("SELECT pg_relation_filenode('wb_todo')")
                assert upkeep.vacuum() == 1
                return database.rows("SELECT pg_relation_filenode('wb_todo')") == before

            until(is_left_alone, "the table to be left alone")
            assert "stays in the files" in caplog.text
        while upkeep.vacuum():
            pass
        assert database.rows("SELECT stale FROM wb_outbox ORDER BY at") == [(False,), (False,)]

    def test_one_process_vacuums_at_a_time_and_not_too_often(self, upkeep, database):
        """However many workers there are; one that fails or dies lets the next one."""
        pool = Postgres(database.worker_url, check=check_worker)
        other = MemoryUpkeep(pool)
        with upkeep.vacuuming(every_s=60) as mine, other.vacuuming(every_s=0) as others:
            assert (mine, others) == (True, False)
        with other.vacuuming(every_s=60) as others:
            assert not others
        with pytest.raises(Conflict), upkeep.vacuuming(every_s=0):
            raise Conflict("It cannot be vacuumed.")
        database.run("UPDATE wb_upkeep SET tidied_at = now() - interval '60 s'")
        with other.vacuuming(every_s=60) as others:
            assert others
        pool.close()


def test_the_worker_comes_to_the_end_of_a_batch_it_cannot_read(database, tmp_path):
    """Records of one user that cannot be read wait; those of the others are filed."""
    world = PostgresMemoryWorld(database, tmp_path, worker=False)
    for user in ("ann", "bob"):
        world.open(user).save_todo(f"harbour of {user}")
    # A time that no program holds, from before the table refused it.
    database.run("ALTER TABLE wb_todo DROP CONSTRAINT wb_todo_times")
    database.run("UPDATE wb_todo SET updated_at = 'infinity' WHERE user_id = 'ann'")
    assert world.work() == 1
    assert database.rows("SELECT user_id FROM wb_outbox WHERE due") == [("ann",)]
    database.run("UPDATE wb_todo SET updated_at = created_at WHERE user_id = 'ann'")
    database.run("UPDATE wb_outbox SET leased_until = NULL")
    assert world.work() == 1
    world.close()


def test_flags_that_no_program_of_ours_wrote_are_kept(database, tmp_path):
    """From before the table refused them; they hide nothing, and a save leaves them as they are."""
    world = PostgresMemoryWorld(database, tmp_path)
    mine = world.open("ann")
    mine.save_preferences(language="ms")
    database.run("ALTER TABLE wb_preferences DROP CONSTRAINT wb_preferences_flags")
    for wrong in ("{", "[1]", '"', "[" * 50_000):
        database.run("UPDATE wb_preferences SET flags = %s", wrong)
        assert mine.search("ms").hits[0].entry == mine.preferences()
        mine.save_preferences(religion="general")
        assert mine.preferences().flags == {"unreadable": wrong}
    world.close()


def test_who_cannot_be_read_is_in_nobody_s_way(database, tmp_path, monkeypatch):
    """Though all that waits longest is theirs; it is not tried for ever."""
    world = PostgresMemoryWorld(database, tmp_path, worker=False)
    for user in ("ann", "ann", "ann", "bob"):
        world.open(user).save_todo(f"harbour of {user}")
    monkeypatch.setattr(numbers, "BACKLOG_BATCH", 2)
    database.run("ALTER TABLE wb_todo DROP CONSTRAINT wb_todo_times")
    database.run("UPDATE wb_todo SET updated_at = 'infinity' WHERE user_id = 'ann'")
    assert world.work() == 1
    assert database.rows("SELECT user_id FROM wb_outbox WHERE due") == [("ann",)] * 3
    world.close()


BEFORE = {"records": list_record_migrations()[:2], "index": list_series()["index"][:1]}
AS_BEFORE = """
INSERT INTO wb_message VALUES ('ann', 'm-1', 'user', 'quokkarine', now()),
    ('ann', 'm-2', 'system', 'quokkarine', now()), ('ann', '', 'user', 'quokkarine', now());
INSERT INTO wb_todo VALUES ('bob', 't-1', 'zebrawoodish', false, now(), now()),
    ('bob', 't-2', 'quokkarine', true, now(), now());
INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase, words_due, due) VALUES
    ('bob', 'todo', 't-1', false, false, false, false),
    ('bob', 'todo', 't-2', true, false, false, false),
    ('bob', 'todo', 't-3', false, false, false, false);
INSERT INTO wb_preferences VALUES ('bob', 'en', NULL, '{', now(), now());
INSERT INTO wb_embeddings (user_id, kind, ref_id, model_tag, chunk, doc, span, text_hash, embedding)
VALUES ('bob', 'todo', 't-1', 'm', 0, 1, '[0,1)', 'h', '[1,2]'),
    ('bob', 'todo', 't-2', 'm', 0, 2, '[0,1)', 'h', '[1,2]'),
    ('bob', 'entry', ':notes:1', 'm', 0, 9, '[0,1)', 'h', '[1,2]');
CREATE INDEX wb_nearest_1 ON wb_embeddings USING hnsw ((embedding::halfvec(2)) halfvec_ip_ops)
WHERE user_id = 'bob' AND model_tag = 'm';
"""


class TestMigrated:
    """A database as it was before its tables wrote the outbox themselves."""

    @pytest.fixture
    def before(self, empty_database):
        """Its tables are those of a role that is no superuser, whom they are guarded from too."""
        own = f"plain_{uuid4().hex[:8]}"
        migrate_postgres(empty_database.admin_url, BEFORE)
        with psycopg.connect(empty_database.admin_url) as conn:
            conn.execute(AS_BEFORE)
        empty_database.run(f"CREATE ROLE {own} LOGIN NOSUPERUSER")
        empty_database.run(f"GRANT CREATE ON SCHEMA public TO {own}")
        for (table,) in empty_database.rows(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        ):
            empty_database.run(f"ALTER TABLE {table} OWNER TO {own}")
        migrate_postgres(make_conninfo(empty_database.admin_url, user=own), list_series())
        yield empty_database
        empty_database.run(f"DROP OWNED BY {own} CASCADE")
        empty_database.run(f"DROP ROLE {own}")

    def test_rows_from_before_are_found(self, before, tmp_path):
        """Those that no line told of, of every user; not a system's, nor one that has no name."""
        world = PostgresMemoryWorld(before, tmp_path)
        ann, bob = world.open("ann"), world.open("bob")
        assert [hit.entry.id for hit in ann.search("quokkarine").hits] == ["m-1"]
        assert [hit.entry.id for hit in bob.search("quokkarine").hits] == ["t-2"]
        assert before.rows("SELECT gone FROM wb_outbox WHERE ref_id = 't-3'") == [(True,)]
        assert bob.preferences().flags == {"unreadable": "{"}
        unguarded = "SELECT relname FROM pg_class WHERE relrowsecurity AND NOT relforcerowsecurity"
        assert before.rows(unguarded) == []
        world.close()

    def test_vectors_have_the_columns_of_the_design(self, before):
        """Ids that differ and a time, of those from before as well; kinds are those of records."""
        rows = before.rows("SELECT count(DISTINCT id), count(created_at) FROM wb_embeddings")
        assert rows == [(3, 3)]
        columns = before.rows(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'wb_embeddings'"
        )
        design = {"id", "user_id", "kind", "ref_id", "vector", "model_tag", "created_at"}
        assert design <= {name for (name,) in columns}
        assert before.rows("SELECT 1 FROM pg_class WHERE relname = 'wb_nearest_1'") == []
        with pytest.raises(psycopg.errors.CheckViolation):
            before.run("UPDATE wb_embeddings SET kind = 'quote' WHERE ref_id = 't-1'")


def test_what_an_application_leaves_out_has_a_default(database, tmp_path):
    """An id and a time, as tables of the design have them; a role of its own, a member of ours."""
    world = PostgresMemoryWorld(database, tmp_path)
    mine = world.open("ann")
    mine.save_todo("harbour")
    role = f"wellbot_{uuid4().hex[:8]}"
    database.run(f"CREATE ROLE {role} LOGIN")
    database.run(f"GRANT commonplace_app TO {role}")
    with psycopg.connect(make_conninfo(database.admin_url, user=role)) as conn:
        conn.execute("SET LOCAL app.user_id = 'ann'")
        # Wherever its path leads to.
        conn.execute("SET LOCAL search_path = pg_catalog")
        conn.execute(
            "INSERT INTO public.wb_message (user_id, role, content)"
            " SELECT 'ann', 'user', 'quokkarine ' || n FROM generate_series(1, 3) AS n"
        )
        conn.execute("INSERT INTO public.wb_preferences (user_id) VALUES ('ann')")
    assert len(mine.search("quokkarine").hits) == 3
    assert mine.preferences().language == "en"
    with psycopg.connect(make_conninfo(database.admin_url, user=role)) as conn:
        conn.execute("SET LOCAL app.user_id = 'ann'")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("INSERT INTO wb_todo (user_id, title) VALUES ('bob', 'quokkarine')")
    database.run(f"DROP ROLE {role}")
    world.close()


class TestAbsent:
    def test_what_a_user_lacks_is_asked_once_and_counts_until_a_write(self, pool, mine, clock):
        """A search then asks for none of it; what it writes is there, and so is all that is due."""
        times = MemoryTimes(pool, owner="ann", column="expires_at")
        with pool.together("ann"):
            assert times.list_due(clock().timestamp()) == []
            with pool.shared_transaction("ann") as conn:
                assert conn.absent == {"due", "unfiled", "preferences", "timeline"}
            assert (mine.unfiled(9), mine.find("preference", "preferences")) == ([], None)
            ref_id = mine.save(todo("feed the quokka")).ref_id
            mine.save(RecordDraft(kind="preference", fields={"language": "en"}))
            assert {each.ref_id for each in mine.unfiled(9)} == {ref_id, "preferences"}
            assert mine.find("preference", "preferences").language == "en"
        times.keep_times({f"memory:todo/{ref_id}": 0.0})
        with pool.together("ann"):
            assert times.list_due(clock().timestamp()) == [f"memory:todo/{ref_id}"]
            with pool.shared_transaction("ann") as conn:
                assert not conn.absent
            assert len(mine.unfiled(9)) == 2

    def test_what_waits_for_the_index_is_read_as_it_is_by_then(self, database, pool, mine, clock):
        """Another server begins a timeline within a search: filed as absent, none would find it."""
        mine.save(todo("feed the quokka"))
        here = TimelinePostgres(pool, owner="ann", clock=clock)
        other = Postgres(database.app_url, check=check_database)
        with closing(other), pool.together("ann"):
            MemoryTimes(pool, owner="ann", column="expires_at").list_due(clock().timestamp())
            with TimelinePostgres(other, owner="ann", clock=clock).writing():
                pass
            assert not here.exists
            assert mine.unfiled(9)
            assert here.exists
