"""The page of settings: each with its value, origin and meaning, changed where the file decides."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from tests.doors.web.web_world import WebWorld, csrf_of, words_of, words_of_html

from commonplace.config.settings import user_file, write_setting
from commonplace.config.table import SETTINGS
from commonplace.core.errors import Invalid


def item_of(page, key):
    """The HTML of a setting's part of the page."""
    return page.text.partition(f'<li id="{key}">')[2].partition("</li>")[0]


def put(browser, key, **fields):
    """Send the form of a setting."""
    return browser.post("/settings/set", data={"csrf": csrf_of(browser), "key": key, **fields})


def page_focus(page):
    """Which fields have the focus once the page is there."""
    return re.findall(r'aria-label="([^"]*)" autofocus', page.text)


def toml():
    """What the user's file holds."""
    return user_file().read_text("utf-8") if user_file().exists() else ""


def test_every_setting_has_its_value_origin_and_meaning(browser):
    """In the words of the table; one that is not set says so."""
    page = browser.get("/settings")
    for row in SETTINGS:
        assert row.help in html.unescape(item_of(page, row.key)), row.key
    words = words_of_html(item_of(page, "brief.tokens"))
    assert words.startswith(
        "The most tokens of the brief that a session starts with; 0 for none. brief.tokens 1500"
        " default Change"
    )
    assert "not set default" in words_of_html(item_of(page, "notebook.author"))


def test_a_setting_is_set_and_taken_back(browser):
    """In the user's file, as by the command; what it was is one press away."""
    done = put(browser, "undo.keep_days", value="7")
    assert done.headers["location"] == "/settings?open=undo.keep_days#undo.keep_days"
    assert toml() == "[undo]\nkeep_days = 7.0\n"
    page = browser.get("/settings")
    words = words_of(page)
    assert words.startswith("undo.keep_days is 7 from now on. Undo u")
    item = words_of_html(item_of(page, "undo.keep_days"))
    assert "7 your file" in item
    assert "This page was started with 30, and keeps that until it ends." in item
    put(browser, "undo.keep_days", value="9")
    offered = re.search(r'name="value" value="7"', browser.get("/settings").text)
    assert offered
    put(browser, "undo.keep_days", do="default")
    assert "keep_days" not in toml()
    assert "undo.keep_days is 30 again." in words_of(browser.get("/settings"))


def groups_of(page):
    """The groups of settings, and whether each is open."""
    found = re.findall(r'<details class="fold"( open)?><summary><strong>(.*?)</strong>', page.text)
    return {html.unescape(title): bool(is_open) for is_open, title in found}


def test_groups_are_closed_but_the_one_that_is_wanted(browser):
    """The one that was changed, of a refused value too, or those that have the words."""
    groups = groups_of(browser.get("/settings"))
    assert "What a session is told" in groups
    assert not any(groups.values())
    done = put(browser, "brief.tokens", value="900").headers["location"].partition("#")[0]
    changed = groups_of(browser.get(done))
    assert [title for title in changed if changed[title]] == ["What a session is told"]
    refused = groups_of(put(browser, "undo.keep_days", value="a week"))
    assert [title for title in refused if refused[title]] == ["Undo"]
    found = browser.get("/settings", params={"q": "most TOKENS brief"})
    assert groups_of(found) == {"What a session is told": True}
    assert re.findall(r'<li id="([^"]*)"', found.text) == ["brief.tokens"]
    assert "No setting has these words." in words_of(browser.get("/settings?q=zebrafinch"))


def test_what_else_the_file_holds_stays(browser):
    """Comments, order and other keys."""
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("# mine\n[brief]\ntokens = 900  # less\n", "utf-8")
    put(browser, "brief.private", value="none")
    assert toml() == '# mine\n[brief]\ntokens = 900  # less\nprivate = "none"\n'


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("undo.keep_days", "a week"),
        ("undo.keep_days", ""),
        ("brief.parts", "opened"),
        ("toolsets", "privat"),
        ("brief.private", "some"),
        ("read_only", "perhaps"),
        ("llm.url", "ftp://x"),
    ],
)
def test_a_value_that_cannot_be_is_refused_in_the_words_of_the_command(browser, key, value):
    """Beside the field, which keeps what was typed; the file is not written."""
    with pytest.raises(Invalid) as refused:
        write_setting(key, value, user_file(), cwd=Path.cwd(), home=Path.home())
    answer = put(browser, key, value=value)
    assert answer.status_code == 400
    item = item_of(answer, key)
    words = words_of_html(item)
    assert f"{refused.value.message} {refused.value.hint}" in words
    assert "<details open>" in item
    assert page_focus(answer) == [key]
    if value and key not in {"brief.private", "read_only"}:
        assert f'value="{value}"' in item
    assert toml() == ""


