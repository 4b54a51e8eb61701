"""No user sees anything of another: many at once through few connections, and after every failure."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from functools import partial
from random import Random

import psycopg
import pytest
from msgspec.structs import replace
from server.tests.memory_postgres_world import PostgresMemoryWorld
from server.tests.proof.memory_crowd import (
    NAMES,
    OF_NO_USER,
    Person,
    break_off,
    rows_without_user,
    run_crowd,
)
from server.tests.proof.memory_server import database_on
from server.tests.proof.pgbouncer import PgBouncer
from tests.contracts.memory_laws import every_kind
from tests.memory_world import SqliteMemoryWorld
from tests.patience import until

from commonplace.app import App
from commonplace.core.errors import Denied, Invalid, NotFound
from commonplace.memory import Memory
from commonplace_server.postgres.database import Postgres
from commonplace_server.wiring import memories as memory_postgres

SEED = 20261122
TEXTS = ("wb_message", "wb_journal", "wb_todo", "wb_gratitude", "wb_preferences", "wb_docs")


@pytest.fixture
def world(database, tmp_path, monkeypatch):
    """All users of the process share three connections."""
    monkeypatch.setattr(memory_postgres, "Postgres", partial(Postgres, most=3))
    made = PostgresMemoryWorld(database, tmp_path, worker=False)
    yield made
    made.close()


def crowd(world):
    """A process that serves all of these users, and its connections."""
    first = world.open(NAMES[0])
    memories = [first, *world.beside(first, *NAMES[1:])]
    pools, open_pool = [], memory_postgres.Postgres
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            memory_postgres,
            "Postgres",
            lambda *given, **named: pools.append(open_pool(*given, **named)) or pools[-1],
        )
        first.service.filing()
    (pool,) = pools
    return [Person(memory, number) for number, memory in enumerate(memories)], pool


@pytest.mark.parametrize(
    "operations",
    [
        600,
        pytest.param(1_500, marks=pytest.mark.long),
        pytest.param(12_000, marks=pytest.mark.whole),
    ],
)
def test_many_users_at_once_through_three_connections(world, operations):
    """24 users in 12 threads: each answer holds what its user wrote, all of it, nothing else."""
    people, pool = crowd(world)
    stop = threading.Event()
    working = threading.Thread(target=world.worker.run, args=(stop,))
    working.start()
    try:
        run_crowd(people, pool, seed=SEED, threads=12, operations=operations)
    finally:
        stop.set()
        working.join()
    world.work()
    for person in people:
        person.check_all()
    assert sum(person.answers for person in people) > operations
    for _ in range(3):
        with pool.bare() as conn:
            assert conn.execute("SELECT current_setting('app.user_id', true)").fetchone()[0] in {
                "",
                None,
            }
    assert rows_without_user(world.database.app_url) == {}


@pytest.mark.parametrize(
    "operations",
    [
        300,
        pytest.param(1_500, marks=pytest.mark.long),
        pytest.param(10_000, marks=pytest.mark.whole),
    ],
)
def test_many_users_at_once_in_files(tmp_path, operations):
    """The same where each user has a file."""
    world = SqliteMemoryWorld(tmp_path)
    try:
        first = world.open(NAMES[0])
        memories = [first, *world.beside(first, *NAMES[1:])]
        people = [Person(memory, number) for number, memory in enumerate(memories)]
        run_crowd(people, None, seed=SEED, threads=4, operations=operations)
        for person in people:
            person.check_all()
    finally:
        world.close()


def test_many_users_at_once_through_a_pgbouncer(own_server, tmp_path):
    """Its two sessions serve all, each transaction another; nothing of one stays for the next."""
    made = database_on(own_server)
    bouncer = PgBouncer(host=own_server.folder, name="postgres")
    try:
        until(lambda: bouncer.is_there, "the pgbouncer to answer")
        world = PostgresMemoryWorld(bouncer.database(made.admin_url), tmp_path, worker=False)
        people, pool = crowd(world)
        run_crowd(people, pool, seed=SEED, threads=12, operations=600)
        world.work()
        for person in people:
            person.check_all()
        assert rows_without_user(world.database.app_url) == {}
        with pool.owner_transaction(NAMES[0]) as conn:
            conn.execute("SELECT %s::text", ["x"], prepare=True)
            kept = "SELECT count(*), current_setting('enable_seqscan') FROM pg_prepared_statements"
            assert conn.execute(kept).fetchone() == (0, "on")
        world.close()
    finally:
        bouncer.close()


def dump(database, *, without):
    """Every row of every table that is not this user's, as text."""
    tables = database.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {
        table: database.rows(
            f"SELECT each::text FROM {table} AS each WHERE user_id <> %s ORDER BY 1", without
        )
        for (table,) in tables
        if table not in OF_NO_USER
    }


def test_deleting_all_of_one_user_leaves_the_rows_of_all_others(world):
    """Of every table, the logs among them; of the one nothing is left that was written."""
    people, _ = crowd(world)
    kept = {person.memory.owner: every_kind(person.memory) for person in people}
    for person in people:
        person.memory.search("quokkarine")
    world.worker.run_once()  # which sees to what is due of anybody
    before = dump(world.database, without="ann")
    ann = people[0].memory
    for _, ref_id in kept["ann"].values():
        ann.delete(ref_id)
    world.worker.run_once()
    assert dump(world.database, without="ann") == before
    for table in (*TEXTS, "wb_former", "wb_words", "wb_packed", "wb_embeddings", "wb_facets"):
        rows = world.database.rows(f"SELECT 1 FROM {table} WHERE user_id = 'ann'")
        assert rows == [], table


