"""Edits are taken back, in every journal, as long as their former texts are kept."""

from __future__ import annotations

import os
import stat
from datetime import timedelta

import psycopg
import pytest
from tests.verbs.recall_world import ask, refs
from tests.verbs.test_amend import EDITED, EDITED_STORES, EVERY_STORE, opened, write

from commonplace.core.errors import Conflict, NotFound
from commonplace.core.former_texts import editing
from commonplace.journals.memory.records import RecordDraft

OVERVIEW = "notebook:zoo"


def former(app):
    """The former texts that are kept, wherever they lie."""
    return app.former.find()


@pytest.fixture
def held(app, environ):
    """What a database holds of former texts, as its owner sees it; of files nothing."""
    url = environ.get("COMMONPLACE_DATABASE_URL")
    if url is None:
        yield lambda: ""
        return
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SELECT set_config('app.user_id', %s, false)", (app.settings.owner,))
        yield lambda: str(conn.execute("SELECT content FROM wb_former").fetchall())


def holders(world, text):
    """The files of the home that hold a text."""
    files = (each for each in world.home.rglob("*") if each.is_file())
    return [each for each in files if text.encode() in each.read_bytes()]


@pytest.mark.parametrize("journal", EDITED_STORES)
def test_edits_are_taken_back_the_last_first(app, counted, journal):
    """Each gives the entry the text, and is taken back once; no search finds a former text."""
    ref = write(app, journal)
    amend = app.amend
    first = amend.read_text(ref).text
    for text in ("the wombat digs", "the numbat naps"):
        amend.edit(ref, text)
    found = ask(app, "recall", query="quokka").facts["results"]
    assert not any("quokka" in each["excerpt"] for each in found)
    done = amend.undo(ref)
    assert (done.act, done.ref) == ("edited", ref)
    assert "the numbat naps" in done.before
    assert "the wombat digs" in opened(app, ref).facts["text"]
    assert refs(ask(app, "recall", query="wombat")) == [ref]
    amend.undo(ref)
    assert amend.read_text(ref).text == first
    assert former(app) == []
    with pytest.raises(NotFound, match="no former text of it is kept"):
        amend.undo(ref)
    counted("edits and writes taken back", 2)


WRITES = {
    "private": ("process_thoughts", "reflections", {}),
    "chronicle": ("add_entry", "message", {}),
    "notebook": ("journal_write", "entry", {"path": "zoo"}),
    "timeline": ("timeline_add", "content", {}),
    "memory": ("memory_save", "title", {"kind": "todo"}),
}


@pytest.mark.parametrize("journal", EVERY_STORE)
@pytest.mark.parametrize("text", ["the quokka sleeps", "  spaced \r\n\nlines\tand \ud800 a half  "])
def test_the_answer_of_a_write_has_the_version_that_is_read(app, journal, text):
    """So that nothing is read back for `undo`: of a new, a repeated and a superseding entry."""
    tool, field, given = WRITES[journal]

    def written(**more):
        answer = ask(app, tool, **given, **{field: text}, **more)
        assert answer.written == {x: app.amend.read_text(x).version for x in answer.written}
        assert answer.noting(["said"]).written == answer.written
        return [*answer.written]

    (first,) = written(idempotency_key="k")
    assert written(idempotency_key="k") == [first]
    (successor,) = written(supersedes=first)
    assert successor != first
    assert ask(app, "open_ref", ref=first).written == {}


def test_an_overview_is_taken_back(app):
    """Though its history keeps it as well."""
    notebook, amend = app.notebook.service().notebook, app.amend
    app.notebook.service().file(notebook.write("zoo", "Began.", overview="The quokka sleeps."))
    amend.edit(OVERVIEW, "The wombat digs.")
    amend.edit(OVERVIEW, "The numbat naps.")
    assert amend.undo(OVERVIEW).text == "The wombat digs."
    assert amend.undo(OVERVIEW).text == "The quokka sleeps."


