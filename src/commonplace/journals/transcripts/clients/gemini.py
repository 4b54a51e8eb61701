"""Gemini CLI's transcripts: a file a session, whose lines write a message again as it grows.

Never keeps thoughts. What was taken back (`$rewindTo`) was said, and is kept.
"""

from __future__ import annotations

import json
import os

from commonplace.core.plain_files import open_regular
from commonplace.journals.transcripts.clients import session_folders
from commonplace.journals.transcripts.clients.json_documents import list_values
from commonplace.journals.transcripts.clients.json_lines import json_lines
from commonplace.journals.transcripts.clients.parsing import (
    BROKEN,
    Conversation,
    dict_of,
    files_below,
    instant,
    list_of,
    name_of,
    stamp_of,
    text_of,
    unknown,
    without_words,
)
from commonplace.journals.transcripts.typed_text import is_ours, typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from commonplace.journals.transcripts.clients.parsing import Kept, Skipped
    from commonplace.journals.transcripts.message import Message

_ROLES = {"user": "user", "gemini": "assistant"}
_NOTES = frozenset(("info", "error", "warning"))
_SHORTEST_UNIQUE = 20
_ROOT, _LONGEST_PATH = ".project_root", 4096

stamp = stamp_of


def originals(home: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The path and the session of each file of this machine's user."""
    for folder in session_folders("gemini", home, environ):
        yield from originals_in(folder)


def originals_in(folder: str) -> Iterator[tuple[str, str]]:
    """The same, of the chats below a folder; one rewritten as lines has a `.json` beside it."""
    for path in files_below(folder, ".json", ".jsonl"):
        name = os.path.basename(path)
        if name.startswith("session-") or path.endswith(".jsonl"):
            yield path, name.partition(".json")[0]


def conversations(path: str, kept: Kept) -> Iterator[tuple[str, Iterable[Message | Skipped]]]:
    """The one session of a file with what was said in it. Raises: OSError."""
    session = os.path.basename(path).partition(".json")[0]
    conversation = Conversation(session, kept, cwd=_project_of(path))
    records: dict[str, dict[str, object]] = {}
    skipped: list[Skipped] = []
    with open_regular(path) as file:
        is_lines = path.endswith(".jsonl")
        for value in (x for x, _at in json_lines(file)) if is_lines else list_values(file.read):
            if value is BROKEN:
                skipped.append(BROKEN)
            elif not _note(dict_of(value), records, conversation):
                skipped.append(unknown(dict_of(value).get("type")))
    yield conversation.session, [*skipped, *_said(records, conversation)]


def _project_of(path: str) -> str:
    """The folder that is named beside the chats, for a session that names none; empty for none."""
    try:
        with open_regular(os.path.join(os.path.dirname(path), os.pardir, _ROOT)) as file:
            found = name_of(file.read(_LONGEST_PATH).decode().strip())
    except (OSError, ValueError):
        return ""
    return found if os.path.isabs(found) else ""


def _note(
    fields: dict[str, object], records: dict[str, dict[str, object]], conversation: Conversation
) -> bool:
    """Take in a line, or a whole document of the older form; whether it is known."""
    if isinstance(fields.get("id"), str):
        _merge(fields, records)
        return True
    meta = dict_of(fields.get("$set")) or fields
    conversation.session = name_of(meta.get("sessionId")) or conversation.session
    conversation.at = instant(meta.get("startTime")) or conversation.at
    conversation.sidechain = conversation.sidechain or meta.get("kind") == "subagent"
    folders = list_of(meta.get("directories"))
    conversation.cwd = name_of(folders[0]) if folders else conversation.cwd
    for message in list_of(meta.get("messages")):
        _merge(dict_of(message), records)
    return "$set" in fields or "$rewindTo" in fields or "sessionId" in fields


def _merge(fields: dict[str, object], records: dict[str, dict[str, object]]) -> None:
    """The last form of a message counts, but for a text that was masked later."""
    own = name_of(fields.get("id"))
    slim = {key: fields.get(key) for key in ("type", "timestamp")}
    slim["text"] = _text(fields.get("displayContent")) or _text(fields.get("content"))
    slim["media"] = _media(fields.get("content"))
    calls = map(dict_of, list_of(fields.get("toolCalls")))
    slim["calls"] = [{key: call.get(key) for key in ("name", "args", "result")} for call in calls]
    before = records.get(own)
    if before:
        slim["text"] = before["text"] or slim["text"]
        slim["timestamp"] = before["timestamp"]
    records[own] = slim


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [
        part if isinstance(part, str) else text_of(dict_of(part).get("text"))
        for part in parts
        if dict_of(part).get("thought") is not True
    ]
    return "\n\n".join(text for text in texts if text)


def _media(content: object) -> list[object]:
    """The media types of what is no text of a message."""
    parts = content if isinstance(content, list) else [content]
    found = [dict_of(part) for part in parts]
    media = [dict_of(x.get("inlineData")) or dict_of(x.get("fileData")) for x in found]
    return [x.get("mimeType") or "file" for x in media if x]


def _said(
    records: dict[str, dict[str, object]], conversation: Conversation
) -> Iterator[Message | Skipped]:
    for known, fields in records.items():
        kind = text_of(fields.get("type"))
        role = _ROLES.get(kind)
        if role is None:
            if kind not in _NOTES:
                yield unknown(kind)
            continue
        yield from map(without_words, list_of(fields.get("media")))
        own = known if len(known) >= _SHORTEST_UNIQUE else f"{conversation.session}:{known}"
        text = text_of(fields.get("text"))
        calls = [dict_of(call) for call in list_of(fields.get("calls"))]
        names = [name_of(call.get("name")) for call in calls]
        yield from conversation.message(
            own,
            role,
            typed(text) if role == "user" else text,
            at=instant(fields.get("timestamp")),
            tools=names,
        )
        if conversation.kept.tools == "all":
            yield from _of_tools(own, calls, conversation)


def _of_tools(
    own: str, calls: list[dict[str, object]], conversation: Conversation
) -> Iterator[Message | Skipped]:
    """What went into tools and came out of them, each call as a message of its own."""
    for number, call in enumerate(calls):
        name = name_of(call.get("name"))
        if not name or is_ours(name):
            continue
        text = json.dumps(
            {"args": call.get("args"), "result": call.get("result")}, ensure_ascii=False
        )
        yield from conversation.message(f"{own}:{number}", "tool", text, parent=own, tools=(name,))