def test_a_failure_in_the_middle_leaves_nothing_to_the_next_user(world, monkeypatch):
    """A failed statement, an exception, a cancelled call, a timeout; then another on it at once."""
    monkeypatch.setattr(memory_postgres, "Postgres", partial(Postgres, most=1))
    people, pool = crowd(world)
    ann, bob = people[0], people[1]
    for _ in range(5):
        ann.save(Random(1))
    chance = Random(SEED)
    for _ in range(40):
        break_off(pool, ann.memory.owner, chance)
        with pool.owner_transaction(bob.memory.owner) as conn:
            for table in TEXTS:
                assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        bob.search(chance, ann)
        bob.list(chance)


def test_without_a_user_there_are_no_rows_and_nothing_is_written(world):
    """As the application and as the worker, by any statement; of us it is an error."""
    people, pool = crowd(world)
    every_kind(people[0].memory)
    people[0].memory.search("quokkarine")
    world.work()
    assert rows_without_user(world.database.app_url) == {}
    # What the worker sees across users holds no text.
    numbers = {"wb_outbox", "wb_index", "cp_kept", "wb_tool_invocation_log"}
    assert {*rows_without_user(world.database.worker_url)} == numbers
    for table in numbers:
        rows = str(world.database.rows(f"SELECT each::text FROM {table} AS each"))
        assert not any(word in rows for word in ("quokkarine", "zebrawoodish", "tamarindose"))
    with psycopg.connect(world.database.app_url, autocommit=True) as conn:
        for table in (*TEXTS, "wb_words", "wb_packed", "wb_outbox", "wb_times", "wb_former"):
            assert conn.execute(f"UPDATE {table} SET user_id = user_id").rowcount == 0
            assert conn.execute(f"DELETE FROM {table}").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("INSERT INTO wb_todo VALUES ('ann', 'x', 'x', false, now(), now())")
        whose = [f"SELECT 1 FROM {table}" for table in OF_NO_USER[-1:]]
        for statement in (
            "TRUNCATE wb_todo",
            "DROP TABLE wb_todo",
            "COPY wb_todo FROM STDIN",
            *whose,
        ):
            with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.NotSupportedError)):
                conn.execute(statement)
    for nobody in ("", "\0", "a\nb", "\ud800", "x" * 129):
        with pytest.raises(Invalid):
            world.open(nobody)
        with pytest.raises(Invalid), pool.owner_transaction(nobody):
            pass


@pytest.mark.parametrize("role", ["superuser", "bypass", "owner", "member of the owner"])
def test_a_role_that_nothing_guards_is_refused(world, role):
    """Before anything is read or written, and with the next step."""
    database = world.database
    name = f"cp_{role.split()[0]}_{role.count(' ')}"
    options = {"superuser": "SUPERUSER", "bypass": "BYPASSRLS"}.get(role, "NOSUPERUSER")
    database.run(f"CREATE ROLE {name} LOGIN {options} IN ROLE commonplace_app")
    try:
        if role == "owner":
            database.run(f"ALTER TABLE wb_todo OWNER TO {name}")
        if role == "member of the owner":
            database.run("CREATE ROLE cp_the_owner")
            database.run("ALTER TABLE wb_todo OWNER TO cp_the_owner")
            database.run(f"GRANT cp_the_owner TO {name}")
        url = psycopg.conninfo.make_conninfo(database.app_url, user=name)
        settings = replace(world.settings, database=replace(world.settings.database, url=url))
        with Memory("ann", settings=settings, encoder=world.slot) as memory:
            with pytest.raises(Denied) as told:
                memory.save_todo("harbour")
            with pytest.raises(Denied):
                memory.todos()
        assert "commonplace_app" in told.value.hint
    finally:
        database.run("ALTER TABLE wb_todo OWNER TO CURRENT_USER")
        database.run(f"DROP ROLE {name}")
        database.run("DROP ROLE IF EXISTS cp_the_owner")
    assert database.rows("SELECT 1 FROM wb_todo") == []


def test_recall_and_refs_know_one_user_alone(world):
    """The tools over all journals: each finds and opens what is its owner's, and no ref of another."""
    tools, refs = {}, {}
    with ExitStack() as apps:
        for user in ("ann", "bob", "Ann"):
            settings = replace(
                world.settings, owner=user, toolsets=("recall", "memory", "memory-write")
            )
            app = App(settings, user_home=None, clock=world.clock, encoder=world.slot)
            apps.callback(app.close)
            tools[user] = {tool.name: tool for each in app.toolsets() for tool in each.tools}
            saved = tools[user]["memory_save"].call({"kind": "todo", "title": f"harbour {user}q"})
            refs[user] = saved.facts["ref"]
        world.work()
        for user, mine in tools.items():
            assert mine["open_ref"].call({"ref": refs[user]}).facts["text"] == f"harbour {user}q"
            shown = str(mine["recall"].call({"query": "harbour"}).facts)
            assert [other for other, ref in refs.items() if ref in shown] == [user]
            for ref in {*refs.values()} - {refs[user]}:
                with pytest.raises(NotFound):
                    mine["open_ref"].call({"ref": ref})
