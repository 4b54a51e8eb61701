"""Owns how sessions move from files into the storage that takes their place.

Never removes a file whose messages were not read back.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.errors import Unavailable
from commonplace.core.expiring import revealed
from commonplace.core.files import translated
from commonplace.journals.transcripts import files
from commonplace.journals.transcripts.message import ref_of
from commonplace.journals.transcripts.store import CATALOG

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.journals.transcripts.message import Message
    from commonplace.journals.transcripts.ports import SharedTranscripts
    from commonplace.journals.transcripts.store import TranscriptStore


def move_sessions(
    there: SharedTranscripts,
    store: TranscriptStore,
    *,
    unfile: Callable[[Sequence[str]], object],
) -> None:
    """Move all sessions of a folder, and what was deleted there; the folder goes when it is empty.

    May be called again, by several processes too: a message that is there stays as it is there,
    and one that was deleted in either does not come back.

    unfile: takes refs out of what followed the files, before they leave.
    Raises: Unavailable, Denied where not all can be moved; then what is left stays.
    """
    if not store.exists:
        return

    def take(client: str, session: str, year: str, said: Sequence[Message]) -> None:
        there.append(client, session, said, year=year)
        kept = {x.id: x.text for x in there.read(client, session)}
        if there.new_ids(client, session, [x.id for x in said]) or any(
            kept.get(x.id, x.text) != x.text for x in said
        ):
            raise _not_all(files.path_of(store.folder, client, year, session))
        unfile([ref_of(client, session, x.n) for x in said])

    with revealed():
        if stay := store.hand_over(take, there.note_deleted):
            raise _not_all(stay[0])
    store.close()
    _remove_empty(store.folder)


def _not_all(path: str) -> Unavailable:
    return Unavailable(
        "Not every message of {place} could be moved into the database.",
        hint="Correct its broken lines, or take them out; what was moved is not moved twice.",
        place=path,
    )


def _remove_empty(folder: str) -> None:
    """Remove what is left of a folder of which all was given away."""
    names = (CATALOG, f"{CATALOG}-wal", f"{CATALOG}-shm")
    places = sorted((x.path for *_, x in files.list_years(folder)), reverse=True)
    with translated(folder):
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))
        for place in [*places, *{os.path.dirname(x): None for x in places}, folder]:
            with suppress(OSError):  # another process has kept something, or something lies there
                os.rmdir(place)
