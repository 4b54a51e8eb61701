"""Today: what assistants wrote is kept, corrected or forgotten; what is open is ticked."""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path

import pytest
from tests.doors.web.web_world import WebWorld, aside_of, csrf_of, words_of, words_of_html

from commonplace.doors.web.table import PAGES


def log(world, message, **given):
    """Log something as an assistant does; its ref."""
    return world.call("chronicle", "add_entry", message=message, **given).facts["ref"]


def new_of(page):
    """The words of what is new."""
    return words_of(page).partition("Since ")[2].partition(" What the next session")[0]


def press(browser, form):
    """Send a form of a page as its button does."""
    fields = dict(re.findall(r'name="([\w]+)" value="([^"]*)"', form))
    action = re.search(r'action="([^"]+)"', form)[1]
    return browser.post(action, data={k: html.unescape(v) for k, v in fields.items()})


def form_with(page, words):
    """The form of a page that holds some words."""
    forms = re.findall(r"<form.*?</form>", page.text, re.DOTALL)
    return next(form for form in forms if words in form)


def test_what_was_written_is_new_until_it_is_kept(world, browser):
    """By its button, without script; and new again by Undo."""
    log(world, "Moved the berths")
    assert "yesterday 1 new" in new_of(browser.get("/"))
    assert press(browser, form_with(browser.get("/"), 'data-key="k"')).status_code == 303
    page = browser.get("/")
    assert "nothing new" in new_of(page)
    assert "Kept: seen and right." in words_of(page)
    assert "Moved the berths" in words_of(page).partition("Earlier")[2]
    press(browser, form_with(page, 'data-key="u"'))
    assert "1 new" in new_of(browser.get("/"))


def test_all_of_it_is_seen(world, browser):
    """But for what is written after the page was shown; and back by Undo."""
    log(world, "Moved the berths")
    shown = form_with(browser.get("/"), "Mark all as seen")
    world.clock.advance(60)
    log(world, "Drew the harbour")
    answer = press(browser, shown)
    assert answer.status_code == 303
    page = browser.get("/")
    assert "Drew the harbour" in new_of(page).partition("Earlier")[0]
    assert "Moved the berths" not in new_of(page).partition("Earlier")[0]
    press(browser, form_with(page, 'data-key="u"'))
    assert "2 new" in new_of(browser.get("/"))


def test_what_was_seen_is_seen_in_another_browser(world, browser):
    """It is kept with the owner, not with the browser, and outlives the command."""
    ref = log(world, "Moved the berths")
    browser.post("/today/seen", data={"csrf": csrf_of(browser), "do": "keep", "ref": ref})
    assert "nothing new" in new_of(world.browser().get("/"))
    again = WebWorld()
    assert "nothing new" in new_of(again.browser().get("/"))
    again.close()


def test_what_was_corrected_is_new_no_longer(world, browser):
    """Who puts it right has seen it."""
    ref = log(world, "Moved the berts")
    version = world.app.amend.read_text(ref).version
    given = {"csrf": csrf_of(browser), "ref": ref, "text": "Moved the berths", "version": version}
    assert browser.post("/entry/save", data=given).status_code == 303
    assert "nothing new" in new_of(browser.get("/"))


def test_what_the_owner_wrote_on_the_page_is_not_new(browser):
    """There is nothing to review in it."""
    browser.post("/written", data={"csrf": csrf_of(browser), "do": "write", "text": "Sailed out"})
    page = browser.get("/")
    assert "nothing new" in new_of(page)
    assert "Sailed out" in words_of(page).partition("Earlier")[2]


def test_an_overview_that_the_owner_wrote_on_the_page_is_not_new(browser):
    """Nor one of a section that they added an entry to."""
    given = {"csrf": csrf_of(browser), "do": "write", "as": "notebook", "path": "api/errors"}
    overview = {"overview": "Errors have six codes."}
    browser.post("/written", data={**given, **overview, "text": "Counted the codes"})
    assert "nothing new" in new_of(browser.get("/"))
    browser.post("/written", data={**given, "text": "Counted them again"})
    assert "nothing new" in new_of(browser.get("/"))


def test_a_to_do_is_ticked_and_opened_again(world, browser):
    """From the first page, and back to it."""
    world.call("memory-write", "memory_save", kind="todo", title="Water the plants")
    page = browser.get("/")
    assert "Water the plants" in aside_of(page)
    assert press(browser, form_with(page, "Done: Water")).headers["location"] == "/"
    page = browser.get("/")
    assert "Water the plants" not in aside_of(page)
    press(browser, form_with(page, 'data-key="u"'))
    assert "Water the plants" in aside_of(browser.get("/"))


