"""The notebook's pages: its tree, a section with its history, and a clash that is settled there."""

from __future__ import annotations

import pytest
from tests.doors.web.test_entry import form_of
from tests.doors.web.web_world import WebWorld, words_of
from tests.journals.notebook.team import Team, clashing
from tests.journals.transcripts.sessions import said


@pytest.fixture
def notebook(words_only, monkeypatch, tmp_path):
    """Opens a notebook: one without a section, or the one in a folder."""
    made = []

    def opened(folder=None):
        monkeypatch.setenv("COMMONPLACE_NOTEBOOK", str(folder or tmp_path / "notebook"))
        world = WebWorld()
        made.append(world)
        world.app.notebook.service().init()
        return world

    yield opened
    for world in made:
        world.close()


def write(world, section, entry, **given):
    return world.call("notebook", "journal_write", path=section, entry=entry, **given)


def test_an_empty_notebook(browser):
    """Says how to begin."""
    page = browser.get("/notebook")
    assert "will stand here, section by section" in words_of(page)
    assert 'href="/write?as=notebook"' in page.text
    assert '<option value="notebook" selected>' in browser.get("/write?as=notebook").text


def test_sections_as_a_tree(notebook):
    """A folder without an overview of its own is a group."""
    world = notebook()
    write(world, "api/errors", "Errors have six codes.")
    write(world, "api/limits", "Fifty calls a second.")
    words = words_of(world.browser().get("/notebook"))
    assert words.startswith("Notebook api errors 1 entry, 12:00 limits 1 entry, 12:00")


def test_the_tree_shows_how_each_overview_begins(notebook):
    """Below its headings, as words."""
    world = notebook()
    write(world, "api", "begun", overview="# The API\n\nIt **listens** on 8000.\n\nMore of it.")
    words = words_of(world.browser().get("/notebook"))
    assert words.startswith("Notebook api It listens on 8000. 1 entry, 12:00")


def test_a_large_tree_shows_fewer_levels(notebook, monkeypatch):
    """What lies deeper is a page of its own, and a long level goes on on the next."""
    monkeypatch.setattr("commonplace.doors.web.pages.notebook.MOST", 3)
    world = notebook()
    for name in ("api/errors", "api/limits", "map", "web/forms", "zoo"):
        write(world, name, "Begun.")
    browser = world.browser()
    page = browser.get("/notebook")
    assert words_of(page).startswith("Notebook api 2 below api map 1 entry, 12:00 web 1 below web")
    assert "zoo" not in words_of(page)
    words = words_of(browser.get("/notebook", params={"start": "3"}))
    assert words.startswith("Notebook zoo 1 entry, 12:00 Earlier in the alphabet")
    words = words_of(browser.get("/notebook", params={"in": "api"}))
    assert words.startswith("Notebook api errors 1 entry, 12:00 limits 1 entry, 12:00")
    for name in ("nope", "../x"):
        assert browser.get("/notebook", params={"in": name}).status_code in {400, 404}


def test_a_section_is_written_from_its_page(notebook):
    """An entry, and the overview over the version that was read."""
    world = notebook()
    write(world, "api", "begun", overview="Port 8000.")
    browser = world.browser()
    page = browser.get("/notebook/section", params={"name": "api"})
    assert 'href="/write?path=api"' in page.text
    assert 'href="/entry/edit?ref=notebook%3Aapi"' in page.text
    form = form_of(browser.get("/write", params={"path": "api"}))
    typed = {**form, "as": "notebook", "text": "Moved.", "overview": "Port 9000.", "do": "write"}
    version = world.app.notebook.service().reading().read_section("api").version
    answer = browser.post("/written", data={**typed, "path": "api", "base_version": version})
    assert answer.status_code == 303
    words = words_of(browser.get("/notebook/section", params={"name": "api"}))
    assert "Port 9000." in words
    assert "Moved." in words


def test_a_section_and_its_history(notebook):
    """Each entry with what it changed in the overview."""
    world = notebook()
    first = write(world, "api", "**begun**", overview="The port is 8000.")
    write(world, "api", "moved", overview="The port is 9000.", base_version=first.facts["version"])
    page = world.browser().get("/notebook/section", params={"name": "api"})
    assert "The port is 9000." in words_of(page)
    assert "<del>- The port is 8000.</del>" in page.text
    assert "<ins>+ The port is 9000.</ins>" in page.text
    assert words_of(page).index("moved") < words_of(page).index("begun")
    assert "**" not in words_of(page)


