"""What users write is in no log: not in the server's when statements fail, and not in ours."""

from __future__ import annotations

import logging
import threading

import psycopg
import pytest
from server.tests.memory_postgres_world import PostgresMemoryWorld
from server.tests.proof.memory_server import database_on
from tests.patience import until

from commonplace.core.errors import CommonplaceError

WORD = "quokkarine"
TABLES = ("wb_message", "wb_journal", "wb_todo", "wb_gratitude", "wb_preferences")


@pytest.fixture
def world(own_server, tmp_path):
    made = PostgresMemoryWorld(database_on(own_server), tmp_path)
    yield made
    made.close()


def save_each(mine):
    """One call for each table a text goes to; their errors."""
    calls = [
        lambda: mine.save_message("user", f"{WORD} message"),
        lambda: mine.save_journal(f"{WORD} evening", f"{WORD} light"),
        lambda: mine.save_todo(f"{WORD} soap"),
        lambda: mine.save_gratitude(f"{WORD} cake"),
        lambda: mine.save_preferences(flags={"pet": WORD}),
    ]
    errors = []
    for call in calls:
        try:
            call()
        except CommonplaceError as exc:
            errors.append(exc)
    return errors


def test_no_text_is_logged_when_rows_are_refused(world, own_server, caplog):
    """By a constraint, at a unique index, by a trigger, in saves, edits, words and vectors alike."""
    caplog.set_level(logging.DEBUG)
    mine = world.open("ann")
    assert save_each(mine) == []
    todo = mine.todos()[0].ref
    world.database.run(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " RAISE EXCEPTION 'refused'; END $$"
    )
    for table in (*TABLES, "wb_docs", "wb_words", "wb_embeddings"):
        world.database.run(
            f"ALTER TABLE {table} ADD CONSTRAINT never CHECK (user_id = '') NOT VALID"
        )
    errors = save_each(mine)
    assert len(errors) == len(TABLES)
    with pytest.raises(CommonplaceError) as told:
        mine.edit_todo(todo, title=f"{WORD} again")
    errors.append(told.value)
    mine.search(WORD)
    for table in TABLES:
        world.database.run(f"ALTER TABLE {table} DROP CONSTRAINT never")
        world.database.run(
            f"CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
    errors += save_each(mine)
    for table in TABLES:
        world.database.run(f"DROP TRIGGER refuse ON {table}")
    assert save_each(mine) == []  # and the words and vectors are still refused
    mine.search(WORD)
    world.work()
    for table in ("wb_docs", "wb_words", "wb_embeddings"):
        world.database.run(f"ALTER TABLE {table} DROP CONSTRAINT never")
    log = own_server.log()
    assert log.count("violates check constraint") > len(TABLES)
    assert log.count("refused") >= len(TABLES) - 1
    assert WORD not in log.lower()
    assert WORD not in caplog.text.lower()
    assert not any(WORD in f"{error.message} {error.hint}" for error in errors)


def test_no_text_is_logged_when_sessions_are_ended(world, own_server, caplog):
    """While they wait for a lock, and by a value that no column takes."""
    caplog.set_level(logging.DEBUG)
    mine = world.open("ann")
    assert save_each(mine) == []
    world.database.run("ALTER TABLE wb_gratitude ALTER content TYPE varchar(20)")
    with pytest.raises(CommonplaceError):
        mine.save_gratitude(f"{WORD} cake and much else besides")
    waiting = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
    """
    with psycopg.connect(world.database.admin_url) as holder:
        holder.execute("LOCK TABLE wb_todo, wb_message IN ACCESS EXCLUSIVE MODE")
        saving = threading.Thread(target=save_each, args=(mine,))
        saving.start()
        until(lambda: world.database.rows(waiting), "the save to wait for the lock")
        # Its second try waits as well.
        until(lambda: world.database.rows(waiting), "its second try to wait")
        holder.rollback()
        saving.join()
    log = own_server.log()
    assert "terminating connection" in log
    assert "value too long" in log
    assert WORD not in log.lower()
    assert WORD not in caplog.text.lower()
