"""A served user's chronicle lies in the database: two servers of two homes have one and the same."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from server.tests.two_homes import ask, traces
from server.tests.wiring.shared_laws import SAID, SharedJournalLaws, all_found

from commonplace.chronicle import Chronicle
from commonplace.core.errors import Conflict, NotFound
from commonplace.core.spaces import Member, at_work


def logged(app, message, **given):
    """Log what was done; its ref."""
    return ask(app, "add_entry", message=message, **given).facts["ref"]


def found(app, query):
    """The refs of the entries that a search of the log, and a recall, find for words."""
    hits = ask(app, "search_entries", text=query).facts["entries"]
    return all_found(app, query, hits, "message")


def listed(app):
    """The messages of the newest."""
    return [x["message"] for x in ask(app, "list_entries").facts["entries"]]


class TestChronicleOnPostgres(SharedJournalLaws):
    """The log."""

    journal = "chronicle"
    library = Chronicle
    write = staticmethod(logged)
    found = staticmethod(found)
    listed = staticmethod(listed)

    def write_once(self, app, text, key):
        return ask(app, "add_entry", message=text, idempotency_key=key).facts

    def save(self, program, text):
        return program.save_entry(text, tags=["gate"])

    def check_saved(self, program, app, ref):
        assert [x.tag for x in program.tags()] == ["gate"]

    def remove(self, app, ref):
        app.chronicle.journal.delete_event(ref)


def test_what_is_logged_on_one_is_found_on_the_other(one, two):
    """At once: in a list, by words, in a recall, by its ref; nothing of it lies on a disk."""
    ref = logged(one, SAID, tags=["gate"])
    assert listed(two) == [SAID]
    assert found(two, "quokka gate") == [ref]
    assert two.chronicle.pages().read_ref(ref).tags == ("gate",)
    assert ask(two, "find_when_i", what="quokka gate").facts["entries"][0]["ref"] == ref
    assert not one.chronicle.journal.path.exists()
    counted = {x.name: x.entries for x in two.recall.status().journals}
    assert counted["chronicle"] == 1
    assert two.recall.service().count_by_journal()["chronicle"] == 1


def test_what_is_superseded_on_one_holds_no_longer_on_the_other(one, two):
    """Once: the other server names what took its place."""
    old = logged(one, "The quokka API listens on port 8000.")
    new = two.amend.supersede(old, "The quokka API listens on port 9000.").ref
    with pytest.raises(Conflict, match=new):
        one.amend.supersede(old, "The quokka API listens on port 1.")
    text = ask(one, "recall", query="quokka API port").text
    assert "port 9000" in text
    assert "port 8000" not in text.partition("port 9000")[0]
    assert one.chronicle.pages().read_ref(old).superseded_by == new


@pytest.mark.parametrize("who", [None, Member(name="bob", may_delete=False)])
def test_what_expires_on_one_is_shown_by_no_other(one, two, clock, admin, who):
    """And is gone from the database, with all derived from it, also where who asks deletes nothing."""
    ref = logged(one, SAID)
    assert found(two, "quokka gate") == [ref]
    one.expiring.expire(ref, clock() + timedelta(days=1))
    assert two.expiring.list_expiring() == one.expiring.list_expiring() != []
    clock.advance(2 * 86_400)
    with at_work(who):
        assert listed(two) == []
        assert found(two, "quokka gate") == []
    assert traces(admin, "quokka") == []
    assert admin.execute("SELECT count(*) FROM wb_times").fetchone() == (0,)


def test_nobody_sees_another_s(one, servers, admin):
    """Not by its ref, a search, an export or a plan to forget; and no statement without an owner."""
    ref = logged(one, SAID)
    bob = servers("two", "bob")
    assert listed(bob) == []
    assert found(bob, "quokka gate") == []
    assert list(bob.chronicle.portable().export_items(None)) == []
    for act in (bob.amend.read_text, bob.amend.delete, lambda x: bob.amend.edit(x, "mine")):
        with pytest.raises(NotFound):
            act(ref)
    with pytest.raises(NotFound):
        bob.forgetting().plan([ref])
    assert admin.execute(
        "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE relname = 'cp_entries'"
    ).fetchone() == (True, True)


def test_rows_are_guarded_one_by_one(one, database):
    """Without a user there is none; with another's none is read, changed, deleted or added."""
    logged(one, SAID)
    with psycopg.connect(database.app_url) as conn:
        assert conn.execute("SELECT count(*) FROM cp_entries").fetchone() == (0,)
        conn.execute("SET LOCAL app.user_id = 'bob'")
        assert conn.execute("SELECT count(*) FROM cp_entries").fetchone() == (0,)
        assert conn.execute("UPDATE cp_entries SET body = 'mine'").rowcount == 0
        assert conn.execute("DELETE FROM cp_entries").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute(
                "INSERT INTO cp_entries (user_id, journal, id, at, nanos, written_at, scope, body,"
                " tags, folded, supersedes, more) VALUES ('ann', 'chronicle', 'x', now(), 0, now(),"
                " '', 'x', '{}', '{}', '', '{}')"
            )
    assert listed(one) == [SAID]


