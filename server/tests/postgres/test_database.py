"""A pool that hands out connections with an owner alone, and survives its server."""

import threading
import time
from contextlib import ExitStack, closing

import psycopg
import pytest
from examples.postgres import OwnDatabase, PostgresServer
from server.tests.databases import SERIES, address
from tests.patience import PATIENCE_S, until

from commonplace.core.errors import Denied, Internal, Invalid, Lost, Outdated, Unavailable
from commonplace.core.values import Answer
from commonplace.verbs.toolset import Effects, Tool
from commonplace_server.postgres.address import parse_address
from commonplace_server.postgres.database import (
    Postgres,
    refuse_unguarded,
    statement,
)
from commonplace_server.postgres.errors import ours
from commonplace_server.postgres.migrate import migrate_postgres, refuse_other_schema

TABLES = ("wb_message", "wb_todo", "wb_outbox")
INSERT = "INSERT INTO wb_message VALUES (%s, %s, 'user', 'x', now())"


def look(conn, name):
    refuse_unguarded(conn, name, tables=TABLES)
    refuse_other_schema(conn, name, SERIES)


def opened(url, **given):
    return Postgres(url, check=look, **given)


@pytest.fixture
def pool(database):
    made = opened(database.app_url, most=2)
    yield made
    made.close()


def owners(conn):
    return [row[0] for row in conn.execute("SELECT user_id FROM wb_message ORDER BY 1")]


def insert(pool, *users, ref_id="1", then=lambda: None):
    """In one transaction of the first: a row for each, and then something."""
    with pool.owner_transaction(users[0]) as conn:
        for user in users:
            conn.execute(INSERT, [user, ref_id])
        then()


def seen_by(pool, owner):
    with pool.owner_transaction(owner) as conn:
        return owners(conn)


def enter(pool):
    with pool.owner_transaction("ann"):
        pass


def insert_and_swallow(pool):
    with pool.owner_transaction("ann") as conn:
        conn.execute(INSERT, ["ann", "1"])
        with pytest.raises(psycopg.Error):
            conn.execute("SELECT 1 / 0")


