"""Any entry is corrected by its ref: edited, deleted or superseded, and the index after it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.cases import cases
from tests.verbs.recall_world import ALL, RecallWorld, ask, refs

from commonplace.core.errors import CommonplaceError, Conflict, Denied, Invalid, NotFound
from commonplace.core.values import Interval
from commonplace.journals.memory.records import RecordDraft
from commonplace.search.chains import newest_of
from commonplace.verbs.chronicle.commands import ChronicleCommands

EXPORT = """{"version": "1.0", "tool": "chronicle", "entries": [{"message": "met NAME",
"id": "0fNAME-4d4e-4f4a-8b4b-000000000000", "timestamp": "2026-03-01T10:00:00Z"}]}"""


def write(app, journal, text="the quokka sleeps"):
    """The ref of a new entry of a journal."""
    match journal:
        case "private":
            return ask(app, "process_thoughts", feelings=text).facts["refs"][0]
        case "chronicle":
            return ask(app, "add_entry", message=text, tags=["zoo"]).facts["ref"]
        case "notebook":
            written = app.notebook.service().notebook.write("zoo/night", text)
            app.notebook.service().file(written)
            return written.entry.ref
        case "timeline":
            return app.timeline.service().add(text, metadata={"tags": ["zoo"]}).entry.ref
        case "memory":
            draft = RecordDraft(kind="todo", fields={"title": text})
            return f"memory:todo/{app.memory.service().save(draft).saved.ref_id}"
    raise AssertionError(journal)


EDITED = ("private", "chronicle", "timeline", "memory")
EVERY = (*EDITED, "notebook")
ON_POSTGRES = pytest.param("memory", id="memory-on-postgres", marks=pytest.mark.on_postgres)
EDITED_STORES = (*EDITED, ON_POSTGRES)
EVERY_STORE = (*EVERY, ON_POSTGRES)


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_a_ref_is_taken_out_of_the_sentence_it_was_copied_from(app, journal):
    """By open_ref and amend; what leads nowhere is named as it was given."""
    ref = write(app, journal)
    for copied in (f"{ref}.", f"({ref}),", f"`{ref}`", f" {ref}) "):
        assert ask(app, "open_ref", ref=copied).facts["ref"] == ref
    assert app.amend.supersede(f"{ref}).", "the wombat digs").former == ref
    with pytest.raises((NotFound, Invalid), match=r"none\)\."):
        ask(app, "open_ref", ref=f"{journal}:none).")


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_a_text_that_utf8_cannot_hold_is_the_same_text_again(app, journal):
    """A lone surrogate is kept as U+FFFD; repeating the call finds the entry that it made."""
    ref = write(app, journal)
    first = app.amend.supersede(ref, "half \ud800 a sign")
    assert app.amend.supersede(ref, "half \ud800 a sign").ref == first.ref


def opened(app, ref):
    return ask(app, "open_ref", ref=ref)


@pytest.mark.parametrize("journal", EDITED_STORES)
def test_an_edit_takes_the_place_of_the_text(app, journal):
    """The ref stays, its text is the new one, and no search finds the old one."""
    ref = write(app, journal)
    done = app.amend.edit(ref, "the wombat digs")
    assert (done.act, done.ref, done.former) == ("edited", ref, "")
    assert "the wombat digs" in opened(app, ref).facts["text"]
    assert refs(ask(app, "recall", query="wombat")) == [ref]
    assert not any(
        "quokka" in hit["excerpt"] for hit in ask(app, "recall", query="quokka").facts["results"]
    )


@pytest.mark.parametrize("act", ["edit", "delete"])
def test_a_correction_is_in_the_summaries_when_it_is_answered(app, act):
    """No search and no way up shows the old text of an entry of last month."""
    timeline = app.timeline.service()
    at = app.clock() - timedelta(days=30)
    ref = timeline.add("the quokka sleeps", at=at).entry.ref
    timeline.add("the gate is shut", at=at + timedelta(minutes=1))
    timeline.catch_up()
    app.filing.sweep()
    assert "quokka" in opened(app, ref).facts["rollup"]["text"]
    amend = app.amend
    if act == "delete":
        amend.delete(ref)
    else:
        amend.edit(ref, "the wombat digs")
    results = ask(app, "recall", query="quokka").facts["results"]
    assert [x["ref"] for x in results if "quokka" in x["excerpt"]] == []
    if act == "edit":
        above = opened(app, ref).facts["rollup"]
        assert "wombat" in above["text"]
        assert "quokka" not in above["text"]


@pytest.mark.parametrize("journal", EDITED_STORES)
def test_a_deleted_entry_is_gone(app, journal):
    """Neither its ref nor a search leads to it."""
    ref = write(app, journal)
    assert app.amend.delete(ref).act == "deleted"
    with pytest.raises(NotFound):
        opened(app, ref)
    assert refs(ask(app, "recall", query="quokka")) == []


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_a_superseding_entry_and_its_former_name_each_other(app, journal):
    """Both are there; each answer names the other, and the same call again makes no third."""
    ref = write(app, journal)
    amend = app.amend
    done = amend.supersede(ref, "the wombat digs")
    assert (done.act, done.former) == ("superseded", ref)
    assert done.ref != ref
    former, now = opened(app, ref), opened(app, done.ref)
    assert "the quokka sleeps" in former.facts["text"]
    assert "the wombat digs" in now.facts["text"]
    assert (former.facts["superseded_by"], former.facts["supersedes"]) == (done.ref, "")
    assert (now.facts["superseded_by"], now.facts["supersedes"]) == ("", ref)
    assert done.ref in former.text
    assert ref in now.text
    assert set(refs(ask(app, "recall", query="wombat quokka"))[:2]) == {ref, done.ref}
    assert amend.supersede(ref, "the wombat digs").ref == done.ref
    with pytest.raises(Conflict, match="superseded by") as raised:
        amend.supersede(ref, "something else")
    assert done.ref in raised.value.message


WRITES = {
    "private": ("process_thoughts", {"feelings": "TEXT"}),
    "chronicle": ("add_entry", {"message": "TEXT"}),
    "notebook": ("journal_write", {"path": "zoo/night", "entry": "TEXT"}),
    "timeline": ("timeline_add", {"content": "TEXT"}),
    "memory": ("memory_save", {"kind": "todo", "title": "TEXT"}),
}


def superseding(app, journal, former, text="the wombat digs", **more):
    """The ref of what a journal's own tool writes in the place of an entry."""
    tool, given = WRITES[journal]
    given = {name: x.replace("TEXT", text) for name, x in given.items()}
    facts = ask(app, tool, **{**given, "supersedes": former, **more}).facts
    if journal == "notebook":
        return f"notebook:{facts['id']}"
    return facts["refs"][0] if "refs" in facts else facts["ref"]


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_a_write_takes_the_place_of_an_entry(world, app, journal):
    """By its ref as it was copied; it is of now, and the same as amending it: one way, once."""
    ref = write(app, journal)
    world.clock.advance(3 * 86_400)
    made = superseding(app, journal, f"({ref}).")
    former, now = opened(app, ref).facts, opened(app, made).facts
    assert (former["superseded_by"], now["supersedes"]) == (made, ref)
    assert now["at"] > former["at"]
    assert "wombat" in now["text"]
    assert superseding(app, journal, ref, idempotency_key="again") == made
    assert app.amend.supersede(ref, "the wombat digs").ref == made
    with pytest.raises(Conflict, match="superseded by"):
        superseding(app, journal, ref, "something else")


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_a_key_that_is_given_again_hides_no_superseding(app, journal):
    """With another entry to replace, or with none before, the write does what it says."""
    first, second, third = (write(app, journal, f"the quokka sleeps {n}") for n in range(3))
    one = superseding(app, journal, first, idempotency_key="k")
    two = superseding(app, journal, second, idempotency_key="k")
    assert opened(app, first).facts["superseded_by"] == one
    assert opened(app, second).facts["superseded_by"] == two != one
    tool, given = WRITES[journal]
    ask(app, tool, **given, idempotency_key="other")
    three = superseding(app, journal, third, idempotency_key="other")
    assert opened(app, third).facts["superseded_by"] == three


