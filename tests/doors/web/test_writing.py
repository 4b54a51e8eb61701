"""The box at the top of every page, and the editor: what is typed is written or kept, never lost."""

from __future__ import annotations

import re

import pytest
from tests.doors.web.web_world import WebWorld, csrf_of, words_of

from commonplace.core.values import Filter
from commonplace.doors.web.box import KINDS

PLANTED = "ochre zebrafinch counts eleven velvet umbrellas"


def send(browser, page="/written", **given):
    """Send the box; nothing is followed."""
    return browser.post(page, data={"csrf": csrf_of(browser), "do": "write", **given})


def texts(world, journal=""):
    """The kind and text of what is there, newest first."""
    world.app.filing.catch_up()
    hits = world.app.recall.service().list_by_time("", within=Filter(), limit=20).hits
    return [(x.doc.journal, x.doc.text) for x in hits if journal in x.doc.journal]


def typed(browser, page="/"):
    """What stands in the box."""
    found = re.search(
        r'<textarea name="text"[^>]*>\n(.*?)</textarea>', browser.get(page).text, re.DOTALL
    )
    return found[1]


@pytest.mark.parametrize(
    ("kind", "journal"),
    [
        ("log", "chronicle"),
        ("note", "private"),
        ("decision", "chronicle"),
        ("feeling", "private"),
        ("todo", "memory"),
    ],
)
def test_each_chip_writes_into_its_journal(world, browser, kind, journal):
    """By one request, without script; the next page says so, and the box is empty."""
    answer = send(browser, text=PLANTED, **{"as": kind})
    assert answer.status_code == 303
    assert PLANTED in words_of(browser.get("/"))
    assert typed(browser) == ""
    ((found, text),) = texts(world)
    assert (found, PLANTED in text) == (journal, True)


def test_what_a_script_asks_for_says_no_notes(browser):
    """They are there for the next page that is read."""
    send(browser, text=PLANTED)
    asked = browser.get("/", headers={"sec-fetch-dest": "empty"})
    assert "Logged:" not in words_of(asked)
    assert "Logged:" in words_of(browser.get("/"))


def test_every_kind_can_be_written(world, browser):
    """Each of the table, by the name that stands before the text."""
    for each in KINDS:
        answer = send(browser, text=f"/{each.name} {PLANTED} {each.name}", path="boats/logbook")
        assert answer.status_code == 303, each
    written = " ".join(text for _, text in texts(world))
    assert [each.name for each in KINDS if f"{PLANTED} {each.name}" not in written] == []


def test_a_decision_is_tagged_so_beside_its_own_tags(world, browser):
    """As the command line would."""
    send(browser, text=PLANTED, tags="hosting, #api", at="yesterday 9am", **{"as": "decision"})
    (event,) = world.app.chronicle.journal.list_events(limit=1).events
    assert sorted(event.tags) == ["api", "decision", "hosting"]
    assert event.at.isoformat() == "2026-11-22T09:00:00+00:00"


def test_what_was_written_is_taken_back(world, browser):
    """By the button that the next page has, until another page was shown."""
    send(browser, text=PLANTED)
    page = browser.get("/").text
    form = re.search(r'action="(/entry/deleted)">(.*?)</form>', page, re.DOTALL)
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[2]))
    assert browser.post(form[1], data=fields).status_code == 303
    assert texts(world) == []
    assert "Undo" not in words_of(browser.get("/"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"at": "the day of the parrots"}, "unknown time phrase"),
        ({"as": "parrot"}, "Nothing is written as"),
        ({"as": "notebook"}, "path"),
        ({"expires": "yesterday"}, "expires"),
    ],
)
def test_what_is_refused_is_not_lost(world, browser, given, says):
    """It stands in the form again with the reason, and in the box of every page after."""
    answer = send(browser, text=PLANTED, **given)
    assert answer.status_code == 400
    assert says in words_of(answer)
    assert PLANTED in answer.text
    assert typed(browser) == PLANTED
    assert texts(world) == []


def test_a_draft_survives_a_reload(world, browser):
    """On every page and in another browser; once it is written or emptied, no file has it."""
    send(browser, page="/draft", text=f"{PLANTED}\nand more", **{"as": "feeling"})
    other = world.browser()
    assert typed(other, "/health") == f"{PLANTED}\nand more"
    assert 'value="feeling" checked' in other.get("/").text
    send(browser, page="/draft", text="  ")
    assert typed(browser) == ""
    assert not list((world.app.folder / "draft").iterdir())


def test_forgetting_takes_the_draft(world, browser):
    """An entry that is forgotten stays in no draft of its words."""
    ref = world.call("chronicle", "add_entry", message=PLANTED).facts["ref"]
    send(browser, page="/draft", text=f"Again: {PLANTED}")
    service = world.app.forgetting()
    proof = service.carry_out(service.plan([ref]))
    assert proof.is_clean
    assert typed(browser) == ""


def test_what_is_typed_is_found(browser):
    """The button leads to the search, and the box is empty after."""
    answer = send(browser, text=PLANTED, do="find")
    assert answer.headers["location"] == f"/search?q={PLANTED.replace(' ', '+')}"


def test_the_editor_shows_how_it_will_look(browser):
    """With the text still in it; what is hostile is words."""
    answer = send(browser, text="# A plan\n\n<script>x</script>", do="preview")
    assert "<h1>A plan</h1>" in answer.text or "A plan</h" in answer.text
    assert "<script>x" not in answer.text
    assert typed(browser, "/write") == "# A plan\n\n&lt;script&gt;x&lt;/script&gt;"


def test_an_overview_is_written_over_the_one_that_was_read(world, browser):
    """The editor of a section begins with its overview."""
    write = {"path": "api/errors", "entry": "Begun.", "overview": "Errors have five codes."}
    world.call("notebook", "journal_write", **write)
    page = browser.get("/write", params={"path": "api/errors"}).text
    assert "Errors have five codes." in page
    version = re.search(r'name="base_version" value="([^"]+)"', page)[1]
    given = {"as": "notebook", "path": "api/errors", "base_version": version}
    send(browser, text="Counted again.", overview="Errors have six codes.", **given)
    section = world.app.notebook.service().reading().read_section("api/errors")
    assert section.overview.strip() == "Errors have six codes."


def test_a_secret_in_a_draft_is_shown_by_its_mark(world, browser):
    """And is itself again when it is written."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    send(browser, page="/draft", text=f"The token is {secret}")
    shown = typed(browser)
    assert secret not in shown
    assert "[secret" in shown


def test_who_may_only_read_writes_nothing(words_only):
    """No box to write in, no editor, and no request of a program's own."""
    world = WebWorld(may_write=False)
    browser = world.browser()
    assert "<textarea" not in browser.get("/").text
    assert browser.get("/write").status_code == 403
    csrf = re.search(r'name="csrf" value="([^"]+)"', browser.get("/").text)[1]
    for page in ("/written", "/draft"):
        assert browser.post(page, data={"csrf": csrf, "text": PLANTED}).status_code == 403
    world.close()


@pytest.mark.parametrize("page", ["/written", "/draft"])
def test_a_form_of_another_site_writes_nothing(world, browser, page):
    """Without the word that only its own pages know."""
    assert browser.post(page, data={"csrf": "x", "text": PLANTED}).status_code == 403
    assert texts(world) == []
