"""A served user's transcripts lie in the database: two servers of two homes have one and the same."""

from __future__ import annotations

import json

import pytest
from server.tests.two_homes import ask, settings_in, traces
from tests.contracts.noting import Noted
from tests.journals.transcripts.sessions import said

from commonplace.core.errors import NotFound, Unavailable
from commonplace.journals.transcripts.moving import move_sessions
from commonplace.journals.transcripts.store import TranscriptStore
from commonplace.transcripts import Transcripts
from commonplace.verbs.forgetting.selection import EntrySelection

SAID = "The quokka gate opens with the harbour bell, Ann said so to me."
REF = "transcripts:codex/quay#1"


def keep(app, *texts, session="quay", **fields):
    """Have a session of these texts in an owner's transcripts, wherever they lie."""
    fields = {"cwd": "/srv/harbour", **fields}
    messages = [said(n, text, id=f"{session}-{n}", **fields) for n, text in enumerate(texts, 1)]
    assert app.transcripts.store.append("codex", session, messages) == len(texts)


def found(app, query):
    """The refs of what a recall finds for words."""
    return [x["ref"] for x in ask(app, "recall", query=query).facts["results"]]


def exported(app):
    """An export, item by item."""
    return [repr(item) for item in app.transcripts.portable().export_items(None)]


def test_what_is_kept_by_one_is_seen_on_the_other(one, two):
    """At once: in lists, by words, by its ref, at the page; nothing of it lies on a disk."""
    keep(one, SAID, "ok", " ", "Then the ferry leaves before the bell rings twice.")
    assert found(two, "quokka gate")[0] == REF
    (listed,) = ask(two, "list_sessions").facts["entries"]
    assert (listed["ref"], listed["messages"]) == ("transcripts:codex/quay", 4)
    assert listed["where"] == "harbour"
    assert "/srv" not in json.dumps(listed)
    read = ask(two, "read_session", ref="quay")
    assert [x["n"] for x in read.facts["entries"]] == [1, 2, 3, 4]
    assert ask(two, "open_ref", ref=f"{REF[:-1]}4").text.count("ferry") == 1
    assert two.transcripts.pages().read_ref(REF).after.ref == f"{REF[:-1]}2"
    counted = {x.name: x.entries for x in two.recall.status().journals}
    assert counted["transcripts"] == two.recall.service().count_by_journal()["transcripts"] == 2
    for app in (one, two):
        assert not (app.folder / "transcripts").exists()
        assert app.transcripts.safety() is None
        assert [*app.transcripts.problems()] == [*app.transcripts.repair()] == []
        assert app.transcripts.brief_items(None) == ()


def test_a_few_words_are_found_with_what_they_answer(one, two, worker, database):
    """One exchange is one hit; the worker makes its vector, once."""
    keep(one, SAID, "ok", "Then the ferry leaves before the bell rings twice.")
    worker.work()
    assert database.rows("SELECT ref_id FROM wb_embeddings ORDER BY ref_id") == [
        (f":{REF}",),
        (f":{REF[:-1]}3",),
    ]
    page = two.recall.service().journals["transcripts"].read_ref(f"{REF[:-1]}2")
    assert page.text == "ok"
    assert "assistant: ok" in ask(one, "recall", query="quokka gate bell").text


def test_what_is_deleted_on_one_is_nowhere(one, two, worker, admin):
    """What was filed with it stays, without it; nothing of it stays in a table, or comes back."""
    keep(one, "Then the ferry leaves before the bell rings twice.", "quokka gate", "Back again.")
    assert found(two, "quokka") == [REF]
    worker.work()
    two.amend.delete(f"{REF[:-1]}2")
    assert traces(admin, "quokka") == []
    assert found(one, "quokka") == []
    assert found(one, "ferry leaves") == [REF]
    assert one.transcripts.store.append("codex", "quay", [said(2, id="quay-2")]) == 0
    with pytest.raises(NotFound):
        one.amend.read_text(f"{REF[:-1]}2")
    worker.work()
    two.amend.delete("transcripts:codex/quay")
    assert found(one, "ferry leaves") == found(two, "ferry") == []
    assert ask(one, "list_sessions").facts["entries"] == []
    assert traces(admin, "ferry") == []
    assert traces(admin, "harbour") == []


