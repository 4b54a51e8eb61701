"""A server whose users keep secrets in every journal, and two who ask for them at each door."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack, closing
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

import httpx2
from server.tests.http.test_isolation import KEY, WRITES, keep_session, texts_in
from server.tests.http.test_isolation import SECRET as A_WORD
from server.tests.http_world import BOTH, HttpServer, Raw, bearer, token_for
from server.tests.proof.journal_calls import Caller
from server.tests.proof.probes import SECRET, Heard, Name, Probe, name_of
from tests.patience import PATIENCE_S

from commonplace.config.settings import parse_setting
from commonplace.doors.web.table import row_of
from commonplace.journals.table import TOOLSETS as EVERY_TOOLSET

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

TOOLSETS = ",".join(EVERY_TOOLSET)
MODERN = "2026-07-28"
UNASKED = (
    *("ping", "server/discover", "tools/list", "resources/list", "resources/templates/list"),
    "prompts/list",
)
"""The methods of MCP that take no argument."""

VICTIMS = ("ann", "space:team", "me")
"""A user, a space, and the owner of the machine."""

_WORDS = ["zu" + a + b + "rok" for a in ("bal", "dem", "fog") for b in ("kin", "lup", "mas")]
_NOTE = re.compile(r'<div class="note"[^>]*>(.*?)</div>', re.DOTALL)
_ADDRESS = re.compile(r'(?:href|action|src)="[^"]*"')
_TIME = re.compile(r"\d{4}-\d\d-\d\d")
_HANDLE = re.compile(r"[a-z]+:\S+|[0-9a-f-]{32,}|[0-9a-f]{40,64}")


class User:
    """A user with a token: tools by the API, by MCP with and without a session, and pages."""

    def __init__(self, server: HttpServer, owner: str, **given: Any) -> None:
        self._held = ExitStack()
        self._given = given
        self.owner = owner
        self._base = server.base
        token = token_for(owner, toolsets=parse_setting("toolsets", TOOLSETS), **given)
        self.caller = self._held.enter_context(Caller(server.base, token))
        self._session = self._held.enter_context(Raw(server.url, token))
        self._modern = self._held.enter_context(
            httpx2.Client(
                timeout=PATIENCE_S,
                headers={**BOTH, **bearer(token), "mcp-protocol-version": MODERN},
            )
        )
        self.browser = self._held.enter_context(
            httpx2.Client(timeout=PATIENCE_S, headers={"origin": server.base})
        )
        self._url = server.url
        self._csrf = ""
        self.own: Sequence[str] = ()
        self.asked: list[Name] = []
        """What it has asked for, so that its own entries may hold it."""

    def enter(self) -> None:
        """Open a session of MCP, and let its browser in."""
        assert self._session.handshake().status_code == 200
        key = token_for(self.owner, **self._given)
        entered = self.browser.post(f"{self._base}/web/enter", data={"key": key})
        assert entered.status_code == 303, entered.text
        found = re.search(r'name="csrf" value="([^"]+)"', self._page("/").text)
        assert found
        self._csrf = found[1]

    def tools(self) -> dict[str, tuple[dict[str, Any], bool]]:
        """What it may call: the schema of the arguments by the name, and whether it writes."""
        listed = _message(self._session.post("tools/list"))["result"]["tools"]
        return {x["name"]: (x["inputSchema"], not x["annotations"]["readOnlyHint"]) for x in listed}

    def addresses(self) -> list[str]:
        """The addresses of what it may read by MCP."""
        listed = _message(self._session.post("resources/list"))["result"]["resources"]
        return [x["uri"] for x in listed]

    def unasked(self) -> Iterator[str]:
        """What MCP tells it that takes no argument: lists, what the server is, and each prompt."""
        for method in UNASKED:
            yield self._session.post(method).text
        prompts = _message(self._session.post("prompts/list"))["result"]["prompts"]
        assert prompts
        for each in prompts:
            yield self._session.post("prompts/get", {"name": each["name"]}).text

    def hear(self, probe: Probe, text: str) -> Heard:
        """What a door answers to a probe for this."""
        given = probe.of(text, self.own)
        match probe.door:
            case "api":
                told = self.caller.call(probe.what, given)
                return Heard(told.status, json.dumps(told.facts, ensure_ascii=False))
            case "mcp":
                return self._of_mcp(probe.what, given)
            case "session":
                return _heard(self._session.call(probe.what, **given))
            case "resource":
                return _heard(self._session.post("resources/read", given))
            case "form":
                return self._sent(probe.what, given)
        return _of_page(self._page(*_address(probe.what, given)))

    def _of_mcp(self, tool: str, given: dict[str, Any]) -> Heard:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": given, "_meta": meta}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"mcp-method": "tools/call", "mcp-name": tool}
        return _heard(self._modern.post(self._url, json=asked, headers=headers))

    def _page(self, path: str, given: dict[str, Any] | None = None) -> httpx2.Response:
        return self.browser.get(f"{self._base}/web{path}", params=given)

    def _sent(self, page: str, given: dict[str, Any]) -> Heard:
        """What a form is answered with, and what the next page says was done."""
        path, form = _address(page, given)
        url = f"{self._base}/web{path}"
        sent = self.browser.post(url, data={**form, "csrf": self._csrf})
        if sent.status_code != 303:
            return _of_page(sent)
        location = sent.headers["location"]
        shown = _of_page(self.browser.get(httpx2.URL(url).join(location)))
        notes = "\n".join(_NOTE.findall(shown.text))
        return Heard(303, f"{unquote_plus(location)}\n{shown.status} {notes}")

    def export(self) -> bytes:
        """The export of all it has, as its browser gets it."""
        sent = self.browser.post(f"{self._base}/web/health/export", data={"csrf": self._csrf})
        assert sent.status_code == 200, sent.text
        return sent.content

    def close(self) -> None:
        """Close its connections."""
        self._held.close()


def _address(page: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The path of a page, and what is left for its query or its form."""
    rest, path = dict(given), row_of(page).path
    for name in re.findall(r"\{(\w+)\}", path):
        path = path.replace(f"{{{name}}}", str(httpx2.QueryParams({"x": rest.pop(name)}))[2:])
    return path, rest


