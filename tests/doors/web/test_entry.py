"""The page of an entry: shown, edited, superseded and deleted."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.doors.web.web_world import NOW, WebWorld, csrf_of, words_of, words_of_html
from tests.journals.transcripts.sessions import said

from commonplace.core.former_texts import editing
from commonplace.core.values import Filter
from commonplace.doors.web.visit import Visit, Visitor


@pytest.fixture
def ref(world):
    """An entry of chronicle."""
    return logged(world, "# Deployed\n\nthe *api* to staging")


def logged(world, message):
    world.call("chronicle", "add_entry", message=message)
    return world.call("recall", "list_by_time").facts["results"][0]["ref"]


@pytest.fixture
def stored(world):
    """Keeps a text that came past Commonplace, as another program writes it; returns its ref."""

    def write(text):
        folder = Path.home() / ".private-journal" / "2026-11-20"
        folder.mkdir(parents=True)
        (folder / "10-00-00-000000.md").write_text(f"---\ntitle: x\n---\n\n{text}\n")
        world.app.filing.sweep()
        return world.call("recall", "list_by_time").facts["results"][0]["ref"]

    return write


def form_of(page):
    """The hidden fields of the first form in the main part."""
    main = page.text.partition("<main")[2].partition("</main>")[0]
    found = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', main)
    return {name: html.unescape(value) for name, value in found}


def test_an_entry_is_rendered(browser, ref):
    """Its Markdown as markup."""
    page = browser.get("/entry", params={"ref": ref})
    assert "<em>api</em>" in page.text
    assert ref in words_of(page)


@pytest.mark.parametrize(
    ("text", "title", "is_shown"),
    [
        ("# Deployed\n\nthe api", "Deployed", True),
        ("Deployed the api", "Deployed the api", True),
        ("Deployed.\nThen slept.", "Deployed. Then slept.", False),
        ("the *api* is up", "the api is up", False),
        ("- one\n- two", "one · two", False),
        ("word " * 60, "word " * 18 + "...", False),
    ],
)
def test_its_title_is_its_first_words(world, browser, text, title, is_shown):
    """Which are seen once: as the title where a line of its own has them, else in the text."""
    page = browser.get("/entry", params={"ref": logged(world, text)})
    heading = re.search(r"<h1( class=\"visually-hidden\")?>(.*?)</h1>", page.text)
    assert html.unescape(heading[2]) == title
    assert (heading[1] is None) is is_shown
    prose = page.text.partition('<div class="prose">')[2].partition("</div>")[0]
    assert (title in words_of_html(prose)) is False or not is_shown


def test_an_entry_is_edited(browser, ref):
    """The form holds its text; saving leads back to it and says so."""
    form = form_of(page := browser.get("/entry/edit", params={"ref": ref}))
    assert "the *api* to staging" in page.text
    saved = browser.post("/entry/save", data={**form, "text": "deployed to production"})
    assert saved.status_code == 303
    shown = words_of(browser.get(saved.headers["location"]))
    assert shown.startswith("Saved. ")
    assert "deployed to production" in shown


def test_line_breaks_stay_as_they_are(world, browser, ref):
    """A browser sends CR LF for each, which nobody typed."""
    form = form_of(browser.get("/entry/edit", params={"ref": ref}))
    browser.post("/entry/save", data={**form, "text": "one\r\ntwo"})
    assert world.app.amend.read_text(ref).text == "one\ntwo"


def test_two_tabs(browser, ref):
    """The second one to save is told, and what it typed stays in the form beside what holds."""
    first = form_of(browser.get("/entry/edit", params={"ref": ref}))
    second = form_of(browser.get("/entry/edit", params={"ref": ref}))
    browser.post("/entry/save", data={**first, "text": "of the first tab"})
    refused = browser.post("/entry/save", data={**second, "text": "of the second <tab>"})
    assert refused.status_code == 409
    assert "of the second &lt;tab&gt;</textarea>" in refused.text
    assert "of the first tab" in refused.text
    again = browser.post("/entry/save", data={**form_of(refused), "text": "of both"})
    assert again.status_code == 303


WRITES = {
    "chronicle": ("chronicle", "add_entry", {"message": "first"}),
    "private": ("private", "process_thoughts", {"project_notes": "first"}),
    "notebook": ("notebook", "journal_write", {"path": "a", "entry": "first"}),
    "timeline": ("timeline", "timeline_add", {"content": "first"}),
    "memory": ("memory-write", "memory_save", {"kind": "todo", "title": "first"}),
}


def written(world, journal):
    """The ref of a new entry of a journal."""
    toolset, tool, arguments = WRITES[journal]
    if journal == "notebook":
        world.app.notebook.service().init()
    world.call(toolset, tool, **arguments)
    return world.call("recall", "list_by_time").facts["results"][0]["ref"]


@pytest.mark.parametrize("journal", WRITES)
def test_two_tabs_that_supersede(world, browser, journal):
    """The second is refused in words, with what it typed and the way to what took the place."""
    ref = written(world, journal)
    form = form_of(browser.get("/entry/edit", params={"ref": ref, "as": "supersede"}))
    first = browser.post("/entry/save", data={**form, "text": "of the first tab"})
    refused = browser.post("/entry/save", data={**form, "text": "of the second tab"})
    assert refused.status_code == 409
    assert "of the second tab</textarea>" in refused.text
    assert f"{ref} is superseded by" in words_of(refused)
    assert f'href="{html.escape(first.headers["location"])}"' in refused.text
    repeated = browser.post("/entry/save", data={**form, "text": "of the first tab"})
    assert repeated.headers["location"] == first.headers["location"]


def test_what_was_edited_meanwhile_is_not_superseded(world, browser, ref):
    """Its new text is shown first; sent once more, the text that was typed takes its place."""
    form = form_of(browser.get("/entry/edit", params={"ref": ref, "as": "supersede"}))
    world.app.amend.edit(ref, "edited elsewhere")
    refused = browser.post("/entry/save", data={**form, "text": "typed here"})
    assert refused.status_code == 409
    assert "typed here</textarea>" in refused.text
    assert "What it says now" in words_of(refused)
    assert "edited elsewhere" in words_of(refused)
    again = browser.post("/entry/save", data={**form_of(refused), "text": "typed here"})
    assert again.status_code == 303


@pytest.mark.parametrize("way", ["edit", "supersede"])
def test_what_was_typed_outlives_its_entry(browser, ref, way):
    """Deleted in another tab, it can be saved no more; the text stays in the form."""
    form = form_of(browser.get("/entry/edit", params={"ref": ref, "as": way}))
    browser.post("/entry/deleted", data={**form, "as": ""})
    refused = browser.post("/entry/save", data={**form, "text": "typed for an hour"})
    assert refused.status_code == 409
    assert "typed for an hour</textarea>" in refused.text
    assert f"No entry {ref}." in words_of(refused)
    assert form_of(refused)["version"] == form["version"]


def test_an_edit_is_taken_back(world, browser, ref):
    """By a button that is there once there is an edit, and shows both texts."""
    before = world.app.amend.read_text(ref).text
    assert "Undo …" not in words_of(browser.get("/entry", params={"ref": ref}))
    form = form_of(browser.get("/entry/edit", params={"ref": ref}))
    browser.post("/entry/save", data={**form, "text": "staging was torn down"})
    words = words_of(browser.get("/entry", params={"ref": ref}))
    assert "What it said until 12:00 the api to staging" in words.replace("Deployed ", "")
    assert "Undo … u It says again what it said until 12:00." in words
    asked = browser.get("/entry/undo", params={"ref": ref})
    assert "staging was torn down" in words_of(asked)
    undone = browser.post("/entry/undone", data=form_of(asked))
    assert undone.status_code == 303
    assert "The last edit is taken back." in words_of(browser.get(undone.headers["location"]))
    assert world.app.amend.read_text(ref).text == before


def test_a_correction_of_a_commit_is_taken_back(world, browser):
    """Though the page deletes no commit; what it corrected holds again."""
    service = world.app.notebook.service()
    ref = service.notebook.write("zoo", "The quokka sleeps.").entry.ref
    made = world.app.amend.edit(ref, "The wombat digs.").ref
    assert "Undo …" in words_of(browser.get("/entry", params={"ref": made}))
    asked = browser.get("/entry/undo", params={"ref": made})
    assert "Git's history keeps this one." in words_of(asked)
    undone = browser.post("/entry/undone", data=form_of(asked))
    assert f"{ref} holds again." in words_of(browser.get(undone.headers["location"]))
    assert "No longer holds" not in words_of(browser.get("/entry", params={"ref": ref}))


def test_an_entry_is_superseded(browser, ref):
    """Both stay, and name each other."""
    form = form_of(browser.get("/entry/edit", params={"ref": ref, "as": "supersede"}))
    saved = browser.post("/entry/save", data={**form, "text": "staging was torn down"})
    later = words_of(browser.get(saved.headers["location"]))
    assert later.partition("Replaces")[2].startswith(" 12:00 chronicle: Deployed · the api")
    words = words_of(browser.get("/entry", params={"ref": ref}))
    assert "No longer holds: what replaced it does." in words
    assert words.partition("Replaced by")[2].startswith(" 12:00 chronicle: staging was torn")


def test_a_summary_offers_nothing_that_is_refused(world, browser):
    """It follows what it is made from; that is said before anything is typed."""
    world.call("timeline", "timeline_add", content="tests were red", at="2026-10-06 10:05")
    world.app.timeline_commands().roll_up()
    ref = "timeline:rollup_daily_20261006"
    page = browser.get("/entry", params={"ref": ref})
    assert "A summary follows what it is made from" in words_of(page)
    assert 'href="/calendar/2026-10-06#summary"' in page.text
    assert "/entry/" not in page.text
    for path in ("/entry/edit", "/entry/edit?as=supersede", "/entry/delete", "/entry/forget"):
        refused = browser.get(path, params={"ref": ref, "as": path.partition("=")[2]})
        assert refused.status_code == 400


def test_what_was_said_can_only_go(world, browser):
    """A message of a session is deleted or forgotten, never altered."""
    world.app.transcripts.store.append("claude-code", "s1", [said(1, "deployed")])
    ref = "transcripts:claude-code/s1#1"
    words = words_of(browser.get("/entry", params={"ref": ref}))
    assert "Delete … It goes for good. What quotes it stays." in words
    assert "Read the whole session" in words
    assert "Correct" not in words
    assert "Replace" not in words
    assert browser.get("/entry/edit", params={"ref": ref}).status_code == 400
    assert browser.get("/entry/delete", params={"ref": ref}).status_code == 200


def test_the_head_of_a_file_is_apart(world, browser):
    """What programs read of a private entry is folded away, and no heading of its text."""
    page = browser.get("/entry", params={"ref": written(world, "private")})
    shown = page.text.partition("<h1")[2].partition("The head of its file")[0]
    assert "Project Notes" in shown
    assert ">first</h1>" in shown
    assert "timestamp" not in shown
    assert "timestamp" in page.text.partition("The head of its file")[2]


def test_an_entry_is_deleted(browser, ref):
    """After a question."""
    asked = browser.get("/entry/delete", params={"ref": ref})
    assert words_of(asked).startswith("Delete this for good?")
    gone = browser.post("/entry/deleted", data=form_of(asked))
    assert words_of(browser.get(gone.headers["location"])).startswith(f"Deleted {ref}.")
    assert browser.get("/entry", params={"ref": ref}).status_code == 404


def test_an_entry_is_forgotten(world, browser, ref):
    """What would go is shown first; then what was looked through, and that nothing is left."""
    asked = browser.get("/entry/forget", params={"ref": ref})
    assert words_of(asked).startswith("Forget this? Deployed · the api to staging It goes for good")
    assert "Backups and exports that were made" in words_of(asked)
    words = words_of(browser.post("/entry/forgotten", data=form_of(asked)))
    said = "Deleted 1 entry is deleted for good. Nothing of the text is left. Looked through "
    assert words.startswith(said)
    assert f"What was deleted {ref}" in words
    assert browser.get("/entry", params={"ref": ref}).status_code == 404
    assert world.app.recall.service().list_by_time("", within=Filter(), limit=1).hits == ()


def test_what_replaced_it_may_lose_what_it_inherited(world, browser):
    """Each kind of it is shown with its values before, and goes where its box is ticked."""
    ref = world.app.chronicle.service().add_entry(message="It", tags=["zorb"]).facts["ref"]
    later = world.app.amend.supersede(ref, "Another").ref
    asked = browser.get("/entry/forget", params={"ref": ref})
    assert f"{later}: zorb" in words_of(asked)
    browser.post("/entry/forgotten", data={**form_of(asked), "inherited_tags": "yes"})
    assert world.app.chronicle.journal.read_event(later).own_tags == []


def test_what_changed_since_is_not_forgotten(world, browser, ref):
    """It is to be looked at again."""
    form = form_of(browser.get("/entry/forget", params={"ref": ref}))
    world.app.amend.edit(ref, "another text")
    assert browser.post("/entry/forgotten", data=form).status_code == 409
    assert browser.get("/entry", params={"ref": ref}).status_code == 200


def test_a_blank_text_is_refused(browser, ref):
    """And the entry stays as it was."""
    form = form_of(browser.get("/entry/edit", params={"ref": ref}))
    assert browser.post("/entry/save", data={**form, "text": "  "}).status_code == 409
    assert "Deployed" in browser.get("/entry", params={"ref": ref}).text


@pytest.mark.parametrize("path", ["/entry/save", "/entry/deleted", "/entry/forgotten"])
@pytest.mark.parametrize("csrf", ["", "x", "é"])
def test_a_form_of_nobody_changes_nothing(browser, ref, path, csrf):
    """Without the words that pages of this browser bear."""
    answer = browser.post(path, data={"ref": ref, "text": "taken over", "csrf": csrf})
    assert answer.status_code == 403
    assert "Deployed" in browser.get("/entry", params={"ref": ref}).text


def test_words_of_another_browser_change_nothing(world, browser, ref):
    """Each browser has its own."""
    csrf = csrf_of(world.browser())
    answer = browser.post("/entry/deleted", data={"ref": ref, "csrf": csrf})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "ref", ["", "nope", "chronicle:", "chronicle:nope", "x" * 9000, "/etc/passwd", "\0"]
)
def test_refs_that_lead_nowhere(browser, ref):
    """Say so; none is an error of the server."""
    for path in ("/entry", "/entry/edit", "/entry/delete"):
        assert browser.get(path, params={"ref": ref}).status_code in {400, 403, 404}


def test_a_long_entry_is_cut(world, browser):
    """And whole on request; 1 MB of it is answered."""
    ref = logged(world, "word " * 100_000)
    assert "Show all" in words_of(browser.get("/entry", params={"ref": ref}))
    assert "Show all" not in words_of(browser.get("/entry", params={"ref": ref, "whole": "1"}))


def test_a_cut_hides_no_secret_from_the_screen(browser, stored):
    """A question whether to delete, which shows 600 characters, shows a secret there by its mark."""
    token = "ghp_" + "a1B2" * 9
    page = browser.get("/entry/delete", params={"ref": stored("x " * 285 + token)})
    assert "x [secret:" in words_of(page)
    assert "ghp_" not in page.text


def test_a_page_that_only_reads_has_no_buttons(words_only):
    """Nor does it edit when it is asked to."""
    world = WebWorld(may_write=False)
    world.app.chronicle.service()  # opened by its owner
    ref = logged(world, "deployed")
    browser = world.browser()
    assert "Correct" not in words_of(browser.get("/entry", params={"ref": ref}))
    assert browser.get("/entry/edit", params={"ref": ref}).status_code == 403
    form = {"ref": ref, "text": "x", "csrf": csrf_of(browser)}
    assert browser.post("/entry/save", data=form).status_code == 403
    world.close()


@pytest.mark.parametrize(("length", "shown"), [(100, "a" * 100), (40_000, "a" * 40_000)])
def test_a_preview_of_a_short_text_is_all_of_it(world, length, shown):
    """Up to what is screened at once."""
    assert visit_of(world).shown_opening("a" * length, 20_000) == shown


def test_a_preview_leaves_out_what_the_cut_parts(world):
    """A secret that the cut goes through is shown by none of its characters."""
    token = "ghp_" + "a1B2" * 9
    for before in range(15_950, 16_001):
        shown = visit_of(world).shown_opening("x" * (before - 1) + " " + token + " more" * 999, 280)
        assert len(shown) >= 280
        assert "ghp" not in shown


def visit_of(world):
    """A request of the machine's owner."""
    visitor = Visitor(owner="o", may_write=True, csrf="")
    return Visit(
        app=world.app, visitor=visitor, now=NOW, parts={}, query={}, form={}, url=lambda *_: ""
    )


