"""Markdown notes in a folder: which files there are, their text, their frontmatter.

Never follows a link out of the folder; what is no YAML of frontmatter stays a line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct, field

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.files import regular_file
from commonplace.core.importer import A_LINK, NotTaken
from commonplace.core.plain_yaml import parse_yaml
from commonplace.importers.formats.dates import instants_of, two_days
from commonplace.importers.formats.decoding import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import tzinfo

LARGEST_NOTE = 10 * 1024 * 1024
_HEAD = 200
_MOST_FRONTS = 3
_FRONT = re.compile(
    r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_KEY = re.compile(r"([A-Za-z_][\w .-]{0,63}?)[ \t]*:(?:[ \t]+(.*))?", re.DOTALL)
_NULL = frozenset({"null", "Null", "NULL", "~"})
_ITEM = re.compile(r"[ \t]*-[ \t]+(.+)", re.DOTALL)
_YAML_ALONE = ("'", '"', "|", ">", "[")
"""What a value begins with that only YAML can say: it is quoted, a block, or a list."""


class Note(Struct, frozen=True, kw_only=True):
    """A note.

    Attributes:
        name: Its path in the folder, with `/`.
        body: What stands below the frontmatter.
        keys: What of the frontmatter is a text, by its name in lower case; the keys of a mapping
            in it as well, where no other has that name.
        lists: What of it is a list of texts.
        properties: All of it that has a value, in its order and as it is named there; a line that
            is neither a key nor an item has no name.
        changed: When the file was last written.
        read_as: The encoding that was guessed, see `ForeignEntry`.
    """

    name: str
    body: str
    changed: datetime
    keys: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    properties: tuple[tuple[str, str], ...] = ()
    read_as: str = ""

    def properties_but(self, *names: str) -> dict[str, str]:
        """The properties but for those of these names, in lower case; nameless lines as one."""
        kept: dict[str, str] = {}
        for name, value in self.properties:
            if name.lower() not in names:
                kept[name] = f"{kept[name]}\n{value}" if name in kept else value
        return kept

    def titled(self, title: str) -> str:
        """Its text, below its title where it does not begin with that."""
        begins = self.body[: len(title) + _HEAD].casefold()
        return self.body if title.casefold() in begins else f"# {title}\n\n{self.body}"


def note_paths(folder: str) -> Iterator[str]:
    """The Markdown files below a folder, those of hidden folders aside, in the order of names.

    Raises: Invalid for what is not a folder.
    """
    if not os.path.isdir(folder):
        raise Invalid("{place} is not a folder.", hint="Name the folder.", place=folder)
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(x for x in folders if not x.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(".md") and not name.startswith("."):
                yield os.path.join(base, name)


def read_note(path: str, folder: str) -> Note | NotTaken:
    """A note of a folder; what cannot be read hinders no other."""
    name = os.path.relpath(path, folder).replace(os.sep, "/")
    if os.path.islink(path):
        return NotTaken(why=A_LINK, where=name)
    try:
        with regular_file(path) as file:
            content = file.read(LARGEST_NOTE + 1)
            changed = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
    except (CommonplaceError, OverflowError, ValueError):
        return NotTaken(why="a file cannot be read", where=name)
    if len(content) > LARGEST_NOTE:
        return NotTaken(why="it is longer than 10 MB", where=name)
    try:
        text, read_as = decoded(content)
    except ValueError:
        return NotTaken(why="a file is not text", where=name)
    front, body = _parted(text)
    keys, lists, properties = _parsed(front)
    return Note(
        name=name,
        body=body.strip(),
        changed=changed,
        keys=keys,
        lists=lists,
        properties=tuple(properties),
        read_as=read_as,
    )


def read_at(note: Note, name: str, zone: tzinfo) -> tuple[datetime, datetime | None, str]:
    """The time that a key of a note names: see `ForeignEntry` of `at`, `month_first` and `said`.

    Raises:
        ValueError: It names none; the message is for people.
    """
    value = note.keys[name]
    at, month_first = instants_of(value, zone)
    if at == month_first:
        return at, None, ""
    return at, month_first, two_days(value, at, month_first, zone)


def _parted(text: str) -> tuple[str, str]:
    """The frontmatter and what stands below it.

    A program that does not know a note's frontmatter puts its own above it: a second one that
    follows at once, and has nothing but keys and items, counts as part of the first.
    """
    parts: list[str] = []
    while len(parts) < _MOST_FRONTS and (front := _FRONT.match(text)):
        if parts and not _has_only_keys(front[1]):
            break
        parts.append(front[1])
        text = text[front.end() :]
        text = text.lstrip() if _FRONT.match(text.lstrip()) else text
    return "".join(parts), text


def _has_only_keys(front: str) -> bool:
    lines = [block[0] for block in _blocks(front)]
    return bool(lines) and all(_ITEM.fullmatch(x) or _KEY.fullmatch(x) for x in lines)


def _parsed(
    front: str,
) -> tuple[dict[str, str], dict[str, tuple[str, ...]], list[tuple[str, str]]]:
    keys: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    properties: list[tuple[str, str]] = []
    blocks = [*_blocks(front)]
    # All at once takes half the time; where something is no YAML, each is read by itself.
    known = _read_yaml([line for block in blocks if not _is_plain(block) for line in block])
    for block in blocks:
        for name, value in _values(block, known):
            if isinstance(value, list):
                texts = tuple(_text(each) for each in value)
                lists[name.lower()] = lists.get(name.lower(), ()) + texts
                text = ", ".join(texts)
            else:
                text = value
                keys.setdefault(name.lower(), text)
            properties += [(name, text)] if text else []
    keys.pop("", None)  # lines without a name
    return keys, lists, properties


def _blocks(front: str) -> Iterator[list[str]]:
    """The lines that begin at the margin, each with those below that belong to it; no remarks."""
    block: list[str] = []
    for line in front.splitlines():
        if block and (not line.strip() or line[0] in " \t" or line.startswith("- ")):
            block.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            yield from [block] if block else []
            block = [line]
    yield from [block] if block else []


def _is_plain(block: Sequence[str]) -> bool:
    """Whether a block is a line that YAML need not read: a plain value, a link, or no key."""
    found = _KEY.fullmatch(block[0])
    value = (found[2] or "").strip() if found else "[["
    has_more = any(map(str.strip, block[1:]))
    return value.startswith("[[") or (
        value != "" and not has_more and not value.startswith(_YAML_ALONE)
    )


def _read_yaml(lines: Sequence[str]) -> Mapping[str, object]:
    """The mapping that lines are; none where they are no YAML."""
    try:
        found = parse_yaml("\n".join(lines)) if lines else None
    except Invalid:
        return {}
    return found if isinstance(found, Mapping) else {}


def _values(
    block: Sequence[str], known: Mapping[str, object]
) -> Iterator[tuple[str, str | list[object]]]:
    """What a block says, each by its name: a text, or a list; what is no YAML is its lines."""
    found = _KEY.fullmatch(block[0])
    if found is None:
        yield from (("", line.strip()) for line in block if line.strip())
        return
    name, value = found[1], (found[2] or "").strip()
    if _is_plain(block):
        yield from [] if value in _NULL else [(name, value)]
        return
    read = known if name in known else _read_yaml(block)
    if name in read:
        yield from _named(name, read[name])
    else:
        yield name, " ".join([value, *map(str.strip, block[1:])]).strip()


def _named(name: str, value: object) -> Iterator[tuple[str, str | list[object]]]:
    """A value of YAML by its name, those of a mapping in it by theirs."""
    if isinstance(value, Mapping):
        for inner, each in value.items():
            yield from _named(inner, each)
    elif isinstance(value, list):
        yield name, value
    elif value is not None:
        yield name, str(value).strip()


def _text(value: object) -> str:
    """An item of a list in a line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_text(each)}" for name, each in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return "" if value is None else str(value)