def test_an_unknown_setting(browser):
    """Is named, with the nearest that there is."""
    answer = put(browser, "undo.keep_day", value="7")
    assert answer.status_code == 400
    assert "undo.keep_days" in words_of(answer)


def test_what_the_environment_sets_cannot_be_changed_here(words_only, monkeypatch):
    """The page says why, has no form for it, and a form of old writes nothing."""
    monkeypatch.setenv("COMMONPLACE_UNDO_KEEP_DAYS", "5")
    world = WebWorld()
    browser = world.browser()
    item = item_of(browser.get("/settings"), "undo.keep_days")
    words = words_of_html(item)
    assert "5 environment COMMONPLACE_UNDO_KEEP_DAYS" in words
    assert "The variable COMMONPLACE_UNDO_KEEP_DAYS of the environment goes before" in words
    assert "<form" not in item
    answer = put(browser, "undo.keep_days", value="7")
    assert answer.status_code == 400
    assert "is set by environment COMMONPLACE_UNDO_KEEP_DAYS" in words_of(answer)
    assert toml() == ""
    world.close()


def test_what_a_project_sets_cannot_be_changed_here(words_only, monkeypatch):
    """And what it narrows is named."""
    monkeypatch.delenv("COMMONPLACE_TIMEZONE")
    Path(".commonplace.toml").write_text('timezone = "Asia/Kathmandu"\nread_only = true\n', "utf-8")
    world = WebWorld()
    page = world.browser().get("/settings")
    assert "goes before your file: change it there." in words_of_html(item_of(page, "timezone"))
    assert "<form" not in item_of(page, "timezone")
    assert "true default, narrowed by" in words_of_html(item_of(page, "read_only"))
    world.close()


@pytest.mark.parametrize(
    ("variable", "key", "value"),
    [
        ("COMMONPLACE_DATABASE_URL", "database.url", "postgresql://ann:Kestrel7@db/x"),
        ("COMMONPLACE_SECRETS_OWN", "secrets.own", '["Kestrel7", "Kestrel7\\"s"]'),
    ],
)
def test_no_secret_is_shown(words_only, monkeypatch, variable, key, value):
    """Neither one that the environment has, nor one that the file has, in no field either."""
    world = WebWorld()
    browser = world.browser()
    answer = put(browser, key, value=value)
    assert answer.status_code == 303
    page = browser.get("/settings")
    item = item_of(page, key)
    assert "(set, not shown) your file" in words_of_html(item)
    assert 'name="value" value=""' in item
    assert "Kestrel7" not in page.text
    assert words_of(page).startswith(f"{key} is (set, not shown) from now on. Settings")
    assert "Kestrel7" not in put(browser, "undo.keep_days", value="x").text
    world.close()
    monkeypatch.setenv(variable, value)
    world = WebWorld()
    assert "Kestrel7" not in world.browser().get("/settings").text
    world.close()


def test_a_page_that_only_reads_changes_no_setting(words_only):
    """And has no form for any."""
    world = WebWorld(may_write=False)
    browser = world.browser()
    assert "/settings/set" not in browser.get("/settings").text
    assert put(browser, "undo.keep_days", value="7").status_code == 403
    assert toml() == ""
    world.close()


def test_a_file_that_cannot_be_read_is_named(browser):
    """The settings that the page began with are shown all the same."""
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("undo = [", "utf-8")
    page = browser.get("/settings")
    assert page.status_code == 200
    assert "config.toml" in words_of(page).partition("General")[0]
    assert "undo.keep_days" in words_of(page)
    assert put(browser, "undo.keep_days", value="7").status_code == 400
    assert toml() == "undo = ["


def test_a_list_goes_through_its_field_unchanged(browser):
    """What the field shows is what `config set` takes."""
    put(browser, "brief.parts", value="open,decided")
    item = item_of(browser.get("/settings"), "brief.parts")
    assert 'name="value" value="open,decided"' in item
    put(browser, "timeline.feed", value="none")
    assert 'name="value" value="none"' in item_of(browser.get("/settings"), "timeline.feed")
