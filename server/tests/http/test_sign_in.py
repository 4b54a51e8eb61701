"""The official client signs in at a real identity provider, as a person does in a browser."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.parse
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from server.tests.http.consenting import BACK, Person, signs_in
from server.tests.http_world import HttpServer, free_port
from tests.doors.npm import MODULES, PROGRAMS, needs_npm
from tests.patience import PATIENCE_S

from commonplace_server.scope import STRUCTURED_HEADER

pytestmark = needs_npm


@contextmanager
def provided(resource):
    """A real identity provider that makes tokens for a server; its address."""
    script = Path(__file__).with_name("identity_provider.mjs")
    with subprocess.Popen(
        [PROGRAMS / "node", script, MODULES, resource],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=dict(os.environ),
    ) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class Browser(Person):
    """A person who signs in under a name and agrees to what is asked."""

    def __init__(self, name, back=BACK):
        super().__init__(token="")
        self.name = name
        self.back = back

    async def opens(self, url):
        """Go through the provider's pages until it sends back to the client."""
        async with httpx2.AsyncClient(timeout=PATIENCE_S) as web:
            self.came_back = await self.walks(web, url)

    async def walks(self, web, url):
        """The address at which the provider sends the browser back, from the one it was sent to."""
        answer = await web.get(url)
        while not (answer.has_redirect_location and self._is_back(answer)):
            if answer.has_redirect_location:
                answer = await web.get(self._next(answer))
                continue
            action = re.search(r'action="([^"]+)"', answer.text)[1]
            prompt = re.search(r'name="prompt" value="([^"]+)"', answer.text)[1]
            typed = {"prompt": prompt, "login": self.name, "password": "any"}
            place = urllib.parse.urljoin(str(answer.url), action)
            answer = await web.post(place, data=typed)
        return answer.headers["location"]

    def _next(self, answer):
        return urllib.parse.urljoin(str(answer.url), answer.headers["location"])

    def _is_back(self, answer):
        return answer.headers["location"].startswith(self.back)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_finds_the_provider_and_signs_in(words_only, mode):
    """It is refused, registers, sends its person to the provider, and has that person's journals.

    Likewise in a space of that person's, by the same provider.
    """
    port = free_port()
    address = f"http://127.0.0.1:{port}"

    async def call(who, tool, at="", **arguments):
        auth = signs_in(f"{address}/mcp{at}", Browser(who))
        headers = {STRUCTURED_HEADER: "1"}
        async with httpx2.AsyncClient(auth=auth, headers=headers, timeout=PATIENCE_S) as http:
            transport = streamable_http_client(f"{address}/mcp{at}", http_client=http)
            async with Client(transport, mode=mode) as client:
                tools = {tool.name for tool in (await client.list_tools()).tools}
                assert ("process_thoughts" in tools) is (not at)
                return (await client.call_tool(tool, arguments)).structured_content

    async def scenario():
        written = await call("ann", "process_thoughts", feelings="Glad of the new garden.")
        assert written["refs"][0].startswith("private:user/")
        assert len((await call("ann", "recall", query="garden"))["results"]) == 1
        assert (await call("bob", "recall", query="garden"))["results"] == []
        team = "?space=team"
        wrote = await call("ann", "add_entry", team, message="Moved to Hetzner.")
        assert (await call("bob", "open_ref", team, ref=wrote["ref"]))["author"] == "ann"

    environ = {
        "COMMONPLACE_SERVE_ADDRESS": address,
        "COMMONPLACE_SERVE_SPACES": "team:write=of ann,team:read=staff",
    }
    with (
        provided(f"{address}/mcp") as issuer,
        HttpServer(http=f"127.0.0.1:{port}", COMMONPLACE_SERVE_ISSUER=issuer, **environ),
    ):
        anyio.run(scenario)


def registered(issuer, address, way):
    """What the provider knows a server by that asks it who its users are: its id and its secret."""
    said = {"redirect_uris": [f"{address}/web/signed-in"], "token_endpoint_auth_method": way}
    answer = httpx2.post(f"{issuer}/reg", json=said, timeout=PATIENCE_S)
    assert answer.status_code == 201, answer.text
    known = {"COMMONPLACE_SERVE_CLIENT_ID": answer.json()["client_id"]}
    if way != "none":
        known["COMMONPLACE_SERVE_CLIENT_SECRET"] = answer.json()["client_secret"]
    return known


async def at_the_pages(address, name, query=""):
    """A browser of a user who presses the button of the pages, and the first page it then sees."""
    back = f"{address}/web/signed-in"
    async with httpx2.AsyncClient(timeout=PATIENCE_S) as web:
        page = await web.get(f"{address}/web/")
        (link,) = re.findall(r'href="([^"]+)">Sign in with 127.0.0.1', page.text)
        came = await Browser(name, back).walks(web, f"{link}{query}")
        entered = await web.get(came)
        assert entered.status_code == 200, entered.text
        again = await web.get(came)
        assert again.status_code == 403
        return await web.get(f"{address}{entered.headers['refresh'].partition('url=')[2]}")


def test_users_of_a_real_provider_sign_in_at_the_pages(words_only):
    """Each at their own, and in a space as a member; of a server with a secret and of one without."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"

    async def scenario():
        for name, query, words in [
            ("ann", "", "Signed in as <strong>ann</strong>"),
            ("bob", "?space=team", "<strong>bob, in the space team</strong>"),
        ]:
            page = await at_the_pages(address, name, query)
            assert (page.status_code, words in page.text) == (200, True), page.text

    settings = {
        "COMMONPLACE_SERVE_ADDRESS": address,
        "COMMONPLACE_SERVE_SPACES": "team:read=staff",
    }
    with provided(f"{address}/mcp") as issuer:
        settings["COMMONPLACE_SERVE_ISSUER"] = issuer
        for way in ("none", "client_secret_basic"):
            known = registered(issuer, address, way)
            with HttpServer(http=f"127.0.0.1:{port}", **settings, **known) as server:
                anyio.run(scenario)
                assert server.end() == 0
            assert known.get("COMMONPLACE_SERVE_CLIENT_SECRET", "no secret") not in server.log
