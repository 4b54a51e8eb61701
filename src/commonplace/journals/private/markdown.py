"""Owns the Markdown of a private entry: its frontmatter and its headings, outside code fences.

Never reads a file and never loads YAML.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SUPERSEDES = "supersedes"
SUPERSEDED_BY = "superseded_by"
WRITTEN = "written"
"""Keys of the frontmatter: the ref of the entry whose place this one took, or that took its."""

FRONTMATTER_LIMIT = 65_536
_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_KEY_LINE = re.compile(r"([A-Za-z_][\w-]{0,63})[ \t]*:(?:[ \t]+(.*))?")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)\n?")


def parse_frontmatter(raw: str) -> dict[str, str]:
    """The keys of a file's frontmatter, in lower case; the first of a doubled key counts."""
    return parse_keys(split_frontmatter(raw)[0])


def split_frontmatter(raw: str) -> tuple[str, str]:
    """The frontmatter with its `---` lines, and what follows; ("", all) where there is none.

    A block without a single key is a text that begins with a rule.
    """
    opening, closing = _find_frontmatter(raw)
    if opening and closing:
        block = raw[opening.end() : closing.start()]
        if parse_keys(block) or not block.strip():
            return raw[: closing.end()], raw[closing.end() :]
    return "", raw.removeprefix("\ufeff")


def is_torn(raw: str) -> bool:
    """Whether frontmatter begins and never ends."""
    opening, closing = _find_frontmatter(raw)
    return bool(opening and not closing and parse_keys(raw[opening.end() :][:FRONTMATTER_LIMIT]))


def _find_frontmatter(raw: str) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    opening = _OPENING.match(raw)
    if opening is None:
        return None, None
    return opening, _CLOSING.search(raw, opening.end(), opening.end() + FRONTMATTER_LIMIT)


def parse_keys(frontmatter: str) -> dict[str, str]:
    """The keys of a frontmatter, in lower case."""
    keys: dict[str, str] = {}
    for line in frontmatter.split("\n"):
        match = _KEY_LINE.fullmatch(line.rstrip())
        if match:
            value = (match[2] or "").strip()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            keys.setdefault(match[1].lower(), value)
    return keys


def fenced_lines(lines: list[str]) -> set[int]:
    """Numbers of the lines inside code fences; a fence that never closes holds nothing."""
    fenced: set[int] = set()
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        match = _FENCE.fullmatch(line.rstrip("\r"))
        if match is None:
            continue
        marks, rest = match[1], match[2]
        if opened is None:
            if marks[0] == "~" or "`" not in rest:
                opened = (number, marks)
        elif marks[0] == opened[1][0] and len(marks) >= len(opened[1]) and not rest.strip():
            fenced.update(range(opened[0], number + 1))
            opened = None
    return fenced


def split_sections(body: str) -> Iterator[tuple[str, str]]:
    """Each `##` heading of a body with the text below it; ("", text) for what stands before."""
    lines = body.split("\n")
    fenced = fenced_lines(lines)
    heading = ""
    text: list[str] = []
    for number, line in enumerate(lines):
        if line.startswith("## ") and number not in fenced:
            yield heading, "\n".join(text).strip()
            heading, text = line[3:].strip(), []
        else:
            text.append(line)
    yield heading, "\n".join(text).strip()
