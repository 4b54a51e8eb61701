"""A served user's notebook lies in the database: two servers of two homes have one."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest
from server.tests.two_homes import ask, traces
from server.tests.wiring.shared_laws import SAID, SharedJournalLaws

from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.notebook import Notebook


def written(app, text, path="gate/keeping", **given):
    """Write an entry; its ref."""
    return ask(app, "journal_write", path=path, entry=text, **given).facts["ref"]


def found(app, query):
    """The refs of the texts that a search of the journal, and a recall, find for words."""
    hits = ask(app, "journal_search", content=query).facts["results"]
    recalled = [x["ref"] for x in ask(app, "recall", query=query).facts["results"]]
    words = query.split()
    bearing = [f"notebook:{x['id']}" for x in hits if all(word in str(x) for word in words)]
    assert set(bearing[:1]) <= set(recalled)
    return bearing


def listed(app, path="gate/keeping"):
    """The summaries of the newest."""
    try:
        facts = ask(app, "journal_list_entries", path=path).facts
    except NotFound:
        return []
    return [x["summary"] for x in facts["entries"]]


class TestNotebookOnPostgres(SharedJournalLaws):
    """The notebook."""

    journal = "notebook"
    library = Notebook
    write = staticmethod(written)
    found = staticmethod(found)
    listed = staticmethod(listed)

    def write_once(self, app, text, key):
        given = {"path": "gate/keeping", "entry": text, "idempotency_key": key}
        return ask(app, "journal_write", **given).facts

    def write_ending(self, app, at):
        write = app.toolset("notebook").tool("journal_write")
        return write.call({"path": "gate/keeping", "entry": SAID}, ends=at).facts["ref"]

    def save(self, program, text):
        return program.save_entry("gate/keeping", text)

    def check_saved(self, program, app, ref):
        assert [line.ref for line in program.entries("gate/keeping")] == [ref]

    def remove(self, app, ref):
        app.notebook.shared.forget([ref])

    def test_what_is_edited_on_one_is_so_on_the_other(self, one, two):
        """An entry stays, and what is edited takes its place; that is taken back from anywhere."""
        ref = written(one, SAID)
        assert found(one, "quokka gate") == [ref]
        later = two.amend.edit(ref, "The quokka gate is closed.").ref
        assert listed(one) == ["The quokka gate is closed.", SAID]
        assert found(one, "quokka gate")[0] == later
        assert one.notebook.pages().read_ref(ref).superseded_by == later
        with pytest.raises(Conflict, match=later):
            one.amend.supersede(ref, "Another text.")
        one.amend.undo(later)
        assert listed(two) == [SAID]
        assert found(two, "quokka gate") == [ref]


def test_what_is_written_on_one_is_found_on_the_other(one, two):
    """At once: listed, read, by words, in a recall, by its ref; nothing of it lies on a disk."""
    ref = written(one, SAID, overview="# Gate\n\nThe quokka gate needs a code.")
    assert listed(two) == [SAID]
    assert sorted(found(two, "quokka gate")) == ["notebook:gate/keeping", ref]
    assert SAID in ask(two, "journal_read", id=ref.removeprefix("notebook:")).text
    read = ask(two, "journal_read", id="gate/keeping").facts
    assert read["overview"] == "# Gate\n\nThe quokka gate needs a code."
    later = written(
        two, "The harbour is closed.", overview="All is said.", base_version=read["version"]
    )
    page = one.notebook.pages().read_ref(later)
    assert (page.before.ref, page.after) == (ref, None)
    assert one.notebook.pages().read_ref("notebook:gate/keeping").text == "All is said."
    assert found(one, "quokka gate") == [ref]
    assert not one.notebook.repository.folder.exists()
    assert [*two.notebook.problems()] == [*two.notebook.repair()] == []
    assert {x.name: x.entries for x in two.recall.status().journals}["notebook"] == 3
    hits = ask(one, "journal_search", content="harbour", when="last month").facts["results"]
    assert hits == []


def test_of_two_who_write_one_overview_the_later_is_told_both(one, two):
    """On another server too."""
    written(one, "First.", overview="We know.")
    base = ask(two, "journal_read", id="gate/keeping").facts["version"]
    written(one, "More.", overview="We know more.", base_version=base)
    with pytest.raises(Conflict, match="has changed since") as told:
        written(two, "Else.", overview="We know else.", base_version=base)
    assert "We know more." in str(told.value)
    assert listed(two) == ["More.", "First."]


def test_a_moved_section_is_found_under_its_new_name(one, two):
    """Its texts have other refs in the index, with the ends that they had."""
    ref = written(one, SAID, overview="The quokka gate needs a code.")
    end = one.clock() + timedelta(days=9)
    one.expiring.expire(ref, end)
    two.notebook.service().move(old="gate/keeping", new="door")
    moved = ref.replace("gate/keeping", "door")
    assert sorted(found(one, "quokka gate")) == ["notebook:door", moved]
    assert one.expiring.list_expiring() == [(moved, end)]
    assert one.notebook.pages().read_ref(ref).ref == moved


def test_what_expires_on_one_is_shown_by_no_other(one, two, clock, admin):
    """And is gone from the database, with its time and all that was derived from it."""
    ref = written(one, SAID, expires="tomorrow")
    later = ask(
        one, "journal_write", path="gate/keeping", entry="Stays.", expires="in 9 days"
    ).facts["ref"]
    assert found(two, "quokka gate") == [ref]
    assert [x for x, _ in two.expiring.list_expiring()] == [ref, later]
    clock.advance(3 * 86_400)
    assert listed(two) == ["Stays."]
    assert found(two, "quokka gate") == []
    assert traces(admin, "quokka") == []
    two.expiring.cancel(later)
    assert admin.execute("SELECT count(*) FROM wb_times").fetchone() == (0,)


def test_what_was_taken_back_stays_for_who_brings_it_back(one, two, clock):
    """The sweep leaves it; no answer shows it, and neither does a list of what expires."""
    ref = written(one, SAID, overview="The quokka gate needs a code.")
    done = one.amend.take_back(ref, expected=one.amend.read_text(ref).version)
    assert "is kept" in done.notes[0]
    assert "git" not in str(done).lower()
    for app in (one, two):
        assert listed(app) == []
        assert found(app, "quokka gate") == []
        assert app.expiring.list_expiring() == []
        clock.advance(86_400)
        app.expiring.sweep()
    assert two.expiring.cancel(ref)
    assert listed(one) == [SAID]
    assert found(one, "quokka gate") == [ref]


def test_what_is_forgotten_leaves_what_overviews_were(one, two, admin):
    """What one is now stays, and is named; it goes as well where the history is to be rewritten."""
    said = "the quokka gate opens with the code four seven one one said Ann to me"
    first = ask(one, "journal_write", path="a", entry=said, overview=f"Note: {said}").facts
    ask(one, "journal_write", path="a", entry="x", overview="Gone.", base_version=first["version"])
    written(one, "y", path="b", overview=f"Also {said}, and more.")
    one.amend.edit("notebook:b", f"Now {said}, and more.")
    plan = two.forgetting().plan([f"notebook:{first['id']}"])
    assert [each.ref for each in plan.others] == ["notebook:b"]
    proof = two.forgetting().carry_out(plan)
    assert [trace.refs for trace in proof.found] == [("notebook:b",)]
    assert two.notebook.journal.read_section("b").overview == f"Now {said}, and more."
    again = two.forgetting().plan(["notebook:b"], kept_days=0)
    assert two.forgetting().carry_out(again).is_clean
    assert traces(admin, "quokka") == []


def test_an_overview_is_edited_on_one_and_taken_back_on_the_other(one, two, clock):
    """Within `undo.keep_days`; one that was deleted is in no answer."""
    written(one, "x", overview="The quokka gate is open.")
    ref = "notebook:gate/keeping"
    one.amend.edit(ref, "It is shut.")
    assert found(two, "quokka gate") == []
    two.amend.undo(ref)
    assert one.notebook.journal.read_section("gate/keeping").overview == "The quokka gate is open."
    assert found(one, "quokka gate") == [ref]
    two.amend.delete(ref)
    assert found(one, "quokka gate") == []
    assert listed(one) == ["x"]


def test_what_inherited_its_context_loses_it_with_the_entry(one, two):
    """Where who forgets says so."""
    ref = written(one, SAID, work_context="keeping the quokkas")
    later = two.amend.supersede(ref, "It has a bell.").ref
    assert one.notebook.journal.read_entry(later).work_context == "keeping the quokkas"
    forgetting = one.forgetting()
    forgetting.carry_out(forgetting.plan([ref], with_inherited=["context"]))
    assert two.notebook.journal.read_entry(later).work_context == ""
    assert two.notebook.journal.read_entry(later).supersedes == ""


def test_nobody_sees_another_s(one, servers):
    """Not by its ref, a search, a list, an export, a key or a plan to forget."""
    ref = written(one, SAID, idempotency_key="k", overview="The quokka gate.")
    bob = servers("two", "bob")
    assert listed(bob) == []
    assert found(bob, "quokka gate") == []
    assert bob.notebook.journal.list_sections() == []
    acts = (
        bob.amend.read_text,
        bob.amend.delete,
        lambda x: bob.amend.edit(x, "mine"),
        lambda x: bob.amend.supersede(x, "mine"),
        bob.notebook.pages().read_ref,
        lambda x: written(bob, "mine", supersedes=x),
    )
    for act in acts:
        with pytest.raises(NotFound):
            act(ref)
    with pytest.raises(NotFound):
        bob.forgetting().plan([ref])
    assert written(bob, "own", idempotency_key="k") != ref


def test_the_worker_makes_its_vectors(one, two, worker, database):
    """Words are found at once, meaning when the worker was there; what is gone leaves it."""
    ref = written(one, "The ship left the harbour.", overview="Ships leave.")
    assert worker.work() == 2
    assert found(two, "ship harbour") == [ref]
    assert database.rows("SELECT count(*) FROM wb_embeddings") == [(2,)]
    two.amend.delete(ref)
    two.amend.delete("notebook:gate/keeping")
    assert worker.run_once() == 2
    assert database.rows("SELECT count(*) FROM wb_embeddings") == [(0,)]
    assert database.rows("SELECT count(*) FROM wb_outbox WHERE due OR erase") == [(0,)]


def test_what_only_git_can_do_is_refused_by_name(one):
    """With the next step."""
    written(one, SAID)
    service = one.notebook.service()
    acts = (
        lambda: service.sync(remote="origin"),
        service.list_branches,
        lambda: service.create_branch(name="x"),
        lambda: service.switch_branch(name="x"),
        lambda: service.merge_branch(name="x"),
        lambda: service.journal_list_entries(path="gate/keeping", branch="x"),
        lambda: service.journal_search(content="quokka", branch="x"),
        lambda: service.clashes().find("gate/keeping"),
    )
    for act in acts:
        with pytest.raises(Invalid, match="has no ") as told:
            act()
        assert "commonplace export" in told.value.hint
    assert service.conflicts().facts["count"] == 0
    assert "database" in service.init().text


def lines(app):
    """The items of an export of the notebook, and of what it sums up."""
    portable = app.notebook.portable()
    return [*map(repr, portable.export_items(None)), *map(repr, portable.export_summaries(None))]


def filled(app):
    """A notebook with all that one may have; the ref of its first entry."""
    first = ask(app, "journal_write", path="a/deep", entry=SAID, overview="We know.").facts
    written(app, "Ünïcode\n\n work_context: no\n\n", path="a/deep", work_context="at the gate")
    ref = f"notebook:{first['id']}"
    app.amend.supersede(ref, "The quokka gate has a bell.")
    app.amend.edit("notebook:a/deep", "We know more.\n\n- of the quokka gate")
    ask(app, "journal_write", path="b", entry="Expires.", expires="in 9 days")
    app.notebook.service().write("b", "Of old.", at=app.clock() - timedelta(days=90))
    app.notebook.service().move(old="b", new="c")
    written(app, "A new one of that name.", path="b", overview="See [[a/deep]].")
    return ref


def test_an_export_moves_a_user_either_way(one, servers):
    """From the database into a repository and back, whole: an export of each is the same bytes."""
    filled(one)
    into = servers("files", url="")
    into.notebook.portable().import_items(one.notebook.portable().export_items(None))
    assert lines(into) == lines(one)
    log = into.notebook.repository.repo.git.run(["log", "--format=%H"]).out.decode().split()
    assert log[0] == [*one.notebook.portable().export_items(None)][-1].commit
    bob = servers("two", "bob")
    bob.notebook.portable().import_items(into.notebook.portable().export_items(None))
    assert lines(bob) == lines(one)
    ours, theirs = one.notebook.journal.toc(depth=3), bob.notebook.journal.toc(depth=3)
    assert ours == theirs == into.notebook.journal.toc(depth=3)
    since = one.clock() - timedelta(days=30)
    texts = [item.page_text() for item in one.notebook.portable().export_items(since)]
    assert len(texts) == 6  # without the move and what is of old
    assert "Of old." not in texts


def test_what_lay_in_a_repository_moves_into_the_database(servers, admin):
    """Once, with ends, hashes, former overviews and names; nothing of it stays, or comes back."""
    before = servers("one", url="")
    ref = filled(before)
    gone = written(before, "Taken back.", path="c")
    before.amend.take_back(gone, expected=before.amend.read_text(gone).version)
    notes = before.notebook.repository
    old = notes.read_entry(ref)
    toc, page = notes.toc(depth=3), before.notebook.pages().read_ref(ref)
    expiring = before.expiring.list_expiring()
    steps = notes.overviews_left_by("a/deep", notes.list_entries("a/deep"))
    assert found(before, "quokka gate") != []
    folder = notes.folder
    before.close()
    kept = folder.parent / "kept"
    shutil.copytree(folder, kept)
    one, two = servers("one"), servers("two")
    mine = one.notebook.shared
    assert not folder.exists()
    assert not one.index.known().stamps("notebook:")
    assert mine.toc(depth=3) == toc
    assert two.notebook.pages().read_ref(ref) == page
    assert two.notebook.journal.read_entry(f"a/deep#{old.hash[:10]}") == old
    assert two.expiring.list_expiring() == expiring != []
    assert mine.overviews_left_by("a/deep", mine.list_entries("a/deep")) == steps
    with pytest.raises(NotFound, match="was taken back"):
        mine.read_entry(gone)
    assert mine.read_kept_entry(gone).text == "Taken back."
    assert traces(admin, "Taken back") == ["cp_entries"]
    assert found(two, "quokka gate") != []
    two.amend.delete(ref)
    # A move that was killed before the folder had left is done again, and brings nothing back.
    shutil.copytree(kept, folder)
    again = servers("one", start=2)
    assert ref not in found(again, "quokka gate")
    assert not folder.exists()
    assert again.notebook.shared.read_section("a/deep").overview.startswith("We know more.")


def test_what_an_older_server_wrote_beside_the_move_is_joined(servers):
    """Its entries, and of two overviews every line."""
    before = servers("one", url="")
    written(before, "First.", path="a", overview="Ours.")
    before.close()
    one = servers("one")
    base = one.notebook.journal.read_section("a").version
    written(one, "Second.", path="a", overview="Ours, of the database.", base_version=base)
    older = servers("one", url="", start=3)
    written(older, "Third.", path="a", overview="Theirs, of a folder.")
    written(older, "Fourth.", path="b", overview="New.")
    older.close()
    again = servers("one", start=2)
    assert listed(again, "a") == ["Third.", "Second.", "First."]
    overview = again.notebook.journal.read_section("a").overview
    assert "Ours, of the database." in overview
    assert "Theirs, of a folder." in overview
    assert listed(again, "b") == ["Fourth."]


def test_two_sections_that_are_one_by_now_lose_no_line_of_either(servers):
    """An older server wrote in a section that was moved since, and in the one that it is now."""
    before = servers("one", url="")
    written(before, "First.", path="a", overview="Ours.")
    before.close()
    one = servers("one")
    one.notebook.service().move(old="a", new="b")
    older = servers("one", url="", start=3)
    written(older, "Second.", path="a", overview="Theirs, of the former name.")
    written(older, "Third.", path="b", overview="Theirs, of the new name.")
    older.close()
    overview = servers("one", start=2).notebook.journal.read_section("b").overview
    for line in ("Ours.", "Theirs, of the former name.", "Theirs, of the new name."):
        assert line in overview.splitlines()


def test_what_a_database_has_no_place_for_is_settled_first(servers):
    """Another branch's entries, or a file that is no section's: the user is told, nothing moves."""
    before = servers("one", url="")
    written(before, "Main.", path="a")
    service = before.notebook.service()
    service.switch_branch(name="aside", create=True)
    written(before, "Aside.", path="a")
    service.switch_branch(name="main")
    one = servers("one")
    with pytest.raises(Conflict, match="branch aside holds entries") as told:
        listed(one, "a")
    assert "database.url" in told.value.hint
    service.merge_branch(name="aside")
    (before.notebook.repository.folder / "picture.png").write_bytes(b"\x89PNG")
    with pytest.raises(Conflict, match=r"picture\.png"):
        listed(one, "a")
    (before.notebook.repository.folder / "picture.png").unlink()
    assert sorted(listed(one, "a")) == ["Aside.", "Main."]


def test_an_export_with_more_than_a_database_has_a_place_for_is_not_imported(servers):
    """The user is told what it is, and nothing of it comes, nor lies on the disk."""
    before = servers("files", url="")
    written(before, "Main.", path="a")
    service = before.notebook.service()
    service.switch_branch(name="aside", create=True)
    written(before, "Aside.", path="a")
    service.switch_branch(name="main")
    bob = servers("two", "bob")
    with pytest.raises(Conflict, match="is not imported: the branch aside holds entries"):
        bob.notebook.portable().import_items(before.notebook.portable().export_items(None))
    assert listed(bob, "a") == []
    assert [*bob.notebook.repository.folder.parent.glob("notebook*")] == []


def test_the_page_shows_sections_and_what_each_entry_changed(database, browse):
    """As from a repository, without what a sync leaves to be settled."""
    apps, tokens, web = browse(**{"database.url": database.app_url})
    with apps.using("ann") as app:
        ref = written(app, SAID, overview="The gate has a code.")
    entered = web.post("/web/enter", data={"key": tokens.create("ann")[1]})
    assert entered.status_code == 303, entered.text
    assert "gate" in web.get("/web/notebook").text
    page = web.get("/web/notebook/section", params={"name": "gate/keeping"}).text
    assert "The gate has a code." in page
    assert SAID in page
    assert SAID in web.get("/web/entry", params={"ref": ref}).text