def test_of_two_tabs_one_supersedes(browser, ref):
    """The other keeps what was typed, and names the entry that holds."""
    pages = [browser.get("/entry/edit", params={"ref": ref, "as": "supersede"}) for _ in range(2)]
    first, second = (
        browser.post("/entry/save", data={**form_of(page), "text": f"to production {number}"})
        for number, page in enumerate(pages)
    )
    assert first.status_code == 303
    assert second.status_code == 409
    assert f"{ref} is superseded by chronicle:" in words_of(second)
    assert "to production 1" in second.text


CORRECTED = {
    "chronicle": {"at": "2026-11-20 09:00", "tags": "zoo, night", "project": "/srv/zoo"},
    "timeline": {"at": "2026-11-20 09:00", "tags": "zoo", "projects": "harborlight, parser"},
    "memory": {"at": "2026-11-20 09:00", "done": "yes"},
    "private": {"at": "2026-11-22 09:00"},
}


@pytest.mark.parametrize("journal", CORRECTED)
def test_what_an_entry_has_is_edited_in_fields(world, browser, journal):
    """Beside its text, each in a field of its own; the page then shows them."""
    ref = written(world, journal)
    asked = browser.get("/entry/edit", params={"ref": ref})
    shown = set(re.findall(r'<input (?:type="checkbox" )?name="(\w+)"', asked.text))
    assert shown == set(CORRECTED[journal])
    sent = {**form_of(asked), "text": "second", **CORRECTED[journal]}
    saved = browser.post("/entry/save", data=sent)
    assert saved.status_code == 303
    assert dict(world.app.amend.read_fields(ref)) == CORRECTED[journal]
    assert "second" in words_of(browser.get(saved.headers["location"]))


