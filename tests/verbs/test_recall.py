"""Recall's verbs give values: a question with its time, what a time held, and any entry by its ref."""

from __future__ import annotations

import pytest
from tests.verbs.recall_world import ask

from commonplace.core.errors import Invalid, NotFound
from commonplace.core.values import Filter


@pytest.fixture
def app(world):
    return world.open(COMMONPLACE_TOOLSETS="all")


def log(app, message, at=""):
    """The ref of a new entry of the chronicle."""
    return ask(app, "add_entry", message=message, at=at).facts["ref"]


def recall(app, query, *, when="", within=None, limit=5):
    return app.recall.service().recall(query, when=when, within=within or Filter(), limit=limit)


def refs(hits):
    return [hit.doc.ref for hit in hits]


def test_a_time_in_a_question_leans_and_one_beside_it_cuts(app):
    """The question is searched without its time; only `when` hides what lies outside it."""
    march = log(app, "the harbour gate was painted", "2026-03-05 10:00")
    yesterday = log(app, "the harbour gate was oiled", "2026-11-20 10:00")
    leaning = recall(app, "harbour gate yesterday")
    assert (leaning.question.about, leaning.question.phrase) == ("harbour gate", "yesterday")
    assert not leaning.question.cuts
    assert refs(leaning.found.hits) == [yesterday, march]
    cut = recall(app, "harbour gate", when="march 2026")
    assert cut.question.cuts
    assert cut.question.interval.start.isoformat() == "2026-03-01T08:00:00+00:00"
    assert refs(cut.found.hits) == [march]
    assert not cut.outside_time


def test_where_nothing_lies_in_a_time_other_times_are_searched(app):
    """The value says that what it holds lies outside the time."""
    march = log(app, "the harbour gate was painted", "2026-03-05 10:00")
    done = recall(app, "harbour gate", when="october 2026")
    assert refs(done.found.hits) == [march]
    assert done.outside_time


def test_of_what_fits_alike_the_project_that_is_asked_from_comes_first(world):
    """Notes and log entries of another project come after it, though they are newer."""
    tides, pump = (world.open(x, COMMONPLACE_TOOLSETS="all") for x in ("tides", "pump"))
    log(tides, "the harbour gate was painted", "2026-03-05 10:00")
    at = "2026-03-06 10:00"
    noted = ask(pump, "process_thoughts", project_notes="The harbour gate is oiled.", at=at)
    log(pump, "the harbour gate was oiled again", "2026-03-07 10:00")
    first, *others = recall(tides, "harbour gate").found.hits
    assert first.doc.scope.endswith("/tides")
    assert noted.facts["refs"][0] in refs(others)


def test_a_preference_comes_first_where_a_task_is_asked_for(app):
    """Of two that share as many words with the question; any other question leans to neither."""
    always = log(app, "Always use tabs in the harbour report.", "2026-03-05 10:00")
    told = log(app, "Nobody has read the harbour report yet.", "2026-03-06 10:00")
    assert refs(recall(app, "the harbour report").found.hits) == [told, always]
    asked = recall(app, "Can you write the harbour report?").found.hits
    assert refs(asked) == [always, told]
    assert asked[0].score <= 1


def test_open_todos_stand_first_where_they_are_asked_for(app):
    """They are not weak, whatever the chance of the rest; a filter without them leaves them out."""
    log(app, "wrote down what is left to do")
    saved = ask(app, "memory_save", kind="todo", title="Order tiles", at="2026-03-01 09:00")
    done = recall(app, "what is left to do")
    assert refs(done.found.hits)[0] == saved.facts["ref"]
    assert (done.has_todos, done.is_weak) == (True, False)
    others = recall(app, "what is left to do", within=Filter(journals=("chronicle",)))
    assert not others.has_todos


def test_a_list_of_a_time_has_pages(app):
    """Newest first; whether there are older ones is said, and no time is any time."""
    first = log(app, "one", "2026-11-19 10:00")
    second = log(app, "two", "2026-11-20 10:00")
    service = app.recall.service()
    page = service.list_by_time("", within=Filter(), limit=1)
    assert (refs(page.hits), page.has_more, page.interval) == ([second], True, None)
    rest = service.list_by_time("", within=Filter(), limit=1, start=1)
    assert (refs(rest.hits), rest.has_more) == ([first], False)
    day = service.list_by_time("yesterday", within=Filter(), limit=5)
    assert refs(day.hits) == [second]
    with pytest.raises(Invalid, match="Invalid when: unknown time phrase: 'soonish'"):
        service.list_by_time("soonish", within=Filter(), limit=5)


def test_a_ref_of_no_journal_is_answered_with_the_forms_of_refs(app):
    """Once each, whichever part of the ref is wrong."""
    for ref in ("nowhere:1", "chronicle:nope"):
        with pytest.raises(NotFound) as caught:
            app.recall.service().open_ref(ref)
        assert caught.value.hint.count("Refs look like ") == 1, ref


def test_a_journal_that_comes_later_is_asked_too(world):
    """A service made before another process wrote the first record of memory is made again."""
    app = world.open(COMMONPLACE_TOOLSETS="recall")
    assert "memory" not in app.recall.service().journals
    ask(world.open(COMMONPLACE_TOOLSETS="all"), "memory_save", kind="gratitude", text="rain")
    assert "memory" in app.recall.service().journals
