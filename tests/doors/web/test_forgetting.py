"""Forgetting on the page: what says the same is ticked, what shares words is counted."""

from __future__ import annotations

import html
import re

from tests.doors.web.test_entry import form_of, logged
from tests.doors.web.web_world import words_of
from tests.journals.transcripts.sessions import said

SAYS = "the blue door behind the bakery opens with four seven one one and a kick"


def ticks_of(page):
    """What can be ticked: its value, by what is read out of it."""
    found = re.findall(r'name="also" value="([^"]*)" aria-label="([^"]*)"', page.text)
    return {html.unescape(label): html.unescape(value) for value, label in found}


def test_what_says_the_same_is_shown_to_be_ticked(world, browser):
    """As a text that can be read; what is ticked goes with it, what is not stays and is named."""
    ref = logged(world, SAYS)
    world.call("timeline", "timeline_add", content=SAYS)
    world.call("private", "process_thoughts", project_notes=f"Said again: {SAYS}")
    asked = browser.get("/entry/forget", params={"ref": ref})
    words = words_of(asked)
    assert words.startswith(f"Forget this? {SAYS} It goes for good")
    assert "Says the same 2; tick what goes too" in words
    ticks = ticks_of(asked)
    assert set(ticks) == {f"Forget it too: {SAYS}", f"Forget it too: Said again: {SAYS}"}
    value = ticks[f"Forget it too: {SAYS}"]
    also = value.partition(" ")[2]
    done = browser.post("/entry/forgotten", data={**form_of(asked), "also": value})
    words = words_of(done)
    assert words.startswith("Deleted 2 entries are deleted for good. What has words of it stays")
    assert "Stays on purpose 1 that says the same and was not ticked:" in words
    for gone in (ref, also):
        assert browser.get("/entry", params={"ref": gone}).status_code == 404


def test_what_shares_words_is_counted(world, browser):
    """And listed in a fold, before and after; none of it can be ticked."""
    refs = [logged(world, f"{SAYS}, says number {number}") for number in range(60)]
    asked = browser.get("/entry/forget", params={"ref": refs[0]})
    assert ticks_of(asked) == {}
    assert "59 that share twelve words in a row with it" in words_of(asked)
    words = words_of(browser.post("/entry/forgotten", data=form_of(asked)))
    assert "Stays on purpose 59 entries that share twelve words in a row with it" in words
    assert "words that 59 entries say as well" in words
    assert not any(ref in words for ref in refs[1:])


def test_what_goes_with_a_ticked_text_is_asked_for(world, browser):
    """What a session said of it, which the page had not shown: nothing is deleted before."""
    more = "and then nineteen steps down to where the old brass lamp is kept by the caretaker"
    ref = logged(world, SAYS)
    world.call("timeline", "timeline_add", content=f"{SAYS} {more}")
    world.app.transcripts.store.append("claude-code", "s1", [said(1, f"So it is {more}")])
    asked = browser.get("/entry/forget", params={"ref": ref})
    (value,) = ticks_of(asked).values()
    again = browser.post("/entry/forgotten", data={**form_of(asked), "also": value})
    assert again.status_code == 409
    assert "More goes with it: look again." in words_of(again)
    assert "Goes with it since it quotes it So it is and then nineteen" in words_of(again)
    assert "checked" in again.text
    assert browser.get("/entry", params={"ref": ref}).status_code == 200
    done = browser.post("/entry/forgotten", data={**form_of(again), "also": value})
    assert words_of(done).startswith("Deleted 3 entries are deleted for good. Nothing of the text")


def test_what_was_ticked_and_changed_since_is_asked_for(world, browser):
    """Nothing is deleted."""
    ref = logged(world, SAYS)
    world.call("timeline", "timeline_add", content=SAYS)
    asked = browser.get("/entry/forget", params={"ref": ref})
    (value,) = ticks_of(asked).values()
    world.app.amend.edit(value.partition(" ")[2], f"{SAYS}!")
    again = browser.post("/entry/forgotten", data={**form_of(asked), "also": value})
    assert again.status_code == 409
    assert "What you ticked has changed: look again." in words_of(again)
    assert browser.get("/entry", params={"ref": ref}).status_code == 200


def test_what_can_not_be_deleted_says_why_it_stays(world, browser):
    """A commit that says the same has no box, and the way to its history is named."""
    service = world.app.notebook.service()
    service.init()
    commit = service.notebook.write("door", SAYS).entry.ref
    ref = world.call("chronicle", "add_entry", message=SAYS).facts["ref"]
    asked = browser.get("/entry/forget", params={"ref": ref})
    assert ticks_of(asked) == {}
    assert "stays in the history" in words_of(asked)
    refused = browser.get("/entry/forget", params={"ref": commit})
    assert "its history is not rewritten" in words_of(refused)
    assert "--rewrite-history" in words_of(refused)