def test_a_section_that_is_not_there_is_no_overview(app):
    """And a long name does not fill the answer."""
    write(app, "notebook")
    with pytest.raises(NotFound, match="There is no section"):
        superseding(app, "notebook", "notebook:none")
    with pytest.raises((NotFound, Invalid)) as raised:
        superseding(app, "notebook", "notebook:" + "a" * 5000)
    assert len(raised.value.message) < 300
    with pytest.raises(Invalid, match="is an overview"):
        superseding(app, "notebook", "notebook:zoo/night")


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_an_entry_of_another_journal_is_not_superseded(app, journal):
    """The error names what was given; nothing is written."""
    other = write(app, "chronicle" if journal != "chronicle" else "timeline")
    for ref in (other, "nonsense"):
        with pytest.raises((Invalid, NotFound)) as raised:
            superseding(app, journal, ref)
        assert ref.rpartition(":")[2] in str(raised.value)
        assert ref != other or "in its own journal" in raised.value.hint
    assert opened(app, other).facts["superseded_by"] == ""
    assert refs(ask(app, "recall", query="wombat quokka")) == [other]


def test_thoughts_take_the_place_of_an_entry_of_their_own_journal(app):
    """What is the user's never goes into a project's folder by superseding, nor the reverse."""
    own = write(app, "private")
    project = ask(app, "process_thoughts", project_notes="the quokka sleeps").facts["refs"][0]
    for ref, field in ((own, "project_notes"), (project, "feelings")):
        with pytest.raises(Invalid, match=field):
            ask(app, "process_thoughts", supersedes=ref, **{field: "the wombat digs"})
    made = ask(app, "process_thoughts", supersedes=project, project_notes="it digs").facts["refs"]
    assert made[0].partition("/")[0] == project.partition("/")[0]


