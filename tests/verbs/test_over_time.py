"""What holds now stands before what it replaced, in every search, and each names the other."""

from __future__ import annotations

import pytest
from tests.verbs.recall_world import ask, refs
from tests.verbs.test_amend import EVERY_STORE, superseding, write

LEVELS = ("hourly", "daily")
SEARCHES = {
    "private": ("search_journal", "query"),
    "chronicle": ("search_entries", "text"),
    "notebook": ("journal_search", "content"),
    "timeline": ("timeline_search", "query"),
    "memory": ("memory_search", "query"),
}


def moved(world, app, journal):
    """An entry of 21 November, and one of 24 November that took its place."""
    old = write(app, journal, "The quokka API listens on port 8000.")
    world.clock.advance(3 * 86_400)
    return old, superseding(app, journal, old, "The quokka API moved: it listens on port 9000.")


def found(app, journal, query):
    """What a journal's own search finds: its text, and each ref."""
    tool, name = SEARCHES[journal]
    more = {"entry_types": ["raw"]} if journal == "timeline" else {}
    answer = ask(app, tool, **{name: query}, **more)
    facts = answer.facts.get("payload", answer.facts)
    listed = facts.get("results") or facts.get("entries") or []
    return answer.text, [f"notebook:{x['id']}" if "ref" not in x else x["ref"] for x in listed]


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_recall_shows_what_holds_first(world, app, journal):
    """As the journal's own search does; each names the other.

    Also where the words of the question stand in the old one alone.
    """
    old, new = moved(world, app, journal)
    text, shown = found(app, journal, "quokka API port 8000")
    assert shown.index(new) < shown.index(old)
    assert f"Replaces {old} of" in text
    assert f"replaced by {new} of" in text
    for number in range(3):
        write(app, journal, f"The quokka ate leaf {number}.")
    for query in ("quokka API port 8000", "quokka"):
        answer = ask(app, "recall", query=query)
        shown = refs(answer)
        assert shown.index(new) < shown.index(old)
        if "8000" in query:
            assert shown[0] == new
        assert f"Replaces {old} of 21 November 2026." in answer.text
        assert f"No longer holds: replaced by {new} of 24 November 2026." in answer.text


@pytest.mark.parametrize("journal", EVERY_STORE)
def test_what_holds_is_found_by_the_words_of_what_it_replaced(world, app, journal):
    """Though it bears none of them itself: it stands where the old one would."""
    old = write(app, journal, "The quokka sleeps in a burrow.")
    world.clock.advance(86_400)
    new = superseding(app, journal, old, "Wombats dig.")
    for number in range(3):
        write(app, journal, f"Leaf {number} fell.")
    shown = refs(ask(app, "recall", query="quokka burrow"))
    assert shown[0] == new
    assert old in shown


def test_of_a_chain_the_newest_is_named(world, app):
    """However many took each other's place between."""
    first = write(app, "chronicle", "The quokka API listens on port 1.")
    last = first
    for port in (2, 3, 4):
        world.clock.advance(86_400)
        last = superseding(app, "chronicle", last, f"The quokka API listens on port {port}.")
    answer = ask(app, "recall", query="quokka API port 1")
    assert refs(answer)[0] == last
    by_ref = {hit["ref"]: hit for hit in answer.facts["results"]}
    assert by_ref[first]["replaced_by"]["ref"] == last


def test_of_a_chain_of_any_length_the_newest_is_named(world, app):
    """A hundred and fifty times replaced, it stands above all it replaced, and none says other."""
    log = app.chronicle.journal
    first = last = log.add_event("The quokka API listens on port 0.").event
    for port in range(1, 150):
        world.clock.advance(60)
        text = f"The quokka API listens on port {port}."
        last = log.supersede_event(last.ref, text, at=world.clock()).event
    answer = ask(app, "recall", query="quokka API port 0")
    assert refs(answer)[0] == last.ref
    named = {hit["ref"]: hit["replaced_by"]["ref"] for hit in answer.facts["results"][1:]}
    assert set(named.values()) == {last.ref}
    assert first.ref in named
    found = ask(app, "find_when_i", what="first quokka API port 0")
    assert f"No longer holds: replaced by {last.ref}" in found.text


