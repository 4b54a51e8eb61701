"""Today: what is new, open, of this day, and what waits, in words that any door can show."""

from __future__ import annotations

import os

import pytest
from tests.verbs.recall_world import ask

from commonplace.core.time_book import SEEN

TODAY = "2026-11-21"
"""The world's day; its clock stands at 15:19."""


def logged(app, message, at=""):
    return ask(app, "add_entry", message=message, at=at).facts["ref"]


def texts(news):
    """The texts of what is new, by the name of the project."""
    return {each.name: [hit.doc.text for hit in each.hits] for each in news.projects}


def test_what_was_written_since_yesterday_is_new(world):
    """Newest first, by project; what is older was there before anybody looked."""
    app = world.open()
    other = world.open("parser")
    logged(app, "Moved the berths", "today 9am")
    logged(app, "Drew the harbour", "yesterday 10am")
    logged(app, "An old thing", "2026-11-19 10:00")
    logged(other, "Released the parser", "today 11am")
    news = app.today().news()
    assert texts(news) == {
        "parser": ["Released the parser"],
        "project": ["Moved the berths", "Drew the harbour"],
    }
    assert list(texts(news)) == ["parser", "project"]
    assert news.count == news.listed == 3


def test_what_was_kept_is_new_no_longer(world):
    """Until it is taken back; another process sees the same."""
    app = world.open()
    ref = logged(app, "Moved the berths", "today 9am")
    app.today().seen.keep([ref], world.clock())
    assert world.open().today().news().count == 0
    app.today().seen.drop([ref])
    assert texts(app.today().news()) == {"project": ["Moved the berths"]}


def test_an_overview_is_new_again_once_its_section_is_written_to(world):
    """Under the ref that was kept; a mark that all is seen would show it again as well."""
    app = world.open(COMMONPLACE_TOOLSETS="notebook")
    seen = app.today().seen
    ask(app, "journal_write", path="api", entry="Begun.", overview="It has five codes.")
    seen.keep([each.doc.ref for each in app.today().news().projects[0].hits], world.clock())
    assert app.today().news().count == 0
    world.clock.advance(60)
    version = app.notebook.service().reading().read_section("api").version
    again = {"overview": "It has six codes.", "base_version": version}
    ask(app, "journal_write", path="api", entry="Counted again.", **again)
    (found,) = texts(app.today().news()).values()
    assert sorted(found) == ["Counted again.", "It has six codes."]


def test_what_was_kept_leaves_the_day_it_counts_from(world):
    """A day later the rest is still new: nothing is seen by waiting."""
    app = world.open()
    first = logged(app, "Moved the berths", "yesterday 9am")
    logged(app, "Drew the harbour", "yesterday 10am")
    app.today().seen.keep([first], world.clock())
    world.clock.advance(30 * 86_400)
    assert texts(app.today().news()) == {"project": ["Drew the harbour"]}


def test_all_is_seen_up_to_an_instant(world):
    """And taken back by naming the instant before; what was kept before stays kept."""
    app = world.open()
    service = app.today()
    first = logged(app, "Moved the berths", "today 9am")
    logged(app, "Drew the harbour", "today 10am")
    service.seen.keep([first], world.clock())
    before = service.news().since
    service.seen.keep_until(world.clock(), world.clock())
    assert service.news().count == 0
    world.clock.advance(300)
    logged(app, "Written after")
    assert texts(service.news()) == {"project": ["Written after"]}
    service.seen.keep_until(before, world.clock())
    assert texts(service.news()) == {"project": ["Written after", "Drew the harbour"]}


def test_of_more_than_are_listed_there_is_a_count(world, monkeypatch):
    """No number but that of all that is new."""
    app = world.open()
    monkeypatch.setattr("commonplace.verbs.today.service.MOST_NEW", 2)
    for n in range(5):
        logged(app, f"Thing {n}", f"today {n + 1}am")
    news = app.today().news()
    assert (news.count, news.listed) == (5, 2)


def test_taking_back_that_all_is_seen_leaves_what_was_kept(world):
    """Also what was kept at another time than the one at which all of it was seen."""
    app = world.open()
    service = app.today()
    kept = logged(app, "Moved the berths", "today 9am")
    logged(app, "Drew the harbour", "today 10am")
    service.seen.keep([kept], world.clock())
    world.clock.advance(60)
    before = service.news().since
    service.seen.keep_until(world.clock(), world.clock())
    service.seen.keep_until(before, world.clock())
    assert texts(service.news()) == {"project": ["Drew the harbour"]}


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "[" * 100_000,
        '{"": NaN}',
        '{"": Infinity}',
        '{"": 1e300}',
        '{"": -1e12}',
        '{"": 4e9}',
        '{"": "x"}',
        f'{{"": {"9" * 400}}}',
    ],
    ids=["torn", "list", "deep", "nan", "inf", "huge", "early", "late", "word", "endless"],
)
def test_a_broken_file_hides_nothing(world, content):
    """What was seen is then new again, and may be kept once more."""
    app = world.open()
    ref = logged(app, "Moved the berths", "today 9am")
    app.today().seen.keep([ref], world.clock())
    (app.folder / SEEN / "entries.json").write_text(content, "utf-8")
    service = world.open().today()
    assert service.news().count == 1
    service.seen.keep_until(world.clock(), world.clock())
    assert service.news().count == 0


