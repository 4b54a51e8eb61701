"""The notebook's pages: its tree, a section with its history, and a clash that is settled there."""

from __future__ import annotations

import subprocess

import pytest
from tests.doors.web.test_entry import form_of
from tests.doors.web.web_world import WebWorld, words_of
from tests.journals.transcripts.sessions import said

from commonplace.services.notebook.keeping import NotebookKeeping


@pytest.fixture
def notebook(words_only, monkeypatch, tmp_path):
    """Opens the notebook of somebody by name; they share one bare remote."""
    bare = tmp_path / "meeting.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    made = []

    def become(name):
        monkeypatch.setenv("COMMONPLACE_NOTEBOOK", str(tmp_path / name))
        monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / f"{name}-own"))
        world = WebWorld()
        made.append(world)
        if not (tmp_path / name).exists():
            NotebookKeeping(world.app.notebook.service).init()
            add = ["git", "-C", str(tmp_path / name), "remote", "add", "origin", str(bare)]
            subprocess.run(add, check=True)
        return world

    yield become
    for world in made:
        world.close()


def write(world, section, entry, **given):
    return world.call("notebook", "journal_write", path=section, entry=entry, **given)


def sync(world):
    return NotebookKeeping(world.app.notebook.service).sync(remote="origin")


def test_an_empty_notebook(browser):
    """Says how to begin."""
    words = words_of(browser.get("/notebook"))
    assert "There is no notebook yet." in words
    assert "commonplace notebook write api/errors" in words


def test_sections_as_a_tree(notebook):
    """A folder without an overview of its own is a group."""
    world = notebook("ann")
    write(world, "api/errors", "Errors have six codes.")
    write(world, "api/limits", "Fifty calls a second.")
    words = words_of(world.browser().get("/notebook"))
    assert words.startswith("Notebook Sections api errors 1 entry")
    assert "errors 1 entry, last Mon 23 Nov 2026" in words


def test_a_section_and_its_history(notebook):
    """Each entry with what it changed in the overview."""
    world = notebook("ann")
    first = write(world, "api", "begun", overview="The port is 8000.")
    write(world, "api", "moved", overview="The port is 9000.", base_version=first.facts["version"])
    page = world.browser().get("/notebook/section", params={"name": "api"})
    assert "The port is 9000." in words_of(page)
    assert "<del>- The port is 8000.</del>" in page.text
    assert "<ins>+ The port is 9000.</ins>" in page.text
    assert words_of(page).index("moved") < words_of(page).index("begun")


@pytest.mark.parametrize("name", ["", "nope", "../x", "a" * 5000, "\0"])
def test_sections_that_are_not_there(notebook, name):
    """Say so."""
    world = notebook("ann")
    write(world, "api", "begun")
    browser = world.browser()
    for path in ("/notebook/section", "/notebook/clash"):
        assert browser.get(path, params={"name": name}).status_code in {400, 404}


@pytest.fixture
def clashing(notebook):
    """The notebook of one who wrote `It is green.`, where a sync brought in `It is blue.`."""
    ann = notebook("ann")
    version = write(ann, "a", "x", overview="It is red.").facts["version"]
    sync(ann)
    bob = notebook("bob")
    sync(bob)
    write(bob, "a", "Bob", overview="It is blue.", base_version=version)
    sync(bob)
    ann = notebook("ann")
    write(ann, "a", "Ann", overview="It is green.", base_version=version)
    sync(ann)
    return ann


def overview_of(world):
    return world.app.notebook.service().reading().read_section("a").overview


def clash_page(browser, **query):
    return browser.get("/notebook/clash", params={"name": "a", **query})


def test_a_clash_is_settled(clashing):
    """Both texts stand side by side; what is saved holds from then on."""
    browser = clashing.browser()
    assert "Two versions" in words_of(browser.get("/notebook"))
    page = clash_page(browser)
    assert "It is green." in words_of(page)
    assert "It is blue." in words_of(page)
    done = browser.post("/notebook/settle", data={**form_of(page), "text": "It is teal."})
    assert "Settled a." in words_of(browser.get(done.headers["location"]))
    assert "Two versions" not in words_of(browser.get("/notebook"))
    assert overview_of(clashing) == "It is teal."
    back = clash_page(browser)
    assert "No two versions of it wait to be settled" in words_of(
        browser.get(back.headers["location"])
    )


