"""Codex's transcripts: a rollout file a session, a line a message or a call.

Never keeps reasoning, and never takes what Codex added to the user's words for them.
"""

from __future__ import annotations

import json
import os
import re
from itertools import chain

from commonplace.core.errors import Invalid
from commonplace.journals.transcripts.clients import session_folders
from commonplace.journals.transcripts.clients.codex_forks import Repeated, is_agent
from commonplace.journals.transcripts.clients.json_lines import json_lines
from commonplace.journals.transcripts.clients.packed import (
    PACKED,
    LineFile,
    is_packed,
    plain_name,
)
from commonplace.journals.transcripts.clients.parsing import (
    BROKEN,
    Conversation,
    Kept,
    Skipped,
    dict_of,
    files_below,
    instant,
    list_of,
    made_id,
    name_of,
    text_of,
    unknown,
    without_words,
)
from commonplace.journals.transcripts.typed_text import is_ours, typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from commonplace.journals.transcripts.message import Message

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.jsonl\Z)")
_LINES = frozenset(
    "session_meta response_item event_msg turn_context compacted world_state token_usage_record"
    " inter_agent_communication session_state".split()
)
_CALLS = frozenset("function_call custom_tool_call local_shell_call web_search_call".split())
_OUTPUTS = frozenset("function_call_output custom_tool_call_output".split())
_ITEMS = (
    _CALLS
    | _OUTPUTS
    | frozenset(
        "message reasoning ghost_snapshot compaction compaction_summary context_compaction"
        " image_generation_call tool_search_call tool_search_output mcp_tool_call other".split()
    )
)

_TEXTS = ("input_text", "output_text", "text")
_MEDIA = ("input_image", "input_file", "input_audio", "output_image", "output_audio")

_SHORTEST_UNIQUE = 20
_ADDED = ("agents_md.", "environments.", "skills.", "plugins.", "apps.", "hooks.")


