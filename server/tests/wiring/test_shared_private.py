"""A served user's private journal lies in the database: two servers of two homes have one."""

from __future__ import annotations

from datetime import UTC, timedelta

import psycopg
import pytest
from server.tests.two_homes import ask, traces
from server.tests.wiring.shared_laws import SAID, SharedJournalLaws, all_found

from commonplace.core.errors import Conflict, NotFound
from commonplace.core.expiring import revealed
from commonplace.core.importer import ForeignEntry
from commonplace.doors.web.visit import Visitor
from commonplace.journals.memory.records import RecordDraft
from commonplace.journals.private.journal import MOST_IN_A_BRIEF
from commonplace.journals.private.note import note_of
from commonplace.private import Private
from commonplace.verbs.forgetting.shingles import shingles_of
from commonplace.verbs.imports.journals import IntoPrivate
from commonplace_server.postgres.database import Postgres
from commonplace_server.state.visitors import VisitorDatabase
from commonplace_server.wiring.schema import check_database


def thought(app, text, **given):
    """Write a reflection; its ref."""
    return ask(app, "process_thoughts", reflections=text, **given).facts["ref"]


def found(app, query):
    """The refs of the entries that a search of the journal, and a recall, find for words."""
    hits = ask(app, "search_journal", query=query).facts["results"]
    return all_found(app, query, hits, "excerpt")


def listed(app):
    """The beginnings of the newest."""
    return [x["excerpt"] for x in ask(app, "list_recent_entries").facts["entries"]]


class TestPrivateOnPostgres(SharedJournalLaws):
    """The private journal."""

    journal = "private"
    library = Private
    write = staticmethod(thought)
    found = staticmethod(found)
    listed = staticmethod(listed)

    def write_once(self, app, text, key):
        return ask(app, "process_thoughts", reflections=text, idempotency_key=key).facts

    def save(self, program, text):
        return program.save_entry("reflections", text)

    def check_saved(self, program, app, ref):
        assert program.get(ref).raw == app.private.journal.read_entry(ref).raw

    def remove(self, app, ref):
        app.private.journal.delete(ref)


def files_of(app):
    """What lies on the disk of an owner's private journal, its keys and its copies."""
    places = (app.private.files.roots[0].path, app.private.files.keys.folder, app.reach / "notes")
    return [x for place in places for x in place.rglob("*") if x.is_file()]


def test_what_is_written_on_one_is_found_on_the_other(one, two, clock):
    """At once: listed, read, by words, in a recall, by its ref; nothing of it lies on a disk."""
    ref = thought(one, SAID)
    assert listed(two) == [SAID]
    assert found(two, "quokka gate") == [ref]
    read = ask(two, "read_journal_entry", path=ref)
    assert read.text.endswith(f"## Reflections\n\n{SAID}\n")
    assert SAID in ask(two, "read_recent_entries").text
    clock.advance(60)
    later = thought(two, "The harbour is closed.")
    page = one.private.pages().read_ref(later)
    assert (page.before.ref, page.after) == (ref, None)
    assert one.private.pages().read_ref(ref).after.ref == later
    assert [item.text for item in one.private.brief_items(None)] == []
    ask(one, "process_thoughts", user_context="Ann likes tea.")
    assert [item.text for item in two.private.brief_items(None)] == ["Ann likes tea."]
    assert files_of(one) == files_of(two) == []
    assert found(one, "tea") != []
    counted = {x.name: x.entries for x in two.recall.status().journals}
    assert counted["private"] == 3
    assert [*two.private.problems()] == [*two.private.repair()] == []


def test_a_brief_has_what_is_the_user_s_alone(one):
    """As from files: no note on a project, however new and many, is told or takes up its room."""
    ask(one, "process_thoughts", user_context="Ann likes tea.")
    notes = [
        note_of(
            f"private:project@1f2e3d4c/2199-01-05/12-00-00-{number:06d}",
            b"## User Context\n\nThe quokka gate opens at noon.\n",
            changed=one.clock(),
            zone=UTC,
            project="~/quokka",
        )
        for number in range(MOST_IN_A_BRIEF)
    ]
    assert len(one.private.journal.add_notes(notes)) == len(notes)
    assert [item.text for item in one.private.brief_items(None)] == ["Ann likes tea."]


def test_a_key_is_one_entry_on_all_servers(one, two, clock):
    """Whichever is asked, also once it is deleted."""
    ref = thought(one, SAID, idempotency_key="k")
    clock.advance(60)
    assert ask(two, "process_thoughts", reflections="x", idempotency_key="k").facts["refs"] == [ref]
    two.amend.delete(ref)
    again = ask(one, "process_thoughts", reflections="x", idempotency_key="k").facts
    assert (again["refs"], again["repeated"], listed(one)) == ([ref], True, [])