def test_what_is_forgotten_on_one_is_proved_by_the_other(one, two, admin):
    """A message that says the same is named before; either server proves it."""
    keep(one, SAID, "It is the harbour bell that rings for the ferry at noon.")
    keep(one, f"{SAID} Said again.", "ok", session="pier")
    forgetting = two.forgetting()
    chosen = [doc.ref for doc in forgetting.select(EntrySelection(query="quokka"))]
    assert sorted(chosen) == ["transcripts:codex/pier#1", REF]
    plan = forgetting.plan([REF])
    assert {each.ref for each in plan.entries} == {REF, "transcripts:codex/pier#1"}
    proof = forgetting.carry_out(plan)
    assert proof.is_clean, proof
    assert traces(admin, "quokka") == []
    assert found(one, "quokka") == []
    assert found(one, "ferry at noon") == [f"{REF[:-1]}2"]
    assert [x.text for x in one.transcripts.store.read("codex", "pier")] == ["ok"]


def test_old_sessions_go_as_the_settings_say(servers, admin):
    """On whichever server that is."""
    one = servers("one")
    keep(one, SAID, at="2020-01-01T00:00:00.000Z")
    assert found(one, "quokka") == [REF]
    service = servers("two").transcripts.service()
    assert service.retain(1).facts["refs"] == ["transcripts:codex/quay"]
    assert found(one, "quokka") == []
    assert traces(admin, "quokka") == []


def test_nobody_sees_another_s(one, servers):
    """Not by its ref, a search, a session's name, an export or a plan to forget."""
    keep(one, SAID)
    bob = servers("two", "bob")
    assert found(bob, "quokka gate") == exported(bob) == []
    assert ask(bob, "list_sessions").facts["entries"] == []
    for named in (REF, "transcripts:codex/quay", "quay"):
        with pytest.raises(NotFound):
            ask(bob, "read_session", ref=named)
    for act in (bob.amend.read_text, bob.amend.delete, lambda x: bob.forgetting().plan([x])):
        with pytest.raises(NotFound):
            act(REF)
    assert found(one, "quokka gate") == [REF]


def test_what_lay_in_files_moves_into_the_database(servers, admin):
    """Once, with its numbers and what was deleted; nothing of it stays on the disk."""
    before = servers("one", url="")
    keep(before, SAID, "ok", "The harbour is closed to all until the ferry is back.")
    keep(before, "Another day at the pier, and nothing to tell.", session="pier")
    before.transcripts.service().delete("transcripts:codex/pier")
    before.transcripts.service().delete(f"{REF[:-1]}3")
    assert found(before, "quokka gate") == [REF]
    items = exported(before)
    before.close()
    folder = before.folder / "transcripts"
    assert folder.exists()
    one = servers("one")
    assert exported(one) == items != []
    assert not folder.exists()
    assert not one.index.known().stamps("transcripts:")
    assert found(one, "quokka gate") == [REF]
    two = servers("two")
    for session, n in (("quay", 3), ("pier", 1)):
        again = said(n, id=f"{session}-{n}")
        assert two.transcripts.store.append("codex", session, [again]) == 0
    assert two.transcripts.store.append("codex", "quay", [said(9)]) == 1
    assert [x.n for x in two.transcripts.store.read("codex", "quay")] == [1, 2, 4]


def test_what_does_not_arrive_stays_in_the_files(servers, admin):
    """No message is lost: the next call moves all, and the next start what came since."""
    before = servers("one", url="")
    keep(before, SAID)
    admin.execute("REVOKE INSERT ON cp_transcripts FROM commonplace_app")
    one = servers("one")
    assert "transcripts" in one.recall.service().lost
    assert exported(before) != []
    admin.execute("GRANT INSERT ON cp_transcripts TO commonplace_app")
    items = exported(before)
    assert exported(one) == items
    keep(before, "Kept by a server of before, which knows no database.", session="pier")
    assert len(exported(servers("one", start=2))) == 2
    # A file that is damaged stays, and is named; what is whole in it has moved.
    keep(before, SAID, "One more, and the last of this session.", session="torn")
    (path,) = (before.folder / "transcripts").rglob("torn.jsonl")
    path.write_bytes(path.read_bytes() + b"no message\n")
    again = servers("one", start=3)
    with pytest.raises(Unavailable, match="Not every message"):
        again.transcripts.service()
    assert path.exists()
    assert len(exported(servers("two"))) == 4