def test_what_else_an_edit_changed_is_taken_back_with_it(app):
    """Tags and times, metadata, the state of a to-do, flags: by the verbs of each journal."""
    amend = app.amend
    logged, recorded, todo = (write(app, each) for each in ("chronicle", "timeline", "memory"))
    before = [opened(app, ref).facts for ref in (logged, recorded)]
    app.chronicle.amender().edit_entry(ref=logged, tags=["farm"], at="yesterday")
    app.timeline.amender().update(
        recorded.partition(":")[2], metadata={"tags": ["farm"]}, at=app.clock() - timedelta(9)
    )
    memory = app.memory.service()
    save = {"kind": "todo", "ref_id": todo.rpartition("/")[2]}
    memory.save(RecordDraft(fields={"done": True}, **save))
    memory.save(RecordDraft(kind="preference", fields={"flags": {"tone": "dry"}}))
    memory.save(RecordDraft(kind="preference", fields={"flags": {"tone": "calm", "size": 3}}))
    for ref in (logged, recorded, todo, "memory:preference/preferences"):
        amend.undo(ref)
    after = [opened(app, ref).facts for ref in (logged, recorded)]
    assert [(x["at"], x["tags"], x["text"]) for x in after] == [
        (x["at"], x["tags"], x["text"]) for x in before
    ]
    assert not memory.find("todo", todo).done
    assert memory.find("preference", "preferences").flags == {"tone": "dry"}


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_what_superseded_another_is_taken_back(app, counted, journal):
    """The former holds again, and is the very version that it was."""
    ref = write(app, journal)
    amend = app.amend
    version = amend.read_text(ref).version
    made = amend.supersede(ref, "the wombat digs").ref
    done = amend.undo(made)
    assert (done.act, done.ref, done.notes[-1]) == ("deleted", made, f"{ref} holds again.")
    assert opened(app, ref).facts["superseded_by"] == ""
    assert amend.read_text(ref).version == version
    counted("edits and writes taken back", 1)


def test_a_commit_is_taken_back_and_the_history_keeps_it(world, app):
    """No answer shows it, nor that anything was replaced by it; a person can bring it back."""
    ref = write(app, "notebook")
    made = app.amend.supersede(ref, "the wombat digs").ref
    answer = ask(app, "amend", ref=made, undo=True)
    assert f"`commonplace forget {made} --rewrite-history`" in answer.text
    log = app.notebook.journal.repo.git.run(["log", "--format=%B"]).out.decode()
    assert "the wombat digs" in log
    assert refs(ask(app, "recall", query="wombat quokka")) == [ref]
    with pytest.raises(NotFound, match="was taken back; git's history still holds it"):
        opened(app, made)
    world.clock.advance(3 * 86_400)
    app.sweep_expired()
    assert app.expiring.list_expiring() == []
    assert "no longer holds" not in opened(app, ref).text.lower()
    assert app.amend.supersede(ref, "the numbat naps").former == ref
    assert app.expiring.cancel(made)
    assert "the wombat digs" in opened(app, made).facts["text"]


def test_an_entry_goes_with_the_overview_that_it_brought(app):
    """The overview before it is there again, in the same commit; the first one leaves none."""
    notebook, amend = app.notebook.service(), app.amend
    texts = ("The quokka sleeps.", "The wombat digs.")
    made = []
    for text in texts:
        version = notebook.notebook.read_section("zoo").version if made else None
        made.append(notebook.notebook.write("zoo", "Seen.", overview=text, base_version=version))
        notebook.file(made[-1])
    before = app.notebook.journal.repo.git.run(["rev-list", "HEAD"]).out.count(b"\n")
    for written, left in zip(reversed(made), (texts[0], ""), strict=True):
        read = amend.read_text(written.entry.ref)
        amend.take_back(read.ref, expected=read.version)
        assert amend.read_text(OVERVIEW).text == left
    after = app.notebook.journal.repo.git.run(["rev-list", "HEAD"]).out.count(b"\n")
    assert (after - before, refs(ask(app, "recall", query="quokka wombat"))) == (2, [])


@pytest.mark.parametrize("journal", EDITED_STORES)
def test_what_was_edited_again_since_is_not_taken_back(app, journal):
    """By an edit whose former text is not kept, as by another program: the error names the entry."""
    ref = write(app, journal)
    amend = app.amend
    amend.edit(ref, "the wombat digs")
    (kept,) = former(app)
    with editing(keeps=False):
        amend.edit(ref, "the numbat naps")
    app.former.write(kept)
    with pytest.raises(Conflict, match="was changed again") as raised:
        amend.undo(ref)
    assert ref in raised.value.message
    assert "the numbat naps" in opened(app, ref).facts["text"]


