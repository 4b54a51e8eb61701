"""A browser before the pages of a home: real application, real journals, no sockets."""

from __future__ import annotations

import html
import re
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient
from tests.patience import until

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.doors.host_names import LOOPBACK_NAMES, HostNames
from commonplace.doors.web.application import OneApp, WebApplication
from commonplace.doors.web.guard import LinkEntrance
from commonplace_testing import FrozenClock

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
ADDRESS = "http://127.0.0.1:8900"


class WebWorld:
    """A home, its app, and browsers.

    Args:
        may_write: Whether the pages may change anything.
        now: What time it is.
    """

    def __init__(self, *, may_write=True, now=NOW):
        self.clock = FrozenClock(now)
        self.app = App(
            read_settings(cwd=Path.cwd(), home=Path.home()), user_home=Path.home(), clock=self.clock
        )
        self.entrance = LinkEntrance(self.app.settings.owner, may_write=may_write)
        names = HostNames(hosts=LOOPBACK_NAMES, is_loopback=True)
        self.pages = WebApplication(
            apps=OneApp(self.app),
            entrance=self.entrance,
            knows_host=names.knows,
            clock=self.clock,
            screen=self.app.shared.screen,
        )
        self._running = ExitStack()
        # One loop for all requests, as a server has: else a browser starts one for each request.
        self._loop = self._running.enter_context(start_blocking_portal())

    def stranger(self, **headers):
        """A browser that was not let in."""
        made = TestClient(self.pages, base_url=ADDRESS, headers=headers, follow_redirects=False)
        made.portal = self._loop
        return made

    def browser(self):
        """A browser that opened the link."""
        client = self.stranger()
        client.get("/enter", params={"key": self.entrance.new_key()})
        client.headers["origin"] = ADDRESS
        return client

    def call(self, toolset, tool, **arguments):
        """Call a tool, as a model does; returns its answer."""
        return self.app.toolset(toolset).tool(tool).call(arguments)

    def close(self):
        self._running.close()
        self.app.close()


def csrf_of(browser, page="/"):
    """What the forms of this browser's pages bear."""
    found = re.search(r'name="csrf" value="([^"]+)"', browser.get(page).text)
    assert found is not None
    return found[1]


def aside_of(page):
    """The words of what stands beside a page's main part."""
    beside = re.search(r"<aside(.*?)</aside>", page.text, re.DOTALL)
    return words_of_html("<aside" + beside[1])


def words_of(page):
    """The words of a page's main part, as they are read: no tags, one space between any two."""
    return words_of_html("<" + page.text.partition("<main")[2].partition("</main>")[0])


def words_of_html(text):
    """The words of a piece of HTML, likewise."""
    words = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())
    return re.sub(r" ([.,;:])", r"\1", words)  # as it stands behind a link


def box_of(locator):
    """Where an element stands; waits while a fresh part of the page takes the place of the old."""
    boxes = []

    def is_there():
        boxes[:] = [locator.bounding_box()]
        return boxes[0]

    until(is_there, "an element to stand on the page")
    return boxes[0]
