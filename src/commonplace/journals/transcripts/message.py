"""What a session is made of, and how a message stands in a line of its file.

Imports little: a hook that has 60 ms reads it. Never touches the disk.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import NamedTuple

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import Invalid
from commonplace.core.text import opening

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

JOURNAL = "transcripts"
KIND = "turn"
NOTE = "note"
"""The kind of what a client noted by itself."""
SUB_AGENT = "sub-agent"
USER = "user"
ROLES = (USER, "assistant", "tool")

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_CLIENT = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_REF = re.compile(rf"{JOURNAL}:({_CLIENT.pattern})/({_NAME.pattern})(?:#([1-9]\d{{0,8}}))?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = ("id", "parent", "role", "at", "cwd", "branch", "text", "kept")


class Message(NamedTuple):
    """What was said once in a session.

    Attributes:
        id: The client's own; unique per client, in every session that repeats the message.
        role: One of `ROLES`.
        at: In UTC, to the millisecond: `2026-11-22T10:00:00.123Z`.
        parent: The id of the message it follows.
        cwd: The working directory of the session then.
        branch: The git branch then.
        tools: Names of the tools that were called.
        sidechain: Whether a sub-agent said it, or was told it.
        n: Its number in the session, from 1 on; 0 until the store gives it one.
        kept: When it was copied here, where that was more than a day after it was said.
    """

    id: str
    role: str
    at: str
    text: str
    parent: str = ""
    cwd: str = ""
    branch: str = ""
    tools: tuple[str, ...] = ()
    sidechain: bool = False
    n: int = 0
    kept: str = ""

    @property
    def author(self) -> str:
        """Who said it, as entries are shown: a sub-agent's session has no user in it."""
        return SUB_AGENT if self.sidechain else self.role


class SessionSummary(NamedTuple):
    """A session as lists show it.

    Attributes:
        client: Where it was held: `claude-code`.
        name: Its id, as its file is named.
        first_at, last_at: When the first and the last of its messages were.
        cwd: The working directory of its first message that names one.
        branch: The git branch of its last message that names one.
        messages: How many messages are kept of it.
        year: The folder that its file lies in.
    """

    client: str
    name: str
    first_at: str
    last_at: str
    cwd: str
    branch: str
    messages: int
    year: str

    @property
    def ref(self) -> str:
        """Its address."""
        return ref_of(self.client, self.name)


class RefParts(NamedTuple):
    """What a ref names; n is 0 where it names a whole session."""

    client: str
    session: str
    n: int


def is_client(name: str) -> bool:
    """Whether a text may name a client, and a folder."""
    return _CLIENT.fullmatch(name) is not None


def is_time(text: str) -> bool:
    """Whether a text is a time as messages have it."""
    try:
        return _TIME.fullmatch(text) is not None and bool(instant_of(text))
    except ValueError:
        return False


def instant_of(text: str) -> datetime:
    """The instant of a time as messages have it. Raises: ValueError for another text."""
    return datetime.fromisoformat(text)


def time_of(seconds: float) -> str:
    """A time as messages have it, of seconds since 1970."""
    at = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return f"{at.isoformat(timespec='milliseconds')}Z"


def session_name(session: str) -> str:
    """A client's id of a session as a file may be named: itself, else the beginning of its hash."""
    if _NAME.fullmatch(session):
        return session
    return sha256_hex(session.encode("utf-8", "surrogatepass"))[:32]


def ref_of(client: str, session: str, n: int = 0) -> str:
    """The address of a session, or of one of its messages."""
    return f"{JOURNAL}:{client}/{session}#{n}" if n else f"{JOURNAL}:{client}/{session}"


def parse_ref(ref: str) -> RefParts | None:
    """What a ref names; None where it is not one of ours."""
    found = _REF.fullmatch(ref)
    return RefParts(found[1], found[2], int(found[3] or 0)) if found else None


def whole(text: str) -> str:
    """A text that UTF-8 can hold: half a surrogate pair becomes the sign for what is not known."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def render_line(client: str, message: Message) -> bytes:
    """A message as a line of its file; what is empty is left out, but never its text."""
    fields = {"n": message.n, **message._asdict(), "client": client}
    kept = {name: value for name, value in fields.items() if value or name == "text"}
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    return whole(text).encode() + b"\n"


def parse_line(line: bytes) -> Message | None:
    """The message in a line of a file; None where it holds none, whatever it is."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not _has_form(found):
        return None
    words = {name: whole(found[name]) for name in _WORDS if name in found}
    tools = tuple(whole(x) for x in found.get("tools", ()) if isinstance(x, str))
    return Message(**words, tools=tools, sidechain=bool(found.get("sidechain")), n=found["n"])


def _has_form(found: dict[str, Any]) -> bool:
    n = found.get("n")
    return (
        isinstance(n, int)
        and 0 < n < 10**9
        and all(isinstance(found.get(name, ""), str) for name in _WORDS)
        and bool(found.get("id"))
        and "text" in found
        and found.get("role") in ROLES
        and is_time(found.get("at", ""))
        and isinstance(found.get("tools", []), list)
    )


def check_messages(client: str, messages: Sequence[Message]) -> None:
    """Refuse what cannot be kept. Raises: Invalid."""
    if not is_client(client):
        raise Invalid(
            f"The client {opening(client, 40)!a} cannot be kept.", hint="Use a-z, 0-9 and -."
        )
    for message in messages:
        if not message.id or message.role not in ROLES or not is_time(message.at):
            raise Invalid(
                f"The message {opening(message.id, 40)!a} cannot be kept: "
                f"role {opening(message.role, 20)!a}, time {opening(message.at, 40)!a}.",
                hint=f"Give an id, one of {', '.join(ROLES)}, and a time in UTC to the ms.",
            )
