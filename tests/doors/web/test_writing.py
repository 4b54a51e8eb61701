"""The box at the top of every page, and the editor: what is typed is written or kept, never lost."""

from __future__ import annotations

import html
import os
import re

import pytest
from tests.doors.web.web_world import WebWorld, csrf_of, words_of

from commonplace.core.errors import Unavailable
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


def test_what_a_script_asks_for_has_no_frame(browser):
    """What a search finds as one types, and neither the form, its filters nor counts around it."""
    send(browser, text=PLANTED)
    asked = {"url": "/search", "params": {"q": PLANTED}}
    whole = browser.get(**asked)
    part = browser.get(**asked, headers={"sec-fetch-dest": "empty"})
    for text in ('<form method="get"', 'name="journal"', "<small>1</small>"):
        assert text in whole.text
        assert text not in part.text

    def found(page):
        return " ".join(page.text.partition('<div id="results"')[2].partition("</main>")[0].split())

    assert PLANTED.split(maxsplit=1)[0] in found(part)
    assert found(part) == found(whole)


def test_every_kind_can_be_written(world, browser):
    """Each of the table, by the name that stands before the text."""
    for each in KINDS:
        answer = send(browser, text=f"/{each.name} {PLANTED} {each.name}", path="boats/logbook")
        assert answer.status_code == 303, each
    written = " ".join(text for _, text in texts(world))
    assert [each.name for each in KINDS if f"{PLANTED} {each.name}" not in written] == []


def test_what_it_may_replace_is_said_in_words_of_the_page(world, browser):
    """Undo stands beside it; an entry of the notebook cannot be taken back."""
    for kind, settled in (("log", "undo this and replace"), ("notebook", "replace")):
        for text in ("quokka API listens on port 8000.", "quokka API now listens on port 9000."):
            send(browser, text=f"The {text}", path="api", **{"as": kind})
            world.clock.advance(3600)
        said = words_of(browser.get("/"))
        assert f"; if so, {settled} that one on its page." in said
        assert "say supersedes" not in said


def test_a_decision_is_tagged_so_beside_its_own_tags(world, browser):
    """As the command line would."""
    send(browser, text=PLANTED, tags="hosting, #api", at="yesterday 9am", **{"as": "decision"})
    (event,) = world.app.chronicle.journal.list_events(limit=1).events
    assert sorted(event.tags) == ["api", "decision", "hosting"]
    assert event.at.isoformat() == "2026-11-22T09:00:00+00:00"


def test_a_time_in_front_is_when_it_was(world, browser):
    """As on the command line; one that cannot be is refused, and nothing typed is lost."""
    assert send(browser, text=f"yesterday 9am: {PLANTED}").status_code == 303
    (event,) = world.app.chronicle.journal.list_events(limit=2).events
    assert (event.message, event.at.isoformat()) == (PLANTED, "2026-11-22T09:00:00+00:00")
    refused = send(browser, text=f"31 February: {PLANTED}")
    assert refused.status_code == 400
    assert "No such day" in words_of(refused)
    assert typed(browser) == f"31 February: {PLANTED}"
    send(browser, text=f"yesterday 9am: {PLANTED}", **{"as": "note"})
    assert f"yesterday 9am: {PLANTED}" in dict(texts(world))["private"]


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
        ({"at": "31 February"}, "no such day"),
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


@pytest.mark.parametrize(
    "content",
    [b"[]\nx", b"3\nx", b"null\nx", b'"x"\nx', b"[" * 100_000, b'{"as": "no', b"\xff\x00"],
    ids=["list", "number", "null", "string", "deep", "torn", "bytes"],
)
def test_a_draft_that_is_none_is_no_draft(world, browser, content):
    """Whatever lies in its file, every page is shown, and the next draft takes its place."""
    folder = world.app.folder / "draft"
    folder.mkdir(parents=True)
    (folder / "page.md").write_bytes(content)
    assert [browser.get(page).status_code for page in ("/", "/health", "/write")] == [200] * 3
    send(browser, page="/draft", text=PLANTED)
    assert typed(browser) == PLANTED


@pytest.mark.parametrize("puts", [os.mkfifo, os.mkdir, lambda path: os.symlink(path, path)])
def test_what_is_no_file_is_no_draft(world, browser, puts):
    """It is neither waited for nor in the way: what is typed is written."""
    folder = world.app.folder / "draft"
    folder.mkdir(parents=True)
    puts(folder / "page.md")
    assert [browser.get(page).status_code for page in ("/", "/write")] == [200, 200]
    assert send(browser, text=PLANTED).status_code == 303
    assert [text for _, text in texts(world)] == [PLANTED]


@pytest.mark.parametrize("do", ["write", "preview", "editor"])
def test_where_no_draft_can_be_kept_nothing_is_lost(world, browser, monkeypatch, do):
    """As on a full disk: the answer has what was typed, and says what is the matter."""

    def refuse(*_args, **_kwargs):
        raise Unavailable("The disk is full.")

    monkeypatch.setattr("commonplace.verbs.today.draft.replace_file", refuse)
    monkeypatch.setattr(type(world.app.chronicle.journal), "add_event", refuse)
    answer = send(browser, text=PLANTED, tags="boats", do=do)
    assert answer.status_code == 503
    assert "The disk is full." in words_of(answer)
    assert PLANTED in answer.text
    assert 'value="boats"' in answer.text


