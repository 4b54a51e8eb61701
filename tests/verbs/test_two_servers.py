"""Two homes over one database: what is forgotten, expires or was replaced is so on both at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from msgspec.structs import replace
from tests.importable import EXPORT
from tests.verbs.recall_world import ALL, RecallWorld, ask, refs
from tests.verbs.test_amend import opened, superseding, write

from commonplace.core.errors import CommonplaceError, Conflict, NotFound
from commonplace.core.former_texts import FormerText, editing
from commonplace.core.ids import new_id
from commonplace.core.values import Interval
from commonplace.journals.memory.records import RecordDraft
from commonplace.memory import Memory
from commonplace.verbs.forgetting.selection import EntrySelection

DAY = 86_400
SAID = "The quokka gate opens with four seven one one, Ann said so to me."


@pytest.fixture(autouse=True)
def _each_is_counted(counted):
    counted("what one of two servers of a database expired, replaced or forgot", 1)


@pytest.fixture
def environ(database):
    """Where all memories are."""
    return {"COMMONPLACE_DATABASE_URL": database.app_url}


@pytest.fixture
def other(world, environ, tmp_path):
    """Another server with a home of its own."""
    (tmp_path / "other").mkdir()
    there = RecallWorld(tmp_path / "other")
    there.clock = world.clock
    yield there.open(COMMONPLACE_TOOLSETS=ALL, **environ)
    there.close()


@pytest.fixture
def admin(database):
    """The database as its owner sees it, who sees all rows."""
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        yield conn


def in_book(app, folder="expiring"):
    """What one of the files beside the journals holds; empty where there is none."""
    path = app.folder / folder / "entries.json"
    return json.loads(path.read_text()) if path.exists() else {}


def keep_in_book(app, times, folder="expiring"):
    """What a server of an earlier version notes on its own disk."""
    path = app.folder / folder / "entries.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(in_book(app, folder) | times))


def test_what_expires_on_one_server_is_shown_by_no_other(world, app, other, admin):
    """Also where that one opened it before; it is gone from the database, and its time with it."""
    ref = write(app, "memory", SAID)
    assert refs(ask(other, "recall", query="quokka gate")) == [ref]
    app.expiring.expire(ref, world.clock() + timedelta(days=1))
    assert other.expiring.list_expiring() == app.expiring.list_expiring()
    assert in_book(app) == {}
    world.clock.advance(2 * DAY)
    assert refs(ask(other, "recall", query="quokka gate")) == []
    assert admin.execute("SELECT count(*) FROM wb_todo").fetchone() == (0,)
    assert admin.execute("SELECT count(*) FROM wb_times").fetchone() == (0,)
    with pytest.raises(NotFound):
        opened(app, ref)


def test_of_two_servers_that_forget_it_at_once_neither_fails(world, app, other, admin):
    """One of them does it; both answer."""
    for n in range(8):
        ref = write(app, "memory", f"{SAID} {n}")
        app.expiring.expire(ref, world.clock() + timedelta(days=1))
    world.clock.advance(2 * DAY)
    with ThreadPoolExecutor(2) as pool:
        answers = [*pool.map(lambda each: ask(each, "list_by_time"), (app, other))]
    assert [each.facts["results"] for each in answers] == [[], []]
    assert admin.execute("SELECT count(*) FROM wb_todo").fetchone() == (0,)


def test_nobody_sees_when_another_s_records_expire(world, app, environ):
    """Not by the ref either, and no end is set there."""
    ref = write(app, "memory", SAID)
    app.expiring.expire(ref, world.clock() + timedelta(days=1))
    stranger = world.open(COMMONPLACE_TOOLSETS=ALL, COMMONPLACE_OWNER="bob", **environ)
    assert stranger.expiring.list_expiring() == []
    assert not stranger.expiring.cancel(ref)
    stranger.expiry_book.keep(ref, 1.0)
    ask(stranger, "recall", query="quokka gate")
    ((kept, at),) = app.expiring.list_expiring()
    assert (kept, at) == (ref, world.clock() + timedelta(days=1))


@pytest.mark.parametrize("way", ["expired", "forgotten", "expired in a program"])
def test_what_a_gone_record_replaced_stays_replaced_on_every_server(world, app, other, way):
    """As it does in files; it is not true again because another server let its successor go."""
    old = write(app, "memory", "The quokka API listens on port 8000.")
    new = superseding(app, "memory", old, "The quokka API listens on port 9000.")
    if way != "forgotten":
        app.expiring.expire(new, world.clock() + timedelta(days=1))
        world.clock.advance(2 * DAY)
    else:
        app.forgetting().carry_out(app.forgetting().plan([new]))
    if way == "expired in a program":
        with Memory(app.settings.owner, settings=app.settings, clock=world.clock) as memory:
            assert len(memory.todos()) == 1
    ask(app, "recall", query="quokka")
    assert "No longer holds" in ask(other, "recall", query="quokka API").text
    assert opened(other, old).facts["replaced"]
    assert in_book(app, "replaced") == {}


def test_an_end_that_is_taken_back_is_so_everywhere(world, app, other):
    """By whichever server; the record stays."""
    ref = write(app, "memory", SAID)
    app.expiring.expire(ref, world.clock() + timedelta(days=1))
    assert other.expiring.cancel(ref)
    world.clock.advance(2 * DAY)
    assert refs(ask(app, "recall", query="quokka gate")) == [ref]


def test_what_takes_its_place_expires_when_it_does(world, app, other):
    """The end is read from the database, whichever server set it."""
    ref = write(app, "memory", SAID)
    app.expiring.expire(ref, world.clock() + timedelta(days=1))
    done = other.amend.supersede(ref, "The quokka gate has a bell now.")
    assert any("It expires" in note for note in done.notes)
    assert {each for each, _ in app.expiring.list_expiring()} == {ref, done.ref}


def test_the_books_of_a_home_move_into_the_database(world, app, other):
    """Each time once; what is of no record there stays, as of a memory in files of before."""
    ref, former = write(app, "memory", SAID), write(app, "memory", "The wombat digs.")
    log = write(app, "chronicle", "a quiet harbour")
    soon, late = (world.clock().timestamp() + n * DAY for n in (1, 9))
    elsewhere = "memory:todo/of-a-memory-in-a-file"
    keep_in_book(app, {ref: soon, log: late, elsewhere: soon})
    keep_in_book(app, {former: soon}, "replaced")
    ask(app, "recall", query="quokka")
    assert in_book(app) == {log: late, elsewhere: soon}
    assert {each for each, _ in other.expiring.list_expiring()} == {ref}
    assert opened(app, former).facts["replaced"]
    assert opened(other, former).facts["replaced"]
    assert in_book(app, "replaced") == {}
    # A server of an earlier version goes on beside: the later of two ends counts.
    keep_in_book(app, {ref: late})
    keep_in_book(other, {ref: soon})
    ask(app, "recall", query="quokka")
    ask(other, "recall", query="quokka")
    ((_, at),) = other.expiring.list_expiring()
    assert at == datetime.fromtimestamp(late, UTC)
    # Of a record that is gone nothing is kept.
    app.amend.delete(ref)
    keep_in_book(app, {ref: late})
    assert [each for each, _ in app.expiring.list_expiring()] == [log]
    assert in_book(app) == {log: late, elsewhere: soon}


def test_rows_of_the_applications_own_sql_expire_too(world, app, other, database):
    """It may set the end itself; what it deletes takes its end along."""
    me = app.settings.owner
    with psycopg.connect(database.app_url) as conn:
        conn.execute(f"SET LOCAL app.user_id = '{me}'")
        for name in ("one", "two"):
            conn.execute(
                "INSERT INTO wb_gratitude (user_id, id, content) VALUES (%s, %s, %s)",
                (me, name, f"{SAID} {name}"),
            )
        conn.execute(
            "INSERT INTO wb_times (user_id, kind, ref_id, expires_at)"
            " VALUES (%s, 'gratitude', 'one', %s)",
            (me, world.clock() + timedelta(days=1)),
        )
    app.expiring.expire("memory:gratitude/two", world.clock() + timedelta(days=9))
    with psycopg.connect(database.app_url) as conn:
        conn.execute(f"SET LOCAL app.user_id = '{me}'")
        conn.execute("DELETE FROM wb_gratitude WHERE id = 'two'")
    assert [each for each, _ in other.expiring.list_expiring()] == ["memory:gratitude/one"]
    world.clock.advance(2 * DAY)
    assert refs(ask(other, "recall", query="quokka gate")) == []


def test_a_record_of_another_id_leaves_no_end_under_its_former_one(world, app, database):
    """Else the next record of that id would go when the end comes."""
    me, ref = app.settings.owner, write(app, "memory", SAID)
    app.expiring.expire(ref, world.clock() + timedelta(days=1))
    former = ref.partition("/")[2]
    with psycopg.connect(database.app_url) as conn:
        conn.execute(f"SET LOCAL app.user_id = '{me}'")
        conn.execute("UPDATE wb_todo SET id = 'other' WHERE id = %s", (former,))
        conn.execute(
            "INSERT INTO wb_todo (user_id, id, title) VALUES (%s, %s, %s)",
            (me, former, "The quokka gate has a bell now."),
        )
    world.clock.advance(2 * DAY)
    found = refs(ask(app, "recall", query="quokka gate"))
    assert {*found} == {ref, "memory:todo/other"}
    assert app.expiring.list_expiring() == []


def test_a_user_of_the_library_sees_it_too(world, app, database, tmp_path):
    """A program with a home of its own shows nothing whose time has come."""
    settings = app.settings
    memory = Memory(settings.owner, settings=settings, clock=world.clock)
    try:
        memory.save_todo(title=SAID, expires=world.clock() + timedelta(days=1))
        ((ref, _),) = app.expiring.list_expiring()
        assert ref.startswith("memory:todo/")
        app.expiring.expire(ref, world.clock() + timedelta(hours=1))
        world.clock.advance(DAY // 2)
        assert memory.todos() == []
    finally:
        memory.close()


def test_an_edit_is_taken_back_by_another_server(world, app, other, admin):
    """The last first, whichever server made it; neither keeps a text on its own disk."""
    ref = write(app, "memory", SAID)
    app.amend.edit(ref, "The wombat digs.")
    other.amend.edit(ref, "The numbat naps.")
    assert other.amend.undo(ref).text == "The wombat digs."
    assert other.amend.undo(ref).text == SAID
    with pytest.raises(NotFound, match="no former text"):
        app.amend.undo(ref)
    assert admin.execute("SELECT count(*) FROM wb_former").fetchone() == (0,)
    assert not [*world.home.rglob("former"), *other.folder.rglob("former")]


@pytest.mark.parametrize("act", ["delete", "forget", "no undo", "own SQL", "another quotes it"])
def test_a_former_text_is_erased_by_another_server(app, other, admin, database, act):
    """With its record, by whatever deletes that; the proof of forgetting searches for it."""
    ref = write(app, "memory", SAID)
    app.amend.edit(ref, "The wombat digs.")
    log = write(other, "chronicle", f"Heard: {SAID}")
    held = "SELECT count(*) FROM wb_former WHERE content LIKE '%four seven one one%'"
    assert admin.execute(held).fetchone() == (1,)
    if act == "delete":
        other.amend.delete(ref)
    elif act == "no undo":
        with editing(keeps=False):
            other.amend.edit(ref, "The numbat naps.")
    elif act == "own SQL":
        with psycopg.connect(database.app_url) as conn:
            conn.execute(f"SET LOCAL app.user_id = '{app.settings.owner}'")
            conn.execute("DELETE FROM wb_todo")
    else:
        forgetting = other.forgetting()
        plan = forgetting.plan([log if act == "another quotes it" else ref])
        assert [x.what for x in plan.copies if x.path is None] == ["a former text in the database"]
        found = forgetting.carry_out(plan).found
        assert [x.place for x in found if "former" in x.place] == []
    assert admin.execute(held).fetchone() == (0,)


def test_servers_that_edit_and_erase_one_record_at_once_wait_for_each_other(app, other):
    """No deadlock: each call is done, or says that another was faster."""
    ref = write(app, "memory", SAID)

    def edit(server, number):
        with editing(keeps=number % 3 != 0), suppress(Conflict, NotFound):
            server.amend.edit(ref, f"The wombat digs {number}.")
        with suppress(Conflict, NotFound):
            server.amend.undo(ref)
        if number == 11:
            server.amend.delete(ref)

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(edit, (app, other)[n % 2], n) for n in range(16)]
    assert [each.exception() for each in done] == [None] * 16
    assert app.former.find() == []


def test_the_proof_finds_a_former_text_that_is_left(app, other):
    """One that was written while it was forgotten, say."""
    log = write(app, "chronicle", SAID)
    ref = write(app, "memory", "The wombat digs.")
    forgetting = app.forgetting()
    plan = forgetting.plan([log])
    forgetting.delete(plan)
    version = app.amend.read_text(ref).version
    other.former.write(
        FormerText(id="0" * 36, ref=ref, at=1.0, text=SAID, version=version, made=version)
    )
    proof = forgetting.carry_out(plan)
    assert [x.place for x in proof.left] == ["former texts in the database of memories"]


def test_an_edit_that_fails_leaves_the_former_text_as_it_was(app, other, admin):
    """The edit and what it replaced are one transaction."""
    ref = write(app, "memory", SAID)
    admin.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql"
        " AS $$BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '53100'; END$$"
    )
    admin.execute("CREATE TRIGGER refuse BEFORE UPDATE ON wb_todo EXECUTE FUNCTION refuse()")
    with pytest.raises(CommonplaceError):
        app.amend.edit(ref, "The wombat digs.")
    assert admin.execute("SELECT count(*) FROM wb_former").fetchone() == (0,)
    admin.execute("DROP TRIGGER refuse ON wb_todo")
    assert opened(other, ref).facts["text"].strip().endswith(SAID)


def test_the_former_texts_of_a_home_move_into_the_database(app, other, admin):
    """Those that an earlier version kept there; of a record that is gone they are erased."""
    ref, gone = write(app, "memory", SAID), write(app, "memory", "The wombat digs.")
    for each in (ref, gone):
        app.amend.edit(each, "The numbat naps.")
    one, two = app.former.find()
    elsewhere = replace(one, id=new_id(app.clock(), bytes(10)), ref="memory:todo/of-a-file")
    admin.execute("DELETE FROM wb_former")
    for each in (one, two, elsewhere):
        app.former.files.write(each)
    other.amend.delete(gone)
    app.former_of(app.settings.owner).sweep()
    assert [each.ref for each in other.former.find()] == [ref]
    assert [each.ref for each in app.former.files.find()] == ["memory:todo/of-a-file"]
    assert other.amend.undo(ref).text == SAID


@pytest.mark.parametrize("draft", [False, True], ids=["found", "draft"])
def test_forgetting_finds_records_by_words_and_time(world, app, other, draft):
    """Drafts too, which no search finds; what stays with the same words is named."""
    store = app.memory.journal
    fields = {"title": "Gate", "body": SAID, "is_draft": draft}
    saved = store.save(RecordDraft(kind="journal", fields=fields, at=world.clock()))
    same = write(other, "memory", SAID)
    ref = f"memory:journal/{saved.ref_id}"
    service = other.forgetting()
    found = service.select(EntrySelection(query="quokka gate", journals=("memory",)))
    assert {doc.ref for doc in found} == {ref, same}
    within = Interval(end=world.clock() + timedelta(days=1))
    assert {doc.ref for doc in service.select(EntrySelection(within=within))} == {ref, same}
    plan = service.plan([ref])
    assert plan.same_words == (same,)
    proof = service.carry_out(plan)
    (trace,) = [x for x in proof.found if x.place == "the database of memories"]
    assert trace.refs == (same,)
    assert service.carry_out(service.plan([same])).is_clean
    assert service.select(EntrySelection(query="quokka gate")) == []


def test_a_command_of_another_journal_asks_no_database(environ):
    """It shows no record, so it waits for no server; one that may show some does."""
    script = "import sys; from commonplace.doors.cli import main\ntry: main(sys.argv[1:])\n"
    script += "finally: print('asks' if 'psycopg' in sys.modules else 'asks nobody')"
    for words, asks in (("chronicle list", "asks nobody"), ("list", "asks")):
        ran = subprocess.run(
            [sys.executable, "-c", script, *words.split()],
            env=os.environ | environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.stdout.splitlines()[-1] == asks, ran.stderr


def test_while_the_database_is_away_nobody_is_told_that_nothing_is_left(world, app, admin):
    """No entry by words is sought in half of what there is; the rest is forgotten, and said so."""
    write(app, "memory", SAID)
    log = write(app, "chronicle", SAID)
    late = write(app, "chronicle", "a quiet harbour")
    app.expiring.expire(late, world.clock() + timedelta(days=1))
    admin.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM commonplace_app")
    service = app.forgetting()
    with pytest.raises(CommonplaceError):
        service.select(EntrySelection(query="quokka gate"))
    plan = service.plan([log])
    assert any("Memories in the database" in each for each in plan.unreached)
    proof = service.carry_out(plan)
    assert not proof.is_clean
    assert any("the database of memories" in each for each in proof.unread)
    # What expires on this machine does so without it.
    world.clock.advance(2 * DAY)
    assert ask(app, "list_entries").facts["entries"] == []
    with pytest.raises(CommonplaceError):
        app.expiring.list_expiring()


def test_an_import_is_taken_back_by_the_server_that_made_it(app, other, admin):
    """Then no other server finds a record of it, and the same export brings them all again."""
    for _ in range(2):
        record = app.import_records().new()
        assert app.exporting().take(EXPORT, recording=nullcontext(record)).new["memory"] == 5
        assert refs(ask(other, "recall", query="warm bread"))
        assert app.import_taking_back(record.id).take_back(None, most=0).notes == ()
        assert refs(ask(other, "recall", query="warm bread")) == []
        tables = [f"wb_{name}" for name in ("message", "journal", "todo", "gratitude")]
        counts = [admin.execute(f"SELECT count(*) FROM {name}").fetchone() for name in tables]
        assert counts == [(0,)] * len(tables)