def test_what_a_superseding_write_leaves_out_is_as_it_was(app):
    """Tags of a log, metadata, the state of a to-do; what it gives is its own."""
    tagged = superseding(app, "chronicle", write(app, "chronicle"))
    assert opened(app, tagged).facts["tags"] == ["zoo"]
    own = superseding(app, "chronicle", write(app, "chronicle"), tags=["farm"])
    assert opened(app, own).facts["tags"] == ["farm"]
    assert opened(app, superseding(app, "timeline", write(app, "timeline"))).facts["tags"] == [
        "zoo"
    ]
    done = ask(app, "memory_save", kind="todo", title="feed", done=True).facts["ref"]
    made = app.memory.service().find("todo", superseding(app, "memory", done))
    assert made.done
    with pytest.raises(Invalid, match="to be changed and to supersede"):
        superseding(app, "memory", done, ref=made.ref)
    ask(app, "memory_save", kind="preference", language="en")
    with pytest.raises(Invalid, match="names and values"):
        ask(app, "memory_save", kind="preference", language="eo", supersedes="preferences")


def test_a_superseding_entry_may_bring_a_new_overview(app):
    """As any entry of the notebook; an overview itself is never superseded."""
    ref = write(app, "notebook")
    superseding(app, "notebook", ref, overview="The wombat is awake.")
    assert app.notebook.journal.read_section("zoo/night").overview == "The wombat is awake."
    with pytest.raises(Invalid, match="is an overview"):
        superseding(app, "notebook", "notebook:zoo/night")


def test_an_entry_of_the_notebook_stays_in_its_history(app):
    """New text is an entry of its own that supersedes it; nothing deletes a commit."""
    ref = write(app, "notebook")
    amend = app.amend
    done = amend.edit(ref, "the wombat digs")
    assert (done.act, done.former) == ("superseded", ref)
    assert "is a commit and stays" in done.notes[0]
    assert opened(app, ref).facts["superseded_by"] == done.ref
    with pytest.raises(Denied, match="stays in its history"):
        amend.delete(ref)


def test_an_overview_is_replaced_and_emptied(app):
    """Its history keeps each text; no entry is added, and the index follows."""
    notebook, amend = app.notebook.service().notebook, app.amend
    app.notebook.service().file(notebook.write("zoo", "Began.", overview="The quokka sleeps."))
    found = amend.read_text("notebook:zoo")
    assert found.text == "The quokka sleeps."
    done = amend.edit("notebook:zoo", "The wombat digs.", expected=found.version)
    assert (done.act, done.ref, done.text) == ("edited", "notebook:zoo", "The wombat digs.")
    section = notebook.read_section("zoo")
    assert (section.overview, section.entry_count) == ("The wombat digs.", 1)
    assert "notebook:zoo" in refs(ask(app, "recall", query="wombat"))
    with pytest.raises(Conflict):
        amend.edit("notebook:zoo", "Third.", expected=found.version)
    with pytest.raises(Invalid, match="its history keeps"):
        amend.supersede("notebook:zoo", "Third.")
    assert amend.delete("notebook:zoo").act == "deleted"
    assert notebook.read_section("zoo").overview == ""
    assert "notebook:zoo" not in refs(ask(app, "recall", query="wombat"))


