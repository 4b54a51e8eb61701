"""The page of an entry, and forgetting it, in a real browser."""

# ruff: noqa: F811  fixtures of another file

from __future__ import annotations

from urllib.parse import quote

import pytest
from tests.doors.web import test_browser
from tests.doors.web.test_browser import (  # noqa: F401  fixtures
    chromium,
    journals,
    log,
    opened,
    serve,
    violations,
    visit,
)
from tests.doors.web.web_world import box_of

try:
    from playwright.sync_api import expect
except ModuleNotFoundError:
    expect = None

pytestmark = test_browser.pytestmark

SAYS = "the blue door behind the bakery opens with four seven one one and a kick"
DESKTOP = {"width": 1440, "height": 900}
HEIGHT = "document.documentElement.scrollHeight"


def logged(texts):
    """The refs of new entries."""
    with journals() as app:
        made = [
            app.toolset("chronicle").tool("add_entry").call({"message": text}) for text in texts
        ]
        app.filing.catch_up()
    return [next(iter(each.written)) for each in made]


@pytest.mark.parametrize("ending", ["", ", says number {}"], ids=["identical", "near"])
def test_forgetting_one_of_sixty_alike_fits_two_screens(serve, chromium, ending):
    """What is asked before, and the proof, whether the others say the same or share its words."""
    refs = logged([SAYS + ending.format(number) for number in range(60)])
    served = serve()
    with opened(chromium, served, viewport=DESKTOP) as page:
        visit(page, served, f"/entry/forget?ref={quote(refs[7])}")
        assert page.evaluate(HEIGHT) <= 2 * DESKTOP["height"]
        assert violations(page) == []
        page.get_by_role("button", name="Forget it for good").click()
        expect(page.locator("h1")).to_have_text("Deleted")
        assert page.evaluate(HEIGHT) <= 2 * DESKTOP["height"]
        assert violations(page) == []


def test_an_entry_by_keys(serve, chromium):
    """Corrected and taken back, kept by Escape, forgotten; what was typed is not left by a key."""
    (ref,) = logged(["# The berth\n\nwas moved to the northern quay"])
    served = serve()
    with opened(chromium, served) as page:
        visit(page, served, f"/entry?ref={quote(ref)}")
        page.keyboard.press("e")
        expect(page.get_by_label("Text")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("h1")).to_have_text("The berth")
        page.keyboard.press("e")
        page.get_by_label("Text").fill("The berth is where it was")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        expect(page.locator("h1")).to_have_text("Correct")
        page.get_by_label("Tags").fill("harbour")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("h1")).to_have_text("The berth is where it was")
        expect(page.locator("article .tag")).to_have_text("harbour")
        page.keyboard.press("u")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("h1")).to_have_text("The berth")
        page.keyboard.press("x")
        expect(page.locator("h1")).to_have_text("Forget this?")
        page.keyboard.press("Escape")
        expect(page.locator("h1")).to_have_text("The berth")
        page.keyboard.press("x")
        page.get_by_role("button", name="Forget it for good").click()
        expect(page.locator("h1")).to_have_text("Deleted")


def test_what_is_typed_into_a_form_survives_a_reload(serve, chromium):
    """Until it is cancelled, by a button; Escape does not throw it away."""
    (ref,) = logged(["the berth was moved"])
    served = serve()
    with opened(chromium, served) as page:
        visit(page, served, f"/entry/edit?ref={quote(ref)}")
        with page.expect_response("**/entry/draft"):
            page.get_by_label("Text").fill("the berth is where it was")
        page.reload()
        expect(page.get_by_label("Text")).to_have_value("the berth is where it was")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        expect(page.get_by_label("Text")).to_have_value("the berth is where it was")
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator("h1")).to_have_text("the berth was moved")
        page.keyboard.press("e")
        expect(page.get_by_label("Text")).to_have_value("the berth was moved")


@pytest.mark.parametrize("width", [390, 760, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_entry_at_every_width(serve, chromium, width, scheme):
    """With each form of it: nothing is wider than the screen, and all of it can be read out."""
    ref, _ = logged([SAYS, f"{SAYS}."])
    served = serve()
    view = {"width": width, "height": 844}
    with opened(chromium, served, viewport=view, color_scheme=scheme) as page:
        for path in ("entry", "entry/edit", "entry/delete", "entry/forget"):
            visit(page, served, f"/{path}?ref={quote(ref)}")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            assert violations(page) == [], path


def test_what_another_tab_wrote_stands_beside_what_was_typed(serve, chromium):
    """On a wide screen; and without script."""
    (ref,) = logged([SAYS])
    served = serve()
    with opened(chromium, served, java_script_enabled=False, says=1, viewport=DESKTOP) as page:
        visit(page, served, f"/entry/edit?ref={quote(ref)}")
        with journals() as app:
            app.amend.edit(ref, "another text")
        page.get_by_label("Text").fill("what I typed")
        page.get_by_role("button", name="Save").click()
        mine, other = page.get_by_label("Text"), page.locator("pre.plain")
        expect(mine).to_have_value("what I typed")
        expect(other).to_have_text("another text")
        assert box_of(mine)["x"] + box_of(mine)["width"] <= box_of(other)["x"]
        page.get_by_role("button", name="Save").click()
        expect(page.locator("h1")).to_have_text("what I typed")