def test_the_worker_makes_its_vectors(one, two, worker, database):
    """Words are found at once, meaning when the worker was there; what is gone leaves it."""
    ref = logged(one, "The ship left the harbour.")
    assert worker.work() == 1
    hits = ask(two, "search_entries", text="ship harbour", explain=True)
    assert hits.facts["entries"][0]["ref"] == ref
    assert database.rows("SELECT kind, ref_id FROM wb_embeddings") == [("event", f":{ref}")]
    two.amend.delete(ref)
    assert worker.run_once() == 1
    assert database.rows("SELECT count(*) FROM wb_embeddings") == [(0,)]
    assert database.rows("SELECT count(*) FROM wb_outbox WHERE due OR erase") == [(0,)]


def test_what_lay_in_files_moves_into_the_database(servers, admin):
    """Once, with its ends and former texts; nothing of it stays in the file, or comes back."""
    before = servers("one", url="")
    kept, gone = logged(before, SAID, tags=["gate"]), logged(before, "The harbour is closed.")
    before.amend.edit(kept, f"{SAID} Twice.")
    before.expiring.expire(gone, before.clock() + timedelta(days=9))
    assert found(before, "quokka gate") == [kept]
    items = list(before.chronicle.portable().export_items(None))
    path = before.chronicle.journal.path
    before.close()
    content = path.read_bytes()
    one = servers("one")
    assert list(one.chronicle.portable().export_items(None)) == items
    assert b"quokka" not in path.read_bytes()
    assert not one.index.known().stamps("chronicle:")
    assert found(one, "quokka gate") == [kept]
    two = servers("two")
    assert [ref for ref, _ in one.expiring.list_expiring()] == [gone]
    assert [ref for ref, _ in two.expiring.list_expiring()] == [gone]
    one.amend.undo(kept)
    two.amend.delete(gone)
    assert listed(two) == [SAID]
    # A move that was killed before they had left it is done again, and brings nothing back.
    path.write_bytes(content)
    again = servers("one", start=2)
    assert listed(again) == [SAID]
    assert b"quokka" not in path.read_bytes()


def test_before_it_moved_a_database_that_is_away_keeps_no_other_journal_back(servers):
    """The index on the disk still holds the entries, and their times are the database's."""
    before = servers("one", url="")
    logged(before, "walrus fed")
    ask(before, "process_thoughts", feelings="the walrus sings")
    before.close()
    app = servers("one", url="postgresql://nobody@127.0.0.1:1/nothing", start=2)
    answer = ask(app, "recall", query="walrus").text
    assert "the walrus sings" in answer
    assert "does not answer" in answer


def test_an_export_moves_a_user_either_way(one, servers):
    """From the database into files and back, whole: an export of each is the same bytes."""
    first = logged(one, SAID, tags=["gate", "Ä"], at="2026-01-05 09:00")
    one.amend.supersede(first, "The quokka gate has a bell now.")
    into = servers("files", url="")

    def lines(app):
        portable = app.chronicle.portable()
        return [repr(item) for item in portable.export_items(None)]

    into.chronicle.portable().import_items(one.chronicle.portable().export_items(None))
    assert lines(into) == lines(one)
    bob = servers("two", "bob")
    bob.chronicle.portable().import_items(into.chronicle.portable().export_items(None))
    assert lines(bob) == lines(one)


def test_the_machine_s_own_user_keeps_the_files(servers):
    """Other programs of the machine read chronicle's own database."""
    mine = servers("one", "me")
    ref = logged(mine, SAID)
    assert mine.chronicle.journal.path.exists()
    assert found(mine, "quokka gate") == [ref]