def test_what_is_superseded_on_one_holds_no_longer_on_the_other(one, two):
    """Once; as of a time before it, the former is what is known."""
    old = thought(one, "The quokka API listens on port 8000.", at="2026-01-05 09:00")
    new = ask(
        two, "process_thoughts", reflections="The quokka API is on port 9000.", supersedes=old
    ).facts["ref"]
    with pytest.raises(Conflict, match=new):
        one.amend.supersede(old, "The quokka API listens on port 1.")
    assert one.private.pages().read_ref(old).superseded_by == new
    assert found(one, "quokka API port")[0] == new
    two.amend.delete(new)
    assert one.private.pages().read_ref(old).superseded_by == ""


def test_as_of_a_time_before_an_entry_it_is_not_known(one, two, clock):
    """By when it was written, on either server."""
    first = thought(one, "The quokka is brown.")
    clock.advance(3 * 86_400)
    thought(one, "The quokka is grey.")
    day = clock().date()
    hits = ask(two, "search_journal", query="quokka", as_of=f"{day.replace(day=day.day - 1)}")
    assert [x["ref"] for x in hits.facts["results"]] == [first]


def test_what_expires_on_one_is_shown_by_no_other(one, two, clock, admin):
    """And is gone from the database, with its time and all that was derived from it."""
    ref = thought(one, SAID, expires="tomorrow")
    assert found(two, "quokka gate") == [ref]
    assert two.expiring.list_expiring() == one.expiring.list_expiring() != []
    clock.advance(3 * 86_400)
    assert listed(two) == []
    assert found(two, "quokka gate") == []
    assert traces(admin, "quokka") == []
    assert admin.execute("SELECT count(*) FROM wb_times").fetchone() == (0,)


def test_nobody_sees_another_s(one, servers):
    """Not by its ref, a search, a list, an export, a key or a plan to forget."""
    ref = thought(one, SAID, idempotency_key="k")
    bob = servers("two", "bob")
    assert listed(bob) == []
    assert found(bob, "quokka gate") == []
    assert list(bob.private.portable().export_items(None)) == []
    acts = (
        bob.amend.read_text,
        bob.amend.delete,
        lambda x: bob.amend.edit(x, "mine"),
        lambda x: bob.amend.supersede(x, "mine"),
        bob.private.pages().read_ref,
        lambda x: bob.private.journal.mark_replaced(x, ""),
        lambda x: thought(bob, "mine", supersedes=x),
    )
    for act in acts:
        with pytest.raises(NotFound):
            act(ref)
    with pytest.raises(NotFound):
        bob.forgetting().plan([ref])
    assert thought(bob, "own", idempotency_key="k") != ref
    bob.private.journal.release_keys(["k"])
    assert thought(one, "again", idempotency_key="k") == ref


def test_keys_are_guarded_one_by_one(one, database):
    """Without a user there is none; with another's none is read, changed, deleted or added."""
    thought(one, SAID, idempotency_key="k")
    with psycopg.connect(database.app_url) as conn:
        conn.execute("SET LOCAL app.user_id = 'bob'")
        for table in ("cp_keys", "cp_entries"):
            assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
            assert conn.execute(f"DELETE FROM {table}").rowcount == 0
        assert conn.execute("UPDATE cp_keys SET key = 'x'").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("INSERT INTO cp_keys VALUES ('ann', 'private', 'x', '{}', now())")


def test_the_worker_makes_its_vectors(one, two, worker, database):
    """Words are found at once, meaning when the worker was there; what is gone leaves it."""
    ref = thought(one, "The ship left the harbour.")
    assert worker.work() == 1
    assert found(two, "ship harbour") == [ref]
    assert database.rows("SELECT count(*) FROM wb_embeddings") == [(1,)]
    two.amend.delete(ref)
    assert worker.run_once() == 1
    assert database.rows("SELECT count(*) FROM wb_embeddings") == [(0,)]
    assert database.rows("SELECT count(*) FROM wb_outbox WHERE due OR erase") == [(0,)]