def test_of_a_circle_that_another_program_made_the_newest_holds(world, app):
    """Neither is lost, and no search goes round and round."""
    log = app.chronicle.journal
    old = log.add_event("The quokka API listens on port 1.").event
    world.clock.advance(86_400)
    new = log.supersede_event(old.ref, "The quokka API listens on port 2.", at=world.clock()).event
    log.edit_event(old.ref, tags=[f"supersedes:{new.id}"])
    app.filing.sweep()
    answer = ask(app, "recall", query="quokka API port 1")
    assert refs(answer) == [new.ref, old.ref]
    by_ref = {hit["ref"]: hit for hit in answer.facts["results"]}
    assert by_ref[old.ref]["replaced_by"]["ref"] == new.ref
    assert "replaced_by" not in by_ref[new.ref]


def test_a_filter_that_leaves_out_what_holds_is_kept_to(world, app):
    """What was asked for of one day is of that day, and says that it no longer holds."""
    old, new = moved(world, app, "chronicle")
    answer = ask(app, "recall", query="quokka API", when="2026-11-21")
    assert refs(answer) == [old]
    assert f"replaced by {new}" in answer.text


def test_where_nothing_is_superseded_nothing_is_ranked_otherwise(world, app):
    """The same scores with and without a superseding of something else."""
    for number in range(5):
        write(app, "chronicle", f"The quokka ate leaf {number}.")
    before = ask(app, "recall", query="quokka leaf 3").facts["results"]
    assert not any("replaces" in hit or "replaced_by" in hit for hit in before)
    moved(world, app, "private")
    app.amend.delete(refs(ask(app, "recall", query="API port"))[0])
    after = ask(app, "recall", query="quokka leaf 3", journals=["chronicle"]).facts["results"]
    assert [hit["ref"] for hit in after] == [hit["ref"] for hit in before]


def test_a_list_by_time_says_what_holds_no_more(world, app):
    """In the order of time, as ever."""
    old, new = moved(world, app, "private")
    answer = ask(app, "list_by_time")
    assert refs(answer) == [new, old]
    assert f"replaced by {new}" in answer.text


def test_a_former_entry_whose_successor_is_deleted_holds_again(world, app):
    """It stands where it stood, and names nothing."""
    old, new = moved(world, app, "chronicle")
    app.amend.delete(new)
    answer = ask(app, "recall", query="quokka API")
    assert refs(answer) == [old]
    assert "replaced by" not in answer.text


def test_a_rebuilt_index_knows_what_is_superseded(world, app):
    """All of it follows from the journals."""
    old, new = moved(world, app, "notebook")
    app.index.clear()
    app.filing.sweep()
    assert refs(ask(app, "recall", query="quokka API port 8000"))[:2] == [new, old]


def test_a_summary_tells_what_was_put_right_once_and_as_it_is_now(world, app):
    """Both entries stay among what it was made from."""
    old = write(app, "timeline", "The quokka slept.")
    new = app.amend.supersede(old, "The wombat dug.").ref
    world.clock.advance(86_400)
    service = app.timeline.service()
    service.catch_up()
    hour, day = (service.rollup(period, service.journal.read(old[9:]).at) for period in LEVELS)
    for summary in (hour, day):
        assert "wombat" in summary.content
        assert "quokka" not in summary.content
        assert summary.metadata["entries"] == 1
    assert {x.ref for x in app.recall.service().open_ref(hour.ref).sources} == {old, new}


@pytest.mark.parametrize("what", ["quokka API", "when did I last touch the quokka API"])
def test_when_something_was_says_what_was_replaced(world, app, what):
    """Whether the best were asked for or the last; of a chain the newest is named."""
    old, new = moved(world, app, "chronicle")
    world.clock.advance(86_400)
    last = superseding(app, "chronicle", new, "The quokka API moved on: port 9100.")
    answer = ask(app, "find_when_i", what=what)
    assert f"Replaces {old} of 21 November 2026." in answer.text
    by_ref = {entry["ref"]: entry for entry in answer.facts["entries"]}
    assert by_ref[old]["replaced_by"]["ref"] == last
    assert by_ref[new]["replaced_by"]["ref"] == last
    assert "replaced_by" not in by_ref[last]


def test_what_is_remembered_unasked_may_supersede(world, app):
    """As any other write: both stay and name each other, and done twice it is one entry."""
    old = write(app, "chronicle", "The quokka API listens on port 8000.")
    asked = {"activity": "moved the quokka API", "context": "a clash", "supersedes": old}
    new = ask(app, "remember_this", **asked).facts["ref"]
    assert ask(app, "remember_this", **asked).facts["ref"] == new
    page = ask(app, "open_ref", ref=new)
    assert page.facts["supersedes"] == old
    assert "moved the quokka API (a clash)" in page.facts["text"]
