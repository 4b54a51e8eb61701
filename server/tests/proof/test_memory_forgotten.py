"""What a user deletes, alters or takes back from the index is in no byte of the server afterwards."""

from __future__ import annotations

import threading
from datetime import timedelta
from random import Random

import psycopg
import pytest
from server.tests.memory_postgres_world import PACKING_IS_DUE, PostgresMemoryWorld
from server.tests.proof.memory_server import bytes_on_disk, database_on, relation_of
from tests.patience import PATIENCE_S, until

from commonplace.chronicle import Chronicle
from commonplace.private import Private
from commonplace.timeline import Timeline
from commonplace_testing import HashingEncoder


@pytest.fixture
def world(own_server, tmp_path):
    made = PostgresMemoryWorld(database_on(own_server), tmp_path)
    yield made
    made.close()


def where_each(world, server, texts):
    """The tables and indexes that hold each of these."""
    held = bytes_on_disk(server, *texts)
    return {x: [relation_of(world.database, file) for file in files] for x, files in held.items()}


def where(world, server, text):
    return where_each(world, server, [text])[text]


def vector_of(text):
    """The bytes of a vector as the server keeps them, once they are halved."""
    return HashingEncoder().encode_passages([text])[0].astype("<f2").tobytes()


def test_what_is_deleted_leaves_every_file(world, own_server):
    """Of each kind: table, words, vectors and their indexes, once the worker has vacuumed."""
    mine, other = world.open("ann"), world.open("bob")
    for number in range(50):
        mine.save_todo(f"harbour{number} amber")
        other.save_todo(f"kept{number} amber")
    # Long enough to lie in a table beside its own, and not to be compressed.
    letters = Random(1).choices(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/", k=9000
    )
    long = "".join(letters)
    gone = {
        "message": mine.save_message("user", f"the quokkarine harbour {long}"),
        "journal": mine.save_journal("Evening", "a zebrawoodish light"),
        "todo": mine.save_todo("buy tamarindose soap"),
        "gratitude": mine.save_gratitude("a marzipanical cake"),
    }
    words = ("quokkarine", "zebrawoodish", "tamarindose", "marzipanical", long[5000:5050])
    mine.search("amber")
    world.database.run(PACKING_IS_DUE)
    world.worker.run_once()
    assert "wb_packed" in where(world, own_server, "zebrawoodish")
    vectors = [vector_of(text) for text in ("a zebrawoodish light", "buy tamarindose soap")]
    held = where_each(world, own_server, [*words, *vectors])
    assert all(held[word] for word in words)
    assert any(held[vector] for vector in vectors)
    for ref_id in gone.values():
        mine.delete(ref_id)
    world.worker.run_once()
    held = where_each(world, own_server, [*words, *vectors])
    assert held == {each: [] for each in (*words, *vectors)}
    assert world.database.rows("SELECT 1 FROM wb_words") == []
    assert len(mine.todos()) == 50
    assert len(other.search("kept7").hits) == 1


def test_an_earlier_wording_leaves_every_file(world, own_server):
    """An edit, and preferences that were altered, once the worker has vacuumed.

    What `undo` needs is beside the records alone, until that is over as well.
    """
    mine = world.open("ann")
    todo = mine.save_todo("buy tamarindose soap")
    thanks = mine.save_gratitude("a marzipanical cake")
    journal = mine.save_journal("Evening", "a zebrawoodish light")
    mine.save_preferences(flags={"pet": "axolotlish"})
    words = ("tamarindose", "marzipanical", "zebrawoodish", "axolotlish")
    mine.search("soap")
    world.worker.run_once()
    assert all(where_each(world, own_server, words).values())
    mine.edit_todo(todo, title="buy soap")
    mine.edit(thanks, "a cake")
    mine.edit_journal(journal, body="a light")
    mine.save_preferences(flags={"pet": "cat"})
    mine.search("soap")
    world.worker.run_once()
    held = where_each(world, own_server, words)
    assert {table for tables in held.values() for table in tables} == {"wb_former"}
    mine.service.former.drop([each.ref for each in mine.service.former.find()])
    world.worker.run_once()
    assert where_each(world, own_server, words) == {word: [] for word in words}
    assert len(mine.search("soap").hits) == 1


def test_an_entry_of_a_chronicle_leaves_every_file(world, own_server):
    """Message, tags and what an edit replaced, once the worker has vacuumed; others stay."""
    with Chronicle("ann", settings=world.settings, clock=world.clock, encoder=world.slot) as log:
        kept = log.save_entry("the harbour is closed")
        gone = log.save_entry("the quokkarine gate", tags=["zebrawoodish"])
        edited = log.save_entry("a tamarindose soap", tags=["marzipanical"])
        words = ("quokkarine", "zebrawoodish", "tamarindose", "marzipanical")
        log.search("soap")
        world.worker.run_once()
        assert all(where_each(world, own_server, words).values())
        log.delete(gone)
        log.edit(edited, "a soap")
        log.search("soap")
        world.worker.run_once()
        held = where_each(world, own_server, words)
        assert (held["quokkarine"], held["zebrawoodish"]) == ([], [])
        assert {*held["tamarindose"]} == {"wb_former"}
        log.delete(edited)
        world.worker.run_once()
        assert where_each(world, own_server, words) == {word: [] for word in words}
        assert [event.ref for event in log.list()] == [kept]