def test_what_another_changed_in_between_is_not_written_over(app):
    """A correction that names the version it read is refused once the entry is another."""
    amend = app.amend
    for journal in EDITED:
        ref = write(app, journal)
        read = amend.read_text(ref)
        amend.edit(ref, "changed in between")
        with pytest.raises(Conflict):
            amend.edit(ref, "too late", expected=read.version)
        with pytest.raises(Conflict):
            amend.delete(ref, expected=read.version)
        assert "changed in between" in opened(app, ref).facts["text"]


def test_a_private_entry_keeps_its_heading_and_frontmatter(app):
    """New text without a heading stands below the one there was; its time stays."""
    ref = write(app, "private")
    before = opened(app, ref).facts
    app.amend.edit(ref, "the wombat digs")
    after = opened(app, ref).facts
    assert after["text"] == before["text"].replace("the quokka sleeps", "the wombat digs")
    assert after["at"] == before["at"]


def test_an_edit_that_would_lose_headings_is_refused(app):
    """A search shows a text without its headings: what came below several is not guessed."""
    thoughts = {"feelings": "the quokka sleeps", "user_context": "likes figs"}
    (ref,) = ask(app, "process_thoughts", **thoughts).facts["refs"]
    amend = app.amend
    with pytest.raises(Invalid, match="has 2 headings") as raised:
        amend.edit(ref, "the wombat digs\n\nlikes figs")
    assert raised.value.hint.startswith("Open it")
    assert "the quokka sleeps" in opened(app, ref).facts["text"]
    amend.edit(ref, "## Feelings\n\nthe wombat digs")
    assert "the wombat digs" in opened(app, ref).facts["text"]
    assert amend.supersede(ref, "the wombat digs by day").former == ref


def test_a_superseding_entry_of_a_log_has_the_time_and_tags_of_the_former(world, app):
    """What was done when stays so, however late it is put right."""
    logged, recorded = write(app, "chronicle"), write(app, "timeline")
    world.clock.advance(3 * 86_400)
    for ref in (logged, recorded):
        former = opened(app, ref).facts
        new = opened(app, app.amend.supersede(ref, "the wombat digs").ref).facts
        assert (new["at"], new["tags"]) == (former["at"], former["tags"])
    tags = [count.tag for count in app.chronicle.journal.list_tags()]
    assert tags == ["zoo"]


def test_a_message_is_never_altered(app):
    """Its new text is a message of its own, of the same role and time."""
    draft = RecordDraft(kind="message", fields={"role": "user", "text": "the quokka sleeps"})
    ref = f"memory:message/{app.memory.service().save(draft).saved.ref_id}"
    done = app.amend.edit(ref, "the wombat digs")
    assert (done.act, done.former) == ("superseded", ref)
    new = opened(app, done.ref).facts
    assert (new["author"], new["at"]) == ("user", opened(app, ref).facts["at"])


@pytest.mark.parametrize("verb", ["edit", "supersede"])
def test_a_title_that_comes_back_with_the_text_stands_once(app, verb):
    """Searches show it above the body, so that it comes above the new one too."""
    draft = RecordDraft(kind="journal", fields={"title": "Sunday", "body": "the quokka sleeps"})
    ref = f"memory:journal/{app.memory.service().save(draft).saved.ref_id}"
    shown = opened(app, ref).facts["text"]
    done = getattr(app.amend, verb)(ref, shown.replace("quokka", "wombat"))
    assert opened(app, done.ref).facts["text"] == "Sunday\n\nthe wombat sleeps"
    app.amend.edit(done.ref, "Sunday it was")
    assert opened(app, done.ref).facts["text"] == "Sunday\n\nSunday it was"


def test_preferences_are_no_text(app):
    """They are one record of names and values: the error says how they are saved."""
    draft = RecordDraft(kind="preference", fields={"language": "eo"})
    app.memory.service().save(draft)
    amend = app.amend
    for verb in (amend.edit, amend.supersede):
        with pytest.raises(Invalid, match="names and values"):
            verb("memory:preference/preferences", "eo")
    assert amend.delete("memory:preference/preferences").act == "deleted"