@pytest.mark.parametrize("journal", EDITED_STORES)
@pytest.mark.parametrize("act", ["delete", "forget", "expire", "edit without undo"])
def test_what_is_gone_leaves_its_former_texts_at_once(world, app, held, journal, act):
    """By deletion, forgetting, its end, and an edit that keeps nothing: no byte of them is left."""
    ref = write(app, journal, "the ochre quokka counts eleven velvet umbrellas at night")
    amend = app.amend
    amend.edit(ref, "the wombat digs")
    lie_in = [path.parent.name for path in holders(world, "velvet umbrellas")]
    assert lie_in.count("former") + ("velvet umbrellas" in held()) == 1
    if act == "delete":
        amend.delete(ref)
    elif act == "forget":
        forgetting = app.forgetting()
        assert forgetting.carry_out(forgetting.plan([ref])).is_clean
    elif act == "expire":
        app.expiring.expire(ref, world.clock() + timedelta(days=1))
        world.clock.advance(2 * 86_400)
        app.present.vouch()
        app.sweep_expired()
    else:
        with editing(keeps=False):
            amend.edit(ref, "the numbat naps")
    assert former(app) == []
    assert "velvet" not in held()
    if act != "edit without undo":
        assert holders(world, "velvet umbrellas") == []


def test_a_former_text_that_quotes_what_is_forgotten_goes_with_it(app):
    """Whichever entry it was of."""
    words = (
        "the ochre quokka counts eleven velvet umbrellas and sleeps until the gate is shut again"
    )
    forgotten = write(app, "chronicle", words)
    other = write(app, "timeline", f"heard that {words}")
    app.amend.edit(other, "heard nothing")
    assert len(former(app)) == 1
    forgetting = app.forgetting()
    assert forgetting.carry_out(forgetting.plan([forgotten])).is_clean
    assert former(app) == []


@pytest.mark.parametrize("memory", ["files", pytest.param("server", marks=pytest.mark.on_postgres)])
def test_a_former_text_goes_in_time(world, app, environ, memory):
    """After `undo.keep_days`, if more than the clock says so, or at once where that is 0."""
    refs_ = [write(app, journal) for journal in EDITED]
    amend = app.amend
    for ref in refs_:
        amend.edit(ref, "the wombat digs")
    assert len(former(app)) == len(EDITED)
    world.clock.advance(29 * 86_400)
    amend.edit(refs_[0], "the numbat naps")
    assert len(former(app)) == len(EDITED) + 1
    world.clock.advance(2 * 86_400)
    app.sweep_expired()
    assert len(former(app)) == len(EDITED) + 1
    app.present.vouch()
    app.sweep_expired()
    assert len(former(app)) == 1
    none = world.open(COMMONPLACE_UNDO_KEEP_DAYS="0", **environ)
    none.amend.edit(refs_[1], "the numbat naps")
    none.sweep_expired()
    assert former(app) == []


def test_a_text_with_a_secret_is_not_kept(app):
    """Nor what earlier edits of that entry left."""
    ref = write(app, "chronicle")
    amend = app.amend
    amend.edit(ref, "the wombat digs")
    with editing(keeps=True):
        app.chronicle.journal._screen.at_write = "keep"
        amend.edit(ref, "token ghp_16C7e42F292c6912E7710c838347Ae178B4a")
        app.chronicle.journal._screen.at_write = "replace"
    amend.edit(ref, "the numbat naps")
    assert former(app) == []


@pytest.mark.skipif(os.name == "nt", reason="modes of files")
def test_only_the_user_may_read_them(app):
    """As every file of the home."""
    app.amend.edit(write(app, "chronicle"), "the wombat digs")
    (kept,) = app.former.files.folder.glob("*")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("journal", EDITED_STORES)
def test_an_edit_that_was_killed_loses_no_text_and_is_not_taken_back(app, journal):
    """Killed before the edit, nothing is taken back; after it, the former text is there."""
    ref = write(app, journal)
    amend = app.amend
    amend.edit(ref, "the wombat digs")
    (kept,) = app.former.find()
    unnoted = type(kept)(**{**{x: getattr(kept, x) for x in kept.__struct_fields__}, "made": ""})
    app.former.write(unnoted)  # killed before the version was noted
    assert "quokka" in amend.undo(ref).text
    assert "wombat" in app.former.find()[0].text
    app.former.drop([ref])
    version = amend.read_text(ref).version
    app.former.write(type(kept)(id=kept.id, ref=ref, at=kept.at, text="x", version=version))
    with pytest.raises(NotFound, match="no former text"):
        amend.undo(ref)  # killed before it edited


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_an_edit_that_is_refused_keeps_nothing(app, journal):
    """Neither does one of another version."""
    ref = write(app, journal)
    with pytest.raises(Conflict):
        app.amend.edit(ref, "too late", expected="0" * 16)
    assert former(app) == []