@pytest.mark.parametrize("journal", ["chronicle", "timeline", "memory"])
def test_what_takes_a_place_has_fields_of_its_own(world, browser, journal):
    """Filled in with those of the entry before, which keeps what it had."""
    ref = written(world, journal)
    asked = browser.get("/entry/edit", params={"ref": ref, "as": "supersede"})
    shown = set(re.findall(r'<input (?:type="checkbox" )?name="(\w+)"', asked.text))
    assert shown == set(CORRECTED[journal])
    before = dict(world.app.amend.read_fields(ref))
    sent = {**form_of(asked), "text": "second", **CORRECTED[journal]}
    saved = browser.post("/entry/save", data=sent)
    later = parse_qs(urlsplit(saved.headers["location"]).query)["ref"][0]
    assert dict(world.app.amend.read_fields(later)) == CORRECTED[journal]
    assert dict(world.app.amend.read_fields(ref)) == before


@pytest.mark.parametrize("as_", ["edit", "supersede"])
def test_what_is_typed_into_the_form_survives_a_reload(world, browser, ref, as_):
    """Until it is saved; text and fields, of this form alone."""
    params = {"ref": ref, "as": as_}
    form = form_of(browser.get("/entry/edit", params=params))
    typed = {**form, "text": "to the *harbour*", "tags": "sea, \u00e9bb", "at": "2026-11-20 09:00"}
    assert browser.post("/entry/draft", data=typed).status_code == 200
    again = browser.get("/entry/edit", params=params)
    assert "to the *harbour*</textarea>" in again.text
    assert 'value="sea, \u00e9bb"' in again.text
    assert "is kept until you save or cancel it" in words_of(again)
    other = browser.get("/entry/edit", params={"ref": ref, "as": {"edit": "supersede"}.get(as_)})
    assert "harbour" not in other.text
    assert "Deployed" in world.app.amend.read_text(ref).text
    assert browser.post("/entry/save", data={**typed, **form_of(again)}).status_code == 303
    assert not [*world.app.page_draft().folder.iterdir()]


