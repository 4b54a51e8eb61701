"""A week of a user on the page alone: written, found, corrected, reviewed, forgotten.

The days are the clock's: the pages are those of this process, over a socket of its own.
"""

# ruff: noqa: F811  fixtures of another file

from __future__ import annotations

import asyncio
import re
import threading
from contextlib import contextmanager

import pytest
from tests.doors.web import test_browser
from tests.doors.web.test_browser import Served, chromium, opened, visit  # noqa: F401  a fixture
from tests.doors.web.web_world import WebWorld
from tests.patience import PATIENCE_S

from commonplace.core.values import Filter
from commonplace.doors.uvicorn_server import listen, make_server
from commonplace.doors.web.start import HOST, LIMITS

try:
    from playwright.sync_api import expect
except ModuleNotFoundError:
    expect = None

pytestmark = test_browser.pytestmark

DAY_S = 24 * 60 * 60


@pytest.fixture
def week(words_only):
    """A home, and an assistant who writes into it."""
    made = WebWorld()
    yield made
    made.close()


@contextmanager
def served(world):
    """The pages of a world, over a socket; ended at the end."""
    sock = listen(HOST, 0, option="--port")
    server = make_server(world.pages, limits=LIMITS, finish_s=1)
    thread = threading.Thread(target=asyncio.run, args=(server.serve([sock]),), daemon=True)
    thread.start()
    base = f"http://{HOST}:{sock.getsockname()[1]}"
    try:
        yield Served(None, f"{base}/enter?key={world.entrance.new_key()}")
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        sock.close()
        assert not thread.is_alive()


def assistant_logs(world, message):
    return world.call("chronicle", "add_entry", message=message).facts["ref"]


def rows_of(page):
    """What is new, as rows."""
    return page.locator("section[aria-labelledby=new] li[data-ref]:visible")


def write(page, text):
    """Type into the box, and Enter."""
    page.keyboard.press("n")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Find or write")).to_have_value("")


def next_day(world, page, served):
    """It is morning, and the first page is opened."""
    world.clock.advance(DAY_S)
    visit(page, served, "/")


def monday(world, page):
    """A new home: a first line, a thought, a to-do; nothing of it is new to its writer."""
    expect(page.locator("#live")).to_contain_text("Nothing has been written yet.")
    write(page, "Host harborlight on Fly.io")
    expect(page.locator(".note").first).to_contain_text("Logged: Host harborlight on Fly.io")
    write(page, "/feeling the harbour is calm")
    expect(page.locator(".note").first).to_contain_text("Kept: the harbour is calm")
    write(page, "/to-do paint the pier")
    expect(page.locator("#beside")).to_contain_text("paint the pier")
    expect(page.locator("#new")).to_contain_text("nothing new")
    for message in ("The quokka API listens on port 8000.", "Drew the berhts", "Tested the pier"):
        assistant_logs(world, message)


def tuesday(world, page):
    """What an assistant wrote meanwhile: kept, taken back, kept; corrected; forgotten in time."""
    rows = rows_of(page)
    expect(rows).to_have_count(3)
    page.keyboard.press("ArrowDown")
    expect(page.locator("li.selected")).to_contain_text("Tested the pier")
    page.keyboard.press("k")
    expect(rows).to_have_count(2)
    page.keyboard.press("u")
    expect(rows).to_have_count(3)
    page.locator("li", has_text="Drew the berhts").locator('a[data-key="e"]').focus()
    page.keyboard.press("Enter")
    page.get_by_label("Text").fill("Drew the berths")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("article")).to_contain_text("Drew the berths")
    page.get_by_role("link", name="Today", exact=True).first.click()
    expect(rows).to_have_count(2)
    page.clock.install()
    page.reload()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    expect(rows).to_have_count(1)
    page.keyboard.press("u")
    expect(rows).to_have_count(2)
    page.clock.resume()


def wednesday(world, page):
    """What is to be done is ticked, and opened again by a key; then done."""
    tick = page.get_by_role("button", name="Done: paint the pier")
    tick.click()
    expect(page.locator("#beside")).not_to_contain_text("paint the pier")
    page.keyboard.press("u")
    expect(page.locator("#beside")).to_contain_text("paint the pier")
    tick.click()
    expect(page.locator("#beside")).not_to_contain_text("paint the pier")


def thursday(world, page):
    """Found as one types, and opened."""
    page.keyboard.press("/")
    page.keyboard.type("the harbour is")
    expect(page.locator("#found a.open")).to_have_count(1)
    page.keyboard.press("Control+Enter")
    expect(page).to_have_url(re.compile(r"q=the\+harbour\+is"))
    page.locator("ol.hits a.open").first.click()
    expect(page.locator("article")).to_contain_text("the harbour is calm")
    assistant_logs(world, "The quokka API now listens on port 9000.")


def friday(world, page):
    """One entry may replace another: both hold, no, it replaces it."""
    card = page.locator(".ask")
    expect(card).to_contain_text("port 8000")
    expect(card).to_contain_text("port 9000")
    page.keyboard.press("b")
    expect(card).to_have_count(0)
    page.keyboard.press("u")
    expect(card).to_have_count(1)
    page.keyboard.press("y")
    expect(card).to_have_count(0)
    expect(page.locator(".note").first).to_contain_text("It takes the place of the former one")


def saturday(world, page):
    """A secret thought that should not be here is forgotten for good, by its page."""
    write(page, "/note The chest lies under the third plank")
    page.keyboard.press("/")
    page.keyboard.type("third plank")
    page.locator("#found a.open").first.click()
    page.get_by_role("link", name=re.compile("Forget")).click()
    page.get_by_role("button", name="Forget it for good").click()
    expect(page.locator("h1")).to_have_text("Deleted")
    assistant_logs(world, "Swept the quay")


def sunday(world, page):
    """All of it is seen; the week is still there, but for what was forgotten."""
    expect(page.locator("#live")).to_contain_text("Swept the quay")
    page.get_by_role("button", name="Mark all as seen").click()
    expect(page.locator("#new")).to_contain_text("nothing new")
    for words, count in (("third plank", 0), ("Drew the berths", 1), ("paint the pier", 1)):
        found = world.app.recall.service().list_in(None, within=Filter(), limit=50).hits
        assert sum(words in hit.doc.text for hit in found) == count, words


def test_a_week_on_the_page_alone(week, chromium):
    """Seven days: written, found, corrected, reviewed, settled, forgotten; and nothing is lost."""
    with served(week) as each, opened(chromium, each) as page:
        days = [monday, tuesday, wednesday, thursday, friday, saturday, sunday]
        for number, day in enumerate(days):
            if number:
                next_day(week, page, each)
            day(week, page)
