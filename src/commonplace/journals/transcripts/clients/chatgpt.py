"""ChatGPT's export: an archive with lists of conversations, each a tree of messages.

Never keeps what it thought, what is hidden from the user, or what is said to a tool.
"""

from __future__ import annotations

from commonplace.journals.transcripts.clients.claude_ai import originals, originals_in
from commonplace.journals.transcripts.clients.json_documents import exported_values
from commonplace.journals.transcripts.clients.parsing import (
    BROKEN,
    UNKNOWN,
    Conversation,
    dict_of,
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
    from collections.abc import Iterable, Iterator

    from commonplace.journals.transcripts.clients.parsing import Kept, Skipped
    from commonplace.journals.transcripts.message import Message

__all__ = ["conversations", "originals", "originals_in", "stamp"]

_SAID = frozenset(("text", "multimodal_text"))
_NOT_SAID = frozenset(
    "code execution_output thoughts reasoning_recap user_editable_context model_editable_context"
    " system_error tether_quote tether_browsing_display tether_browsing_code sonic_webpage"
    " computer_output app_pairing_content citable_code_output super_widget".split()
)

stamp = stamp_of


def conversations(path: str, kept: Kept) -> Iterator[tuple[str, Iterable[Message | Skipped]]]:
    """Each conversation of an export with what was said in it. Raises: OSError, Invalid."""
    for value in exported_values(path):
        fields = dict_of(value)
        session = name_of(fields.get("conversation_id")) or name_of(fields.get("id"))
        if value is BROKEN or not session:
            yield "", (BROKEN if value is BROKEN else UNKNOWN,)
            continue
        conversation = Conversation(session, kept, at=instant(fields.get("create_time")))
        yield session, _said(dict_of(fields.get("mapping")), conversation)


def _said(nodes: dict[str, object], conversation: Conversation) -> Iterator[Message | Skipped]:
    """The messages of all branches, oldest first: what was asked again was said as well."""
    places = _places(nodes, conversation.at)
    for key in sorted(places, key=lambda key: places[key]):
        node = dict_of(nodes[key])
        fields = dict_of(node.get("message"))
        if not fields:
            continue
        role = text_of(dict_of(fields.get("author")).get("role"))
        content = dict_of(fields.get("content"))
        kind = text_of(content.get("content_type"))
        if kind not in _SAID and kind not in _NOT_SAID:
            yield unknown(kind)
        hidden = dict_of(fields.get("metadata")).get("is_visually_hidden_from_conversation")
        to_tool = text_of(fields.get("recipient")) not in ("", "all")
        if role not in ("user", "assistant") or hidden is True:
            continue
        text = _text(content) if kind in _SAID and not to_tool else ""
        yield from map(without_words, _others(fields, content))
        yield from conversation.message(
            name_of(fields.get("id")),
            role,
            text,
            at=places[key][0],
            parent=name_of(node.get("parent")),
            tools=(name_of(fields.get("recipient")),) if to_tool else (),
        )


def _places(nodes: dict[str, object], begun: str) -> dict[str, tuple[str, int]]:
    """The time of each node, and how far it stands below the one that the time is of.

    A message without a time was said after the one above it, and before what has a later time.
    """
    places: dict[str, tuple[str, int]] = {}
    for key in nodes:
        above: dict[str, None] = {}  # in their order, found at once in a long row of them
        at, depth = begun, 0
        step = key
        while step in nodes and step not in above:
            if step in places:
                at, depth = places[step]
                break
            above[step] = None
            own = instant(dict_of(dict_of(nodes[step]).get("message")).get("create_time"))
            if own:
                at, depth = own, -1
                break
            step = name_of(dict_of(nodes[step]).get("parent"))
        for number, each in enumerate(reversed(above), 1):
            places[each] = (at, depth + number)
    return places


def _others(fields: dict[str, object], content: dict[str, object]) -> Iterator[object]:
    """The kinds of what a message holds besides words: pictures and sound in it, files beside."""
    for part in map(dict_of, list_of(content.get("parts"))):
        if part and not text_of(part.get("text")):
            kind = text_of(part.get("content_type"))
            yield next((x for x in ("image", "video", "audio") if x in kind), "file")
    metadata = dict_of(fields.get("metadata"))
    for file in map(dict_of, list_of(metadata.get("attachments"))):
        if not text_of(file.get("mime_type")).startswith("image/"):
            yield "file"


def _text(content: dict[str, object]) -> str:
    """The words of a message; a picture is left out, what was spoken is there as it was heard."""
    parts = [
        part if isinstance(part, str) else text_of(dict_of(part).get("text"))
        for part in list_of(content.get("parts"))
    ]
    return "\n\n".join(part for part in parts if part)
