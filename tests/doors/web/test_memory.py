"""The page of memory: users, kinds, records, and to-dos that are ticked."""

from __future__ import annotations

import re

import pytest
from tests.doors.web.web_world import WebWorld, csrf_of, words_of

from commonplace.journals.memory.records import RecordDraft


def save(world, kind="todo", user="", **fields):
    if not user:
        return world.app.memory.service().save(RecordDraft(kind=kind, fields=fields))
    service = world.app.memory.service_of(user)
    done = service.save(RecordDraft(kind=kind, fields=fields))
    service.filing().close()
    service.store.close()
    return done


def form(browser, kind="todo"):
    """The fields of the first form that ticks."""
    text = browser.get("/memory", params={"kind": kind}).text
    fields = re.findall(r'name="(ref|version|done)" value="([^"]*)"', text)
    return {"csrf": csrf_of(browser), **dict(fields[:3])}


def test_an_empty_memory_says_how_to_begin(world, browser):
    """By the box above, and is not made by looking."""
    assert "will stand here; the box above takes a first to-do" in words_of(browser.get("/memory"))
    assert not world.app.memory.is_there()


def test_a_to_do_is_ticked_and_opened_again(world, browser):
    """The page says so, and memory has it."""
    kept = save(world, title="Water the plants").saved.record
    assert "Water the plants (done)" not in words_of(browser.get("/memory"))
    done = browser.post("/memory/tick", data={**form(browser), "from": "todo"})
    assert done.headers["location"] == "/memory?kind=todo"
    words = words_of(browser.get("/memory"))
    assert "Done. Undo u" in words
    assert "Water the plants (done)" in words
    assert world.app.memory.journal.find("todo", kept.id).done
    browser.post("/memory/tick", data=form(browser))
    assert not world.app.memory.journal.find("todo", kept.id).done


def test_a_to_do_that_has_changed_is_not_ticked(world, browser):
    """It is what it became, and the page says why."""
    kept = save(world, title="Water the plants").saved.record
    sent = form(browser)
    world.app.amend.edit(kept.ref, "Water the garden")
    answer = browser.post("/memory/tick", data=sent)
    assert answer.status_code == 409
    now = world.app.memory.journal.find("todo", kept.id)
    assert (now.title, now.done) == ("Water the garden", False)


def test_ticks_are_guarded_as_every_write(world, browser):
    """Without the word of the page, or from a page that only reads, nothing changes."""
    kept = save(world, title="Water the plants").saved.record
    sent = form(browser)
    assert browser.post("/memory/tick", data={**sent, "csrf": "x"}).status_code == 403
    assert browser.post("/memory/tick", data={**sent, "ref": "memory:message/x"}).status_code == 400
    assert browser.post("/memory/tick", data={**sent, "ref": "zzz"}).status_code == 400
    assert not world.app.memory.journal.find("todo", kept.id).done


def test_a_page_that_only_reads_offers_no_tick(words_only):
    """The record is shown all the same."""
    world = WebWorld(may_write=False)
    save(world, title="Water the plants")
    text = world.browser().get("/memory").text
    assert "Water the plants" in text
    assert "/memory/tick" not in text
    world.close()


def test_records_by_kind(world, browser):
    """All kinds are on one page, each with how many; a draft says that it is one."""
    save(world, title="Water the plants")
    save(world, kind="journal", title="Monday", body="It <b>rained</b>.", is_draft=True)
    save(world, kind="gratitude", text="The rain")
    save(world, kind="preference", language="de")
    words = words_of(browser.get("/memory"))
    assert "To-dos 1" in words
    assert "Journal 1" in words
    assert words.startswith("Memory of you What is kept of you by name, as me.")
    assert words.index("Water the plants") < words.index("language=de") < words.index("The rain")
    journal = browser.get("/memory", params={"kind": "journal"})
    assert "draft" in words_of(journal)
    assert "<b>rained" not in journal.text
    assert "language=de" in words_of(browser.get("/memory", params={"kind": "preference"}))


def test_older_records_are_a_page_further(world, browser):
    """Every record is on just one page."""
    for n in range(31):
        world.clock.advance(60)
        save(world, title=f"Thing {n:02}")
    few = browser.get("/memory")
    assert "all of them" in words_of(few)
    assert "Thing 24" in few.text
    assert "Thing 23" not in few.text
    first = browser.get("/memory", params={"kind": "todo"}).text
    assert "Thing 00" not in first
    older = re.search(r'rel="next" href="([^"]+)"', first)[1].replace("&amp;", "&")
    assert "Thing 00" in browser.get(older).text
    assert "Thing 01" not in browser.get(older).text


def test_open_to_dos_come_first(world, browser):
    """Of the few that are shown of all kinds."""
    save(world, title="Still to do")
    for n in range(7):
        world.clock.advance(60)
        save(world, title=f"Thing {n}", done=True)
    words = words_of(browser.get("/memory"))
    assert words.index("Still to do") < words.index("Thing 6")
    assert "Thing 0" not in words


def test_nobody_else_has_a_memory(world, browser):
    """The page of other users says so."""
    save(world, title="Mine")
    words = words_of(browser.get("/memory/users"))
    assert "there is none but you" in words


def test_other_users_of_this_machine(world, browser):
    """Are listed for its owner and can be read, not ticked; one of whom nothing is kept is none."""
    save(world, title="Mine")
    save(world, user="Zoë/x", title="Theirs")
    assert "Zoë/x" not in browser.get("/memory").text
    assert "Zoë/x" in words_of(browser.get("/memory/users"))
    theirs = browser.get("/memory", params={"user": "Zoë/x"})
    assert "Theirs" in words_of(theirs)
    assert "/memory/tick" not in theirs.text
    for user in ("nobody", "../me", "a" * 200):
        assert browser.get("/memory", params={"user": user}).status_code in {400, 404}
    assert not (world.app.settings.home / "users" / "nobody").exists()


@pytest.mark.parametrize("query", [{"kind": "dream"}, {"after": "zzz", "kind": "todo"}])
def test_a_query_that_cannot_be_read_is_explained(world, browser, query):
    """None of it is an error of ours."""
    save(world, title="Water the plants")
    assert browser.get("/memory", params=query).status_code == 400