def test_a_rollup_follows_what_it_is_made_from(world, app):
    """It is not corrected itself; once its entry is, no word of the former text is left in it."""
    ref = write(app, "timeline")
    world.clock.advance(86_400)
    service, amend = app.timeline.service(), app.amend
    service.catch_up()
    (rollup,) = service.journal.list_entries(Interval(), level=1).entries
    assert "quokka" in rollup.content
    for verb in (amend.edit, amend.supersede):
        with pytest.raises(Invalid, match="is a rollup"):
            verb(rollup.ref, "another")
    amend.edit(ref, "the wombat digs")
    service.catch_up()
    assert "wombat" in service.journal.read(rollup.id).content
    amend.delete(ref)
    assert service.journal.find(rollup.id).content == ""


def test_a_successor_that_is_deleted_leaves_room_for_another(app):
    """The former holds no link to what is gone, and can be superseded again."""
    amend = app.amend
    for journal in EDITED:
        ref = write(app, journal)
        amend.delete(amend.supersede(ref, "the wombat digs").ref)
        assert opened(app, ref).facts["superseded_by"] == ""
        again = amend.supersede(ref, "the kiwi runs")
        assert opened(app, ref).facts["superseded_by"] == again.ref


@pytest.mark.parametrize("journal", EDITED_STORES)
def test_what_followed_a_deleted_entry_takes_the_place_of_what_it_had_replaced(world, app, journal):
    """The oldest of three does not hold again when the middle one goes, and is superseded once."""
    amend = app.amend
    first = write(app, journal, "the quokka sleeps")
    refs_ = [first]
    for text in ("the quokka digs", "the quokka runs"):
        world.clock.advance(86_400)
        refs_.append(superseding(app, journal, refs_[-1], text))
    _, middle, last = refs_
    assert amend.delete(middle).act == "deleted"
    assert opened(app, first).facts["superseded_by"] == last
    assert opened(app, last).facts["supersedes"] == first
    by_ref = {hit["ref"]: hit for hit in ask(app, "recall", query="quokka").facts["results"]}
    assert by_ref[last]["replaces"]["ref"] == first
    with pytest.raises(Conflict, match=f"superseded by {last} already"):
        amend.supersede(first, "the quokka hides")
    assert amend.supersede(first, "the quokka runs").ref == last
    amend.delete(last)
    assert opened(app, first).facts["superseded_by"] == ""


@pytest.mark.parametrize("journal", EDITED_STORES)
def test_a_whole_chain_is_forgotten_at_once(world, app, journal):
    """In whatever order its entries are named: one that goes changes none that is still to go."""
    refs_ = [write(app, journal, "the quokka sleeps in a burrow")]
    for text in ("the quokka digs in the garden", "the quokka runs over the hill"):
        world.clock.advance(86_400)
        refs_.append(superseding(app, journal, refs_[-1], text))
    service = app.forgetting()
    service.delete(service.plan([refs_[1], refs_[0], refs_[2]]))
    assert not [x for x in refs(ask(app, "recall", query="quokka")) if x in refs_]


STEPS = st.lists(st.tuples(st.sampled_from(["write", "supersede", "delete"]), st.integers(0, 7)))


def taken_out(app, ref):
    """An entry goes: deleted, or for the notebook out of its history."""
    if ref.startswith("notebook:"):
        service = app.forgetting()
        service.delete(service.plan([ref], kept_days=0))
    else:
        app.amend.delete(ref)