def test_sections_that_are_not_there(notebook):
    """Say so."""
    world = notebook()
    write(world, "api", "begun")
    browser = world.browser()
    for name in ("", "nope", "../x", "a" * 5000, "\0"):
        for path in ("/notebook/section", "/notebook/clash"):
            code = browser.get(path, params={"name": name}).status_code
            assert code in {400, 404}, (path, name)


@pytest.fixture
def clashed(notebook, tmp_path):
    """The notebook of one who wrote `It is green.`, where a sync brought in `It is blue.`."""
    team = Team(tmp_path, after=clashing)
    yield notebook(team.place(0))
    team.close()


def overview_of(world):
    return world.app.notebook.service().reading().read_section("a").overview


def clash_page(browser, **query):
    return browser.get("/notebook/clash", params={"name": "a", **query})


def test_a_clash_is_settled(clashed):
    """Both texts stand side by side; what is saved holds from then on."""
    browser = clashed.browser()
    assert "Two versions" in words_of(browser.get("/notebook"))
    page = clash_page(browser)
    assert "It is green." in words_of(page)
    assert "It is blue." in words_of(page)
    done = browser.post("/notebook/settle", data={**form_of(page), "text": "It is teal."})
    assert "Settled a." in words_of(browser.get(done.headers["location"]))
    assert "Two versions" not in words_of(browser.get("/notebook"))
    assert overview_of(clashed) == "It is teal."
    back = clash_page(browser)
    assert "No two versions of it wait to be settled" in words_of(
        browser.get(back.headers["location"])
    )


@pytest.mark.parametrize(("side", "holds"), [("ours", "green"), ("theirs", "blue")])
def test_one_of_two_texts_is_chosen(clashed, side, holds):
    """By a button below it; the text of the form is not asked for."""
    browser = clashed.browser()
    page = clash_page(browser)
    assert f'name="keep" value="{side}"' in page.text
    done = browser.post("/notebook/settle", data={**form_of(page), "text": "", "keep": side})
    assert done.status_code == 303
    assert overview_of(clashed) == f"It is {holds}.\n\nIt is round."
    assert "Two versions" not in words_of(browser.get("/notebook"))


def test_a_text_that_has_changed_is_not_chosen(clashed):
    """The page shows what it is now."""
    browser = clashed.browser()
    form = {**form_of(clash_page(browser)), "keep": "ours"}
    now = clashed.app.notebook.service().reading().read_section("a")
    write(clashed, "a", "later", overview="It is black.", base_version=now.version)
    assert browser.post("/notebook/settle", data=form).status_code == 409
    assert overview_of(clashed) == "It is black."


def test_an_overview_that_nobody_saw_is_not_settled_away(clashed):
    """One that was written after the page was opened is shown; what was typed stays."""
    browser = clashed.browser()
    form = form_of(clash_page(browser))
    now = clashed.app.notebook.service().reading().read_section("a")
    write(clashed, "a", "later", overview="It is black.", base_version=now.version)
    refused = browser.post("/notebook/settle", data={**form, "text": "It is <teal>."})
    assert refused.status_code == 409
    assert "It is &lt;teal&gt;.</textarea>" in refused.text
    assert "It is black." in words_of(refused)
    assert overview_of(clashed) == "It is black."
    again = browser.post("/notebook/settle", data={**form_of(refused), "text": "It is teal."})
    assert again.status_code == 303
    assert overview_of(clashed) == "It is teal."


def test_a_clash_that_another_tab_settled(clashed):
    """Is over; what was typed here stays on the page, with the way to what holds."""
    browser = clashed.browser()
    form = form_of(clash_page(browser))
    browser.post("/notebook/settle", data={**form, "text": "It is teal."})
    late = browser.post("/notebook/settle", data={**form, "text": "It is grey."})
    assert late.status_code == 409
    assert "was settled" in words_of(late)
    assert "It is grey.</textarea>" in late.text
    assert 'href="/notebook/section?name=a"' in late.text
    assert overview_of(clashed) == "It is teal."