def test_what_is_too_long_to_be_a_ref_is_not_noted(world):
    """As a form may send it: each page would read it again."""
    seen = world.open().today().seen
    seen.keep(["chronicle:" + "x" * 100_000, "chronicle:y"], world.clock())
    seen.propose("chronicle:" + "x" * 100_000, "chronicle:y", world.clock())
    state = seen.read(world.clock())
    assert (list(state.kept), list(state.asked)) == (["chronicle:y"], [])


def test_a_pipe_in_place_of_the_file_is_not_waited_for(world):
    """It is no file of ours, and nothing was seen."""
    app = world.open()
    logged(app, "Moved the berths", "today 9am")
    (app.folder / SEEN).mkdir()
    os.mkfifo(app.folder / SEEN / "entries.json")
    assert app.today().news().count == 1


def test_what_was_on_this_day(world):
    """A month and a year ago, oldest first, no other day."""
    app = world.open()
    logged(app, "A year ago, late", "2025-11-21 18:00")
    logged(app, "A year ago", "2025-11-21 08:00")
    logged(app, "A month ago", "2026-10-21 08:00")
    logged(app, "Another day", "2026-10-22 08:00")
    found = app.today().on_this_day()
    assert [(each.ago, [hit.doc.text for hit in each.hits]) for each in found] == [
        ("a month ago", ["A month ago"]),
        ("a year ago", ["A year ago", "A year ago, late"]),
    ]


def test_what_is_open(world):
    """To-dos that are not done."""
    app = world.open(COMMONPLACE_TOOLSETS="chronicle,memory-write")
    ask(app, "memory_save", kind="todo", title="Water the plants")
    ask(app, "memory_save", kind="todo", title="Done already", done=True)
    service = app.today()
    assert [(each.text, each.is_todo) for each in service.open_things(())] == [
        ("Water the plants", True)
    ]


def test_nothing_waits_in_a_new_home(world):
    """Nothing is said where there is nothing to decide."""
    assert world.open().today().waiting() == []


def test_a_home_without_anything(world):
    """No part of it fails."""
    service = world.open().today()
    assert (service.news().count, service.on_this_day(), service.open_things(())) == (0, [], [])


OLD, NEW = "The quokka API listens on port 8000.", "The quokka API now listens on port 9000."


def asked(app):
    """The texts of what may replace what."""
    return [
        (each.later.doc.text, each.former.text)
        for project in app.today().news().projects
        for each in project.asked
    ]


def test_what_may_replace_what_is_asked_while_it_is_new(world):
    """As the write proposed it, in another process too, and no more once it was seen."""
    app = world.open()
    logged(app, OLD, "2026-11-12 10:00")
    ref = logged(app, NEW)
    assert asked(world.open()) == [(NEW, OLD)]
    app.today().seen.keep([ref], world.clock())
    assert asked(app) == []


def test_what_only_mentions_it_is_not_asked(world):
    """Where a write proposes nothing, nothing is asked."""
    app = world.open()
    logged(app, OLD, "2026-11-12 10:00")
    logged(app, "Read the manual of the quokka API.")
    assert asked(app) == []


def test_what_was_seen_one_by_one_becomes_an_instant(world, monkeypatch):
    """Once all before it was seen; what is still new stays so, and what was just kept comes back."""
    monkeypatch.setattr("commonplace.verbs.today.service.MANY_KEPT", 3)
    app = world.open()
    service = app.today()
    early = [logged(app, f"Early {n}", f"yesterday {n + 1}am") for n in range(4)]
    service.seen.keep(early, world.clock())
    world.clock.advance(2 * 3600)
    left = logged(app, "Left for later", "today 9am")
    late = logged(app, "Kept just now", "today 10am")
    service.seen.keep([late], world.clock())
    service.merge_marks()
    state = service.seen.read(world.clock())
    assert state.until == service.recall.open_ref(left).at
    assert texts(service.news()) == {"project": ["Left for later"]}
    service.seen.drop([late])
    assert texts(service.news()) == {"project": ["Kept just now", "Left for later"]}
    service.seen.keep([left, late], world.clock())
    world.clock.advance(2 * 3600)
    service.seen.keep(["chronicle:x"], world.clock())
    service.merge_marks()
    assert len(service.seen.read(world.clock()).kept) == 1
    assert service.news().count == 0


def test_a_message_of_a_chat_keeps_no_marks(world, monkeypatch):
    """None is listed as new, so none can be kept: what was seen around it becomes an instant."""
    monkeypatch.setattr("commonplace.verbs.today.service.MANY_KEPT", 3)
    app = world.open(COMMONPLACE_TOOLSETS="all")
    service = app.today()
    ask(app, "memory_save", kind="message", role="user", text="Is it on?", at="yesterday 9am")
    refs = [logged(app, f"Early {n}", f"today {n + 1}am") for n in range(4)]
    service.seen.keep(refs, world.clock())
    world.clock.advance(2 * 3600)
    service.seen.keep(["chronicle:x"], world.clock())
    service.merge_marks()
    assert [*service.seen.read(world.clock()).kept] == ["chronicle:x"]


def test_of_very_many_marks_the_latest_are_kept(world, monkeypatch):
    """So that no file of them grows without end; the instant before which all was seen stays."""
    monkeypatch.setattr("commonplace.verbs.today.seen.MOST_KEPT", 2)
    app = world.open()
    seen = app.today().seen
    until = seen.read(world.clock()).until
    for n in range(4):
        seen.keep([f"chronicle:{n}"], world.clock())
        world.clock.advance(1)
    state = seen.read(world.clock())
    assert [*state.kept] == ["chronicle:2", "chronicle:3"]
    assert state.until == until