def test_a_line_that_is_to_be_done_is_ticked(world, browser):
    """By logging that it is done, which is taken back by Undo."""
    log(world, "TODO: remove the old exporter")
    browser.get("/")
    world.app.brief.refresh()
    page = browser.get("/")
    assert "remove the old exporter" in aside_of(page)
    press(browser, form_with(page, "Done: remove"))
    page = browser.get("/")
    assert "remove the old exporter" not in aside_of(page)
    press(browser, form_with(page, 'data-key="u"'))
    world.app.brief.refresh()
    assert "remove the old exporter" in aside_of(browser.get("/"))


def test_a_tick_that_is_sent_twice_is_logged_once(world, browser):
    """As by a double press without script; one press of Undo takes it back."""
    log(world, "TODO: remove the old exporter")
    browser.get("/")
    world.app.brief.refresh()
    form = form_with(browser.get("/"), "Done: remove")
    assert [press(browser, form).status_code for _ in range(2)] == [303, 303]
    events = world.app.chronicle.journal.list_events(limit=9).events
    assert [each.message for each in events if "Done:" in each.message] == [
        "Done: remove the old exporter"
    ]
    press(browser, form_with(browser.get("/"), 'data-key="u"'))
    (event,) = world.app.chronicle.journal.list_events(limit=9).events
    assert event.message == "TODO: remove the old exporter"


def test_a_year_ago(world, browser):
    """With a link to that day."""
    log(world, "The race was in the queue", at="2025-11-23 10:00")
    page = browser.get("/")
    assert "A year ago The race was in the queue" in aside_of(page)
    assert 'href="/calendar/2025-11-23"' in page.text


def test_an_entry_of_a_month_ago_is_shown_as_it_was_written(world, browser):
    """Without the work context, which searches alone have behind the text of a notebook's entry."""
    written = {"path": "sea", "entry": "high at noon", "work_context": "the survey"}
    world.call("notebook", "journal_write", **written)
    world.clock.advance(30 * 24 * 60 * 60)
    shown = aside_of(browser.get("/"))
    assert "A month ago high at noon" in shown
    assert "the survey" not in shown


def test_what_a_repository_said_a_month_ago_is_marked(browser):
    """As what it says in every list is."""
    note = Path(".private-journal/2026-10-23/10-00-00-000001.md")
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text("## Project Notes\n\nrun the planted zebrafinch\n")
    for words in (["init", "-q"], ["add", "-f", note]):
        subprocess.run(["git", *words], check=True)
    assert "run the planted zebrafinch from the repository" in aside_of(browser.get("/"))


def test_what_was_remembered_is_words_on_the_first_page(world, browser):
    """In what is new, told, open, of this day and earlier alike."""
    hostile = "<script>x</script><img src=x onerror=x>"
    for at in ("", "2025-11-23 10:00", "2026-10-23 10:00", "2026-11-01"):
        log(world, f"TODO: {hostile} {at}", at=at)
    world.call("memory-write", "memory_save", kind="todo", title=hostile)
    browser.get("/")
    world.app.brief.refresh()
    page = browser.get("/").text
    assert "<script>x" not in page
    assert "<img src" not in page


@pytest.mark.parametrize("at", ["1e300", "-1e15", "NaN"])
def test_a_line_of_a_time_beyond_the_calendar_is_told_without_one(world, browser, at):
    """As a program may have written one into the brief's file: the page is shown for all that."""
    log(world, "TODO: remove the old exporter")
    browser.get("/")
    for path in (world.app.folder / "brief").glob("*.json"):
        path.write_text(re.sub(r'"at":[0-9.]+', f'"at":{at}', path.read_text("utf-8")), "utf-8")
    page = browser.get("/")
    assert page.status_code == 200
    assert "remove the old exporter Correct" in words_of(page)


@pytest.mark.parametrize("page", ["/today/seen", "/today/done"])
def test_a_form_of_another_site_changes_nothing(world, browser, page):
    """Without the word that only its own pages know; nor may who only reads."""
    ref = log(world, "Moved the berths")
    assert browser.post(page, data={"csrf": "x", "ref": ref, "what": "x"}).status_code == 403
    assert "1 new" in new_of(browser.get("/"))
    reading = WebWorld(may_write=False)
    other = reading.browser()
    assert 'data-key="k"' not in other.get("/").text
    csrf = re.search(r'name="csrf" value="([^"]+)"', other.get("/").text)[1]
    assert other.post(page, data={"csrf": csrf, "ref": ref, "what": "x"}).status_code == 403
    reading.close()