def _of_page(answer: httpx2.Response) -> Heard:
    location = answer.headers.get("location", "")
    kind = answer.headers.get("content-type", "")
    text = answer.text if "html" in kind else kind
    text = _ADDRESS.sub(lambda found: unquote_plus(found[0]), f'href="{location}"\n{text}')
    return Heard(answer.status_code, unescape(text))


def _message(answer: httpx2.Response) -> Any:
    text = answer.text
    if "text/event-stream" in answer.headers["content-type"]:
        text = [x for x in text.splitlines() if x.startswith("data: {")][-1].removeprefix("data: ")
    return json.loads(text)


def _heard(answer: httpx2.Response) -> Heard:
    message = {**_message(answer), "id": 0}
    return Heard(answer.status_code, json.dumps(message, ensure_ascii=False))


class Victim:
    """Whose secrets are asked for: what it wrote, and all the names of it."""

    def __init__(self, server: HttpServer, owner: str, words: Iterable[str]) -> None:
        member = {"member": "zoe", "scopes": ["read", "write", "admin"]}
        self.user = User(server, owner, **(member if ":" in owner else {}))
        self.user.enter()
        self.words = tuple(words)
        handles = {x for word in self.words for x in self._write(word)}
        handles |= set(self._cursors())
        self.refs = sorted(x for x in handles if ":" in x)
        if owner == "ann":
            handles |= {x.replace(A_WORD, self.words[0]) for x in keep_session(owner)}
        texts = {
            f"{x}{y}" for x in ("", "travel/", "notebook:travel/", f"{KEY} ") for y in self.words
        }
        # One twin of each, or who says a name twice would differ from who says two twins.
        self.names = [
            # The twin of a time is a time too.
            name_of(x, at=0.85 if _TIME.search(x) else (0.6, 1)[number % 2])
            for number, x in enumerate(sorted(handles | texts | {owner}))
        ]
        self.ids = {x for x in handles if not SECRET.search(x) and len(x) > 20}

    def _write(self, word: str) -> Iterator[str]:
        for tool, given in WRITES.items():
            if tool not in self.user.caller.tools:
                continue
            text = json.dumps(given).replace(A_WORD, word)
            call = tool, json.loads(text.replace(KEY, f"{KEY} {word}"))
            told = self.user.caller.done(call)
            yield from (x for x in texts_in(told.facts) if _HANDLE.fullmatch(x))
        read = self.user.caller.done(("journal_read", {"id": f"travel/{word}"}))
        yield from (x for x in texts_in(read.facts) if _HANDLE.fullmatch(x))

    def _cursors(self) -> Iterator[str]:
        for tool in sorted({"list_entries", "memory_list", "timeline_range"}):
            if tool in self.user.caller.tools:
                given = {"limit": 1, **({"kind": "todo"} if tool == "memory_list" else {})}
                facts = self.user.caller.done((tool, given)).facts
                yield from (x for name, x in facts.items() if "cursor" in name and x)

    def read(self) -> list[str]:
        """All that it wrote, as it opens it."""
        return [self.user.caller.call("open_ref", {"ref": x}).text for x in self.refs]

    def close(self) -> None:
        """Close its connections."""
        self.user.close()


class IsolationWorld:
    """A server, its victims, and who asks."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._held = held = ExitStack()
        self.victims = [
            held.enter_context(closing(Victim(server, owner, _WORDS[3 * number : 3 * number + 3])))
            for number, owner in enumerate(VICTIMS)
        ]
        self.names = [x for each in self.victims for x in each.names]
        ids = {x for each in self.victims for x in each.ids}
        self._secrets = re.compile("|".join([r"zu[a-z]+rok", *map(re.escape, sorted(ids))]))

    def user(self, owner: str) -> User:
        """Another user, who has written too."""
        made = self._held.enter_context(closing(User(self._server, owner)))
        refs = []
        for tool, given in WRITES.items():
            told = made.caller.done((tool, json.loads(json.dumps(given).replace(A_WORD, "quokka"))))
            refs += [told.ref] if tool != "timeline_profile" else []
        made.own = ("quokka", "travel/quokka", *refs)
        made.enter()
        return made

    def secrets_in(self, text: str, asked: Iterable[Name]) -> set[str]:
        """The secrets and the ids of victims that stand in a text, and in nothing that was asked."""
        said = unquote_plus("\n".join(x.real for x in asked))
        return {x for x in self._secrets.findall(text) if x not in said}

    def close(self) -> None:
        """Close all connections."""
        self._held.close()