@pytest.mark.parametrize("lives", [4, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("journal", EVERY_STORE)
def test_the_newest_of_a_chain_is_that_of_a_list(tmp_path, environ, journal, lives):
    """Any order of writes, supersedings and deletions; each chain is a list kept by hand."""
    world = RecallWorld(tmp_path)
    app = world.open(COMMONPLACE_TOOLSETS=ALL, model=False, **environ)
    amend = app.amend

    @settings(max_examples=lives, deadline=None)
    @given(STEPS)
    @example([("write", 0), ("supersede", 0), ("supersede", 1), ("delete", 1)])
    def check(steps):
        chains: list[list[str]] = []
        for number, (verb, pick) in enumerate(steps):
            world.clock.advance(60)
            there = [(chain, ref) for chain in chains for ref in chain]
            if verb == "write" or not there:
                chains.append([write(app, journal, f"the quokka eats leaf {number}")])
                continue
            chain, ref = there[pick % len(there)]
            if verb == "delete":
                taken_out(app, ref)
                chain.remove(ref)
            elif ref == chain[-1]:
                chain.append(superseding(app, journal, ref, f"the kiwi eats leaf {number}"))
            else:
                with pytest.raises(Conflict, match="superseded by"):
                    amend.supersede(ref, f"the wombat eats leaf {number}")
        app.filing.sweep()
        app.memory.service().filing().catch_up()
        index = app.recall.service().index
        every = [ref for chain in chains for ref in chain]
        found = {ref: doc.ref for ref, doc in newest_of(index, every).items()}
        assert found == {ref: chain[-1] for chain in chains for ref in chain[:-1]}
        for chain in chains:
            assert [opened(app, x).facts["superseded_by"] for x in chain] == [*chain[1:], ""][
                : len(chain)
            ]

    check()
    world.close()


@cases(
    ("ref", "hint"),
    [
        ("", "A ref begins with one of private:, chronicle:"),
        ("quokka", "A ref begins with one of"),
        ("chronicel:1", "Did you mean chronicle?"),
        ("chronicle:nothing", "List or search"),
        ("private:user/2026-01-01/none", ""),
        ("private:project@00000000/2026-01-01/none", "Open the project it belongs to."),
        ("notebook:none", ""),
        ("timeline:none", ""),
        ("memory:todo/none", ""),
    ],
)
def test_an_unknown_ref_is_not_found(app, ref, hint):
    """Each verb says so, and what a ref looks like or how to find one."""
    amend = app.amend
    for call in (
        lambda: amend.edit(ref, "text"),
        lambda: amend.delete(ref),
        lambda: amend.supersede(ref, "text"),
        lambda: amend.read_text(ref),
    ):
        with pytest.raises(NotFound) as raised:
            call()
        assert hint in raised.value.hint


@pytest.mark.parametrize("journal", ["private", "notebook"])
def test_an_entry_is_corrected_by_a_path_that_was_shown(app, journal):
    """As open_ref opens it; a path that leads elsewhere says what is wrong with it."""
    ref, path = written_in_a_file(app, journal)
    amend = app.amend
    assert amend.edit(path, "the wombat digs").ref == ref
    assert "the wombat digs" in opened(app, path).facts["text"]
    assert amend.delete(f"({path}).").ref == ref
    with pytest.raises(CommonplaceError, match="elsewhere"):
        amend.edit(f"{path}/elsewhere", "text")


def written_in_a_file(app, journal):
    """The ref and the path of what a file of a journal holds: an entry, or an overview."""
    if journal == "private":
        done = ask(app, "process_thoughts", feelings="the quokka sleeps").facts
        return done["refs"][0], done["paths"][0]
    overview = "the quokka sleeps"
    app.notebook.service().notebook.write("zoo/night", "it sleeps", overview=overview)
    return "notebook:zoo/night", opened(app, "notebook:zoo/night").facts["where"]


def test_the_beginning_of_an_id_is_enough_where_it_names_one_entry(app):
    """Of chronicle; one that names several changes none of them."""
    amend = app.amend
    for name in ("abcde1", "abcde2"):
        ChronicleCommands(app.chronicle.service()).import_export(EXPORT.replace("NAME", name))
    with pytest.raises(Invalid, match="Several entries"):
        amend.delete("chronicle:0fabcde")
    assert (
        amend.delete("chronicle:0fabcde1").ref == "chronicle:0fabcde1-4d4e-4f4a-8b4b-000000000000"
    )


def test_an_entry_of_another_project_is_corrected_where_it_lies(world, app):
    """By its ref, from wherever it was found; the new entry lies in that project too."""
    elsewhere = world.open("elsewhere", COMMONPLACE_TOOLSETS=ALL)
    ref = ask(elsewhere, "process_thoughts", project_notes="the quokka sleeps").facts["refs"][0]
    amend = app.amend
    done = amend.supersede(ref, "the wombat digs")
    assert done.ref.partition("/")[0] == ref.partition("/")[0]
    assert opened(elsewhere, ref).facts["superseded_by"] == done.ref
    amend.edit(ref, "the kiwi runs")
    assert "the kiwi runs" in opened(elsewhere, ref).text
    amend.delete(ref)
    with pytest.raises(NotFound):
        opened(elsewhere, ref)


@pytest.mark.parametrize("named", ["", "private:user/2026-01-01/gone"])
@pytest.mark.parametrize("by_doctor", [True, False])
def test_a_private_successor_that_a_killed_process_left_is_found_again(
    world, app, monkeypatch, by_doctor, named
):
    """Killed before the former names it, or one that is gone: doctor links both.

    So does the same call, once.
    """
    ref, amend = write(app, "private"), app.amend
    if named:
        raw = amend.read_text(ref).text
        app.private.journal.edit(ref, raw.replace("---\n", f"---\nsuperseded_by: {named}\n", 1))
    world.clock.advance(60)

    def die(*_args, **_given):
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr("commonplace.journals.private.journal.replace_file", die)
        with pytest.raises(KeyboardInterrupt):
            amend.supersede(ref, "the wombat digs")
    if by_doctor:
        (problem,) = app.private.journal.problems()
        assert problem.repairable
        assert "does not name the entry that took its place" in problem.what
        assert len(app.private.journal.repair()) == 1
        assert app.private.journal.problems() == []
    else:
        amend.supersede(ref, "the wombat digs")
    now, before = app.private.journal.list_entries(limit=10)
    assert (before.ref, before.superseded_by) == (ref, now.ref)
    assert (now.supersedes, now.text) == (ref, "the wombat digs")


def test_an_entry_of_before_frontmatter_is_superseded_as_it_is(app):
    """The oldest private entries have a title alone; their text and their time stay."""
    folder = app.private.journal.roots[0].path / "2025-05-27"
    folder.mkdir(parents=True)
    (folder / "20-16-46-000123.md").write_text("# 8:16:46 PM - May 27, 2025\n\nboop")
    ref = "private:user/2025-05-27/20-16-46-000123"
    before = app.private.journal.read_entry(ref)
    done = app.amend.supersede(ref, "beep")
    after = app.private.journal.read_entry(ref)
    assert (after.text, after.at, after.superseded_by) == ("boop", before.at, done.ref)


def test_no_hostile_frontmatter_leads_out_of_the_journal(app):
    """A link that a file bears is shown only where it leads to an entry."""
    ref = write(app, "private")
    for link in ("/etc/passwd", "private:user/../../x", "chronicle:1"):
        raw = app.amend.read_text(ref).text
        head = raw.partition("\nsuperseded_by:")[0].removesuffix("\n---")
        body = raw.partition("---\n\n")[2]
        app.private.journal.edit(
            ref, f"{head.splitlines()[0]}\nsuperseded_by: {link}\n---\n\n{body}"
        )
        assert opened(app, ref).facts["superseded_by"] == ""


def test_a_journal_that_cannot_be_opened_says_why(world):
    """The others are corrected all the same."""
    app = world.open(COMMONPLACE_TOOLSETS=ALL)
    ref = write(app, "chronicle")
    app.memory.journal.database.path.parent.mkdir(parents=True, exist_ok=True)
    app.memory.journal.database.path.write_text("no database at all, but a text " * 40)
    with pytest.raises(CommonplaceError, match="database"):
        app.amend.delete("memory:todo/1")
    assert app.amend.delete(ref).act == "deleted"


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_of_many_that_supersede_one_entry_at_once_one_does(world, environ, app, journal):
    """In two processes; the others' errors name the entry that holds, and write none beside it."""
    ref = write(app, journal)
    other = world.open(COMMONPLACE_TOOLSETS=ALL, **environ)
    services = [each.amend for each in (app, other)]
    start = threading.Barrier(6)

    def supersede(n):
        start.wait()
        try:
            return services[n % 2].supersede(ref, f"the wombat digs hole {n}").ref
        except Conflict as exc:
            return exc.message

    with ThreadPoolExecutor(6) as pool:
        said = [*pool.map(supersede, range(6))]
    (done,) = [each for each in said if "superseded by" not in each]
    assert {each for each in said if each != done} == {f"{ref} is superseded by {done} already."}
    assert {*refs(ask(app, "recall", query="wombat quokka"))} == {ref, done}


@pytest.mark.parametrize("journal", EDITED_STORES)
def test_of_many_that_edit_the_version_they_read_one_does(app, journal):
    """The others are told; no text is lost that somebody was told was written."""
    amend = app.amend
    ref = write(app, journal)
    read = amend.read_text(ref)
    start = threading.Barrier(6)

    def edit(text):
        start.wait()
        try:
            amend.edit(ref, text, expected=read.version)
        except Conflict:
            return None
        return text

    with ThreadPoolExecutor(6) as pool:
        done = [text for text in pool.map(edit, [f"text {n}" for n in range(6)]) if text]
    assert len(done) == 1
    assert done[0] in amend.read_text(ref).text
