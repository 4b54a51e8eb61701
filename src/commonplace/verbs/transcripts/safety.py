"""How many sessions are copied, how many are not yet, and how long these will be there.

Looks at names, sizes and times of originals alone; opens none of them, and changes nothing.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.plain_files import open_regular
from commonplace.core.text import counted
from commonplace.journals.transcripts.clients import LINE_CLIENTS, load_client, session_folders
from commonplace.verbs.transcripts.left_out import left_out_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from commonplace.journals.transcripts.clients.parsing import Skipped
    from commonplace.journals.transcripts.store import TranscriptStore

LOOKED_AT = ("claude-code", "codex", "gemini")
"""The clients that keep a file for each session on this machine."""

DELETING = "claude-code"
"""The client that deletes its transcripts, so many days after their last change."""

CLEANUP_DAYS = 30
"""After how many days, where its settings say nothing."""

_DAY_S = 86_400.0
_LARGEST = 1 << 20


class Safety(Struct, frozen=True, kw_only=True):
    """How the sessions of this machine's clients stand.

    Attributes:
        safe: Sessions that are kept, all of them that there is.
        waiting: Those of which an original holds what is not copied.
        days_left: After how many whole days Claude Code deletes the oldest of these; 0 for at any
            time now, None where it deletes none.
        left_out: Client, kind and number of what is not kept of those that are copied.
    """

    safe: int
    waiting: int
    days_left: int | None
    left_out: tuple[tuple[str, Skipped, int], ...] = ()

    @property
    def sentences(self) -> list[str]:
        """What people are to know of them; nothing where there is no session at all."""
        return [*filter(None, [self.sentence]), *left_out_sentences(self.left_out)]

    @property
    def sentence(self) -> str:
        """A sentence on it for people; empty where there is no session at all."""
        if not self.safe and not self.waiting:
            return ""
        said = f"{counted(self.safe, 'session', 'sessions')} safe"
        if not self.waiting:
            return f"{said}."
        said += f", {self.waiting:,} not yet"
        if self.days_left is None:
            return f"{said}."
        when = {0: "at any time now", 1: "in 1 day"}.get(
            self.days_left, f"in {self.days_left} days"
        )
        return f"{said}; Claude Code deletes the oldest {when}."


NO_SESSIONS = Safety(safe=0, waiting=0, days_left=None)
"""Where no session is kept, and no client has any."""


def clients_with_sessions(home: str, environ: Mapping[str, str]) -> list[str]:
    """The clients that keep sessions on this machine, so that no other needs to be imported.

    Args:
        home: The user's home folder.
        environ: The environment's variables, which may say where clients keep theirs.
    """
    return [
        client
        for client in LOOKED_AT
        if any(map(os.path.isdir, session_folders(client, home, environ)))
    ]


def read_safety(
    store: TranscriptStore,
    *,
    home: str,
    environ: Mapping[str, str],
    now: float,
    subagents: bool,
) -> Safety:
    """Compare the originals of this machine's user with what is kept of them.

    Args:
        store: What is kept.
        home: The user's home folder.
        environ: The environment's variables, which may say where clients keep theirs.
        now: In seconds since 1970.
        subagents: Whether what sub-agents said is kept; else their files do not count.
    """
    waiting: set[tuple[str, str]] = set()
    oldest: float | None = None
    for client, path, session in _originals(home, environ, subagents=subagents):
        try:
            found = os.stat(path)
            if not _is_behind(store, client, path, found):
                continue
        except OSError:  # it vanished just now
            continue
        waiting.add((client, session))
        if client == DELETING:
            oldest = found.st_mtime if oldest is None else min(oldest, found.st_mtime)
    kept = {(each.client, each.name) for each in store.sessions()}
    left = None
    if oldest is not None:
        days = (oldest - now) / _DAY_S + cleanup_days(home, environ)
        left = max(0, int(days))
    return Safety(
        safe=len(kept - waiting),
        waiting=len(waiting),
        days_left=left,
        left_out=tuple(store.list_all_left_out()),
    )


def cleanup_days(home: str, environ: Mapping[str, str]) -> float:
    """After how many days Claude Code deletes a transcript, as its settings say.

    Args:
        home: The user's home folder.
        environ: The environment's variables.
    """
    folder = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    try:
        with open_regular(os.path.join(folder, "settings.json")) as file:
            found = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return CLEANUP_DAYS
    days = found.get("cleanupPeriodDays") if isinstance(found, dict) else None
    if isinstance(days, (int, float)) and not isinstance(days, bool) and days >= 0:
        return days
    return CLEANUP_DAYS


def _originals(
    home: str, environ: Mapping[str, str], *, subagents: bool
) -> Iterator[tuple[str, str, str]]:
    """Client, path and session of each original that has something in it."""
    for client in clients_with_sessions(home, environ):
        for path, session in load_client(client).originals(home, environ):
            if subagents or not os.path.basename(path).startswith("agent-"):
                yield client, path, session


def _is_behind(store: TranscriptStore, client: str, path: str, found: os.stat_result) -> bool:
    from commonplace.journals.transcripts.copying import copied_from, is_whole

    offset, fingerprint = copied_from(store, path)
    if client in LINE_CLIENTS:
        return not is_whole(offset, fingerprint, path, found)
    return bool(fingerprint != load_client(client).stamp(path))
