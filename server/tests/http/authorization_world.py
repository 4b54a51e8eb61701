"""A server that clients sign in at, in this process: its gate, its pages, and one browser."""

from __future__ import annotations

import base64
import hashlib
import re
import threading
import urllib.parse
from contextlib import contextmanager

import httpx2
import pytest
import uvicorn
from anyio.from_thread import start_blocking_portal
from tests.patience import PATIENCE_S

from commonplace.core.errors import Unavailable
from commonplace.core.redact import Screen
from commonplace.doors.host_names import HostNames
from commonplace.doors.web.guard import PageLimits
from commonplace_server.grants.documents import ClientDocuments
from commonplace_server.grants.grants import GrantedTokens, Grants
from commonplace_server.grants.records import RecordFile
from commonplace_server.http.authenticator import Authenticator, Offer
from commonplace_server.http.gate import Gate
from commonplace_server.http.limits import Limits, RateLimiter
from commonplace_server.http.metrics import Metrics
from commonplace_server.http.readiness import Readiness
from commonplace_server.http.resource import ProtectedResource
from commonplace_server.http.served_pages import pages_for_tokens
from commonplace_server.mcp.authorization import AuthorizationServer
from commonplace_server.tokens import TokenFile
from commonplace_testing import FrozenClock, ReadySlot

ADDRESS = "https://memory.example.org"
RESOURCE = f"{ADDRESS}/mcp"
BACK = "https://claude.ai/api/mcp/auth_callback"
DOCUMENT = "https://claude.ai/oauth/client.json"
NATIVE = "https://code.example.org/client.json"
VERIFIER = "v" * 43
CHALLENGE = (
    base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
)
OFFER = Offer(
    owner="me", toolsets=("private", "memory", "connector"), usual=("private",), may_write=True
)


