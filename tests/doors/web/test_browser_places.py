"""The pages of sessions, notebook, memory, health and settings in Chromium."""

# ruff: noqa: F811  fixtures of another file

from __future__ import annotations

import pytest
from tests.doors.web import test_browser
from tests.doors.web.test_browser import (  # noqa: F401  fixtures
    chromium,
    fill,
    journals,
    log,
    opened,
    serve,
    violations,
    visit,
)
from tests.doors.web.web_world import box_of

from commonplace.config.settings import user_file
from commonplace.journals.memory.records import RecordDraft

try:
    from playwright.sync_api import expect
except ModuleNotFoundError:
    expect = None

pytestmark = test_browser.pytestmark

SESSION = "/transcripts/session?ref=transcripts:claude-code/s0000"


def open_all(page):
    """Open every fold of the page."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")


def test_every_fold_at_every_width(serve, chromium):
    """What is shown only once it is asked for is as wide as the window, and axe finds nothing."""
    fill(100)
    with journals() as app:
        service = app.memory.service_of("zoe")
        service.save(RecordDraft(kind="todo", fields={"title": "Of another"}))
        service.filing().close()
        service.store.close()
    served, found = serve(), []
    with opened(chromium, served) as page:
        for path in (
            "/settings",
            "/health",
            "/memory/users",
            "/memory?user=zoe",
            "/memory?kind=todo",
            "/notebook/section?name=api/errors",
            SESSION,
        ):
            visit(page, served, path)
            open_all(page)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                for width in (390, 760, 1440):
                    page.set_viewport_size({"width": width, "height": 900})
                    if page.evaluate("document.documentElement.scrollWidth") > width:
                        found.append(f"{path} at {width}: wider than the window")
                found += [f"{path} {scheme} {x}" for x in violations(page)]
    assert found == []


def test_a_setting_is_changed_by_keyboard(serve, chromium):
    """Found, opened, typed and sent by Enter; `u` brings the former value back."""
    served = serve()
    with opened(chromium, served) as page:
        visit(page, served, "/settings")
        expect(page.locator("[id='undo.keep_days']")).to_be_hidden()
        page.keyboard.press("Control+Home")
        page.get_by_label("Find a setting").focus()
        page.keyboard.type("keep_days")
        expect(page.locator(".settings > li")).to_have_count(1)
        page.locator("[id='undo.keep_days'] summary").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_attribute("name", "value")
        page.keyboard.press("Control+A")
        page.keyboard.type("7")
        page.keyboard.press("Enter")
        expect(page.locator(".note")).to_contain_text("undo.keep_days is 7 from now on.")
        expect(page.locator("[id='undo.keep_days']")).to_be_in_viewport()
        assert user_file().read_text("utf-8") == "[undo]\nkeep_days = 7.0\n"
        page.keyboard.press("u")
        expect(page.locator(".note")).to_contain_text("undo.keep_days is 30 again.")


@pytest.mark.parametrize("key", ["read_only", "brief.private"])
def test_a_setting_without_script(serve, chromium, key):
    """Of a few words one is chosen from a list."""
    served = serve()
    with opened(chromium, served, java_script_enabled=False) as page:
        visit(page, served, "/settings")
        item = page.locator(f"[id='{key}']")
        page.locator("details.fold", has=item).locator("> summary").click()
        item.locator("summary").click()
        item.get_by_label(key).select_option(index=1)
        item.get_by_role("button", name="Set").click()
        expect(item.locator(".value")).to_contain_text("your file")


def test_the_time_of_a_turn_shows_where_one_looks(serve, chromium):
    """On hover and by keyboard; on paper each has it."""
    fill(100)
    served = serve()
    with opened(chromium, served) as page:
        visit(page, served, SESSION)
        at = page.locator(".turn .at").nth(1)
        expect(at).to_have_css("opacity", "0")
        page.locator(".turn").nth(1).hover()
        expect(at).to_have_css("opacity", "1")
        page.mouse.move(0, 0)
        expect(at).to_have_css("opacity", "0")
        at.focus()
        expect(at).to_have_css("opacity", "1")
        page.emulate_media(media="print")
        expect(page.locator(".turn .at").nth(2)).to_have_css("opacity", "1")


def test_a_year_on_a_phone(serve, chromium):
    """Its first months are reached by scrolling the chart."""
    fill(1)
    served = serve()
    with opened(chromium, served, viewport={"width": 360, "height": 800}) as page:
        visit(page, served, "/calendar/2026")
        page.locator(".newest").evaluate("each => each.scrollTo(-each.scrollWidth, 0)")
        assert box_of(page.locator(".heatmap text").first)["x"] >= 0


@pytest.mark.parametrize("script", [True, False])
def test_the_places_rise_from_the_bar(serve, chromium, script):
    """On a narrow window they take no room below the text, and come and go without a jump."""
    fill(1)
    served = serve()
    size = {"width": 390, "height": 844}
    with opened(chromium, served, viewport=size, java_script_enabled=script) as page:
        visit(page, served, "/settings")
        health = page.locator("#places").get_by_role("link", name="Health")
        page.mouse.wheel(0, 500)
        expect(health).to_be_hidden()
        page.get_by_role("link", name="Journals").click()
        expect(health).to_be_visible()
        if script:
            assert violations(page) == []
        page.get_by_role("link", name="Close").click()
        expect(health).to_be_hidden()
        page.get_by_role("link", name="Journals").click()
        health.click()
        expect(page.locator("h1")).to_have_text("Health")
        expect(health).to_be_hidden()


def test_a_row_on_a_phone(serve, chromium):
    """What it is stands below its words, and a tap beside them shows what can be done with it."""
    with journals() as app:
        log(app, "Deployed the exporter", tags=["release"])
    served = serve()
    size = {"width": 390, "height": 844}
    with opened(chromium, served, viewport=size, has_touch=True) as page:
        row = page.locator("main .rows > li").first
        words, about = row.locator(".text"), row.locator(".who")
        expect(about).to_have_text("release")
        assert box_of(about)["y"] >= box_of(words)["y"] + 18
        expect(row.get_by_role("link", name="Correct")).to_be_hidden()
        row.locator("time").tap()
        expect(row.get_by_role("link", name="Correct")).to_be_visible()
        assert violations(page) == []
        words.locator("a").tap()
        expect(page.locator("h1")).to_have_text("Deployed the exporter")