def test_a_text_that_cannot_settle(clashed):
    """Is refused in words, and stays in the form; the clash waits on."""
    browser = clashed.browser()
    for text, why in (
        (" \n", "The text is empty."),
        ("a\n<!-- version 1 -->\nb", "1 marks are left in the text."),
    ):
        form = form_of(clash_page(browser))
        refused = browser.post("/notebook/settle", data={**form, "text": text})
        assert refused.status_code == 409, text
        assert why in words_of(refused)
        assert text.strip().partition("\n")[0] in refused.text
        assert overview_of(clashed) == "It is blue.\n\nIt is round."
        assert "Two versions" in words_of(browser.get("/notebook"))


def test_the_form_of_a_clash_says_which_text_it_begins_with(clashed):
    """And leads to the other."""
    browser = clashed.browser()
    for begin, begun in (("", "It is blue."), ("ours", "It is green.")):
        page = clash_page(browser, begin=begin)
        assert f"{begun}\n\nIt is round.</textarea>" in page.text, begin
        assert f"{begun} It is round. This one holds The form begins with this text." in words_of(
            page
        )
        assert page.text.count("Begin with this text") == 1


def test_an_overview_says_what_was_replaced_since(notebook):
    """On the page of its section, on that of its ref, and where a search shows it."""
    world = notebook()
    old = write(world, "api", "Port 8000.", overview="The quokka listens on port 8000.").facts["id"]
    new = write(world, "api", "Port 9000.", supersedes=f"notebook:{old}").facts["id"]
    browser = world.browser()
    for path, asked in (
        ("/notebook/section", {"name": "api"}),
        ("/entry", {"ref": "notebook:api"}),
        ("/search", {"q": "quokka listens", "kind": "overview"}),
    ):
        page = browser.get(path, params=asked)
        assert "Since this overview: an entry of Mon 23 Nov 2026 was replaced by" in words_of(page)
        for entry_id in (old, new):
            assert entry_id.partition("#")[2] in page.text


def test_no_page_shows_an_entry_that_has_expired(notebook):
    """Neither tree, section, search nor calendar; the page of its ref says what became of it."""
    world = notebook()
    write(world, "api", "It listens.", overview="The API.")
    said = "The quokka door opens with four seven."
    ref = write(world, "api", said, expires="in 2 hours").facts["ref"]
    pages = (
        ("/", {}),
        ("/notebook", {}),
        ("/notebook/section", {"name": "api"}),
        ("/search", {"q": "quokka door"}),
        ("/calendar", {}),
        ("/entry", {"ref": "notebook:api"}),
    )
    browser = world.browser()
    assert "four seven" in words_of(browser.get("/notebook/section", params={"name": "api"}))
    world.clock.advance(7200)
    for path, asked in pages:
        page = browser.get(path, params=asked, follow_redirects=True)
        assert page.status_code == 200
        assert "four seven" not in page.text
        assert ref not in page.text
    assert "api The API. 1 entry" in words_of(browser.get("/notebook"))
    gone = browser.get("/entry", params={"ref": ref})
    assert gone.status_code == 404
    assert "expired on 23 November 2026; git's history still holds it." in words_of(gone)


def test_forgetting_says_what_the_notebook_keeps(notebook):
    """Before: that not all of it can be deleted, and how it is; the button promises no more."""
    world = notebook()
    ref = f"notebook:{write(world, 'api', 'The quokka listens on port 8000.').facts['id']}"
    turn = said(1, "The quokka listens on port 8000.", id="1", at="2026-11-20T08:00:00.000Z")
    world.app.transcripts.store.append("claude-code", "s1", [turn])
    words = words_of(world.browser().get("/entry/forget", params={"ref": ref}))
    assert "Not all that holds its text can be deleted from here" in words
    assert "Everything that holds its text is deleted" not in words
    assert f"commonplace forget {ref} --rewrite-history" in words
    assert "Delete what can be deleted" in words
    assert "Forget it for good" not in words


def test_what_links_to_a_section_or_an_entry(notebook):
    """Both pages lead to the texts with a link to them."""
    world = notebook()
    entry = write(world, "api/errors", "Errors have six codes.").facts["id"]
    write(world, "map", "Begun.", overview="See [[api/errors]] <b>.")
    write(world, "web", f"It follows from {entry}.")
    browser = world.browser()
    page = browser.get("/notebook/section", params={"name": "api/errors"})
    assert "Mentioned in notebook: The overview of map History 1 entry" in words_of(page)
    page = browser.get("/entry", params={"ref": f"notebook:{entry}"})
    assert "Mentioned in 12:00" in words_of(page)
    assert f"It follows from {entry}" in words_of(page)