def test_what_was_written_is_said_so_where_it_cannot_be_noted_as_seen(world, browser):
    """Nobody writes it again for that."""
    world.app.folder.mkdir(parents=True, exist_ok=True)
    (world.app.folder / "seen").write_text("in the way", "utf-8")
    assert send(browser, text=PLANTED).status_code == 303
    assert "Logged:" in words_of(browser.get("/"))
    assert [text for _, text in texts(world)] == [PLANTED]


def form_of(browser, page="/"):
    """The fields of the box as a browser would send it."""
    form = re.search(r'<form class="write" id="box".*?</form>', browser.get(page).text, re.DOTALL)
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form[0]))
    chosen = re.search(r'name="as" value="(\w+)" checked', form[0])[1]
    return {**fields, "as": chosen}, form[0]


@pytest.mark.parametrize("kind", ["log", "note", "decision", "feeling", "todo", "notebook"])
def test_a_form_that_is_sent_twice_is_written_once(world, browser, kind):
    """As by a double press without script; the same words from another page are another entry."""
    fields, _ = form_of(browser)
    fields |= {"as": kind, "path": "boats/logbook", "do": "write", "text": PLANTED}
    assert [browser.post("/written", data=fields).status_code for _ in range(2)] == [303, 303]
    written = [text for _, text in texts(world)]
    assert len([text for text in written if PLANTED in text]) == 1
    browser.post("/written", data=fields | {"text": f"{PLANTED} again"})
    assert any(f"{PLANTED} again" in text for _, text in texts(world))


def test_what_only_the_editor_shows_goes_along_with_the_box(world, browser):
    """A draft that was begun there is neither shortened nor written elsewhere by the box."""
    began = {"as": "notebook", "path": "boats/logbook", "overview": 'Two\nlines "quoted" & <b>.'}
    send(browser, page="/draft", text=PLANTED, **began)
    fields, form = form_of(browser, "/health")
    assert "with a section, an overview" in form
    fields = {name: html.unescape(value) for name, value in fields.items()}
    browser.post("/draft", data=fields | {"text": f"{PLANTED} more"})
    assert world.app.page_draft().read().fields == began
    fields, _ = form_of(browser, "/health")
    fields = {name: html.unescape(value) for name, value in fields.items()}
    browser.post("/written", data=fields | {"text": f"{PLANTED} more", "do": "write"})
    section = world.app.notebook.service().reading().read_section("boats/logbook")
    assert section.overview.strip() == began["overview"]


def test_an_overview_that_was_begun_is_not_written_over(world, browser):
    """By that of its section, or of another; one that was only read is no draft."""
    for path in ("api/errors", "api/codes"):
        write = {"path": path, "entry": "Begun.", "overview": f"Of {path}."}
        world.call("notebook", "journal_write", **write)
    read = {"as": "notebook", "path": "api/errors", "overview": "Of api/errors."}
    send(browser, page="/draft", text="", **read)
    assert "Of api/codes." in browser.get("/write", params={"path": "api/codes"}).text
    send(browser, page="/draft", text="", **read | {"overview": "Mine."})
    for path in ("api/errors", "api/codes"):
        page = browser.get("/write", params={"path": path})
        assert "Mine." in page.text
        assert ("is still here" in words_of(page)) is (path == "api/codes")


def test_a_long_text_is_not_lost_by_finding(browser):
    """What is more than a question stays in the box."""
    text = f"{PLANTED} " * 100
    assert send(browser, text=text, do="find").status_code == 303
    assert typed(browser).strip() == text.strip()
    send(browser, text=PLANTED, tags="boats", do="find")
    assert typed(browser) == PLANTED
    send(browser, text=PLANTED, do="find")
    assert typed(browser) == ""


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("notebook", {"at": "yesterday", "path": "boats/logbook"}),
        ("note", {"tags": "boats"}),
        ("log", {"overview": "Of boats.", "path": "boats/logbook"}),
    ],
)
def test_a_field_that_a_kind_has_not_is_not_dropped_unsaid(world, browser, kind, given):
    """It is refused, and everything stands in the form again."""
    answer = send(browser, text=PLANTED, **given, **{"as": kind})
    assert answer.status_code == 400
    assert "Empty that field" in words_of(answer)
    assert [value for value in (PLANTED, *given.values()) if value not in answer.text] == []
    assert texts(world) == []


@pytest.mark.parametrize("name", ["overview", "tags"])
def test_forgetting_takes_a_draft_with_its_words_in_any_field(world, browser, name):
    """Also where the file writes its signs otherwise than they were typed."""
    said = PLANTED.replace(" counts ", ' "counts"\n')
    ref = world.call("chronicle", "add_entry", message=said).facts["ref"]
    send(browser, page="/draft", text="Nothing of it.", **{name: said})
    assert world.app.page_draft().read().fields[name] == said
    service = world.app.forgetting()
    assert service.carry_out(service.plan([ref])).is_clean
    assert not list((world.app.folder / "draft").iterdir())
