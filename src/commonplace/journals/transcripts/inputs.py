"""Reads what a session was given: the texts that hooks put into it, and what it recalled from us.

Read from the client's own file each time and never kept, since a copy would be remembered as if it
had been said. Known for Claude Code alone.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.files import regular_file
from commonplace.journals.transcripts.clients import claude_code
from commonplace.journals.transcripts.clients.parsing import (
    dict_of,
    instant,
    list_of,
    name_of,
    text_of,
)
from commonplace.journals.transcripts.typed_text import BRIEF, is_ours

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

CLIENT = "claude-code"

MOST_BYTES = 64 * 1024 * 1024
"""How much of one file is read; the rest is left out, and the page says so."""

_BRIEF = re.compile(rf"<{BRIEF}\b[^<>]*>.*?</{BRIEF}>", re.DOTALL)
_WORTH_PARSING = (b'"attachment"', b"commonplace", b'"tool_result"')
_HOOK = "hook_"


class SessionInput(Struct, frozen=True, kw_only=True):
    """A text that a session was given.

    Attributes:
        at: When, in the format of messages; empty where the client does not say.
        source: The hook that put it there, or our tool that returned it.
        asked: The arguments of the tool as JSON; empty for a hook's text.
        is_recalled: Whether a tool returned it.
    """

    at: str
    source: str
    text: str
    asked: str = ""
    is_recalled: bool = False


class SessionInputs(Struct, frozen=True, kw_only=True):
    """All that a session was given, in the order of its file.

    Attributes:
        files: How many of the client's files were read; 0 where it has deleted them.
        is_whole: Whether they were read to their ends.
    """

    texts: tuple[SessionInput, ...]
    files: int
    is_whole: bool


def list_inputs(session: str, home: Path, environ: Mapping[str, str]) -> SessionInputs:
    """The texts that a session of Claude Code was given, from the client's own files, by its id.

    Raises: Denied, Unavailable where one cannot be read.
    """
    own = [path for path, name in claude_code.originals(str(home), environ) if name == session]
    texts: list[SessionInput] = []
    is_whole = True
    for path in own:
        with regular_file(path) as file:
            texts += _inputs(_parsed(file.readlines(MOST_BYTES)))
            is_whole = is_whole and not file.read(1)
    # A hook's answer may be noted twice: as what it printed, and as what was put in.
    once: dict[tuple[str, str, str, bool], SessionInput] = {}
    for each in texts:
        once.setdefault((each.source, each.asked, each.text, each.is_recalled), each)
    return SessionInputs(texts=tuple(once.values()), files=len(own), is_whole=is_whole)


def _parsed(lines: Iterable[bytes]) -> Iterator[dict[str, object]]:
    for line in lines:
        if not any(part in line for part in _WORTH_PARSING):
            continue
        try:
            yield dict_of(json.loads(line))
        except (ValueError, RecursionError):
            continue  # the client is still writing the line, or it was cut off


def _inputs(lines: Iterable[dict[str, object]]) -> Iterator[SessionInput]:
    calls: dict[str, tuple[str, str]] = {}
    for line in lines:
        at = instant(line.get("timestamp"))
        put = dict_of(line.get("attachment"))
        if line.get("type") == "attachment" and name_of(put.get("type")).startswith(_HOOK):
            source = name_of(put.get("hookEvent")) or name_of(put.get("hookName")) or "hook"
            texts = [text_of(put.get("content")), *map(text_of, list_of(put.get("content")))]
            yield from (SessionInput(at=at, source=source, text=x) for x in texts if x.strip())
            continue
        content = dict_of(line.get("message")).get("content")
        blocks = (
            [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
        )
        for block in map(dict_of, blocks):
            kind = block.get("type")
            if kind == "text":
                for found in _BRIEF.finditer(text_of(block.get("text"))):
                    yield SessionInput(at=at, source="brief", text=found[0])
            elif kind == "tool_use" and is_ours(name_of(block.get("name"))):
                asked = json.dumps(block.get("input"), ensure_ascii=False)
                calls[text_of(block.get("id"))] = name_of(block.get("name")), asked
            elif kind == "tool_result" and text_of(block.get("tool_use_id")) in calls:
                name, asked = calls.pop(text_of(block.get("tool_use_id")))
                answer = claude_code.result_text(block.get("content"))
                yield SessionInput(at=at, source=name, text=answer, asked=asked, is_recalled=True)
