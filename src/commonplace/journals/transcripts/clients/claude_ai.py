"""Claude.ai's export: an archive with one list of all conversations.

Never keeps what it thought.
"""

from __future__ import annotations

import os

from commonplace.journals.transcripts.clients.json_documents import exported_values
from commonplace.journals.transcripts.clients.parsing import (
    BROKEN,
    UNKNOWN,
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from commonplace.journals.transcripts.clients.parsing import Kept, Skipped
    from commonplace.journals.transcripts.message import Message

_ROLES = {"human": "user", "assistant": "assistant"}
_BLOCKS = frozenset("thinking tool_use tool_result token_budget flag voice_note image".split())

stamp = stamp_of


def originals(_home: str, _environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """None: an export lies where its user put it."""
    return iter(())


def originals_in(folder: str) -> Iterator[tuple[str, str]]:
    """The exports in a folder, packed or not; which conversations they hold is not known yet."""
    for path in files_below(folder, ".zip", ".json"):
        name = os.path.basename(path)
        if name.endswith(".zip") or name.startswith("conversations"):
            yield path, ""


def conversations(path: str, kept: Kept) -> Iterator[tuple[str, Iterable[Message | Skipped]]]:
    """Each conversation of an export with what was said in it. Raises: OSError, Invalid."""
    for value in exported_values(path):
        fields = dict_of(value)
        session = name_of(fields.get("uuid"))
        if value is BROKEN or not session:
            yield "", (BROKEN if value is BROKEN else UNKNOWN,)
            continue
        conversation = Conversation(session, kept, at=instant(fields.get("created_at")))
        yield session, _said(list_of(fields.get("chat_messages")), conversation)


def _said(said: list[object], conversation: Conversation) -> Iterator[Message | Skipped]:
    for fields in map(dict_of, said):
        role = _ROLES.get(text_of(fields.get("sender")))
        if role is None:
            yield unknown(fields.get("sender"))
            continue
        texts, tools = [], []
        for block in map(dict_of, list_of(fields.get("content"))):
            kind = block.get("type")
            if kind == "text":
                texts.append(text_of(block.get("text")))
            elif not isinstance(kind, str) or kind not in _BLOCKS:
                yield unknown(kind)
            elif kind == "tool_use":
                tools.append(name_of(block.get("name")))
        yield from map(without_words, _files(fields))
        yield from conversation.message(
            name_of(fields.get("uuid")),
            role,
            # Older exports have a text alone, newer ones repeat the blocks in it with notes.
            "\n\n".join(
                x for x in (*(texts or [text_of(fields.get("text"))]), *_pasted(fields)) if x
            ),
            at=instant(fields.get("created_at")),
            parent=name_of(fields.get("parent_message_uuid")),
            tools=tools,
        )


def _files(fields: dict[str, object]) -> list[object]:
    """The kinds of files that were given, but for those whose text is kept."""
    files = [dict_of(x).get("file_kind") or "file" for x in list_of(fields.get("files"))]
    attachments = map(dict_of, list_of(fields.get("attachments")))
    files += ["file" for x in attachments if x and not text_of(x.get("extracted_content"))]
    blocks = [dict_of(x).get("type") for x in list_of(fields.get("content"))]
    return files or [x for x in blocks if x == "image"]


def _pasted(fields: dict[str, object]) -> list[str]:
    """What was pasted or given as a file: Claude.ai takes a long text out of the words typed."""
    attachments = map(dict_of, list_of(fields.get("attachments")))
    return [text_of(x.get("extracted_content")).strip() for x in attachments]
