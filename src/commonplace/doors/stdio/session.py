"""One session of MCP over stdio: which revision it is in, and what each request is answered.

Knows no stream and no thread. Imports nothing but small builtins: a session in which no tool is
called costs no more than this.
"""

from __future__ import annotations

from commonplace.doors.protocol import (
    CAPABILITIES,
    CAPABILITIES_KEY,
    HANDSHAKES,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN,
    SERVER_KEY,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    RefusedRequest,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from commonplace.doors.mcp_offer import ClientModel, McpOffer

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The methods that list something, each with the key of its result."""

SLOW = frozenset({"tools/call", "resources/read", "prompts/get"})
"""The methods that may take a while; all others are answered at once."""

_CACHED = frozenset({*LISTS, "resources/read"})
_METHODS = SLOW | {*LISTS}
_KINDS: dict[type, str] = {str: "a text", dict: "an object", list: "a list"}


class StdioSession:
    """What was agreed with one client.

    Args:
        lists: What a session begins with, as `McpOffer.lists` gives it.
        load: Gives the offer, for what may take a while. May raise RefusedRequest.
        ask: Sends the client a request and gives its result, for `ClientModel`; called in the
            thread of a call.

    Attributes:
        revision: The one that the session is in; empty before it is known.
    """

    def __init__(
        self,
        lists: dict[str, Any],
        load: Callable[[], McpOffer],
        ask: Callable[[str, dict[str, Any]], Any],
    ) -> None:
        self._lists = lists
        self._load = load
        self._ask = ask
        self._capabilities: dict[str, Any] = {}
        self.revision = ""

    def answer(self, method: str, params: Any) -> dict[str, Any]:
        """The result of a request. Raises: RefusedRequest."""
        if type(params) is not dict:
            raise _refused("params", dict, params)
        capabilities = self._enter(method, params)
        if self.revision != MODERN:
            return self._answer(method, params, capabilities)
        result = {"resultType": "complete", **self._answer(method, params, capabilities)}
        if method in _CACHED or method == "server/discover":
            result |= {"cacheScope": "private", "ttlMs": 0}
        result["_meta"] = {SERVER_KEY: self._lists["server"]}
        return result

    def _enter(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Note the revision that a request belongs to; the capabilities of its client."""
        meta = params.get("_meta") or {}
        if type(meta) is not dict:
            raise _refused("params._meta", dict, meta)
        if method == "initialize":
            if self.revision == MODERN:
                text = f"This session is in {MODERN}, which has no initialize: send any request."
                raise _unsupported(text, params.get("protocolVersion"))
            return {}
        if VERSION_KEY in meta:
            return self._enter_modern(meta)
        if self.revision == MODERN or method == "server/discover":
            raise RefusedRequest(
                INVALID_PARAMS,
                f"params._meta must be an object with {VERSION_KEY} and {CAPABILITIES_KEY}.",
            )
        return self._capabilities

    def _enter_modern(self, meta: dict[str, Any]) -> dict[str, Any]:
        """The same of a request without a handshake, which says it in its `_meta`."""
        if self.revision in HANDSHAKES:
            raise RefusedRequest(
                INVALID_REQUEST,
                f"This session began with a handshake in {self.revision}: send requests without "
                f"{VERSION_KEY} in params._meta.",
            )
        if meta[VERSION_KEY] != MODERN:
            raise _unsupported("Unsupported protocol version", meta[VERSION_KEY])
        if type(meta.get(CAPABILITIES_KEY)) is not dict:
            raise _refused(f"params._meta: {CAPABILITIES_KEY}", dict, meta.get(CAPABILITIES_KEY))
        self.revision = MODERN
        return dict(meta[CAPABILITIES_KEY])

    def _answer(
        self, method: str, params: dict[str, Any], capabilities: dict[str, Any]
    ) -> dict[str, Any]:
        if method == "initialize":
            return self._initialize(params)
        if method == "server/discover":
            return {**self._greeting(), "supportedVersions": [MODERN]}
        if method == "ping" and self.revision != MODERN:
            return {}
        if method not in _METHODS:
            # Not named: it is the client's own text, and nothing here hides its secrets.
            raise RefusedRequest(METHOD_NOT_FOUND, "Method not found")
        if not self.revision:
            raise RefusedRequest(
                INVALID_PARAMS, f"{method} came before initialize: send that first."
            )
        if method in LISTS:
            key = LISTS[method]
            return {key: self._lists.get(key, [])}
        from commonplace.core.standstill import PROCESS  # no answer before needs it

        with PROCESS.asked():
            return self._work(method, params, capabilities)

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        for name, kind in (("protocolVersion", str), ("capabilities", dict), ("clientInfo", dict)):
            if type(params.get(name)) is not kind:
                raise _refused(f"params.{name}", kind, params.get(name))
        for name in ("name", "version"):
            value = params["clientInfo"].get(name)
            if type(value) is not str:
                raise _refused(f"params.clientInfo.{name}", str, value)
        for name, value in params["capabilities"].items():
            if type(value) is not dict:
                raise _refused(f"params.capabilities.{name}", dict, value)
        asked = params["protocolVersion"]
        self.revision = asked if asked in HANDSHAKES else HANDSHAKES[-1]
        self._capabilities = params["capabilities"]
        server = self._lists["server"]
        return {**self._greeting(), "protocolVersion": self.revision, "serverInfo": server}

    def _greeting(self) -> dict[str, Any]:
        return {"capabilities": CAPABILITIES, "instructions": self._lists["instructions"]}

    def _work(
        self, method: str, params: dict[str, Any], capabilities: dict[str, Any]
    ) -> dict[str, Any]:
        name = "uri" if method == "resources/read" else "name"
        if type(params.get(name)) is not str:
            raise _refused(f"params.{name}", str, params.get(name))
        arguments = {} if params.get("arguments") is None else params["arguments"]
        if type(arguments) is not dict:
            raise _refused("params.arguments", dict, arguments)
        offer = self._load()
        if method == "resources/read":
            return offer.read(params["uri"])
        if method == "prompts/get":
            return offer.prompt(params["name"], arguments)
        return offer.call(
            params["name"],
            arguments,
            meta=params.get("_meta") or {},
            model=self._model(params, offer) if "sampling" in capabilities else None,
        )

    def _model(self, params: dict[str, Any], offer: McpOffer) -> ClientModel:
        from commonplace.doors.mcp_offer import ClientModel, answered_before

        if self.revision == MODERN:
            return ClientModel(
                lambda asked: answered_before(asked, params), offer.screen, waits=False
            )
        ask = self._ask
        return ClientModel(
            lambda asked: ask("sampling/createMessage", asked), offer.screen, waits=True
        )


def _unsupported(message: str, revision: object) -> RefusedRequest:
    """The error that names the revision there is, and the one that was asked for."""
    data = {"supported": [MODERN], "requested": _named(revision)}
    return RefusedRequest(UNSUPPORTED_VERSION, message, data)


def _named(revision: object) -> str | None:
    """A revision as it was asked for; None for what is no date, which may hold a secret."""
    if not isinstance(revision, str) or len(revision) != len(MODERN):
        return None
    return revision if revision.isascii() and revision.replace("-", "").isdigit() else None


def _refused(name: str, kind: type, value: object) -> RefusedRequest:
    """The error that names a field which is not what it must be."""
    shown = _KINDS.get(type(value)) or repr(value)[:60]  # what may hold a secret is not quoted
    found = "is missing" if value is None else f"is {shown}"
    return RefusedRequest(INVALID_PARAMS, f"{name} {found}: it must be {_KINDS[kind]}.")
