"""Claude Code's transcripts: a file a session, a line a message, sub-agents in files of their own.

Takes the user's words wherever it keeps them, also those typed while the model works and those in
a tool's result. Never keeps what it thought, nor takes what it added to the user's words for them.
"""

from __future__ import annotations

import json
import os
import re

from commonplace.journals.transcripts.clients import session_folders
from commonplace.journals.transcripts.clients.parsing import (
    OF_SUB_AGENT,
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

_AGENT = "agent-"
# Lines that nobody said: what the client notes for itself.
_NOTES = frozenset(
    "agent-name ai-title api-request api-request-blob api-request-shape atis-latch"
    " bridge-session continued-in cost-state custom-title file-history-delta"
    " file-history-snapshot frame-link last-prompt mode permission-mode pr-link progress"
    " result started summary system tag worktree-state".split()
)
# What the user gave beside the words, and what the client notes for its model.
_GIVEN = frozenset(
    "already_read_file directory document file image mcp_resource pdf_reference"
    " selected_lines_in_diff selected_lines_in_ide".split()
)
_ATTACHED_NOTES = frozenset(
    "account_memory_recall advisor_stripped advisor_tool agent_ask_notice agent_listing_delta"
    " agent_mention artifact_opening_prefetch at_mention_reference auto_mode auto_mode_exit"
    " claude_app_notice command_permissions compact_file_reference context_sections"
    " coordinator_context cowork_memory_context critical_system_reminder date deferred_tools_delta"
    " deferred_tools_record diagnostics dir_sync_notice dynamic_skill edited_image_file"
    " edited_text_file environment first_week fork_briefing goal_status goals inlined_image_paths"
    " instructions invoked_skills language max_turns_reached mcp_dropped_tools_delta"
    " mcp_instructions_delta message_pdf_reads model nested_memory opened_file_in_ide"
    " output_limit_note output_style_instructions peer_mention plan_file_reference plan_mode"
    " plan_mode_exit plan_mode_reentry plugin_note proactivity project_doc_reads"
    " projects_thread_ask prompt_render_point prompt_snapshot queued_command"
    " read_truncation_notice relevant_memories remote_session_change repl_mcp_needs_auth"
    " sandbox_instructions session_context session_cron_carry skill_listing skill_mention"
    " structured_output task_status team_context teammate_mailbox teammate_shutdown_batch"
    " thinking_stripped token_usage tool_host_result_lines tool_hosts_notice tool_offer_record"
    " tool_results_cut ultra_effort_enter ultra_effort_exit ultrathink_effort"
    " unknown_command_fallback verify_plan_reminder widget_context_hint withheld_memory"
    " workflow_size_guideline_change".split()
)
_MEDIA = ("image", "document")
_NOTED = ("hook_", "async_hook_")
_REMINDER = re.compile(r"\w*_reminder(_sent)?")

_NO_MODEL = "<synthetic>"
"""The model of what the client says itself: after a compaction, or where none answered."""

_REJECTED = (
    "The user doesn't want to proceed with this tool use.",
    "Permission for this tool use was denied.",
)
# What a rejected call is answered with: the words stand after the first, up to the second.
_SAID_ON_REJECTING = ("the user said:\n", "The user said:\n")
_HINT = "\n\nNote: The user's next message may contain a correction or preference."
_ASKING = "AskUserQuestion"

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
    """What the lines say: user and assistant, and tools as is set; of a sub-agent the last answer.

    All that a sub-agent said where that is set.
    """
    kept = conversation.kept
    if kept.subagents or not conversation.sidechain:
        yield from _messages(lines, conversation)
        return
    last = None
    conversation.kept = Kept(tools=kept.tools, subagents=True)
    for message in _messages(lines, conversation):
        if isinstance(message, Skipped):
            yield message
        elif message.role == "assistant" and message.text:
            if last:
                yield OF_SUB_AGENT
            last = message
        else:
            yield OF_SUB_AGENT
    if last:
        yield last


def _messages(lines: Iterable[object], conversation: Conversation) -> Iterator[Message | Skipped]:
    is_agent = conversation.sidechain
    for line in lines:
        fields = dict_of(line)
        kind = fields.get("type")
        if kind in ("user", "assistant"):
            conversation.sidechain = is_agent or fields.get("isSidechain") is True
            conversation.cwd = name_of(fields.get("cwd")) or conversation.cwd
            conversation.branch = name_of(fields.get("gitBranch")) or conversation.branch
            yield from _said(fields, str(kind), conversation)
            if kind == "assistant" or not conversation.after:
                conversation.after = name_of(fields.get("uuid")) or conversation.after
        elif kind in ("attachment", "queue-operation"):
            conversation.sidechain = is_agent or fields.get("isSidechain") is True
            yield from _attached(dict_of(fields.get("attachment")))
            yield from _typed_during_a_turn(fields, conversation)
        elif not isinstance(kind, str) or kind not in _NOTES:
            yield unknown(kind)


def _attached(put: dict[str, object]) -> Iterator[Skipped]:
    """What stands in an attachment besides words of the user's."""
    kind = put.get("type")
    if not isinstance(kind, str):
        if put:
            yield unknown(kind)
    elif kind in _GIVEN:
        yield without_words(kind)
    elif kind == "queued_command":
        kinds = [dict_of(block).get("type") for block in list_of(put.get("prompt"))]
        yield from (without_words(x) for x in kinds if x in _MEDIA)
    elif not (kind in _ATTACHED_NOTES or kind.startswith(_NOTED) or _REMINDER.fullmatch(kind)):
        yield unknown(kind)


def _typed_during_a_turn(
    fields: dict[str, object], conversation: Conversation
) -> tuple[Message | Skipped, ...]:
    """What the user typed while the model worked, where it was given to the model at once.

    Versions note that in an attachment, in the queue, or in both: its id is made of its words and
    of what they came after, and so is the same in both, and in a fork. What waited in the queue
    until the model was done is a line of the user's later.
    """
    put = dict_of(fields.get("attachment"))
    if put.get("type") == "queued_command":
        kind = dict_of(put.get("origin")).get("kind", "human")
        is_typed = put.get("commandMode", "prompt") == "prompt" and kind == "human"
        content = put.get("prompt") if is_typed and put.get("isMeta") is not True else None
    elif fields.get("operation") == "remove" and fields.get("reason") == "absorbed_mid_turn":
        content = fields.get("content")
    else:
        return ()
    text = typed(result_text(content))
    if not text:
        return ()
    conversation.after = conversation.after or _find_last(conversation.before())
    own = made_id("queued", conversation.after, text)
    at = instant(fields.get("timestamp"))
    return conversation.message(own, "user", text, at=at, parent=conversation.after)


def _find_last(before: Iterable[object]) -> str:
    """The id of the last answer in the lines before, or of the first line where there is none."""
    first = ""
    for fields in map(dict_of, before):
        if fields.get("type") == "assistant" and name_of(fields.get("uuid")):
            return name_of(fields.get("uuid"))
        if fields.get("type") == "user":
            first = name_of(fields.get("uuid")) or first
    return first


def _said(
    fields: dict[str, object], role: str, conversation: Conversation
) -> Iterator[Message | Skipped]:
    message = dict_of(fields.get("message"))
    # The client said it itself, in the name of the user or of the model.
    is_own = fields.get("isMeta") is True or fields.get("isCompactSummary") is True
    if is_own or message.get("model") == _NO_MODEL:
        return
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
    texts, tools, corrections, others = [], [], [], []
    for block in map(dict_of, blocks):
        kind = block.get("type")
        if kind == "text":
            texts.append(text_of(block.get("text")))
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            tools.append(name_of(block.get("name")))
            conversation.tool_names[text_of(block.get("id"))] = tools[-1]
        elif not isinstance(kind, str) or kind not in _BLOCKS:
            yield unknown(kind)
        elif kind in _MEDIA:
            yield without_words(kind)
        elif kind == "tool_result" and (words := _words_in(block, fields, conversation)):
            corrections.append(words)
            continue
        others.append(block)
    if role == "user":
        texts = [*corrections, *(typed(text) for text in texts)]
    at, text = instant(fields.get("timestamp")), "\n\n".join(text for text in texts if text)
    # Some lines have no id: one is made of what a copy of the line has too.
    own = name_of(fields.get("uuid")) or made_id(at or conversation.at, role, text, *tools)
    yield from conversation.message(
        own,
        role,
        text,
        at=at,
        parent=name_of(fields.get("parentUuid")),
        tools=tools,
    )
    yield from _of_tools(others, own, conversation)


def _words_in(
    block: dict[str, object], fields: dict[str, object], conversation: Conversation
) -> str:
    """What the user typed of a tool's result: on rejecting a call, or in answer to a question."""
    text = result_text(block.get("content"))
    if block.get("is_error") is True and text.startswith(_REJECTED):
        for before in _SAID_ON_REJECTING:
            if before in text:
                return text.partition(before)[2].partition(_HINT)[0].strip()
        return ""
    name = conversation.tool_names.get(text_of(block.get("tool_use_id")), _ASKING)
    result = dict_of(fields.get("toolUseResult"))
    if name != _ASKING or not isinstance(result.get("questions"), list):
        return ""
    notes = dict_of(result.get("annotations"))
    lines = []
    for question, answer in dict_of(result.get("answers")).items():
        chosen = [text_of(x) for x in list_of(answer)] or [text_of(answer)]
        note = text_of(dict_of(notes.get(question)).get("notes"))
        words = ", ".join(x for x in (*chosen, note) if x)
        lines += [f"{question} {words}"] if words else []
    return "\n".join(lines)


def _of_tools(
    blocks: list[dict[str, object]], own: str, conversation: Conversation
) -> Iterator[Message | Skipped]:
    """What went into tools and came out of them, each as a message of its own, if that is set."""
    for block in blocks if conversation.kept.tools == "all" else ():
        if block.get("type") == "tool_use":
            key, text = text_of(block.get("id")), json.dumps(block.get("input"), ensure_ascii=False)
        elif block.get("type") == "tool_result":
            key, text = text_of(block.get("tool_use_id")), result_text(block.get("content"))
        else:
            continue
        name = conversation.tool_names.get(key, "")
        if not name or is_ours(name):  # of a call that was read before: it may have been ours
            continue
        yield from conversation.message(
            f"{own}:{name_of(key)}", "tool", text, parent=own, tools=(name,)
        )


def result_text(content: object) -> str:
    """The text of a tool's result, which is a text or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n\n".join(text_of(dict_of(block).get("text")) for block in list_of(content))