def test_a_page_that_only_reads_speaks_of_no_box(words_only):
    """Nor of what may be written in it: it has one to find in."""
    reading = WebWorld(may_write=False)
    browser = reading.browser()
    for row in [each for each in PAGES if each.title]:
        assert "the box above" not in words_of(browser.get(row.path)), row.path
    reading.close()


@pytest.mark.parametrize("at", ["", "x", "1e400", "nan"])
def test_a_time_that_is_none_is_refused(browser, at):
    """In words."""
    data = {"csrf": csrf_of(browser), "do": "all", "at": at}
    answer = browser.post("/today/seen", data=data)
    assert answer.status_code == 400
    assert "This form names no time." in words_of(answer)


@pytest.fixture
def proposed(world):
    """Of a decision and a later one that may replace it, both refs."""
    old = log(world, "The quokka API listens on port 8000.", at="2026-11-12 10:00")
    return old, log(world, "The quokka API now listens on port 9000.")


def cards_of(page):
    """The words of the cards that ask what replaces what."""
    return [
        words_of_html(x) for x in re.findall(r'<div class="ask".*?</form>', page.text, re.DOTALL)
    ]


def test_what_may_replace_what_is_asked_side_by_side(browser, proposed):
    """Where the later one is new, above it."""
    (card,) = cards_of(browser.get("/"))
    assert card == (
        "A later entry may replace an earlier one 12 Nov The quokka API listens on port 8000."
        " 12:00 The quokka API now listens on port 9000. It replaces it y Both hold b"
    )


def test_it_replaces_it(world, browser, proposed):
    """By one button; nothing is written anew, it is not asked again, and Undo takes it back."""
    old, new = proposed
    press(browser, form_with(browser.get("/"), "It replaces it").replace('"no"', '"yes"'))
    page = browser.get("/")
    assert "It takes the place of the former one, which stays." in words_of(page)
    assert cards_of(page) == []
    assert world.app.recall.service().open_ref(old).superseded_by == new
    assert "No longer holds" in words_of(browser.get(f"/entry?ref={old}"))
    press(browser, form_with(page, 'data-key="u"'))
    assert world.app.recall.service().open_ref(old).superseded_by == ""
    assert cards_of(browser.get("/")) == []


def test_both_hold(world, browser, proposed):
    """Never asked again, in another process neither; and asked again by Undo."""
    old, _ = proposed
    form = form_with(browser.get("/"), "Both hold").replace('"yes"', '"no"')
    press(browser, form)
    page = browser.get("/")
    assert "Both hold: it is not asked again." in words_of(page)
    assert cards_of(page) == []
    again = WebWorld()
    assert cards_of(again.browser().get("/")) == []
    again.close()
    assert world.app.recall.service().open_ref(old).superseded_by == ""
    press(browser, form_with(page, 'data-key="u"'))
    assert len(cards_of(browser.get("/"))) == 1


def test_a_note_that_replaces_one(world, browser):
    """Both files name each other, and neither once it is taken back."""
    think = {"user_context": "The quokka API listens on port 8000."}
    (old,) = world.call("private", "process_thoughts", **think).facts["refs"]
    world.clock.advance(60)
    think = {"user_context": "The quokka API now listens on port 9000."}
    (new,) = world.call("private", "process_thoughts", **think).facts["refs"]
    raw = [world.app.amend.read_text(ref).text for ref in (old, new)]
    press(browser, form_with(browser.get("/"), "It replaces it").replace('"no"', '"yes"'))
    page = browser.get("/")
    assert cards_of(page) == []
    assert world.app.recall.service().open_ref(old).superseded_by == new
    assert world.app.recall.service().open_ref(new).supersedes == old
    press(browser, form_with(page, 'data-key="u"'))
    assert [world.app.amend.read_text(ref).text for ref in (old, new)] == raw


def test_nothing_is_asked_of_what_is_gone_or_was_settled(world, browser, proposed):
    """As when the former was deleted, or the one who wrote it said what it supersedes."""
    old, _ = proposed
    world.call(
        "chronicle", "add_entry", message="The quokka API listens on port 9000.", supersedes=old
    )
    assert cards_of(browser.get("/")) == []


def test_a_former_entry_that_is_gone_is_not_asked_for(world, browser, proposed):
    """Its words are in no card."""
    world.app.amend.delete(proposed[0])
    assert cards_of(browser.get("/")) == []


def test_places_say_how_much_they_have(world, browser):
    """Entries of each journal; nothing where there is none."""
    for n in range(3):
        log(world, f"Thing {n}")
    page = browser.get("/")
    places = words_of_html(re.search(r'<nav aria-label="Pages">.*?</nav>', page.text, re.DOTALL)[0])
    assert "Chronicle 3" in places
    assert "Memory Transcripts" in places
