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
from commonplace.journals.transcripts.clients import (
    FOLDERS,
    LINE_CLIENTS,
    load_client,
    session_folders,
)
from commonplace.journals.transcripts.copying import copied_from, is_whole
from commonplace.verbs.transcripts.left_out import left_out_sentences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.journals.transcripts.clients.parsing import Skipped
    from commonplace.journals.transcripts.store import TranscriptStore

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
    """The clients that keep sessions on this machine, so that no other needs to be imported."""
    return [x for x in FOLDERS if any(map(os.path.isdir, session_folders(x, home, environ)))]


def read_safety(
    store: TranscriptStore,
    *,
    home: str,
    environ: Mapping[str, str],
    now: float,
    subagents: bool,
) -> Safety:
    """Compare the originals of this machine's user with what is kept of them.

    Files of sub-agents count where what they said is kept. now: in seconds since 1970.
    """
    waiting: set[tuple[str, str]] = set()
    oldest: float | None = None
    for client in clients_with_sessions(home, environ):
        module = load_client(client)
        for path, session in module.originals(home, environ):
            if not subagents and os.path.basename(path).startswith("agent-"):
                continue
            try:
                found = os.stat(path)
                offset, fingerprint = copied_from(store, path)
                if client in LINE_CLIENTS:
                    is_copied = is_whole(offset, fingerprint, path, found)
                else:
                    is_copied = fingerprint == module.stamp(path)
            except OSError:  # it vanished just now
                continue
            if not is_copied:
                waiting.add((client, session))
                if client == DELETING:
                    oldest = min(oldest or found.st_mtime, found.st_mtime)
    kept = {(each.client, each.name) for each in store.sessions()}
    days = None if oldest is None else (oldest - now) / _DAY_S + cleanup_days(home, environ)
    return Safety(
        safe=len(kept - waiting),
        waiting=len(waiting),
        days_left=None if days is None else max(0, int(days)),
        left_out=tuple(store.list_all_left_out()),
    )


def cleanup_days(home: str, environ: Mapping[str, str]) -> float:
    """After how many days Claude Code deletes a transcript, as its settings say."""
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
