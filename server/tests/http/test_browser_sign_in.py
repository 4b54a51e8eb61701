"""A real browser goes to a provider of another site, comes back, and is signed in."""

# ruff: noqa: F811  fixtures of another file

from __future__ import annotations

import urllib.parse

import pytest
from server.tests.http.authorization_world import listening
from server.tests.http.test_provider_sign_in import ProvidedWorld
from server.tests.http_world import free_port
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
from tests.doors.web import test_browser
from tests.doors.web.test_browser import chromium  # noqa: F401  a fixture

try:
    from playwright.sync_api import expect
except ModuleNotFoundError:
    expect = None

pytestmark = test_browser.pytestmark


@pytest.fixture
def here(words_only):
    """A server, and its provider at another name of this machine."""
    port, there = free_port(), free_port()
    world = ProvidedWorld(address=f"http://127.0.0.1:{port}", host=f"127.0.0.1:{port}")

    async def page(request):
        said = urllib.parse.urlencode(world.provider.lets_in(str(request.url)))
        return HTMLResponse(f'<a href="{world.party.address}/web/signed-in?{said}">I am ann</a>')

    world.provider.says["authorization_endpoint"] = f"http://localhost:{there}/sign-in"
    with (
        listening(world.pages, port),
        listening(Starlette(routes=[Route("/sign-in", page)]), there),
    ):
        yield world
    world.apps.close()


def test_a_user_of_a_provider_signs_in_and_out(chromium, here):
    """Comes back from the other site, goes on to the first page by itself, and nothing is refused."""
    with chromium.new_context(viewport={"width": 390, "height": 800}) as context:
        page = context.new_page()
        wrong = []
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(f"{here.party.address}/web/")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("link", name="Sign in with").click()
        page.get_by_text("I am ann").click()
        expect(page).to_have_url(f"{here.party.address}/web/")
        expect(page.locator("h1")).to_have_text("Today")
        page.get_by_role("link", name="Journals").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator("h1")).to_have_text("Sign in")
        assert [x for x in wrong if "401" not in x and "404" not in x] == []
