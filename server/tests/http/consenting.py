"""A person with a browser who is sent to a server of ours to let a program in."""

from __future__ import annotations

import re
import urllib.parse

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from tests.patience import PATIENCE_S

BACK = "http://127.0.0.1/back"


class Person:
    """Signs in with a token, and lets in what asks; everything typed and pressed is a request.

    Args:
        token: Of the person.
        gives: What is ticked and pressed at last.
        transport: What answers, where that is no server on a port.
    """

    def __init__(self, token, *, gives=(("do", "allow"), ("write", "1")), transport=None):
        self.token = token
        self.gives = gives
        self.transport = transport
        self.came_back = ""
        self.pages = []

    async def opens(self, url):
        """Go from the program's address to the one that it is sent back to."""
        async with httpx2.AsyncClient(timeout=PATIENCE_S, transport=self.transport) as web:
            page = await web.get(url)
            if 'name="key"' in page.text:
                page = await self._send(web, page, [("key", self.token)])
                page = await web.get(urllib.parse.urljoin(str(page.url), page.headers["location"]))
            page = await self._send(web, page, self.gives)
            self.came_back = page.headers["location"]

    async def _send(self, web, page, typed):
        self.pages.append(page)
        form = page.text.rpartition("<h1>")[2]
        assert '<form method="post"' in form, page.text
        action = re.search(r'<form method="post" action="([^"]+)"', form)[1].replace("&amp;", "&")
        hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form)
        place = urllib.parse.urljoin(str(page.url), action)
        origin = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(place))
        answer = await web.post(
            place, data={**dict(hidden), **dict(typed)}, headers={"origin": origin}
        )
        self.pages.append(answer)
        assert answer.status_code == 303, answer.text
        return answer

    async def comes_back(self):
        """What the program is sent along."""
        said = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.came_back).query))
        return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said.get("iss"))


class Kept:
    """Where a program keeps what it was given."""

    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        """The tokens of an earlier sign-in."""
        return self.tokens

    async def set_tokens(self, tokens):
        """Keep those of this one."""
        self.tokens = tokens

    async def get_client_info(self):
        """What the server knows the program by."""
        return self.client

    async def set_client_info(self, client):
        """Keep that."""
        self.client = client


def signs_in(url, person, *, kept=None, document=None, back=BACK):
    """What the official client is given: HTTP with a way to sign in."""
    return OAuthClientProvider(
        server_url=url,
        client_metadata=OAuthClientMetadata(client_name="a client", redirect_uris=[back]),
        storage=kept or Kept(),
        redirect_handler=person.opens,
        callback_handler=person.comes_back,
        client_metadata_url=document,
    )