class AuthorizationWorld:
    """All of it but journals; what is let in is noted.

    Args:
        folder: The home.
        fetch: Says what a client says of itself, by its address, or raises.
        address: Where it says that users reach it.
        shared: The buckets that it shares with other servers.
    """

    def __init__(self, folder, *, fetch, address=ADDRESS, shared=None):
        self.address = address
        host = urllib.parse.urlsplit(address).hostname
        names = HostNames(hosts=frozenset({host}), is_loopback=False)
        self.clock = FrozenClock()
        self.tokens = TokenFile(folder, clock=self.clock)
        self.grants = Grants(RecordFile(folder, clock=self.clock), self.tokens, clock=self.clock)
        self.server = AuthorizationServer(
            address=address,
            path="/mcp",
            consent="/web/authorize",
            grants=self.grants,
            tokens=self.tokens,
            documents=ClientDocuments(fetch, monotonic=self.clock.seconds),
            toolsets=OFFER.toolsets,
            clock=self.clock,
            monotonic=self.clock.seconds,
        )
        limits = Limits()
        rates = RateLimiter(limits, self.clock.seconds, shared)
        self.authenticator = Authenticator(
            tokens=GrantedTokens(self.tokens, self.grants),
            names=names,
            offer=OFFER,
            clock=self.clock,
        )
        self.calls = []
        pages = pages_for_tokens(
            None,
            tokens=self.tokens,
            knows_host=names.knows,
            may_write=True,
            clock=self.clock,
            screen=Screen(),
            prefix="/web",
            limits=PageLimits(rates=rates),
            is_stopping=lambda: False,
            observers=[self.calls.append],
            consent=self.server,
        )
        self.came = []
        self.gate = Gate(
            authenticator=self.authenticator,
            rate_limiter=rates,
            replies=RateLimiter(limits.of_replies(), self.clock.seconds),
            limits=limits,
            readiness=Readiness(
                find_problem=self.authenticator.find_problem,
                encoder=ReadySlot(None),
                monotonic=self.clock.seconds,
            ),
            inside=self._inside,
            withheld=lambda _caller: [],
            pages=pages,
            metrics=Metrics(),
            resource=ProtectedResource(
                address=address, path="/mcp", issuer=address, scopes=("read", "write")
            ),
            authorization=self.server,
        )
        self._portal = start_blocking_portal()
        self._ask = self._portal.__enter__()
        self.cookies = {}

    def close(self):
        """End the thread in which it answers."""
        self._portal.__exit__(None, None, None)

    async def _inside(self, caller, _scope, _receive, send):
        self.came.append(caller)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"in"})

    def ask(self, method, path, **more):
        """The answer to one request, of nobody in particular."""

        async def once():
            transport = httpx2.ASGITransport(app=self.gate)
            async with httpx2.AsyncClient(transport=transport, base_url=self.address) as web:
                return await web.request(method, path, **more)

        return self._ask.call(once)

    def browse(self, method, path, **more):
        """The answer to one request of the browser, which sends its cookie and where it stands."""
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"origin": self.address, **({"cookie": cookie} if cookie else {})}
        answer = self.ask(
            method, path, **{**more, "headers": {**headers, **more.get("headers", {})}}
        )
        self.cookies.update(answer.cookies)
        return answer

    def enter(self, owner="ann", **given):
        """Sign the browser in with a new token; the token."""
        token, text = self.tokens.create(owner, **given)
        assert self.browse("POST", "/web/enter", data={"key": text}).status_code == 303
        return token

    def register(self, **given):
        """The answer to a client that registers."""
        said = {"client_name": "Claude", "redirect_uris": [BACK], **given}
        return self.ask("POST", "/register", json=said)

    def asks(self, client, **given):
        """The path that a client sends its user to; what is None is left out."""
        said = {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": BACK,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "state of the client",
            "scope": "read write",
            "resource": RESOURCE,
            **given,
        }
        left = {name: value for name, value in said.items() if value is not None}
        return f"/web/authorize?{urllib.parse.urlencode(left, doseq=True)}"

    def answer(self, path, **typed):
        """The answer to the form of the page of consent, and the page."""
        page = self.browse("GET", path)
        found = re.search(r'name="csrf" value="([^"]+)"', page.text.rpartition("<h1>")[2])
        csrf = found[1] if found else ""
        return self.browse("POST", path, data={"csrf": csrf, "do": "allow", "write": "1", **typed})

    def code(self, client, **given):
        """What a client is sent along, once its user has let it in."""
        answer = self.answer(self.asks(client, **given))
        assert answer.status_code == 303, answer.text
        return said_in(answer.headers["location"])["code"]

    def exchange(self, client, code, **given):
        """The answer to a client that exchanges a code; what is None is left out."""
        said = {
            "grant_type": "authorization_code",
            "client_id": client,
            "code": code,
            "redirect_uri": BACK,
            "code_verifier": VERIFIER,
            "resource": RESOURCE,
            **given,
        }
        left = {name: value for name, value in said.items() if value is not None}
        return self.ask("POST", "/token", data=left)

    def refresh(self, client, token, **given):
        """The answer to a client that asks for the next tokens."""
        said = {"grant_type": "refresh_token", "client_id": client, "refresh_token": token}
        return self.ask("POST", "/token", data={**said, **given})

    def lets_in(self, token):
        """The status of a request with an access token."""
        return self.ask("GET", "/mcp", headers={"authorization": f"Bearer {token}"}).status_code


def said_in(address):
    """What an address says behind its question mark."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query))


@pytest.fixture
def documents():
    """What clients say of themselves, by their addresses."""
    return {
        DOCUMENT: {"client_id": DOCUMENT, "client_name": "Claude", "redirect_uris": [BACK]},
        NATIVE: {
            "client_id": NATIVE,
            "client_name": "Code",
            "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
        },
    }


@pytest.fixture
def world(tmp_path, documents):
    """A server whose clients' documents are these."""

    async def fetch(address):
        made.fetched.append(address)
        if address not in documents:
            raise Unavailable(f"{address} answers 404.")
        return documents[address]

    made = AuthorizationWorld(tmp_path, fetch=fetch)
    made.fetched = []
    yield made
    made.close()


@pytest.fixture
def client(world):
    """The id of a client that has registered, while the browser is ann's."""
    world.enter("ann")
    return world.register().json()["client_id"]


@contextmanager
def listening(application, port):
    """An application on a port of this machine, in a thread."""
    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            started.set()

    server = Server(uvicorn.Config(application, port=port, lifespan="off", log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert started.wait(PATIENCE_S)
        yield
    finally:
        server.should_exit = True
        thread.join()
