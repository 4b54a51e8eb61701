"""Claude Code's transcripts: a file a session, a line a message, sub-agents in files of their own.

Never keeps what it thought, and never takes what it added to the user's words for them.
"""

from __future__ import annotations

import json
import os

from commonplace.journals.transcripts.clients import session_folders
from commonplace.journals.transcripts.clients.original import (
    UNKNOWN,
    Conversation,
    dict_of,
    files_below,
    instant,
    list_of,
    name_of,
    text_of,
)
from commonplace.journals.transcripts.injected import is_ours, typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from commonplace.journals.transcripts.clients.original import Kept, Skipped
    from commonplace.journals.transcripts.message import Message

_AGENT = "agent-"
# Lines that nobody said: what the client notes for itself.
_NOTES = frozenset(
    "agent-name ai-title attachment bridge-session continued-in custom-title file-history-delta"
    " file-history-snapshot frame-link last-prompt mode permission-mode pr-link progress"
    " queue-operation started result summary system tag worktree-state".split()
)
_NO_MODEL = "<synthetic>"
"""The model of what the client says itself: after a compaction, or where none answered."""

_BLOCKS = frozenset(
    "text thinking redacted_thinking tool_use server_tool_use mcp_tool_use tool_result image"
    " document tool_reference fallback web_search_tool_result mcp_tool_result".split()
)


def originals(home: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The path and the session of each file of this machine's user."""
    for folder in session_folders("claude-code", home, environ):
        yield from originals_in(folder)


def originals_in(folder: str) -> Iterator[tuple[str, str]]:
    """The same, of the files below a folder, the one last written to last.

    A fork is written after what it repeats, which so stays with the session it was said in.
    """
    for path in sorted(files_below(folder, ".jsonl"), key=_written_at):
        yield path, _session_of(path)


def _written_at(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _session_of(path: str) -> str:
    """Whose file this is by its name; a sub-agent's lies in a folder named after the session."""
    folder, name = os.path.split(path)
    above, last = os.path.split(folder)
    if name.startswith(_AGENT) and last == "subagents":
        return os.path.basename(above)
    return name.removesuffix(".jsonl")


def begin(path: str, first: object, kept: Kept) -> Conversation:
    """The session of a file: its name says it, or its lines where it is a sub-agent's."""
    session = _session_of(path)
    is_agent = os.path.basename(path).startswith(_AGENT)
    if is_agent and session.startswith(_AGENT):
        session = name_of(dict_of(first).get("sessionId")) or session
    return Conversation(session, kept, sidechain=is_agent)


def messages(lines: Iterable[object], conversation: Conversation) -> Iterator[Message | Skipped]:
    """What the lines say: user and assistant, and tools as is set."""
    is_agent = conversation.sidechain
    for line in lines:
        fields = dict_of(line)
        kind = fields.get("type")
        if kind in ("user", "assistant"):
            conversation.sidechain = is_agent or fields.get("isSidechain") is True
            conversation.cwd = name_of(fields.get("cwd")) or conversation.cwd
            conversation.branch = name_of(fields.get("gitBranch")) or conversation.branch
            yield from _said(fields, str(kind), conversation)
        elif not isinstance(kind, str) or kind not in _NOTES:
            yield UNKNOWN


def _said(
    fields: dict[str, object], role: str, conversation: Conversation
) -> Iterator[Message | Skipped]:
    if _is_of_the_client(fields):
        return
    content = dict_of(fields.get("message")).get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
    texts, tools, unknown = [], [], 0
    for block in map(dict_of, blocks):
        kind = block.get("type")
        if kind == "text":
            texts.append(text_of(block.get("text")))
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            tools.append(name_of(block.get("name")))
            conversation.tool_names[text_of(block.get("id"))] = tools[-1]
        elif not isinstance(kind, str) or kind not in _BLOCKS:
            unknown += 1
    if role == "user":
        texts = [typed(text) for text in texts]
    own, at = name_of(fields.get("uuid")), instant(fields.get("timestamp"))
    message = conversation.message(
        own,
        role,
        "\n\n".join(text for text in texts if text),
        at=at,
        parent=name_of(fields.get("parentUuid")),
        tools=tuple(name for name in tools if name),
    )
    if message:
        yield message
    if conversation.kept.tools == "all" and own:
        yield from _of_tools([dict_of(block) for block in blocks], own, conversation)
    if unknown:
        yield UNKNOWN


def _is_of_the_client(fields: dict[str, object]) -> bool:
    """Whether the client said this itself, in the name of the user or of the model."""
    if fields.get("isMeta") is True or fields.get("isCompactSummary") is True:
        return True
    return dict_of(fields.get("message")).get("model") == _NO_MODEL


def _of_tools(
    blocks: list[dict[str, object]], own: str, conversation: Conversation
) -> Iterator[Message]:
    """What went into tools and came out of them, each as a message of its own."""
    for block in blocks:
        if block.get("type") == "tool_use":
            key, text = text_of(block.get("id")), json.dumps(block.get("input"), ensure_ascii=False)
        elif block.get("type") == "tool_result":
            key, text = text_of(block.get("tool_use_id")), result_text(block.get("content"))
        else:
            continue
        name = conversation.tool_names.get(key, "")
        if not name or is_ours(name):  # of a call that was read before: it may have been ours
            continue
        message = conversation.message(
            f"{own}:{name_of(key)}", "tool", text, parent=own, tools=(name,)
        )
        if message:
            yield message


def result_text(content: object) -> str:
    """The text of a tool's result, which is a text or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n\n".join(text_of(dict_of(block).get("text")) for block in list_of(content))