def test_what_is_typed_below_headings_survives_too(world, browser):
    """Each text below its own."""
    texts = {"feelings": "calm", "reflections": "the quay is dry"}
    ref = world.call("private", "process_thoughts", **texts).facts["refs"][0]
    asked = browser.get("/entry/edit", params={"ref": ref})
    labels = re.findall(r"<label>(.*?) <textarea", asked.text)
    typed = {**form_of(asked), "heading": labels, "text": ["---\na: b\n---", "it is wet"]}
    browser.post("/entry/draft", data=typed)
    again = browser.get("/entry/edit", params={"ref": ref}).text
    assert re.findall(r"<label>(.*?) <textarea", again) == labels
    assert "---\na: b\n---</textarea>" in again
    assert "it is wet</textarea>" in again


@pytest.mark.parametrize("way", ["typed back", "cancelled", "deleted", "forgotten"])
def test_nothing_stays_of_what_was_typed(world, browser, ref, way):
    """Once nobody wants it."""
    form = form_of(browser.get("/entry/edit", params={"ref": ref}))
    fields = dict(world.app.amend.read_fields(ref))
    text = world.app.amend.read_text(ref).text
    browser.post("/entry/draft", data={**form, **fields, "text": "other words"})
    assert len([*world.app.page_draft().folder.iterdir()]) == 1
    if way == "typed back":
        browser.post("/entry/draft", data={**form, **fields, "text": text})
    elif way == "cancelled":
        left = browser.post("/entry/save", data={**form, "text": "other words", "do": "cancel"})
        assert left.headers["location"].startswith("/entry?ref=")
    elif way == "deleted":
        browser.post("/entry/deleted", data=form)
    else:
        plan = form_of(browser.get("/entry/forget", params={"ref": ref}))
        assert browser.post("/entry/forgotten", data=plan).status_code == 200
    assert not [*world.app.page_draft().folder.iterdir()]