def test_a_private_entry_leaves_every_file(world, own_server):
    """Its text, its words and what an edit replaced, once the worker has vacuumed; others stay."""
    with Private("ann", settings=world.settings, clock=world.clock, encoder=world.slot) as mine:
        kept = mine.save_entry("feelings", "the harbour is closed")
        gone = mine.save_entry("reflections", "the quokkarine gate", idempotency_key="k")
        edited = mine.save_entry("observations", "a tamarindose soap")
        words = ("quokkarine", "tamarindose")
        mine.search("soap")
        world.worker.run_once()
        assert all(where_each(world, own_server, words).values())
        mine.delete(gone)
        mine.edit(edited, "a soap")
        mine.search("soap")
        world.worker.run_once()
        held = where_each(world, own_server, words)
        assert held["quokkarine"] == []
        assert {*held["tamarindose"]} == {"wb_former"}
        mine.delete(edited)
        world.worker.run_once()
        assert where_each(world, own_server, words) == {word: [] for word in words}
        assert [entry.ref for entry in mine.list()] == [kept]


def test_an_entry_of_a_timeline_leaves_every_file(world, own_server):
    """Its text, the summaries of each level that quote it, and what an edit replaced."""
    at = world.clock() - timedelta(days=400)
    with Timeline("ann", settings=world.settings, clock=world.clock, encoder=world.slot) as mine:
        kept = mine.save_entry("the harbour is closed", at=at)
        more = {"tags": ["zebrawoodish"], "projects": ["marzipanical"]}
        gone = mine.save_entry("the quokkarine gate", at=at + timedelta(days=1), metadata=more)
        edited = mine.save_entry("a tamarindose soap", at=at + timedelta(days=2))
        words = ("quokkarine", "zebrawoodish", "marzipanical", "tamarindose")
        world.worker.run_once()
        held = where_each(world, own_server, words)
        assert {"cp_entries", "cp_rollups", "wb_docs"} <= {*held["quokkarine"]}
        mine.delete(gone)
        mine.edit(edited, "a soap")
        world.worker.run_once()
        held = where_each(world, own_server, words)
        assert (held["quokkarine"], held["zebrawoodish"], held["marzipanical"]) == ([], [], [])
        assert {*held["tamarindose"]} == {"wb_former"}
        mine.delete(edited)
        world.worker.run_once()
        assert where_each(world, own_server, words) == {word: [] for word in words}
        assert [entry.ref for entry in mine.list(kinds=["raw"])] == [kept]


def test_a_journal_made_a_draft_again_leaves_the_index(world, own_server):
    """Its text is in its own table alone, and in what the edit replaced."""
    mine = world.open("ann")
    journal = mine.save_journal("Evening", "a zebrawoodish light")
    mine.search("light")
    world.worker.run_once()
    assert {"wb_docs", "wb_words_pkey"} <= {*where(world, own_server, "zebrawoodish")}
    mine.edit_journal(journal, is_draft=True)
    world.worker.run_once()
    assert {*where(world, own_server, "zebrawoodish")} == {"wb_journal", "wb_former"}
    assert world.database.rows("SELECT 1 FROM wb_embeddings") == []


# In `make test` a row of server/tests/records/test_records.py waits for such a lock.
@pytest.mark.long
def test_a_table_that_others_read_is_erased_the_next_time(world, own_server):
    """A backup holds the tables: the worker leaves what it cannot write anew, and comes back."""
    mine = world.open("ann")
    ref_id = mine.save_todo("buy tamarindose soap")
    world.work()
    mine.delete(ref_id)
    with psycopg.connect(own_server.url()) as backup:
        backup.execute("SELECT count(*) FROM wb_todo")
        assert world.worker.run_once() == 1
    assert where(world, own_server, "tamarindose") == ["wb_todo"]
    world.worker.run_once()
    assert where(world, own_server, "tamarindose") == []


def test_what_an_older_snapshot_sees_is_erased_the_next_time(world, own_server):
    """A report of another program that has run since before: nothing is taken for erased."""
    mine = world.open("ann")
    ref_id = mine.save_todo("buy tamarindose soap")
    world.work()
    with psycopg.connect(own_server.url()) as report:
        report.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        report.execute("SELECT 1")
        mine.delete(ref_id)
        world.worker.run_once()
        assert {"wb_todo", "wb_docs"} <= {*where(world, own_server, "tamarindose")}
    world.worker.run_once()
    assert where(world, own_server, "tamarindose") == []


def test_erasing_holds_up_nobody(world):
    """A table is written anew while users save, delete and search: no call of theirs fails."""
    errors, left = [], {}
    enough = threading.Event()

    def work(user):
        mine = world.open(user)
        try:
            for number in range(16):
                ref_id = mine.save_todo(f"harbour {number}")
                if number % 2:
                    mine.delete(ref_id)
                assert len(mine.search(f"harbour {number}", limit=100).hits) == number // 2 + 1
            while not enough.is_set():
                mine.delete(mine.save_todo("harbour of a moment"))
            left[user] = len(mine.todos())
        except BaseException as exc:  # noqa: BLE001  whatever it is, the test tells it
            errors.append(exc)

    def written_anew():
        world.worker.run_once()
        return file_of_todos() != before

    def file_of_todos():
        return world.database.rows("SELECT relfilenode FROM pg_class WHERE relname = 'wb_todo'")

    world.open("ann").save_todo("harbour of others")
    before = file_of_todos()
    working = [threading.Thread(target=work, args=(user,)) for user in ("bob", "cy", "dee")]
    for each in working:
        each.start()
    try:
        until(written_anew, "the table of to-dos to be written anew")
    finally:
        enough.set()
        for each in working:
            each.join(PATIENCE_S)
    assert errors == []
    assert left == {"bob": 8, "cy": 8, "dee": 8}
