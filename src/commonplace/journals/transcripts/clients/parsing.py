"""What the parsers of all clients share: times, texts, the marks of what is skipped, the folders.

Pure but for listing folders; never raises for what a file holds: files are hostile until parsed.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import NamedTuple

from commonplace.core.digest import sha256_hex
from commonplace.journals.transcripts.message import Message, whole
from commonplace.journals.transcripts.typed_text import without_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Protocol

    class LineClient(Protocol):
        """A client that appends a line of JSON for each message."""

        def originals(self, home: str, environ: Mapping[str, str], /) -> Iterator[tuple[str, str]]:
            """The path and the session of each of its files, wherever this machine keeps them."""

        def originals_in(self, folder: str) -> Iterator[tuple[str, str]]:
            """The same, of one folder that was named."""

        def begin(self, path: str, first: object, kept: Kept) -> Conversation:
            """What the first line of a file says of all others; `first` may be any JSON value."""

        def messages(
            self, lines: Iterable[object], conversation: Conversation
        ) -> Iterator[Message | Skipped]:
            """What lines of one file say, as JSON values, oldest first."""

    class DocumentClient(Protocol):
        """A client that keeps whole documents, or a database."""

        def originals(self, home: str, environ: Mapping[str, str], /) -> Iterator[tuple[str, str]]:
            """As of a line client; a session is empty where a file holds many."""

        def originals_in(self, folder: str) -> Iterator[tuple[str, str]]:
            """The same, of one folder that was named."""

        def stamp(self, path: str) -> str:
            """Changes whenever what the path stands for changes. Raises: OSError."""

        def conversations(
            self, path: str, kept: Kept
        ) -> Iterator[tuple[str, Iterable[Message | Skipped]]]:
            """Each session of a document with what was said in it. Raises: OSError."""


class Skipped(NamedTuple):
    """Why a piece of an original is not kept, which is counted.

    Attributes:
        why: `unknown`, `broken`, `no words`, or `unwanted` as is set.
        kind: What it is called; empty where it has no name that can be shown.
    """

    why: str
    kind: str = ""


UNKNOWN = Skipped("unknown")
BROKEN = Skipped("broken")
NAMELESS = Skipped("broken", "message without an id")
TIMELESS = Skipped("broken", "message without a time")
OF_SUB_AGENT = Skipped("unwanted", "message of a sub-agent")

_KIND = re.compile(r"[\w.:/-]{1,40}", re.ASCII)


def unknown(kind: object) -> Skipped:
    """What is of a kind that this version does not know, by what its client calls the kind."""
    is_name = isinstance(kind, str) and _KIND.fullmatch(kind)
    return Skipped("unknown", str(kind)) if is_name else UNKNOWN


def without_words(kind: object) -> Skipped:
    """What was given or answered besides words, by its kind or media type: an image, a file."""
    name = text_of(kind).partition("/")[0].lower()
    if "/" in text_of(kind) and name not in _MEDIA:
        name = "file"
    return Skipped("no words", name if _KIND.fullmatch(name) else "file")


_MEDIA = ("image", "audio", "video")


class Kept(NamedTuple):
    """What is kept of transcripts, as set.

    Attributes:
        tools: `none`, the `names` of tools that were called, or `all` of what went in and out.
        subagents: Whether what sub-agents said is kept.
    """

    tools: str = "names"
    subagents: bool = False


class Conversation:
    """What is known of a session while its file is read: as of a `Message`, and what is kept.

    Attributes:
        at: The time of the message before, for one that has no time.
        tool_names: Which tool each call is of, by the id of the call.
        before: The values of the lines before those that are read now, the last first.
        after: By which id what is said next comes after what was said; see `claude_code`.
        forks: How many forks of forks lead to this session, whose rollout they repeat.
        in_copy: Whether the lines read now repeat another session's; see `codex_forks`.
        may_be_copied: Whether a fork that came first may be kept with copies of these messages.
        copy_ids: By the id of a message the one that a copy of it has where it is kept alone.
        kept_session: The messages kept of a session, by its id; None where it was deleted.
        screened: A text as it is kept.
    """

    def __init__(
        self,
        session: str,
        kept: Kept,
        *,
        cwd: str = "",
        branch: str = "",
        sidechain: bool = False,
        at: str = "",
        path: str = "",
    ) -> None:
        self.session = session
        self.kept = kept
        self.cwd = cwd
        self.branch = branch
        self.sidechain = sidechain
        self.at = at
        self.tool_names: dict[str, str] = {}
        self.before: Callable[[], Iterable[object]] = tuple
        self.after = ""
        self.path = path
        self.forks = 0
        self.in_copy = False
        self.may_be_copied = True
        self.copy_ids: dict[str, str] = {}
        self.kept_session: Callable[[str], Sequence[Message] | None] = lambda _session: ()
        self.screened: Callable[[str], str] = str

    def message(
        self,
        id: str,  # noqa: A002  as in `Message`
        role: str,
        text: str,
        *,
        at: str = "",
        parent: str = "",
        tools: Sequence[str] = (),
    ) -> tuple[Message | Skipped, ...]:
        """A message without what is ours, or why it is skipped; none where nothing is left of it.

        Without an id it cannot be told apart, and is left out; without a time, as `instant` gives
        it, it has that of the message before. The rest is as of a `Message`.
        """
        self.at = at or self.at
        text = whole(without_ours(text)).strip()
        named = tuple(filter(None, tools)) if self.kept.tools != "none" else ()
        if not (text or named):
            return ()
        if self.sidechain and not self.kept.subagents:
            return (OF_SUB_AGENT,)
        if not id or not self.at:
            return (TIMELESS if id else NAMELESS,)
        message = Message(
            id=whole(id),
            role=role,
            at=self.at,
            text=text,
            parent=parent,
            cwd=self.cwd,
            branch=self.branch,
            tools=named,
            sidechain=self.sidechain,
        )
        return (message,)


_CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_OLDEST, _NEWEST = 1971, 9000
_MILLISECONDS = 1e11
"""A number of seconds this large would be the year 5138: it counts milliseconds."""


def instant(value: object) -> str:
    """A time as UTC with milliseconds, `2026-11-22T10:00:00.123Z`; empty where it is not a time.

    It is ISO 8601, without a zone in UTC, or a number of seconds or milliseconds.
    """
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
        else:
            return ""
        if not _OLDEST <= at.year <= _NEWEST:
            return ""
        if isinstance(value, str) and _CANONICAL.fullmatch(value):
            return value
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text_of(value: object) -> str:
    """A value where a text belongs; empty where it is none."""
    return value if isinstance(value, str) else ""


def dict_of(value: object) -> dict[str, object]:
    """A value where an object belongs; empty where it is none."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[object]:
    """A value where a list belongs; empty where it is none."""
    return value if isinstance(value, list) else []