@pytest.mark.parametrize("journal", CORRECTED)
def test_nothing_stays_of_what_was_typed_of_an_entry_that_another_door_deletes(
    world, browser, journal
):
    """An edit there that keeps no former text leaves it: the form says what changed since."""
    ref = written(world, journal)
    form = form_of(browser.get("/entry/edit", params={"ref": ref}))
    browser.post("/entry/draft", data={**form, "text": "other words"})
    with editing(keeps=False):
        world.app.amend.edit(ref, world.app.amend.read_text(ref).text + " again")
    (draft,) = world.app.page_draft().folder.iterdir()
    assert b"other words" in draft.read_bytes()
    world.app.amend.delete(ref)
    assert not [*world.app.page_draft().folder.iterdir()]


def test_nothing_stays_of_what_was_typed_of_an_entry_that_is_taken_back(world, browser, ref):
    """The entry that superseded another is gone once that is undone, and its draft with it."""
    made = world.app.amend.supersede(ref, "Deployed twice").ref
    form = form_of(browser.get("/entry/edit", params={"ref": made}))
    browser.post("/entry/draft", data={**form, "text": "other words"})
    assert len([*world.app.page_draft().folder.iterdir()]) == 1
    asked = browser.get("/entry/undo", params={"ref": made})
    browser.post("/entry/undone", data=form_of(asked))
    assert not [*world.app.page_draft().folder.iterdir()]