def test_what_lay_in_files_moves_into_the_database(servers):
    """Once, with ends, former texts and keys; nothing of it stays on the disk, or comes back."""
    before = servers("one", url="")
    kept = thought(before, SAID, idempotency_key="k")
    gone = thought(before, "The harbour is closed.")
    before.amend.edit(kept, f"{SAID} Twice.")
    before.expiring.expire(gone, before.clock() + timedelta(days=9))
    assert found(before, "quokka gate") == [kept]
    root = before.private.files.roots[0].path
    odd = root / "2026-01-05" / "odd.md"
    odd.parent.mkdir()
    odd.write_bytes(b"bytes \xff\x00 that are no text\n")
    items = list(before.private.portable().export_items(None))
    contents = {x: x.read_bytes() for x in root.rglob("*.md")}
    before.close()
    one = servers("one")
    assert list(one.private.portable().export_items(None)) == items
    assert files_of(one) == []
    assert not root.exists()
    assert not one.index.known().stamps("private:")
    notes = one.private.journal.find_notes(["private:user/2026-01-05/odd"])
    assert [note.content for note in notes] == [contents[odd]]
    assert found(one, "quokka gate") == [kept]
    two = servers("two")
    assert [ref for ref, _ in two.expiring.list_expiring()] == [gone]
    assert thought(two, "other", idempotency_key="k") == kept
    one.amend.undo(kept)
    two.amend.delete(gone)
    assert listed(two) == [SAID]
    # A move that was killed before they had left is done again, and brings nothing back.
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    again = servers("one", start=2)
    assert listed(again) == [SAID]
    assert files_of(again) == []


def test_an_export_moves_a_user_either_way(one, servers):
    """From the database into files and back, whole: an export of each is the same bytes."""
    first = thought(one, SAID, at="2026-01-05 09:00")
    one.amend.supersede(first, "The quokka gate has a bell now.")
    into = servers("files", url="")

    def lines(app):
        return [repr(item) for item in app.private.portable().export_items(None)]

    into.private.portable().import_items(one.private.portable().export_items(None))
    assert lines(into) == lines(one)
    bob = servers("two", "bob")
    bob.private.portable().import_items(into.private.portable().export_items(None))
    assert lines(bob) == lines(one)
    assert bob.private.portable().import_items(into.private.portable().export_items(None)) == 0


def test_an_import_of_another_program_is_known_on_all_servers(one, two):
    """Once, as of the original; what was deleted does not come back."""
    entry = ForeignEntry(id="7", text=SAID, at=one.clock(), where="diary.txt")
    into, other = (
        IntoPrivate(app.private.journal, app.shared.screen, app.clock) for app in (one, two)
    )
    assert into.put("diary", [entry])[0][0] == "new"
    assert other.look("diary", entry) == "there"
    ((outcome, _),) = other.put("diary", [entry])
    assert (outcome, listed(two)) == ("there", [SAID])
    with revealed():
        (ref,) = [x.ref for x in two.private.journal.list_entries(limit=2)]
    two.amend.delete(ref)
    assert into.look("diary", entry) == "deleted here"


def test_the_machine_s_own_user_keeps_the_files(servers, tmp_path):
    """Other programs of the machine read them."""
    mine = servers("one", "me")
    assert mine.private.journal is mine.private.files
    assert not mine.private.is_shared


def test_forgetting_takes_what_browsers_were_shown(one, two, database):
    """It is sealed, so all of it goes; the plan says so, and nobody is signed out."""
    pool = Postgres(database.app_url, check=check_database)
    visitors = VisitorDatabase(pool)
    cookie = visitors.add(Visitor(owner="ann", may_write=True, csrf="x"))
    found = visitors.find(cookie)
    found.hidden["[secret: a]"] = "hush"
    visitors.keep(cookie, found)
    ref = thought(one, SAID)
    forgetting = two.forgetting()
    plan = forgetting.plan([ref])
    assert "what signed-in browsers were shown, sealed" in [each.what for each in plan.copies]
    assert forgetting.carry_out(plan).is_clean
    assert visitors.find(cookie).hidden == {}
    pool.close()


def test_what_says_the_same_is_asked_of_the_index(one, two):
    """Entries that do not say it are not read, but for drafts of memory, which no index holds."""
    ref = thought(one, SAID)
    thought(one, "The harbour is closed.")
    one.memory.journal.save(_diary("The ferry is late.", is_draft=False))
    draft = one.memory.journal.save(_diary(f"{SAID} Perhaps.", is_draft=True)).record.ref
    forgetting = two.forgetting()
    assert [each.ref for each in forgetting.plan([ref]).others] == [draft]
    looked_at = forgetting.texts.docs_elsewhere_with(shingles_of(SAID))
    assert "The harbour is closed." not in {doc.own_text for doc in looked_at}
    two.amend.delete(draft)
    assert [doc.ref for doc in forgetting.texts.docs_elsewhere_with(shingles_of(SAID))] == [ref]


def _diary(body, *, is_draft):
    return RecordDraft(kind="journal", fields={"title": "", "body": body, "is_draft": is_draft})