def test_what_an_older_server_deletes_beside_a_move_stays_deleted(servers):
    """One that knows no database keeps and deletes as the last session has just moved."""

    class Moved(TranscriptStore):
        def hand_over(self, *given):
            stay = super().hand_over(*given)
            keep(before, SAID, "ok", session="pier")
            before.transcripts.store.delete("codex", "pier", [1])
            return stay

    before, one = servers("one", url=""), servers("one", start=2)
    there = one.transcripts.store
    keep(before, SAID, "ok")
    before.transcripts.store.delete("codex", "quay", [2])
    folder = str(before.folder / "transcripts")
    move_sessions(there, Moved(folder), unfile=lambda _: None)
    assert before.transcripts.store.append("codex", "pier", [said(1, id="pier-1")]) == 0
    moved = servers("one", start=3).transcripts.store
    assert not (before.folder / "transcripts").exists()
    for session, n in (("quay", 2), ("pier", 1)):
        assert moved.append("codex", session, [said(n, id=f"{session}-{n}")]) == 0
    assert [x.n for x in moved.read("codex", "pier")] == [2]


def test_an_export_moves_a_user_either_way(one, servers):
    """From the database into files and back, whole: an export of each is the same bytes."""
    keep(one, SAID, "a\0b", "")
    one.transcripts.service().delete(f"{REF[:-1]}2")
    keep(one, "Another day at the pier.", session="pier")
    into = servers("files", url="")
    assert (
        into.transcripts.portable().import_items(one.transcripts.portable().export_items(None)) == 3
    )
    assert exported(into) == exported(one)
    bob = servers("two", "bob")
    assert bob.transcripts.portable().is_empty()
    bob.transcripts.portable().import_items(into.transcripts.portable().export_items(None))
    assert exported(bob) == exported(one)


def test_undo_of_an_import_leaves_what_was_said_since(one, servers):
    """Also where it brought less than the export has; what it brought comes again."""
    keep(one, SAID, "ok", "The harbour is closed.")
    items = [*one.transcripts.portable().export_items(None)]
    bob, noted = servers("two", "bob"), Noted()
    keep(bob, "ok", session="other")
    bob.transcripts.service().delete("transcripts:codex/other#1")
    bob.transcripts.store.append("codex", "other", [said(2, id="quay-2")])
    assert bob.transcripts.portable().import_items(iter(items), noted) == 2
    journal = bob.gives_back("transcripts")
    (added,) = journal.find(noted.added).values()
    assert added.is_as_added
    bob.transcripts.store.append("codex", "quay", [said(4, "Said since.", id="quay-4")])
    (added,) = journal.find(noted.added).values()
    assert not added.is_as_added
    bob.transcripts.store.delete("codex", "quay", [4])
    (added,) = journal.find(noted.added).values()
    assert journal.remove({added.ref: added.version}) == ([added.ref], ())
    assert bob.transcripts.portable().import_items(iter(items), noted) == 2


def test_a_program_s_are_the_served_ones(one, database, clock, slot, tmp_path):
    """The library reads them, on another machine."""
    keep(one, SAID)
    settings = settings_in(tmp_path, **{"database.url": database.app_url})
    with Transcripts("ann", settings=settings, clock=clock, encoder=slot) as program:
        assert [x.ref for x in program.sessions()] == ["transcripts:codex/quay"]
        assert [hit.ref for hit in program.search("quokka gate").hits] == [REF]
        assert [entry.ref for entry in program.list()] == [REF]
        assert program.get(REF).text == SAID


def test_the_timeline_is_fed_from_the_database(servers):
    """By what its user said; what leaves the transcripts leaves its rollups."""
    app = servers("fed", feed="transcripts")
    keep(app, SAID, "The harbour is closed to all until the ferry is back.")
    assert app.timeline.feeding.sync() == 1
    app.transcripts.store.delete("codex", "quay", [1])
    assert app.timeline.feeding.sync() == 1
    assert app.timeline.feeding.sync() == 0


def test_a_quota_counts_messages(servers):
    """As it counts entries of any journal."""
    app = servers("small", quota=(2, 0))
    keep(app, SAID, "ok")
    with pytest.raises(Exception, match="2"):
        keep(app, "One too many.", session="pier")
    assert len(exported(app)) == 2


def test_the_machine_s_own_user_keeps_the_files(servers):
    """Hooks of this machine copy into them."""
    mine = servers("one", "me")
    keep(mine, SAID)
    assert mine.transcripts.files.exists
    assert found(mine, "quokka gate") == [REF]