def test_what_changed_since_it_was_begun_stands_beside_it(world, browser, ref):
    """What was typed is not lost, and what another wrote is not written over unseen."""
    form = form_of(browser.get("/entry/edit", params={"ref": ref}))
    browser.post("/entry/draft", data={**form, "text": "of the page"})
    world.app.amend.edit(ref, "of the terminal")
    again = browser.get("/entry/edit", params={"ref": ref})
    assert again.status_code == 200
    words = words_of(again)
    assert "It was changed since you began." in words
    assert words.partition("What it says now")[2].startswith(
        " If you save again, your text replaces this. of the terminal"
    )
    assert "of the page</textarea>" in again.text


def test_what_was_begun_and_left_does_not_pile_up(world, browser):
    """Of twenty entries what was typed in last is kept."""
    for number in range(22):
        ref = logged(world, f"entry {number}")
        form = form_of(browser.get("/entry/edit", params={"ref": ref}))
        browser.post("/entry/draft", data={**form, "text": f"typed {number}"})
    assert len([*world.app.page_draft().folder.iterdir()]) == 20


def test_a_private_entry_is_of_its_day_or_one_beside_it(world, browser):
    """Its file stays where it lies; a time of another day is refused, and nothing is lost."""
    ref = written(world, "private")
    form = form_of(browser.get("/entry/edit", params={"ref": ref}))
    refused = browser.post("/entry/save", data={**form, "text": "typed", "at": "2026-11-20 09:00"})
    assert refused.status_code == 409
    assert "lies in the folder of 2026-11-23, so it is of that day" in words_of(refused)
    assert "typed</textarea>" in refused.text
    saved = browser.post("/entry/save", data={**form, "text": "typed", "at": "2026-11-22 09:00"})
    assert saved.status_code == 303
    page = world.app.recall.service().open_ref(ref)
    assert page.at.isoformat() == "2026-11-22T09:00:00+00:00"
    listed = world.call("recall", "list_by_time", when="yesterday").facts["results"]
    assert [each["ref"] for each in listed] == [ref]
    world.app.amend.undo(ref)
    assert world.app.recall.service().open_ref(ref).at == NOW


