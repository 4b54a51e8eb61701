"""The front of `commonplace mcp`: the first answers of a session, given before the SDK is imported.

Law: it answers as the SDK did, for exactly this installation and these settings; every other
request it leaves to the SDK, with all that was said so far. Imports nothing but small builtins: a
session in which no tool is called costs no more than this. It answers the handshake in 0.08 s, the
SDK in 2.9 s, on two cores that are busy with other work.
"""

from __future__ import annotations

import json
import os
import select
import signal

from commonplace.doors.protocol import MODERN
from commonplace.doors.stdio.snapshot import read_snapshot, start_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

PARENT_CHECK_S = 0.5
PRELOAD_AFTER_S = 0.1
"""How long a client must be quiet after the tools were listed before the SDK is imported."""

MOST_BYTES = 1 << 16
"""A longer line is not one of the requests that are answered here."""

UNKNOWN = "unknown"
"""The answers to a handshake of any revision that is not in the snapshot."""

WAITING = (
    b"commonplace mcp: an MCP server, waiting for a client's JSON-RPC messages on stdin. "
    b"Ctrl-C ends it; `commonplace setup` adds it to a client.\n"
)

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_ENVELOPE = {"io.modelcontextprotocol/clientCapabilities", VERSION_KEY}
_INFO_KEY = "io.modelcontextprotocol/clientInfo"

# A shape: a type, an object of these keys at most, or in a list the type of an object's values.
_CAPABILITIES: dict[str, Any] = {
    "roots": {"listChanged": bool},
    "sampling": {"context": {}, "tools": {}},
    "elicitation": {"form": {}, "url": {}},
    "experimental": [dict],
    "extensions": [dict],
}
_CLIENT = {"name": str, "version": str, "title": str, "description": str, "websiteUrl": str}
_PLAIN_ID = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/ ")
_MOST_ID = 1 << 53
_MOST_BRACKETS = 100  # parsers differ on how deep is too deep


class FrontedSession:
    """How a session began, and what was said before the SDK takes over.

    Args:
        parent: The id of the process that started this one.
        key: Of this start's snapshot; None where it can have none.

    Attributes:
        fronted: Whether the client was answered from the snapshot.
        exchanges: The lines the SDK must read to be in the state the client expects, each with the
            answer that the client has already (empty for a notification).
        unread: Bytes that are not answered yet.
        tools_listed: Whether the client has listed the tools.
    """

    def __init__(self, parent: int, key: str | None = None) -> None:
        self.parent = parent
        self.key = key
        self.fronted = False
        self.exchanges: list[tuple[bytes, bytes]] = []
        self.unread = b""
        self.tools_listed = False


class Front:
    """Answers one session, as far as its snapshot has the answers.

    Args:
        answers: By revision, which is empty before the handshake, then by method.
        session: Where it notes what was said.
    """

    def __init__(self, answers: dict[str, dict[str, str]], session: FrontedSession) -> None:
        self._answers = answers
        self._session = session
        self._revision = ""

    def answer(self, line: bytes) -> bytes | None:
        """Answer one line.

        Args:
            line: With its line end.

        Returns:
            The answer; empty where the line needs none, None where the SDK must answer it.
        """
        if line.count(b"{") + line.count(b"[") > _MOST_BRACKETS or b"\r" in line[:-2]:
            return None
        try:
            message = json.loads(
                line.decode(),
                object_pairs_hook=_distinct,
                parse_constant=_reject_number,
                parse_float=_reject_number,
            )
            return self._answer(message, line)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def _answer(self, message: dict[str, Any], line: bytes) -> bytes | None:
        if message["jsonrpc"] != "2.0":
            return None
        method, params = message["method"], message.get("params", {})
        if "id" not in message:
            return self._take_notification(message, line)
        if not message.keys() <= {"jsonrpc", "id", "method", "params"}:
            return None
        revision = self._revision_for(method, params)
        if revision is None:
            return None
        tail = self._answers[revision][method]
        answer = f'{{"jsonrpc":"2.0","id":{_plain_id(message["id"])},{tail}\n'.encode()
        if method == "initialize" or not self._session.exchanges:
            self._session.exchanges.append((line, answer))
        self._revision = revision
        self._session.tools_listed |= method == "tools/list"
        return answer

    def _take_notification(self, message: dict[str, Any], line: bytes) -> bytes | None:
        if message.pop("params", {}) != {} or self._revision in {"", MODERN}:
            return None
        if message != {"jsonrpc": "2.0", "method": "notifications/initialized"}:
            return None
        self._session.exchanges.append((line, b""))
        return b""

    def _revision_for(self, method: str, params: Any) -> str | None:
        """The revision a request is answered in; None where only the SDK can tell."""
        meta = params.get("_meta", {})
        if VERSION_KEY in meta and method != "initialize":
            opens = not self._session.exchanges
            return MODERN if _is_envelope(params) and (opens or self._revision == MODERN) else None
        if self._revision == MODERN or not _is_plain_meta(meta):
            return None
        asked = {key: value for key, value in params.items() if key != "_meta"}
        if method != "initialize":
            return self._revision if not asked else None
        if self._revision or not _is_handshake(asked):
            return None
        named: str = asked["protocolVersion"]
        return named if named in self._answers and named != MODERN else UNKNOWN