def test_an_overview_that_nobody_saw_is_not_settled_away(clashing):
    """One that was written after the page was opened is shown; what was typed stays."""
    browser = clashing.browser()
    form = form_of(clash_page(browser))
    now = clashing.app.notebook.service().reading().read_section("a")
    write(clashing, "a", "later", overview="It is black.", base_version=now.version)
    refused = browser.post("/notebook/settle", data={**form, "text": "It is <teal>."})
    assert refused.status_code == 409
    assert "It is &lt;teal&gt;.</textarea>" in refused.text
    assert "It is black." in words_of(refused)
    assert overview_of(clashing) == "It is black."
    again = browser.post("/notebook/settle", data={**form_of(refused), "text": "It is teal."})
    assert again.status_code == 303
    assert overview_of(clashing) == "It is teal."


def test_a_clash_that_another_tab_settled(clashing):
    """Is over; what was typed here stays on the page, with the way to what holds."""
    browser = clashing.browser()
    form = form_of(clash_page(browser))
    browser.post("/notebook/settle", data={**form, "text": "It is teal."})
    late = browser.post("/notebook/settle", data={**form, "text": "It is grey."})
    assert late.status_code == 409
    assert "was settled" in words_of(late)
    assert "It is grey.</textarea>" in late.text
    assert 'href="/notebook/section?name=a"' in late.text
    assert overview_of(clashing) == "It is teal."


@pytest.mark.parametrize(
    ("text", "why"),
    [(" \n", "The text is empty."), ("a\n<!-- version 1 -->\nb", "1 marks are left in the text.")],
)
def test_a_text_that_cannot_settle(clashing, text, why):
    """Is refused in words, and stays in the form; the clash waits on."""
    browser = clashing.browser()
    refused = browser.post("/notebook/settle", data={**form_of(clash_page(browser)), "text": text})
    assert refused.status_code == 409
    assert why in words_of(refused)
    assert text.strip().partition("\n")[0] in refused.text
    assert overview_of(clashing) == "It is blue."
    assert "Two versions" in words_of(browser.get("/notebook"))


@pytest.mark.parametrize(("begin", "begun"), [("", "It is blue."), ("ours", "It is green.")])
def test_the_form_of_a_clash_says_which_text_it_begins_with(clashing, begin, begun):
    """And leads to the other."""
    page = clash_page(clashing.browser(), begin=begin)
    assert f"{begun}</textarea>" in page.text
    assert f"{begun} The form begins with this text." in words_of(page)
    assert page.text.count("Begin with this text") == 1


def test_an_overview_says_what_was_replaced_since(notebook):
    """On the page of its section, on that of its ref, and where a search shows it."""
    world = notebook("ann")
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
    world = notebook("ann")
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
    assert "api 1 entry" in words_of(browser.get("/notebook"))
    gone = browser.get("/entry", params={"ref": ref})
    assert gone.status_code == 404
    assert "expired on 23 November 2026; git's history still holds it." in words_of(gone)


def test_forgetting_says_what_the_notebook_keeps(notebook):
    """Before: that not all of it can be deleted, and how it is; the button promises no more."""
    world = notebook("ann")
    ref = f"notebook:{write(world, 'api', 'The quokka listens on port 8000.').facts['id']}"
    turn = said(1, "The quokka listens on port 8000.", id="1", at="2026-11-20T08:00:00.000Z")
    world.app.transcripts.store.append("claude-code", "s1", [turn])
    words = words_of(world.browser().get("/entry/forget", params={"ref": ref}))
    assert "Not all that holds its text can be deleted from here" in words
    assert "Everything that holds its text is deleted" not in words
    assert f"commonplace forget {ref} --rewrite-history" in words
    assert "Delete what can be deleted" in words
    assert "Forget it for good" not in words