def test_a_field_that_is_refused_loses_nothing(world, browser, ref):
    """The form comes again with all that was typed."""
    form = form_of(browser.get("/entry/edit", params={"ref": ref}))
    sent = {**form, "text": "typed", "tags": "one, two", "at": "when it rained"}
    refused = browser.post("/entry/save", data=sent)
    assert refused.status_code == 409
    assert "typed</textarea>" in refused.text
    assert 'value="one, two"' in refused.text
    assert 'value="when it rained"' in refused.text
    assert "Deployed" in world.app.amend.read_text(ref).text


def test_the_fields_of_two_tabs(world, browser, ref):
    """What the first one saved stands beside what the second one typed, tags and time too."""
    form = form_of(browser.get("/entry/edit", params={"ref": ref}))
    browser.post("/entry/save", data={**form, "text": "of the first", "tags": "zoo"})
    refused = browser.post("/entry/save", data={**form, "text": "of the second", "tags": "sea"})
    assert refused.status_code == 409
    assert 'value="sea"' in refused.text
    beside = words_of(refused).partition("What it says now")[2]
    assert beside.endswith("of the first Tags, with commas zoo")


def test_a_private_entry_is_edited_by_its_headings(world, browser):
    """Each a field; no head of a file is shown, and none is written by what was typed."""
    texts = {"feelings": "calm", "reflections": "the quay is dry"}
    ref = world.call("private", "process_thoughts", **texts).facts["refs"][0]
    before = world.app.amend.read_text(ref).text
    asked = browser.get("/entry/edit", params={"ref": ref})
    labels = re.findall(r"<label>(.*?) <textarea", asked.text)
    assert "timestamp" not in asked.text
    form = {**form_of(asked), "heading": labels, "text": ["---\ntitle: x\n---\n", "it is wet"]}
    assert browser.post("/entry/save", data=form).status_code == 303
    after = world.app.amend.read_text(ref).text
    head = before.partition("## ")[0]
    assert after == f"{head}## {labels[0]}\n\n---\ntitle: x\n---\n\n\n## {labels[1]}\n\nit is wet\n"
    emptied = {**form_of(browser.get("/entry/edit", params={"ref": ref})), "heading": labels}
    browser.post("/entry/save", data={**emptied, "text": ["", "it is wet"]})
    assert world.app.amend.read_text(ref).text == f"{head}## {labels[1]}\n\nit is wet\n"


def test_when_it_expires_is_said(world, browser, ref):
    """By its page and by `open`."""
    world.app.expiring.expire(ref, NOW + timedelta(days=2))
    assert "Expires 2026-11-25 12:00" in words_of(browser.get("/entry", params={"ref": ref}))
    opened = world.call("recall", "open_ref", ref=ref)
    assert "Expires 2026-11-25 12:00." in opened.text
    assert opened.facts["expires"] == "2026-11-25T12:00:00+00:00"
