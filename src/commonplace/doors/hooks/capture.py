"""Copying what is new of the session that a client speaks of, as far as a hook has time for it.

Never reads an original that the settings or the client do not allow, and never writes to one.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace.config.quick import QuickSettings
    from commonplace.doors.hooks.client_messages import HookCall
    from commonplace.journals.transcripts.store import TranscriptStore

MOST_BYTES = 256 * 1024
"""How much of an original one event copies, 10 ms; the rest waits for the next, or for a server."""

BUSY_S = 0.5
"""How long another process that writes is waited for; then the queue alone has the session."""

ENDINGS = (".jsonl", ".json")


def capture(call: HookCall, settings: QuickSettings) -> None:
    """Note that a session goes on, and copy what is new of it unless it only starts.

    A session that is killed before it pauses once is in the queue as well.

    Raises:
        OSError: The original, or the queue, cannot be read or written.
        CommonplaceError: The store cannot be written.
    """
    from commonplace.journals.transcripts.clients import CLIENTS, find_original

    if not settings["transcripts.capture"] or call.client not in CLIENTS:
        return
    if not call.transcript.endswith(ENDINGS):
        return
    from commonplace.core.files import make_folder
    from commonplace.journals.transcripts.copy_queue import CopyQueue, Queued

    folder = os.path.join(settings.owner_folder, "transcripts")
    make_folder(folder)
    call.transcript = find_original(call.transcript)
    CopyQueue(folder).add(Queued(call.client, call.transcript, call.session, time.time()))
    if call.event != "session-start" and os.path.isfile(call.transcript):
        _copy(call, settings, folder)


def _copy(call: HookCall, settings: QuickSettings, folder: str) -> None:
    from commonplace.journals.transcripts.clients import LINE_CLIENTS

    # A document is read whole or not at all; a sub-agent's last message is at its file's end.
    is_whole = call.client not in LINE_CLIENTS or call.event == "subagent-stop"
    if is_whole and os.path.getsize(call.transcript) > MOST_BYTES:
        return
    from commonplace.journals.transcripts.copying import Kept, copy_new
    from commonplace.journals.transcripts.store import TranscriptStore

    store = TranscriptStore(folder, busy_s=BUSY_S, screen=settings.screen(), clock=time.time)
    kept = Kept(tools=settings["transcripts.tools"], subagents=settings["transcripts.subagents"])
    if copy_new(store, call.client, call.transcript, kept=kept, limit_bytes=MOST_BYTES).copied:
        _keep_brief(call, settings, store)
    store.close()


def _keep_brief(call: HookCall, settings: QuickSettings, store: TranscriptStore) -> None:
    """Have what was copied in the brief after this session's context is cut."""
    from commonplace.journals.transcripts.newest import JOURNAL, list_newest
    from commonplace.verbs.brief.kept import BriefFiles
    from commonplace.verbs.brief.project import find_folders_of

    project = find_folders_of(settings, call.cwd)
    if project is None or not settings["brief.tokens"]:
        return
    this = (call.client, call.session)
    BriefFiles(settings.owner_folder).refresh(
        project.root,
        {JOURNAL: lambda kept: list_newest(store, project, session=this, kept=kept)},
        settings.screen().shown,
    )
