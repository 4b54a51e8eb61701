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

    def __init__(self, name):
        super().__init__(token="")
        self.name = name

    async def opens(self, url):
        """Go through the provider's pages until it sends back to the client."""
        async with httpx2.AsyncClient(timeout=PATIENCE_S) as web:
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
            self.came_back = answer.headers["location"]

    def _next(self, answer):
        return urllib.parse.urljoin(str(answer.url), answer.headers["location"])

    def _is_back(self, answer):
        return answer.headers["location"].startswith(BACK)


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
