"""Workers of one database: which model they make vectors with, what they vacuum, and what they leave."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from itertools import product

import psycopg
import pytest
from server.tests.memory_postgres_world import PACKING_IS_DUE
from tests.contracts.memory_laws import OtherEncoder
from tests.patience import PATIENCE_S, until

from commonplace.core.errors import Unavailable
from commonplace_server.index.index import PostgresIndex
from commonplace_server.postgres.database import Postgres
from commonplace_server.records.outbox_checks import note_filed
from commonplace_server.records.store import MemoryPostgres, texts
from commonplace_server.wiring.schema import check_database
from commonplace_server.worker import numbers
from commonplace_server.worker.changes import JournalChanges
from commonplace_server.worker.filing import LeasedRecords
from commonplace_server.worker.word_filing import WordFiling
from commonplace_server.worker.worker import MemoryWorker
from commonplace_testing import HashingEncoder, ReadySlot

ENCODERS = "SELECT DISTINCT encoder FROM wb_outbox ORDER BY 1"
MODELS = "SELECT model_tag, count(*) FROM wb_embeddings GROUP BY 1 ORDER BY 1"
MANY_VECTORS = """
    INSERT INTO wb_embeddings
        (user_id, kind, ref_id, model_tag, chunk, doc, span, text_hash, vector)
    SELECT user_id, kind, ref_id || n, model_tag, chunk, doc + n, span, text_hash, vector
    FROM wb_embeddings, generate_series(1, 2500) AS n