def name_of(value: object) -> str:
    """A short name on one line, as of a tool or a branch; empty where it is none."""
    text = text_of(value)
    return whole(text) if len(text) <= _LONGEST_NAME and text.isprintable() else ""


_LONGEST_NAME = 4096


def made_id(*parts: str) -> str:
    """An id for what has none of its own, the same in every copy of it."""
    return sha256_hex("\n".join(parts).encode(errors="replace"))[:32]


def stamp_of(path: str) -> str:
    """What a file's state is, in a word that changes when it is written. Raises: OSError."""
    state = os.stat(path)
    return f"{state.st_size}-{state.st_mtime_ns}"


def files_below(folder: str, *extensions: str) -> Iterator[str]:
    """The regular files below a folder that end so, in the order of their names.

    A link is followed where it leads to something inside the folder, and only to a file: what
    leads out of it, or in circles, is not.
    """
    root = os.path.realpath(folder)
    waiting = [root]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        folders = []
        for entry in found:
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(extensions) and _is_inside(entry, root):
                    yield entry.path
            except OSError:
                continue
        waiting.extend(reversed(folders))


def _is_inside(entry: os.DirEntry[str], root: str) -> bool:
    if not entry.is_file():
        return False
    if not entry.is_symlink():
        return True
    return os.path.realpath(entry.path).startswith(root.rstrip(os.sep) + os.sep)