def serve(argv: Sequence[str], *, parent: int) -> FrontedSession:
    """Answer until the client leaves, or sends a request that only the SDK can answer.

    Args:
        argv: The words after `mcp`.
        parent: The id of the process that started this one.

    Returns:
        What was said, for the SDK to go on from.
    """
    session = FrontedSession(parent, start_key(argv))
    snapshot = read_snapshot(session.key) if session.key else None
    if snapshot is None:
        return session
    try:
        texts, table, preload = snapshot["texts"], snapshot["answers"], snapshot["preload"]
        answers = {x: {y: texts[at] for y, at in row.items()} for x, row in table.items()}
    except (LookupError, TypeError, AttributeError):
        return session
    announce()
    before = signal.signal(signal.SIGTERM, _leave)
    session.fronted = True
    answer = Front(answers, session).answer
    session.unread = answer_lines(
        answer, parent=parent, is_due=lambda: bool(preload) and session.tools_listed
    )
    signal.signal(signal.SIGTERM, before)
    return session


def announce() -> None:
    """Say on stderr what this is, where stdin is a terminal: a client gets no such line."""
    try:
        if os.isatty(0):
            os.write(2, WAITING)
    except OSError:  # no stderr
        return


def answer_lines(
    answer: Callable[[bytes], bytes | None],
    *,
    parent: int,
    is_due: Callable[[], bool] = lambda: False,
    rest: bytes = b"",
) -> bytes:
    """Answer stdin line by line until a line cannot be answered.

    Ends the process at the end of stdin, when the client no longer reads, and when the parent dies.

    Args:
        answer: Gives the answer to a line, as `Front.answer` does.
        parent: The id of the process that started this one.
        is_due: Whether to return, with nothing left, as soon as the client is quiet.
        rest: What was read before.

    Returns:
        The line that was not answered, and what came after it.
    """
    while True:
        out = bytearray()
        while end := rest.find(b"\n") + 1:
            said = answer(rest[:end])
            if said is None:
                break
            out += said
            rest = rest[end:]
        _write(out)
        if end or len(rest) > MOST_BYTES:
            return rest
        if not _wait(parent, due=is_due() and not rest):
            return b""
        chunk = _read()
        if not chunk:
            return rest or _leave()
        rest += chunk


def _wait(parent: int, *, due: bool) -> bool:
    """Wait until there is something to read; False where the client is quiet and `due` is set."""
    if os.name == "nt":  # its select knows no pipes
        return not due
    while not select.select([0], [], [], PRELOAD_AFTER_S if due else PARENT_CHECK_S)[0]:
        if os.getppid() != parent:
            _leave()
        if due:
            return False
    return True


def _read() -> bytes:
    try:
        return os.read(0, MOST_BYTES)
    except OSError:  # no stdin, or a terminal that is gone
        return b""


def _write(out: bytearray) -> None:
    try:
        while out:
            try:
                del out[: os.write(1, out)]
            except BlockingIOError:
                select.select([], [1], [])
    except OSError:  # the client is gone
        _leave()


def _leave(*_: object) -> NoReturn:
    os._exit(0)


def _plain_id(value: object) -> str:
    """An id as JSON. Raises ValueError for one that the SDK might write in another way."""
    if type(value) is int and abs(value) < _MOST_ID:
        return str(value)
    if type(value) is str and value and _PLAIN_ID.issuperset(value):
        return f'"{value}"'
    raise ValueError


def _is_handshake(params: dict[str, Any]) -> bool:
    return (
        params.keys() == {"protocolVersion", "capabilities", "clientInfo"}
        and type(params["protocolVersion"]) is str
        and _has_shape(params["capabilities"], _CAPABILITIES)
        and _is_client(params["clientInfo"])
    )


def _is_envelope(params: dict[str, Any]) -> bool:
    meta = dict(params["_meta"])
    known = _is_client(meta.pop(_INFO_KEY, {"name": "", "version": ""}))
    return (
        known
        and params.keys() == {"_meta"}
        and meta.keys() == _ENVELOPE
        and meta.pop(VERSION_KEY) == MODERN
        and all(_has_shape(capabilities, _CAPABILITIES) for capabilities in meta.values())
    )


def _is_client(found: object) -> bool:
    return _has_shape(found, _CLIENT) and {"name", "version"} <= found.keys()  # type: ignore[attr-defined]  # it has the shape of an object


def _is_plain_meta(meta: dict[str, Any]) -> bool:
    token = meta.get("progressToken", 0)
    return meta.keys() <= {"progressToken"} and type(token) in {int, str}


def _has_shape(value: Any, shape: Any) -> bool:
    if isinstance(shape, list):
        return type(value) is dict and all(type(inner) is shape[0] for inner in value.values())
    if isinstance(shape, dict):
        return type(value) is dict and all(
            key in shape and _has_shape(inner, shape[key]) for key, inner in value.items()
        )
    return type(value) is shape


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Raises ValueError for a key that is there twice: parsers differ on it."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _reject_number(_number: str) -> NoReturn:
    raise ValueError
