"""Two servers behind the real haproxy, each restarted in turn while clients call without a pause.

One speaks MCP, the others write and read every journal of the database.
"""

from __future__ import annotations

import threading
from collections import Counter

import httpx2
import pytest
from server.tests.http_world import BOTH, HttpServer, Raw, bearer, token_for
from server.tests.proof.haproxy import HaProxy, conf_of_servers
from server.tests.proof.journal_calls import ROWS, TOOLSETS, Caller, filled
from tests.patience import PATIENCE_S, until

from commonplace.config.settings import parse_setting

CLIENTS = 3
AT_LEAST = 20
"""Calls that are answered between two steps of the restart."""


class Calls:
    """Clients that call without a pause, each on a connection that it keeps."""

    def __init__(self, url, token):
        self._url = url
        self._headers = {
            **BOTH,
            **bearer(token),
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "memory_list",
        }
        self._over = threading.Event()
        self.answers = Counter()
        self._threads = [
            threading.Thread(target=self._call),
            *(threading.Thread(target=self._write, args=(token, x)) for x in range(1, CLIENTS)),
        ]

    def _write(self, token, client):
        """Write an entry of each journal in turn, and look whether it is there."""
        with Caller(self._url.removesuffix("/mcp"), token) as caller:
            number = 0
            while not self._over.is_set():
                row, number = ROWS[number % len(ROWS)], number + 1
                word = f"quokka{client}z{number}"
                given = {"TEXT": word, "WORD": word, "KEY": word, "AT": "2025-03-04"}
                for call in (row.writes[0], row.reads[0]):
                    try:
                        told = caller.call(*filled(call, **given))
                        said = told.status if word in told.text else told.text
                    except (httpx2.HTTPError, ValueError) as exc:
                        said = type(exc).__name__
                    self.answers[said] += 1

    def _call(self):
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": "memory_list", "arguments": {"kind": "todo"}, "_meta": meta}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        with httpx2.Client(timeout=PATIENCE_S, headers=self._headers) as http:
            while not self._over.is_set():
                try:
                    answer = http.post(self._url, json=asked)
                    said = answer.status_code if "buy cables" in answer.text else answer.text
                except httpx2.HTTPError as exc:
                    said = type(exc).__name__
                self.answers[said] += 1

    def go_on(self):
        """Until so many more are answered."""
        count = self.answers.total() + AT_LEAST
        until(lambda: self.answers.total() >= count, f"{AT_LEAST} more calls")

    def __enter__(self):
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for each in self._threads:
            each.join(PATIENCE_S)


@pytest.mark.long
def test_no_call_fails_while_two_servers_are_restarted(words_only, database):
    """The proxy sends calls to the other before the one refuses any; the same twice over."""
    env = {
        "COMMONPLACE_DATABASE_URL": database.app_url,
        "COMMONPLACE_SERVE_PER_SECOND": "100000",
        "COMMONPLACE_SERVE_DRAIN_SECONDS": "6",
    }
    token = token_for("ann", toolsets=parse_setting("toolsets", TOOLSETS))
    flags = ("--toolsets", TOOLSETS)
    servers = [HttpServer(*flags, **env), HttpServer(*flags, **env)]
    ports = [server.port for server in servers]
    try:
        with HaProxy(ports) as proxy:
            for port in ports:
                until(lambda x=port: proxy.sends_to(x), "both servers to be ready")
            _save(servers[0], token)
            with Calls(proxy.url, token) as calls:
                for each in (0, 1):
                    calls.go_on()
                    assert servers[each].end() == 0
                    assert not proxy.sends_to(ports[each])
                    calls.go_on()
                    with servers[each]:
                        at = f"127.0.0.1:{ports[each]}"
                        servers[each] = HttpServer(*flags, http=at, **env)
                    until(lambda x=ports[each]: proxy.sends_to(x), "the new server to be ready")
                calls.go_on()
            assert set(calls.answers) == {200}
    finally:
        for server in servers:
            with server:
                pass


@pytest.mark.long
def test_a_server_that_dies_fails_no_call_that_comes_after(words_only, database):
    """The proxy, which has not noticed yet, tries the other: a call or a page, each on its own."""
    env = {"COMMONPLACE_DATABASE_URL": database.app_url}
    token = token_for("ann")
    with HttpServer(**env) as one, HttpServer(**env) as other:
        # It looks seldom, so that what follows comes before it notices as a rule.
        conf = conf_of_servers(retries=3).replace("inter 250ms", "inter 60s")
        with HaProxy([one.port, other.port], conf=conf) as proxy:
            for server in (one, other):
                until(lambda x=server.port: proxy.sends_to(x), "both servers to be ready")
            one.process.kill()
            one.process.wait()
            base = proxy.url.removesuffix("/mcp")
            asked = [(f"{base}/api/v1/openapi.json", bearer(token)), (f"{base}/web/enter", {})] * 4
            answers = [httpx2.get(url, headers=shown).status_code for url, shown in asked]
            assert answers == [200, 403] * 4


def _save(server, token):
    """Have something there to list."""
    with Raw(server.url, token) as raw:
        raw.handshake()
        assert raw.call("memory_save", kind="todo", title="buy cables").status_code == 200