def originals(home: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The path and the session of each file of this machine's user, the archived ones too."""
    yield from _rollouts(session_folders("codex", home, environ))


def originals_in(folder: str) -> Iterator[tuple[str, str]]:
    """The same, of the rollout files below a folder, packed or not, the one begun first first.

    A fork is begun after what it repeats, which so stays with the session it was said in. Of a
    file that is there plain and packed, as while Codex packs it, the plain one counts.
    """
    yield from _rollouts([folder])


def _rollouts(folders: Iterable[str]) -> Iterator[tuple[str, str]]:
    found = [x for folder in folders for x in files_below(folder, ".jsonl", f".jsonl{PACKED}")]
    plain = {path for path in found if not is_packed(path)}
    for path in sorted(found, key=lambda x: (os.path.basename(x), x)):
        is_twin = is_packed(path) and plain_name(path) in plain
        if os.path.basename(path).startswith("rollout-") and not is_twin:
            yield path, _session_of(path)


def _session_of(path: str) -> str:
    name = plain_name(os.path.basename(path))
    found = _UUID.search(name)
    return found[0] if found else name.removesuffix(".jsonl")


def begin(path: str, first: object, kept: Kept) -> Conversation:
    """The session of a file, the folder and branch it was begun in, and whether an agent's."""
    line = dict_of(first)
    meta = dict_of(line.get("payload")) if line.get("type") == "session_meta" else line
    return Conversation(
        name_of(meta.get("id")) or _session_of(path),
        kept,
        cwd=name_of(meta.get("cwd")),
        branch=name_of(dict_of(meta.get("git")).get("branch")),
        sidechain=is_agent(meta),
        at=instant(meta.get("timestamp")),
        path=path,
    )


def messages(lines: Iterable[object], conversation: Conversation) -> Iterator[Message | Skipped]:
    """What the lines say: user and assistant, tools as is set; what repeats, by its first id."""
    repeated = Repeated(conversation, _said_in)
    try:
        for line in lines:
            fields = dict_of(line)
            repeated.see(
                fields.get("type"), dict_of(fields.get("payload")), instant(fields.get("timestamp"))
            )
            for each in _said(fields, conversation):
                if message := repeated.known(each):
                    yield message
    finally:
        repeated.close()


def _said_in(path: str, fork: Conversation) -> Iterator[tuple[Message, str]]:
    """What is said in the rollout that a fork repeats, with the id of a copy of each message."""
    try:
        with LineFile(path) as file:
            lines = (value for value, _at in json_lines(file) if value is not BROKEN)
            first = next(lines, None)
            theirs = begin(path, first, Kept(tools=fork.kept.tools, subagents=True))
            theirs.kept_session, theirs.screened = fork.kept_session, fork.screened
            theirs.forks = fork.forks + 1
            for message in messages(chain([first], lines), theirs):
                if not isinstance(message, Skipped):
                    yield message, theirs.copy_ids.pop(message.id, "")
    except (OSError, Invalid):  # it went, or cannot be unpacked here: what was not found is kept
        return


def _said(fields: dict[str, object], conversation: Conversation) -> Iterator[Message | Skipped]:
    """What one line says."""
    kind, payload = fields.get("type"), dict_of(fields.get("payload"))
    at = instant(fields.get("timestamp"))
    if kind == "turn_context":
        conversation.cwd = name_of(payload.get("cwd")) or conversation.cwd
    elif kind == "response_item":
        yield from _item(payload, at, conversation)
    elif isinstance(kind, str) and kind in _ITEMS:  # the first versions: items without a frame
        yield from _item(fields, at, conversation)
    # Notes of the first versions had no types: the session, a state.
    elif str(kind) not in _LINES and (
        "type" in fields or not fields.keys() & {"record_type", "id"}
    ):
        yield unknown(kind)


def _item(
    item: dict[str, object], at: str, conversation: Conversation
) -> Iterator[Message | Skipped]:
    kind = item.get("type")
    if not isinstance(kind, str) or kind not in _ITEMS:
        yield unknown(kind)
        return
    if kind == "message":
        yield from _others(item)
        yield from _message(item, at, conversation)
    elif kind in _CALLS:
        yield from _call(item, at, conversation)
    elif kind in _OUTPUTS and conversation.kept.tools == "all":
        yield from _output(item, at, conversation)


def _others(item: dict[str, object]) -> Iterator[Skipped]:
    """What a message holds besides words."""
    if item.get("role") in ("user", "assistant"):
        for part in map(dict_of, list_of(item.get("content"))):
            kind = part.get("type")
            if not isinstance(kind, str):
                yield unknown(kind)
            elif kind in _MEDIA:
                yield without_words(kind.partition("_")[2])
            elif kind not in _TEXTS:
                yield unknown(kind)


def _message(
    item: dict[str, object], at: str, conversation: Conversation
) -> tuple[Message | Skipped, ...]:
    role = text_of(item.get("role"))
    if role not in ("user", "assistant"):
        return ()
    parts = [text_of(dict_of(part).get("text")) for part in list_of(item.get("content"))]
    if role == "user":
        meta = dict_of(item.get("internal_chat_message_metadata_passthrough"))
        kinds = list_of(meta.get("content_item_kinds"))
        if len(kinds) == len(parts):
            parts = [
                part
                for part, kind in zip(parts, kinds, strict=True)
                if not text_of(kind).startswith(_ADDED)
            ]
        parts = [typed(part) for part in parts]
    text = "\n\n".join(part for part in parts if part)
    return conversation.message(_own_id(item, at, role, text), role, text, at=at)


def _call(
    item: dict[str, object], at: str, conversation: Conversation
) -> tuple[Message | Skipped, ...]:
    name = name_of(item.get("name")) or text_of(item.get("type")).removesuffix("_call")
    namespace = name_of(item.get("namespace"))
    key = name_of(item.get("call_id")) or name_of(item.get("id"))
    shown = f"{namespace}__{name}" if namespace else name
    if is_ours(name, namespace=namespace):
        shown = f"mcp__commonplace__{name.removeprefix('mcp__commonplace__')}"
    conversation.tool_names[key] = shown
    put = item.get("arguments", item.get("input", item.get("action")))
    is_kept = conversation.kept.tools == "all" and not is_ours(shown)
    text = (put if isinstance(put, str) else json.dumps(put, ensure_ascii=False)) if is_kept else ""
    role = "tool" if is_kept else "assistant"
    return conversation.message(_own_id(item, at, "call", key), role, text, at=at, tools=(shown,))


def _output(
    item: dict[str, object], at: str, conversation: Conversation
) -> tuple[Message | Skipped, ...]:
    key = name_of(item.get("call_id"))
    name = conversation.tool_names.get(key, "")
    if not name or is_ours(name):  # of a call that was read before: it may have been one of ours
        return ()
    output = item.get("output")
    content = dict_of(output).get("content", output)
    texts = (
        [content]
        if isinstance(content, str)
        else [text_of(dict_of(part).get("text")) for part in list_of(content)]
    )
    own = _own_id(item, at, "output", key)
    return conversation.message(own, "tool", "\n\n".join(texts), at=at, tools=(name,))


def _own_id(item: dict[str, object], at: str, role: str, text: str) -> str:
    """The id of an item, the same in a copy of its session.

    Early versions gave none, and some providers count from 1 in each session: such an id is made
    from the time and the text.
    """
    known = name_of(item.get("id"))
    if len(known) >= _SHORTEST_UNIQUE:
        return known
    return made_id(known, at, role, text) if at else ""
