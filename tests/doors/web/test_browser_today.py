"""The box and Today in a real browser: by keys, and without script."""

# ruff: noqa: F811  fixtures of another file

from __future__ import annotations

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

try:
    from playwright.sync_api import expect
except ModuleNotFoundError:
    expect = None

pytestmark = test_browser.pytestmark


def test_the_box_by_keys_alone(serve, chromium):
    """Found as one types, written by Enter, taken back by a key; a draft survives a reload."""
    fill(1)
    served = serve()
    with opened(chromium, served) as page:
        page.keyboard.press("n")
        page.keyboard.type("deployed part")
        expect(page.locator("#found a.open")).to_have_count(1)
        page.keyboard.press("Control+a")
        # The draft of the whole text: that of what was found before may come first.
        with page.expect_response(lambda answer: "calm" in (answer.request.post_data or "")):
            page.keyboard.type("/feeling the harbour is calm")
        page.reload()
        expect(page.get_by_label("Find or write")).to_have_value("the harbour is calm")
        expect(page.get_by_label("feeling")).to_be_checked()
        page.keyboard.press("/")
        page.keyboard.press("End")
        page.keyboard.type(" today")
        page.keyboard.press("Enter")
        expect(page.locator(".note").first).to_contain_text("Kept: the harbour is calm today")
        expect(page.get_by_label("Find or write")).to_have_value("")
        page.keyboard.press("u")
        expect(page.locator(".note").first).to_contain_text("Deleted")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("forget, after ten seconds")
        assert violations(page) == []


def test_the_box_without_script(serve, chromium):
    """By its buttons."""
    fill(1)
    served = serve()
    with opened(chromium, served, java_script_enabled=False) as page:
        page.get_by_label("Find or write").fill("The harbour is calm")
        page.get_by_label("feeling").check()
        page.get_by_role("button", name="Longer").click()
        expect(page.get_by_label("Text, in Markdown")).to_have_value("The harbour is calm")
        page.get_by_role("button", name="Preview").click()
        expect(page.locator(".card.prose")).to_have_text("The harbour is calm")
        page.get_by_role("button", name="Write").click()
        expect(page.locator(".note").first).to_contain_text("Kept: The harbour is calm")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".note").first).to_contain_text("Deleted")


def test_what_is_new_is_reviewed_by_keys(serve, chromium):
    """Kept and forgotten on one key each, both taken back until the ten seconds are over."""
    with journals() as app:
        for name in ("first", "second", "third"):
            log(app, f"The {name} berth was moved to the northern quay")
    served = serve()
    with opened(chromium, served) as page:
        page.clock.install()
        page.reload()
        rows = page.locator("#new").locator("xpath=../..").locator("li[data-ref]:visible")
        expect(rows).to_have_count(3)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("k")
        expect(rows).to_have_count(2)
        page.keyboard.press("x")
        expect(rows).to_have_count(1)
        expect(page.locator(".note")).to_contain_text("in 10 s")
        page.clock.run_for(3000)
        expect(page.locator(".note")).to_contain_text("in 7 s")
        page.keyboard.press("u")
        expect(rows).to_have_count(2)
        page.keyboard.press("x")
        expect(rows).to_have_count(1)
        page.clock.run_for(11000)
        expect(page.locator(".note")).to_contain_text("Nothing of the text is left.")
        page.keyboard.press("u")
        expect(rows).to_have_count(2)
        page.reload()
        expect(rows).to_have_count(2)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("x")
        expect(rows).to_have_count(1)
        visit(page, served, "/health")  # a page that is closed forgets nothing
        visit(page, served, "/")
        expect(rows).to_have_count(2)
        page.keyboard.press("ArrowUp")
        page.keyboard.press("e")
        expect(page.locator("h1")).to_have_text("Correct")


def test_what_is_new_is_reviewed_without_script(serve, chromium):
    """By the buttons of its row."""
    with journals() as app:
        log(app, "The berth was moved to the northern quay")
    served = serve()
    with opened(chromium, served, java_script_enabled=False) as page:
        page.locator("li[data-ref]").hover()
        page.get_by_role("button", name="Keep").click()
        expect(page.locator("#new")).to_contain_text("nothing new")
        page.get_by_role("button", name="Undo").click()
        page.locator("li[data-ref]").hover()
        page.get_by_role("link", name="Forget").click()
        page.get_by_role("button", name="Forget it for good").click()
        expect(page.locator("h1")).to_have_text("Deleted")


def holding(page, where):
    """What a page asks there next, once, held until it is let go."""
    held = []

    def hold(route):
        held.append(route)

    page.route(where, hold, times=1)
    return held


def test_enter_twice_writes_once(serve, chromium):
    """Even while what is typed is still on its way to be kept, which is over before the writing."""
    fill(1)
    served = serve()
    with opened(chromium, served) as page:
        held = holding(page, "**/draft")
        page.keyboard.press("n")
        with page.expect_request("**/draft"):
            page.keyboard.type("The harbour is calm")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        held[0].continue_()
        expect(page.locator(".note").first).to_contain_text("Logged: The harbour is calm")
        expect(page.get_by_label("Find or write")).to_have_value("")
        written = page.locator(".rows a.open", has_text="The harbour is calm")
        expect(written).to_have_count(1)
        page.reload()
        expect(page.get_by_label("Find or write")).to_have_value("")


def test_a_key_does_nothing_to_a_row_that_is_hidden(serve, chromium):
    """Pressed twice on the last row it forgets one, and Undo brings that one back."""
    with journals() as app:
        for name in ("first", "second"):
            log(app, f"The {name} berth was moved to the northern quay")
    served = serve()
    with opened(chromium, served) as page:
        page.clock.install()
        page.reload()
        rows = page.locator("li[data-ref]:visible")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("x")
        expect(rows).to_have_count(1)
        page.keyboard.press("x")
        expect(rows).to_have_count(0)
        page.keyboard.press("x")
        page.keyboard.press("k")
        expect(page.locator(".note")).to_have_count(2)
        page.keyboard.press("u")
        page.keyboard.press("u")
        expect(rows).to_have_count(2)
        page.clock.run_for(11000)
        page.reload()
        expect(rows).to_have_count(2)


def test_undo_of_what_is_still_being_kept(serve, chromium):
    """It is taken back after it was kept, and no other thing loses its Undo."""
    with journals() as app:
        for name in ("first", "second"):
            log(app, f"The {name} berth was moved to the northern quay")
    served = serve()
    with opened(chromium, served) as page:
        held = holding(page, "**/today/seen")
        rows = page.locator("li[data-ref]:visible")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("x")
        expect(rows).to_have_count(1)
        with page.expect_request("**/today/seen"):
            page.keyboard.press("k")
        page.keyboard.press("u")
        held[0].continue_()
        expect(rows).to_have_count(1)
        page.keyboard.press("u")
        expect(rows).to_have_count(2)
        page.reload()
        expect(rows).to_have_count(2)
