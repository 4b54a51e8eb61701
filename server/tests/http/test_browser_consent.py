"""A real browser is sent here by another site, signs in, lets a program in, and goes back."""

# ruff: noqa: F811  fixtures of another file

from __future__ import annotations

import urllib.parse

import pytest
from server.tests.http.authorization_world import AuthorizationWorld, listening, said_in
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
def site():
    """The other site, which a program's pages are of: its address, and the link on its page."""
    links = []

    async def page(_request):
        return HTMLResponse(f'<a href="{links[0]}">Connect</a>')

    async def back(_request):
        return HTMLResponse("<h1>Connected</h1>")

    port = free_port()
    with listening(Starlette(routes=[Route("/", page), Route("/back", back)]), port):
        yield f"http://localhost:{port}", links


@pytest.fixture
def here(tmp_path, site):
    """A server that the site's program signs in at, by another name of this machine."""
    port = free_port()
    world = AuthorizationWorld(tmp_path, fetch=None, address=f"http://127.0.0.1:{port}")
    with listening(world.gate, port):
        yield world
    world.close()


def test_a_user_lets_a_program_in(chromium, here, site):
    """Signs in once; the second time the question is there at once, though a stranger's link led to it."""
    address, links = site
    back = f"{address}/back"
    client = here.register(redirect_uris=[back], client_name="Harbour \u202etxt").json()[
        "client_id"
    ]
    resource = f"{here.address}/mcp"
    links.append(here.address + here.asks(client, redirect_uri=back, resource=resource))
    _, text = here.tokens.create("ann")
    with chromium.new_context(viewport={"width": 390, "height": 800}) as context:
        page = context.new_page()
        wrong = []
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(f"{address}/")
        page.get_by_text("Connect").click()
        page.get_by_label("Token").fill(text)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("h1")).to_have_text("Let Harbour <U+202E>txt in?")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("button", name="Let it in").click()
        expect(page.locator("h1")).to_have_text("Connected")
        code = said_in(page.url)["code"]
        assert here.exchange(client, code, redirect_uri=back, resource=resource).status_code == 200
        page.goto(f"{address}/")
        page.get_by_text("Connect").click()
        page.get_by_role("button", name="No").click()
        expect(page.locator("h1")).to_have_text("Connected")
        assert said_in(page.url)["error"] == "access_denied"
        assert urllib.parse.urlsplit(page.url).netloc == urllib.parse.urlsplit(address).netloc
        assert [x for x in wrong if "401" not in x and "404" not in x] == []