"""
CHANGES = ("altered", "deleted", "made a draft")
OLD, NEW = HashingEncoder.identity, OtherEncoder.identity


class Over:
    """A part of a worker as it is, but for what is given by name."""

    def __init__(self, part, **instead):
        self._part = part
        self.__dict__.update(instead)

    def __getattr__(self, name):
        return getattr(self._part, name)


@contextmanager
def running(worker):
    """It runs in a thread, as a server's does."""
    stop = threading.Event()
    thread = threading.Thread(target=worker.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class TestSwitches:
    def test_a_switch_ends_while_workers_of_both_models_run(self, world, worker_with, caplog):
        """The new one makes no vector before the last of the old ones has ended; then all of them."""
        caplog.set_level(logging.INFO)
        old, new = worker_with(HashingEncoder()), worker_with(OtherEncoder())
        mine = world.open("ann")
        with running(old):
            mine.save_todo("harbour gate")
            until(lambda: world.database.rows(ENCODERS) == [(OLD,)], "the old one to file it")
            assert new.work() == 0
            assert f"its model {OLD}: this one, with {NEW}, files words alone" in caplog.text
            with running(new):
                mine.save_todo("harbour wall")
                until(lambda: world.database.rows(MODELS) == [(OLD, 2)], "its second vector")
        assert old.work() == 0
        assert new.work() == 2
        assert world.database.rows(ENCODERS) == [(NEW,)]
        assert f"Vectors are made with {NEW}." in caplog.text
        assert old.work() == 2  # whoever goes back to the previous one may

    def test_one_that_was_killed_is_succeeded(self, world, worker_with):
        """Once it has told nothing for a minute."""
        world.open("ann").save_todo("harbour gate")
        old, new = worker_with(HashingEncoder()), worker_with(OtherEncoder())
        old.work()
        world.database.run("UPDATE wb_upkeep SET until = now() + interval '60 s'")
        assert new.work() == 0
        world.database.run("UPDATE wb_upkeep SET until = now() - interval '1 s'")
        assert new.work() == 1

    def test_previous_vectors_go_a_day_after_the_switch(self, world, worker_with):
        """Not before all are made anew; those of a record that has none of the new one stay."""
        mine, bob = world.open("ann"), world.open("bob")
        for number in range(3):
            mine.save_todo(f"harbour {number}")
        bob.save_todo("harbour of bob")
        worker_with(HashingEncoder()).run_once()
        assert world.database.rows("SELECT is_cleared FROM wb_upkeep") == [(True,)]
        new = worker_with(OtherEncoder())
        new.run_once()
        assert world.database.rows(MODELS) == [(OLD, 4), (NEW, 4)]
        world.database.run(
            "DELETE FROM wb_embeddings WHERE user_id = 'bob' AND model_tag = %s", NEW
        )
        age = "UPDATE wb_upkeep SET whole_at = whole_at - interval '1 day'"
        world.database.run(age)
        leased = "UPDATE wb_outbox SET encoder = %s, leased_until = now() + interval '60 s'"
        world.database.run(f"{leased} WHERE user_id = 'ann'", OLD)
        new.run_once()
        world.database.run("UPDATE wb_outbox SET encoder = %s", NEW)
        for models in [[(OLD, 4), (NEW, 3)], [(OLD, 1), (NEW, 3)]]:
            new.run_once()
            assert world.database.rows(MODELS) == models
            world.database.run(age)
        counted = "SELECT user_id, docs, chunks FROM wb_models WHERE model_tag = %s ORDER BY 1"
        assert world.database.rows(counted, OLD) == [("ann", 0, 0), ("bob", 1, 1)]
        assert world.database.rows("SELECT is_cleared FROM wb_upkeep") == [(True,)]

    def test_previous_vectors_go_also_where_nobody_was_in_charge_when_they_were_made(
        self, world, worker_with
    ):
        """As by workers of before: every record had the new model's when the tables changed.

        They are more than leave in one transaction.
        """
        world.open("ann").save_todo("harbour")
        new = worker_with(OtherEncoder())
        for worker in (worker_with(HashingEncoder()), new):
            worker.work()
        world.database.run(MANY_VECTORS)
        world.database.run("UPDATE wb_models SET docs = docs + 2500, chunks = chunks + 2500")
        world.database.run("DELETE FROM wb_upkeep")
        world.database.run("INSERT INTO wb_upkeep DEFAULT VALUES")
        new.run_once()
        assert world.database.rows(MODELS) == [(OLD, 2501), (NEW, 2501)]
        world.database.run("UPDATE wb_upkeep SET whole_at = whole_at - interval '1 day'")
        new.run_once()
        assert world.database.rows(MODELS) == [(NEW, 2501)]
        counted = "SELECT docs, chunks FROM wb_models ORDER BY docs"
        assert world.database.rows(counted) == [(0, 0), (2501, 2501)]

    def test_who_is_succeeded_lets_go_of_no_vector_of_the_next(self, world, worker_with, parts):
        """Even where it had begun to let go of all that are not its own."""
        for user in ("ann", "bob"):
            world.open(user).save_todo("harbour")
        old, took_over = worker_with(HashingEncoder()), []

        def index_of(owner):
            index = parts["index_of"](owner)

            def drop_previous(*args):
                if not took_over:
                    world.database.run("UPDATE wb_upkeep SET until = now() - interval '1 s'")
                    took_over.append(old.work())
                return index.drop_previous(*args)

            return Over(index, drop_previous=drop_previous)

        new = MemoryWorker(**{**parts, "index_of": index_of, "encoder": ReadySlot(OtherEncoder())})
        old.run_once()
        new.run_once()
        world.database.run("UPDATE wb_upkeep SET whole_at = whole_at - interval '1 day'")
        new.run_once()
        assert took_over == [2]
        assert world.database.rows(MODELS) == [(OLD, 2), (NEW, 2)]
        assert world.database.rows("SELECT encoder, is_cleared FROM wb_upkeep") == [(OLD, False)]


@contextmanager
def opened_by_a_search(world):
    """The records and the index of ann, as a process that searches opens them."""
    pool = Postgres(world.database.app_url, check=check_database)
    index = PostgresIndex(pool)
    try:
        yield MemoryPostgres(pool, owner="ann", clock=world.clock), index.of_owner("ann")
    finally:
        index.close()
        pool.close()


class TestFiling:
    @pytest.mark.parametrize("encoder", [HashingEncoder(), None])
    def test_everything_anew_brings_back_words_that_were_lost(self, world, worker_with, encoder):
        """Of records that the index seems to have whole; their vectors stay."""
        mine = world.open("ann")
        for number in range(3):
            mine.save_todo(f"harbour {number}")
        worker = worker_with(encoder)
        worker_with(HashingEncoder()).run_once()
        words = "SELECT term, doc, body FROM wb_words ORDER BY 1, 2"
        before = world.database.rows(words)
        world.database.run("DELETE FROM wb_words WHERE term LIKE 'harbo%%'")
        assert worker.renew() == 3
        mine.service.filing().refresh(0.0)  # a search that comes first takes them for filed
        assert worker.run_once() == 3
        assert world.database.rows(words) == before
        assert world.database.rows(MODELS) == [(OLD, 3)]
        assert world.database.rows("SELECT 1 FROM wb_outbox WHERE anew OR words_due") == []

    def test_everything_anew_brings_back_what_any_table_has_lost(
        self, world, worker_with, subtests
    ):
        """Found by words and by meaning as before, and counted as it is, also by who was there."""
        mine = world.open("ann")
        first = mine.save_todo("harbour")
        for title in ("harbour gate", "quiet mile", *(f"fence {n}" for n in range(16))):
            mine.save_todo(title)
        worker_with(HashingEncoder()).run_once()
        world.database.run(PACKING_IS_DUE)
        worker_with(HashingEncoder()).run_once()
        mine.delete(first)  # what is filed anew has other ids in its second
        worker = worker_with(HashingEncoder())
        worker.run_once()

        def found(memory):
            hits = memory.search("quiet harbour").hits
            return sorted((hit.ref, hit.by, round(hit.similarity or -9, 2)) for hit in hits)

        before = found(mine)
        assert len(before) == 2
        assert all(near > -1 for _, _, near in before)
        tables = (
            *("wb_docs", "wb_words", "wb_packed", "wb_embeddings", "wb_models", "wb_facets"),
            "wb_index",
        )
        for number, table in enumerate(tables):
            with subtests.test(table=table):
                world.database.run(f"DELETE FROM {table}")
                mine.save_todo("a lantern")
                assert worker.renew() == 20 + number
                assert worker.run_once() == 20 + number
                mine.search("lantern")
                for memory in (mine, world.open("ann")):
                    assert found(memory) == before
                docs = 19 + number
                assert world.database.rows("SELECT docs, speaking FROM wb_index") == [(docs, docs)]
                assert world.database.rows("SELECT docs, chunks FROM wb_models") == [(docs, docs)]
                strays = "SELECT 1 FROM wb_words WHERE doc NOT IN (SELECT id FROM wb_docs)"
                assert world.database.rows(strays) == []

    def test_what_changed_while_it_was_filed_anew_is_filed_anew_once_more(self, world, parts):
        """Of the change the words that are filed are those that seem to be lacking alone."""
        mine = world.open("ann")
        ref_id = mine.save_todo("harbour")
        backlog = parts["backlog"]
        backlog.renew()
        leased = backlog.lease(9, encoder=OLD, seconds=60)
        mine.edit_todo(ref_id, done=True)
        backlog.done(leased, encoder=OLD)
        again = backlog.lease(9, encoder=OLD, seconds=60)
        assert [each.is_lost for each in again] == [True]
        backlog.done(again, encoder=OLD)
        assert world.database.rows("SELECT anew FROM wb_outbox") == [(False,)]

    def test_words_that_a_search_has_filed_are_not_filed_again(self, world, worker_with):
        """Nor are they for another model: whoever remembers the docs has nothing to read anew."""
        mine = world.open("ann")
        mine.save_todo("harbour")
        assert len(mine.search("harbour").hits) == 1
        change = "SELECT change FROM wb_index"
        before = world.database.rows(change)
        assert worker_with(HashingEncoder()).work() == 1
        assert worker_with(OtherEncoder()).work() == 1
        assert world.database.rows(MODELS) == [(OLD, 1), (NEW, 1)]
        assert world.database.rows(change) == before

    def test_without_a_model_what_waits_for_one_is_not_looked_at(self, world, worker_with):
        """However much that is: only words that are due, and what is gone."""
        world.database.run(
            "INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase, words_due)"
            " SELECT 'bob', 'todo', n::text, false, false, false FROM generate_series(1, 5000) AS n"
        )
        world.database.run("ANALYZE wb_outbox")
        mine = world.open("ann")
        mine.delete(mine.save_todo("harbour"))
        mine.save_todo("harbour")
        asked = {"limit": 256, "seconds": 60, "worker": None}
        with psycopg.connect(world.database.admin_url) as conn:
            for lease in ("lease_words", "lease_plain"):
                told = conn.execute(f"EXPLAIN ANALYZE {texts()[lease]}", asked).fetchall()
                conn.rollback()
                plan = "\n".join(line for (line,) in told)
                assert "Rows Removed by Filter" not in plan, plan
        assert worker_with(None).work() == 2
        assert world.database.rows("SELECT count(*) FROM wb_outbox WHERE due") == [(5001,)]

    @pytest.mark.parametrize("case", list(product(["search", "worker"], CHANGES)), ids="-".join)
    def test_an_old_text_is_not_filed_over_a_newer_one(self, world, worker_with, parts, case):
        """By one who read it before the change and files it after another has; a worker dies then."""
        who, change = case
        mine = world.open("ann")
        ref_id = mine.save_journal("Evening", "tamarindose")

        def others_do():
            if change == "deleted":
                mine.delete(ref_id)
            else:
                new = {"is_draft": True} if change == "made a draft" else {"body": "soap"}
                mine.edit_journal(ref_id, **new)
            world.database.run("UPDATE wb_outbox SET leased_until = NULL")
            worker_with(HashingEncoder()).run_once()

        if who == "search":
            with opened_by_a_search(world) as (store, index):
                changes = [others_do]

                def read(noted):
                    found = JournalChanges(records=store, others={})(noted)
                    while changes:
                        changes.pop()()
                    return found

                WordFiling(index=index, store=store, read=read, note_filed=note_filed).refresh(0.0)
        else:
            lots = LeasedRecords(
                **{name: parts[name] for name in ("read_of", "index_of", "of_many")}
            )
            leased = parts["backlog"].lease(9, encoder=OLD, seconds=60)
            tasks, _ = lots.read(leased)
            others_do()
            assert lots.file_words(tasks) == tasks
        held = [(text,) for text in ("Evening\n\nsoap",) if change == "altered"]
        assert world.database.rows("SELECT text FROM wb_docs") == held

    def test_a_search_that_dies_has_noted_nothing_that_is_not_filed(self, world):
        """What it files and its note are one: the next search does both."""
        world.open("ann").save_todo("tamarindose")
        docs, due = "SELECT text FROM wb_docs", "SELECT words_due FROM wb_outbox"

        def dies(lines):
            def check(conn):
                assert note_filed(lines)(conn)() == [True]
                raise Unavailable("It dies.")

            return check

        with opened_by_a_search(world) as (store, index):
            given = {"store": store, "read": JournalChanges(records=store, others={})}
            assert WordFiling(index=index, note_filed=dies, **given).refresh(0.0)
            assert (world.database.rows(docs), world.database.rows(due)) == ([], [(True,)])
            assert WordFiling(index=index, note_filed=note_filed, **given).refresh(0.0) == ()
        held = world.database.rows(docs), world.database.rows(due)
        assert held == ([("tamarindose",)], [(False,)])

    def test_many_users_are_filed_in_few_transactions(self, world, parts, pool):
        """Forty of one record each, in some at a time; each has its own words and vectors alone."""
        users = [f"user {number:02}" for number in range(40)]
        first = world.open(users[0])
        for each in (first, *world.beside(first, *users[1:])):
            each.save_todo(f"harbour of {each.owner}")
        turns, steps = [], []

        @contextmanager
        def of_many():
            turns.append(1)
            with pool.of_many():
                yield

        def index_of(owner):
            index = parts["index_of"](owner)

            def ask_current(*given, **named):
                steps.append("ask")
                file = index.ask_current(*given, **named)
                return lambda: (steps.append("file"), file())

            return Over(index, ask_current=ask_current)

        given = {**parts, "of_many": of_many, "index_of": index_of}
        assert MemoryWorker(**given).work() == 40
        assert len(turns) == 9  # thrice to read, and for words and for vectors 16, 16 and 8
        # Of some all are asked before any answer is waited for.
        assert steps == [x for some in (16, 16, 8) for x in ["ask"] * some + ["file"] * some]
        for table in ("wb_docs", "wb_embeddings"):
            counted = f"SELECT user_id, count(*) FROM {table} GROUP BY 1 ORDER BY 1"
            assert world.database.rows(counted) == [(user, 1) for user in users]
        said = "SELECT user_id FROM wb_docs WHERE position(user_id in text) = 0"
        assert world.database.rows(said) == []

    def test_one_user_whose_words_cannot_be_filed_is_in_nobody_s_way(self, world, worker_with):
        """What is done for many at once is done for each of the others alone."""
        for user in ("ann", "bob", "cy"):
            world.open(user).save_todo(f"harbour of {user}")
        world.database.run("ALTER TABLE wb_docs ADD CONSTRAINT c CHECK (user_id <> 'bob')")
        worker = worker_with(HashingEncoder())
        assert worker.work() == 2
        world.database.run("ALTER TABLE wb_docs DROP CONSTRAINT c")
        world.database.run("ALTER TABLE wb_embeddings ADD CONSTRAINT c CHECK (user_id <> 'dee')")
        world.open("dee").save_todo("harbour of dee")
        world.database.run("UPDATE wb_outbox SET leased_until = NULL")
        assert worker.work() == 1
        assert world.database.rows("SELECT user_id FROM wb_embeddings ORDER BY 1") == [
            ("ann",),
            ("bob",),
            ("cy",),
        ]
        assert world.database.rows("SELECT user_id FROM wb_outbox WHERE due") == [("dee",)]

    def test_a_record_that_cannot_be_encoded_is_in_nobody_s_way(self, world, worker_with, caplog):
        """Neither of other users' nor of its own; where nothing else is to be done that is told."""

        class Choosy(HashingEncoder):
            def encode_passages(self, texts):
                if any("Knot" in text for text in texts):
                    raise Unavailable("It is too hard.")
                return super().encode_passages(texts)

        for user, title in (("ann", "Knot"), ("ann", "Bay"), ("bob", "Knot"), ("cy", "Sea")):
            world.open(user).save_todo(title)
        worker = worker_with(Choosy())
        assert worker.work() == 2
        assert "2 records cannot be encoded, and wait: It is too hard." in caplog.text
        done = "SELECT user_id FROM wb_outbox WHERE NOT due ORDER BY 1"
        assert world.database.rows(done) == [("ann",), ("cy",)]
        world.database.run("UPDATE wb_outbox SET leased_until = NULL")
        with pytest.raises(Unavailable, match="too hard"):
            worker.work()


def test_what_is_saved_is_filed_while_a_worker_vacuums(world, parts, monkeypatch):
    """However long that takes, and a worker that ends does not wait for it.

    Also where a fault ended it; what is under way then enters nobody as at work.
    """
    monkeypatch.setattr(numbers, "VACUUM_EVERY_S", 0.01)
    begun, ended, is_over = threading.Event(), threading.Event(), threading.Event()
    faults = []

    def vacuum():
        begun.set()
        return ended.wait(PATIENCE_S)

    @contextmanager
    def vacuuming(*, every_s):
        with parts["upkeep"].vacuuming(every_s=every_s) as is_ours:
            yield is_ours
        is_over.set()

    def lease(most, **given):
        if faults:
            raise faults[0]
        return parts["backlog"].lease(most, **given)

    instead = {
        "upkeep": Over(parts["upkeep"], vacuum=vacuum, vacuuming=vacuuming),
        "backlog": Over(parts["backlog"], lease=lease),
    }
    worker, raised = MemoryWorker(**{**parts, **instead}), []

    def run():
        try:
            worker.run(threading.Event())
        except ValueError as exc:
            raised.append(exc)

    mine = world.open("ann")
    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert begun.wait(PATIENCE_S)
        mine.save_todo("harbour")
        until(lambda: world.database.rows(MODELS) == [(OLD, 1)], "the record to be filed")
    finally:
        faults.append(ValueError("ours"))
        thread.join(PATIENCE_S)
        ended.set()
    assert raised == faults
    assert is_over.wait(PATIENCE_S)
    until(
        lambda: "vacuuming" not in [thread.name for thread in threading.enumerate()],
        "the vacuuming to end",
    )
    assert world.database.rows("SELECT 1 FROM wb_upkeep WHERE until IS NOT NULL") == []


def test_what_is_encoded_stays_leased(world, parts):
    """However long it waited for its turn."""
    world.open("ann").save_todo("harbour")
    held = []

    def lease(most, **given):
        leased = parts["backlog"].lease(most, **given)
        world.database.run("UPDATE wb_outbox SET leased_until = now() - interval '1 s'")
        return leased if not held else []

    class Watched(HashingEncoder):
        def encode_passages(self, texts):
            held.append(world.database.rows("SELECT leased_until > now() FROM wb_outbox"))
            return super().encode_passages(texts)

    instead = {"backlog": Over(parts["backlog"], lease=lease), "encoder": ReadySlot(Watched())}
    MemoryWorker(**{**parts, **instead}).work()
    assert held == [[(True,)]]


@pytest.mark.parametrize("by_search", [False, True])
def test_few_records_are_read_at_a_time(world, pool, parts, monkeypatch, by_search):
    """Two at a time, of which one is as much as is filed: each lot is filed before the next."""
    for number in range(6):
        world.open("ann").save_todo(f"harbour {number}")
    monkeypatch.setattr(numbers, "READ_AT_ONCE", 2)
    monkeypatch.setattr(numbers, "WORD_CHARACTERS", 5)
    monkeypatch.setattr(numbers, "BACKLOG_CHARACTERS", 12)
    due, sizes = "SELECT count(*) FROM wb_outbox WHERE words_due", []

    def counting(store):
        def ask_records(noted):
            sizes.append((len(noted), world.database.rows(due)[0][0]))
            return store.ask_records(noted)

        return Over(store, ask_records=ask_records)

    if by_search:
        with opened_by_a_search(world) as (store, index):
            read = JournalChanges(records=counting(store), others={})
            filing = WordFiling(index=index, store=store, read=read, note_filed=note_filed)
            while filing.refresh(0.0):
                pass
        assert sizes == [(2, 6), (2, 4), (2, 2)]
    else:

        def read_of(owner):
            mine = MemoryPostgres(pool, owner=owner)
            return JournalChanges(records=counting(mine), others={})

        worker = MemoryWorker(**{**parts, "read_of": read_of})
        assert worker.work() == 6
        assert sizes
        assert {count for count, _ in sizes} <= {1, 2}
    assert world.database.rows(due) == [(0,)]


def test_a_database_that_is_away_is_told_of_once(parts, caplog):
    """Not twice a second; and again only after it was back."""
    was_away = []
    away = [True] * 5 + [False] + [True] * 5 + [False]

    def lease(most, **given):
        was_away.append(away[len(was_away)] if len(was_away) < len(away) else False)
        if was_away[-1]:
            raise Unavailable("It is away.")
        return parts["backlog"].lease(most, **given)

    with running(MemoryWorker(**{**parts, "backlog": Over(parts["backlog"], lease=lease)})):
        until(lambda: len(was_away) > len(away), "the worker to ask for more")
    assert caplog.text.count("The worker of memory waits: It is away.") == 2


def test_a_fault_in_vacuuming_is_told_by_the_worker(parts, monkeypatch, caplog):
    """A database that is away is waited for; what else is wrong ends the worker's run."""
    monkeypatch.setattr(numbers, "VACUUM_EVERY_S", 0.01)
    faults = [Unavailable("It is away."), ValueError("ours")]

    def vacuum():
        raise faults.pop(0)

    worker = MemoryWorker(**{**parts, "upkeep": Over(parts["upkeep"], vacuum=vacuum)})
    with pytest.raises(ValueError, match="ours"):
        worker.run(threading.Event())
    assert "Memory was not vacuumed: It is away." in caplog.text