class TestWithin:
    @pytest.mark.design("002-52")
    @pytest.mark.parametrize(
        "owner", ["ann", "o'hara\\", "'; DROP TABLE wb_todo; --", "\u202e", "x" * 128, "%s {}"]
    )
    def test_only_the_owners_rows_are_there(self, pool, owner):
        """Whatever the owner is called; the next on the same connection sees none of them."""
        with pool.owner_transaction(owner) as conn:
            conn.execute(INSERT, [owner, "1"])
        for other in ("bob", owner):
            with pool.owner_transaction(other) as conn:
                assert owners(conn) == ([owner] if other == owner else [])

    def test_no_connection_without_an_owner(self, pool):
        """Nobody, a NUL and a control sign are refused before the database is asked."""
        for owner in ("", "\0", "a\n", "x" * 129):
            with pytest.raises(Invalid), pool.owner_transaction(owner):
                pass

    def test_what_is_asked_in_one_trip_is_of_its_owner_and_whole(self, pool):
        """Written at once, or not at all; a failure leaves nothing to the next."""
        both = statement(
            "INSERT INTO wb_message SELECT %(who)s, given, 'user', %(text)s, now()"
            " FROM unnest(%(ids)s::text[]) AS given RETURNING id"
        )

        def ask(owner, who, ids):
            given = {"who": who, "ids": list(ids), "text": "%s; 'x"}
            return pool.ask_in_one_trip(owner, both, given, deadline_s=5)

        assert ask("ann", "ann", ["1", "2"]) == [("1",), ("2",)]
        assert ask("ann", "ann", []) == []
        for owner, who in (("ann", "bob"), ("bob", "ann")):
            with pytest.raises(Denied):
                ask(owner, who, ["3"])
        with pytest.raises(Internal):
            ask("ann", "ann", ["4", "1"])
        assert seen_by(pool, "ann") == ["ann", "ann"]
        assert seen_by(pool, "bob") == []
        assert pool.use().in_use == 0

    def test_in_a_transaction_of_many_each_sees_its_own_rows(self, pool):
        """In its turn, and again after another's inside of it; nobody's without one."""
        with pool.of_many():
            for owner in ("ann", "bob"):
                insert(pool, owner)
                assert seen_by(pool, owner) == [owner]
            with pool.owner_transaction("ann") as conn:
                assert seen_by(pool, "bob") == ["bob"]
                assert owners(conn) == ["ann"]
            assert pool.use().in_use == 1
        assert [seen_by(pool, owner) for owner in ("ann", "bob")] == [["ann"], ["bob"]]
        assert seen_by(pool, "cy") == []

    def test_what_fails_in_a_transaction_of_many_takes_all_along(self, pool):
        """A row for another is refused; what is asked next is asked in a transaction of its own."""

        def write():
            with pool.of_many():
                insert(pool, "ann")
                insert(pool, "bob", "ann", ref_id="2")

        with pytest.raises(Denied):
            write()
        assert [seen_by(pool, owner) for owner in ("ann", "bob")] == [[], []]
        assert pool.use().in_use == 0

    def test_no_rows_without_an_owner(self, pool, database):
        """Outside of a transaction, after one, and in one that names nobody."""
        with pool.owner_transaction("ann") as conn:
            conn.execute(INSERT, ["ann", "1"])
        with pool.bare() as conn:
            assert owners(conn) == []
        with pool.across() as conn:
            assert owners(conn) == []
        with psycopg.connect(database.app_url) as conn:
            assert owners(conn) == []
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(INSERT, ["ann", "2"])

    def test_nobody_writes_for_another(self, pool):
        """A row of another owner is refused, and nothing of the transaction stays."""
        with pytest.raises(Denied):
            insert(pool, "ann", "bob")
        with pool.owner_transaction("ann") as conn:
            assert owners(conn) == []

    def test_what_fails_in_the_middle_leaves_nothing_to_the_next(self, database):
        """One connection for all: a failure, then another owner on it."""
        pool = opened(database.app_url, most=1)
        for _ in range(20):
            with pytest.raises(ZeroDivisionError):
                insert(pool, "ann", then=lambda: 1 // 0)
            with pytest.raises(Invalid), pool.owner_transaction("ann") as conn:
                conn.execute("SELECT 1 / 0")
            with pool.owner_transaction("bob") as conn:
                assert owners(conn) == []
                assert conn.execute("SELECT current_setting('app.user_id')").fetchone() == ("bob",)
        pool.close()

    def test_a_swallowed_error_is_not_committed(self, pool):
        """A statement failed, somebody went on: that is said, and nothing stays."""
        with pytest.raises(Internal):
            insert_and_swallow(pool)
        with pool.owner_transaction("ann") as conn:
            assert owners(conn) == []

    def test_many_threads_of_many_owners_on_two_connections(self, pool):
        """Each sees its own at every moment."""
        wrong = []

        def work(owner):
            for number in range(25):
                with pool.owner_transaction(owner) as conn:
                    conn.execute(INSERT, [owner, str(number)])
                with pool.owner_transaction(owner) as conn:
                    if owners(conn) != [owner] * (number + 1):
                        wrong.append(owner)

        threads = [threading.Thread(target=work, args=(f"u{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []

    def test_closed_it_says_so(self, pool):
        """And may be closed twice."""
        pool.close()
        pool.close()
        with pytest.raises(Unavailable, match="closed"), pool.owner_transaction("ann"):
            pass


def begun(conn):
    """When the transaction began: one answer for all that is asked in it."""
    return conn.execute("SELECT now()").fetchone()[0]


def plans_in(pool):
    """How many plans a transaction finds kept in its session, having asked for one of them."""
    with pool.owner_transaction("ann") as conn:
        conn.execute("SELECT %s::text", ["x"], prepare=True)
        return conn.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()[0]


def test_a_session_of_our_own_keeps_the_plans_it_is_told_to(database):
    """However often others are asked; after a failure it makes them again."""
    with closing(opened(database.app_url, most=1)) as pool:
        assert [plans_in(pool) for _ in range(10)] == [1] * 10
        with pytest.raises(Invalid), pool.owner_transaction("ann") as conn:
            conn.execute("SELECT 1 / %s", [0], prepare=True)
        assert plans_in(pool) == 1


def test_a_table_that_is_altered_meanwhile_costs_one_try(database):
    """A plan for columns of another type is refused, told as such, and made again."""
    database.run("CREATE TABLE plain (a integer)")
    database.run("GRANT SELECT ON plain TO commonplace_app")
    with closing(opened(database.app_url, most=1)) as pool:

        def ask():
            with pool.owner_transaction("ann") as conn:
                return conn.execute("SELECT a FROM plain", prepare=True).fetchall()

        assert ask() == []
        database.run("ALTER TABLE plain ALTER a TYPE text")
        with pytest.raises(Unavailable, match="altered meanwhile"):
            ask()
        assert ask() == []


class TestTogether:
    def test_questions_of_a_thread_share_a_transaction(self, pool):
        """Those of the owner alone; outside of it, and after what was the last, there are others."""
        with pool.together("ann"):
            seen = []
            for last in (False, True, False):
                with pool.shared_transaction("ann", last=last) as conn:
                    seen.append(begun(conn))
        with pool.shared_transaction("ann") as conn:
            seen.append(begun(conn))
        assert seen[0] == seen[1]
        assert len({*seen}) == 3

    def test_another_owner_is_in_none_of_it(self, pool):
        """Whoever is asked about meanwhile has a transaction of their own, with their rows alone."""
        for owner in ("ann", "bob"):
            insert(pool, owner)
        with pool.together("ann"):
            for owner in ("ann", "bob", "ann"):
                with pool.shared_transaction(owner) as conn:
                    assert owners(conn) == [owner]
                with pool.owner_transaction(owner) as conn:
                    assert owners(conn) == [owner]
        assert seen_by(pool, "ann") == ["ann"]

    def test_a_thread_holds_one_connection(self, database):
        """There is one alone: what is written between questions has it, and so has who waits."""
        pool = opened(database.app_url, most=1)
        try:
            with pool.together("ann"):
                with pool.shared_transaction("ann") as conn:
                    assert owners(conn) == []
                insert(pool, "ann")
                with pool.shared_transaction("ann", last=True) as conn:
                    assert owners(conn) == ["ann"]
                other = threading.Thread(target=insert, args=(pool, "bob"))
                other.start()
                other.join()
            assert seen_by(pool, "bob") == ["bob"]
        finally:
            pool.close()

    def test_what_fails_takes_nothing_after_it_along(self, pool):
        """The next question begins anew; a line that was written in what failed is gone."""
        with pool.together("ann"):
            with pool.shared_transaction("ann") as conn:
                conn.execute(INSERT, ["ann", "1"])
            with pytest.raises(Invalid), pool.shared_transaction("ann") as conn:
                conn.execute("SELECT 1 / 0")
            with pool.shared_transaction("ann") as conn:
                assert owners(conn) == []
                conn.execute(INSERT, ["ann", "2"])
        assert seen_by(pool, "ann") == ["ann"]

    def test_an_end_that_fails_is_logged_once_and_takes_no_answer_along(
        self, pool, database, caplog
    ):
        """Not even where the connection breaks; the next question has another transaction."""
        with pool.together("ann"):
            with pool.shared_transaction("ann", last=True) as conn:
                before = begun(conn)
                database.run("SELECT pg_terminate_backend(%s)", conn.info.backend_pid)
            with pool.shared_transaction("ann") as conn:
                assert begun(conn) != before
        messages = [each.message for each in caplog.records if each.name.startswith("commonplace")]
        assert len(messages) == 1
        assert "did not end well" in messages[0]

    def test_one_inside_another_has_its_own(self, pool):
        """What fails in it leaves the outer one whole."""
        with pool.together("ann"), pool.shared_transaction("ann") as outer:
            with pytest.raises(Invalid), pool.shared_transaction("ann") as inner:
                inner.execute("SELECT 1 / 0")
            assert owners(outer) == []


class TestCalls:
    """What a tool asks whose connection the server ends in the middle of the call."""

    @pytest.fixture
    def call(self, pool, database):
        """Calls a tool with these effects, whose first so many connections are ended."""

        def call(*, ended, **effects):
            asked = []

            def look() -> Answer:
                with pool.together("ann"), pool.shared_transaction("ann") as conn:
                    asked.append(conn.info.backend_pid)
                    if len(asked) <= ended:
                        database.run("SELECT pg_terminate_backend(%s)", asked[-1])
                    return Answer(str(owners(conn)))

            try:
                Tool(run=look, title="Look", effects=Effects(**effects)).call({})
            except Lost:
                return "lost", len(asked)
            return "done", len(asked)

        return call

    def test_what_only_reads_is_asked_once_more(self, call):
        """Not a third time: a database that is away is waited for by nobody for ever."""
        assert [call(ended=number) for number in (0, 1, 2)] == [
            ("done", 1),
            ("done", 2),
            ("lost", 2),
        ]

    def test_what_writes_is_not_asked_again(self, call):
        """It may have been done; its store knows whether it can be sent twice."""
        assert call(ended=1, writes=True) == ("lost", 1)


class TestReplaced:
    @pytest.mark.long
    def test_a_primary_that_another_has_replaced_is_left(self):
        """By connections that idle and by new ones; the other is used as soon as it is alone."""
        former, leader = PostgresServer(), PostgresServer()
        with ExitStack() as held:
            for server in (former, leader):
                held.callback(server.remove)
            former.start()
            OwnDatabase(former.url(), "", "").run("CREATE ROLE commonplace_app LOGIN")
            leader.follow(former)

            def used(*servers):
                folders = ",".join(str(x.folder) for x in servers)
                made = Postgres(
                    f"postgresql://commonplace_app@/postgres?host={folders}",
                    check=lambda *_: None,
                )
                held.callback(made.close)
                return made

            def reached(pool, *, deadline_s=PATIENCE_S):
                with pool.owner_transaction("ann", deadline_s=deadline_s) as conn:
                    return conn.info.host

            idle, named_first = used(former), used(former, leader)
            assert reached(idle) == str(former.folder)
            leader.promote()
            assert reached(used(leader)) == str(leader.folder)
            for pool in (idle, named_first):
                with pytest.raises(Lost, match="replaced"):
                    reached(pool, deadline_s=1)
            former.stop()
            assert reached(named_first) == str(leader.folder)


class TestRoles:
    def test_roles_that_no_guard_holds_are_refused(self, database, postgres_url):
        """A superuser, one that bypasses, and the owner of a table; each with the next step."""
        database.run("DROP ROLE IF EXISTS cp_bypass")
        database.run("CREATE ROLE cp_bypass LOGIN BYPASSRLS")
        name = database.rows("SELECT current_database()")[0][0]
        for url in (database.admin_url, address(postgres_url, role="cp_bypass", name=name)):
            pool = opened(url)
            with pytest.raises(Denied) as refused, pool.owner_transaction("ann"):
                pass
            assert "migrate" in refused.value.hint
            pool.close()
        database.run("DROP ROLE cp_bypass")
        database.run("ALTER TABLE wb_todo OWNER TO commonplace_app")
        pool = opened(database.app_url)
        with pytest.raises(Denied, match="owns wb_todo"), pool.owner_transaction("ann"):
            pass
        pool.close()

    def test_a_table_without_its_guard_is_refused(self, database):
        """Row level security that was lifted is no memory to work with."""
        database.run("ALTER TABLE wb_todo NO FORCE ROW LEVEL SECURITY")
        pool = opened(database.app_url)
        with pytest.raises(Denied, match="wb_todo"), pool.owner_transaction("ann"):
            pass
        pool.close()

    def test_the_worker_sees_the_queue_alone(self, database):
        """Which records wait, of all; of no record a word, and it cannot add one."""
        pool, worker = opened(database.app_url), opened(database.worker_url)
        with pool.owner_transaction("ann") as conn:
            conn.execute(INSERT, ["ann", "1"])
        with worker.across() as conn:
            assert conn.execute("SELECT user_id, ref_id FROM wb_outbox").fetchall() == [
                ("ann", "1")
            ]
            assert owners(conn) == []
        with worker.owner_transaction("ann") as conn:
            assert owners(conn) == ["ann"]
        with pytest.raises(Denied), worker.owner_transaction("ann") as conn:
            conn.execute(INSERT, ["ann", "2"])
        with pytest.raises(Denied), worker.across() as conn:
            conn.execute("UPDATE wb_outbox SET user_id = 'bob'")
        with pool.across() as conn:
            assert conn.execute("SELECT 1 FROM wb_outbox").fetchall() == []
        pool.close()
        worker.close()


class TestErrors:
    @pytest.mark.parametrize(
        ("state", "error"),
        [
            ("53100", Unavailable),
            ("53300", Unavailable),
            ("57014", Unavailable),
            ("55P03", Unavailable),
            ("57P01", Lost),
            ("08006", Lost),
            ("40001", Outdated),
            ("40P01", Outdated),
            ("28P01", Denied),
            ("42501", Denied),
            ("25006", Unavailable),
            ("42P01", Unavailable),
            ("22021", Invalid),
            ("54000", Invalid),
            ("58030", Unavailable),
            ("XX001", Unavailable),
            ("23505", Internal),
            ("42601", Internal),
            ("25P02", Lost),
        ],
    )
    def test_each_state_is_one_of_our_codes(self, state, error):
        """And nothing of the server's own words is in it."""
        found = ours(psycopg.errors.lookup(state)("secret row"), "The database x", "h")
        assert type(found) is error
        assert "secret" not in str(found)

    @pytest.mark.parametrize(
        "said",
        [
            "SSL error: certificate verify failed",  # as one that has ended
            'root certificate file "/nowhere" does not exist',
            "server does not support SSL, but SSL was required",
        ],
    )
    def test_what_is_wrong_with_tls_is_called_so(self, said):
        """Not a database that is away or was never made: libpq gives words, and no state."""
        error = ours(psycopg.OperationalError(f"connection failed: {said}"), "The database x", "h")
        assert type(error) is Unavailable
        assert "certificate" in error.message

    @pytest.mark.parametrize(
        "said",
        [
            'password authentication failed for user "ann"',
            'Peer authentication failed for user "ann"',  # as on Debian, over a socket
            "fe_sendauth: no password supplied",
            "SASL authentication failed",  # as PgBouncer says it
            'no pg_hba.conf entry for host "10.0.0.1", user "ann", database "x", no encryption',
            'role "ann" is not permitted to log in',
            'permission denied for database "x"',
        ],
    )
    def test_who_is_refused_is_told_so(self, said):
        """Not that the database is away, which runs: libpq gives words, and no state."""
        error = ours(psycopg.OperationalError(f"connection failed: {said}"), "The database x", "h")
        assert type(error) is Denied
        assert "pg_hba.conf" in error.hint

    def test_answers_out_of_step_end_the_connection(self, pool):
        """As where a pooler dies: what comes later is no answer to what is asked next."""
        with pytest.raises(Lost) as told, pool.owner_transaction("ann") as conn:
            raise psycopg.InternalError("got no result from: secret row")
        assert conn.closed
        assert "secret" not in str(told.value)
        assert told.value.hint
        assert seen_by(pool, "ann") == []

    def test_a_role_or_a_database_that_is_not_there(self, postgres_url):
        """Each is told apart, with its next step."""
        for changed, says, hint in (
            ({"role": "cp_nobody", "name": "postgres"}, "does not know this role", "migrate"),
            ({"role": None, "name": "cp_nowhere"}, "does not exist", "another"),
        ):
            with pytest.raises(Unavailable, match=says) as told:
                enter(opened(address(postgres_url, **changed)))
            assert hint in told.value.hint

    def test_no_address_is_told(self, database):
        """Neither the password nor the user of an address that leads nowhere."""
        for url in (
            "postgresql://ann:hunter2@127.0.0.1:1/x",
            "postgresql://ann:hunter2@[::bad/x",
            "password=hunter2 host=127.0.0.1 port=1",
            "hunter2",
            "postgresql://ann:p@hunter2@127.0.0.1:1/x",
            "postgresql://ann:12/hunter2@127.0.0.1:1/x",
            "postgresql://ann:p@hunter2/3@127.0.0.1:1/x",
        ):
            with (
                pytest.raises((Unavailable, Invalid)) as told,
                opened(url).owner_transaction("ann"),
            ):
                pass
            assert "hunter2" not in str(told.value)
            assert told.value.__cause__ is None

    def test_a_password_that_tears_an_address_is_told_to_be_encoded(self):
        """A bare @ or / in it; encoded, in a socket's path and as a pair of = it is taken."""
        for password in ("p@ss", "12/3", "p/@s"):
            with pytest.raises(Invalid) as told:
                parse_address(f"postgresql://ann:{password}@h/x")
            assert "Percent-encode" in told.value.hint
        for url, place in (
            ("postgresql://ann:p%40s%2Fs@h/x", "h"),
            ("postgresql://ann@%2Frun%2Fpg/x?sslmode=disable", "/run/pg"),
            ("postgresql:///x?host=/run/pg", "/run/pg"),
            ("postgres://[::1]:5/x", "::1"),
            ("host=h password=p@s/s dbname=x", "h"),
        ):
            assert parse_address(url)[1:] == ("The database x", place)
        assert parse_address("postgresql://ann@h")[1:] == ("The database", "h")


class TestFull:
    def test_what_is_open_goes_on_where_no_more_are_let_in(self, database):
        """A database that refused one more is no database that is away."""
        name = database.rows("SELECT current_database()")[0][0]
        # Asked from beside: a connection to the database itself would be the one that is let in.
        beside = database.admin_url.replace(f"dbname={name}", "dbname=postgres")
        with psycopg.connect(beside, autocommit=True) as conn:
            conn.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT 1')
            open_ = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
            until(
                lambda: conn.execute(open_, (name,)).fetchone() == (0,), "the last session to end"
            )
        pool = opened(database.app_url)
        with pool.owner_transaction("ann"):
            for _ in range(2):
                with (
                    pytest.raises(Unavailable, match="no more connections"),
                    pool.owner_transaction("bob", deadline_s=0.3),
                ):
                    pass
        for owner in ("bob", "cem"):
            with pool.owner_transaction(owner, deadline_s=1):
                pass
        pool.close()

    def test_a_crowd_on_few_connections_looks_once(self, database):
        """Eight threads that waited in vain: of their own they open one connection, not eight."""
        looks = []

        def slow_look(conn, name):
            look(conn, name)
            looks.append(name)
            conn.execute("SELECT pg_sleep(0.5)")

        def wait_in_vain():
            with pytest.raises(Unavailable), pool.owner_transaction("bob", deadline_s=0.3):
                pass

        pool = Postgres(database.app_url, check=slow_look, most=1)
        with pool.owner_transaction("ann"):
            threads = [threading.Thread(target=wait_in_vain) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(looks) <= 4
        pool.close()

    def test_all_that_idled_may_be_stale(self, pool, database):
        """The server ended both: the next transaction has a new one."""
        with pool.owner_transaction("ann"), pool.owner_transaction("bob"):
            pass
        database.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE usename = 'commonplace_app' AND datname = current_database()"
        )
        with pool.owner_transaction("ann") as one, pool.owner_transaction("bob") as other:
            assert owners(one) == owners(other) == []


class TestServer:
    def test_it_is_used_again_after_it_was_stopped_killed_and_frozen(self, own_server):
        """By itself; meanwhile each call ends with an error that says so, within its deadline."""
        migrate_postgres(own_server.url(), SERIES)
        pool = opened(own_server.url("commonplace_app"), deadline_s=60)
        with pool.owner_transaction("ann") as conn:
            conn.execute(INSERT, ["ann", "1"])
        own_server.stop()
        own_server.start()
        with pool.owner_transaction("ann") as conn:
            assert owners(conn) == ["ann"]
        with pytest.raises(Lost):
            insert(pool, "ann", then=own_server.kill, ref_id="2")
        with (
            pytest.raises(Lost, match="does not answer"),
            pool.owner_transaction("ann", deadline_s=0.3),
        ):
            pass
        own_server.start()
        with pool.owner_transaction("ann") as conn:
            assert owners(conn) == ["ann"]
        own_server.freeze()
        began = time.monotonic()
        with pytest.raises(Lost, match="in time"), pool.owner_transaction("ann", deadline_s=0.3):
            pass
        assert time.monotonic() - began < 30  # half of what a call has else
        own_server.thaw()
        with pool.owner_transaction("ann") as conn:
            assert owners(conn) == ["ann"]
        with (
            pytest.raises(Unavailable, match="too long"),
            pool.owner_transaction("ann", deadline_s=2) as conn,
        ):
            conn.execute("SELECT pg_sleep(60)")
        pool.close()
