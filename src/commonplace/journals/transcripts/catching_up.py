"""Copying what the hooks had no time for, or were killed before: whatever the spool names.

Never raises for one original: the others are copied all the same.
"""

from __future__ import annotations

import os

from commonplace.core.errors import CommonplaceError
from commonplace.journals.transcripts.clients import CLIENTS, find_original
from commonplace.journals.transcripts.copying import copy_new
from commonplace.journals.transcripts.spool import Spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace.journals.transcripts.clients.original import Kept
    from commonplace.journals.transcripts.spool import Spooled
    from commonplace.journals.transcripts.store import TranscriptStore

FOLLOWED_S = 86_400.0
"""How long an original is looked at again after a hook saw it: a session that was killed while it
went on is copied to its end, though no hook said so."""

MOST_BYTES = 8 << 20
"""How much of one original is copied at once, 0.3 s: a command waits for it."""


def copy_spooled(store: TranscriptStore, *, kept: Kept, now: float) -> int:
    """Copy what is new of every original that the spool names; how many messages that was.

    Args:
        store: Where it is kept.
        kept: What is kept of it, as set.
        now: In seconds since 1970.

    Raises:
        OSError: The spool cannot be read or written.
    """
    copied = 0

    def copy(spooled: Spooled) -> bool:
        nonlocal copied
        is_over = not -FOLLOWED_S < now - spooled.at < FOLLOWED_S
        if spooled.client not in CLIENTS:
            return True
        path = find_original(spooled.path)
        try:
            done = copy_new(store, spooled.client, path, kept=kept, limit_bytes=MOST_BYTES)
        except (OSError, CommonplaceError):
            # It is gone, or cannot be read or kept just now; a day later only the first is likely.
            return is_over and not os.path.isfile(path)
        copied += done.copied
        return is_over and not done.copied

    Spool(store.folder).empty(copy)
    return copied
