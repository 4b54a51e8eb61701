"""Owns what a section may be called: names to files and back, and which names are refused.

Never lets a name out of the notebook, into git's own folder, or into git's arguments.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.errors import Invalid
from commonplace.core.text import opening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SUFFIX = ".md"
LONGEST_NAME = 200
DEEPEST = 100
"""The most levels that a name of the longest has; what lies deeper is not a section."""
_LONGEST_PATH = 4096  # what a system takes
_LONGEST_PART = 120  # in bytes; some disks take 143, and a suffix of a temporary file is added

_REFUSED_SIGNS = frozenset('\\:*?"<>|')
# Device names of Windows: no files there, with or without an extension.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
_JOINERS = "\u200c\u200d"  # inside words of some scripts and inside emoji
_HINT = "Use letters, digits, '-' and '_', with '/' between levels: project-alpha/api-design."


class SectionAddress(NamedTuple):
    """What an id names: a section, and one of its entries by hash or entry id, or none."""

    section: str
    entry: str


def parse_address(text: str) -> SectionAddress:
    """Read `path`, `path#hash` or `path#<entry id>`, with or without `notebook:` before it.

    Raises: Invalid for a name that no section can have.
    """
    path, sign, entry = text.strip().removeprefix("notebook:").partition("#")
    if sign and not entry.strip():
        raise Invalid(f"No entry is named in {opening(text, 80)!r}.", hint="Leave out the '#'.")
    return SectionAddress(parse_section(path), entry.strip())


def parse_section(text: str) -> str:
    """The section a text names, for reading: in NFC, as people may have named it by hand.

    Raises: Invalid for what is not a path inside a notebook.
    """
    text = text.strip()
    if len(text) > _LONGEST_PATH:
        raise _refused(text, f"it has {len(text):,} characters, more than {_LONGEST_PATH:,}")
    name = unicodedata.normalize("NFC", text)
    if why := _unreadable(name):
        raise _refused(text, why)
    return name


def parse_new_section(text: str) -> str:
    """The section a text names, for writing: a file every system can hold. Raises: Invalid."""
    name = parse_section(text)
    if len(name) > LONGEST_NAME:
        raise _refused(text, f"it has {len(name)} characters, more than {LONGEST_NAME}")
    for part in name.split("/"):
        if why := _unwritable(part):
            raise _refused(text, why)
    return name


def refuse_twin(section: str, others: Iterable[str]) -> None:
    """Refuse a section that some disks take for another one that is there, folders included."""
    known: dict[str, str] = {}
    for other in others:
        for place in _prefixes(other):
            known.setdefault(_folded(place), place)
    for place in _prefixes(section):
        twin = known.get(_folded(place), place)
        if twin != place:
            raise _refused(
                section, f"it differs from {twin!r} only in case or form", f"Use {twin}."
            )


def current_name(section: str, moved_to: Callable[[str], str | None]) -> str:
    """What a section is called now; moved_to: its name after its last move, None for no move."""
    seen = {section}
    while (found := moved_to(section)) is not None:
        section = found
        if section in seen:
            break
        seen.add(section)
    return section


def names_of(section: str, moves: Sequence[tuple[str, str]]) -> list[str]:
    """What a section is called, and then what it was called before its moves, given in order."""
    names = [section]
    for old, new in reversed(moves):
        if new in names and old not in names:
            names.append(old)
    return names


def file_of(section: str) -> str:
    """The path of a section's file inside the notebook."""
    return f"{section}{SUFFIX}"


@lru_cache(4096)
def find_section(path: str) -> str | None:
    """The section whose file this path is; None where it is not a section's."""
    section = path.removesuffix(SUFFIX)
    return None if section == path or why_nameless(section) else section


def why_nameless(section: str) -> str:
    """Why no id can name a section under this path; empty where one can."""
    if why := _unreadable(section):
        return why
    if unicodedata.normalize("NFC", section) != section:
        return "it is not in Unicode's form NFC"
    if section != section.strip():
        return "it begins or ends with a blank"
    return "it begins with 'notebook:'" if section.startswith("notebook:") else ""


def _unreadable(name: str) -> str:
    """Why a text is not a path inside a notebook; empty when it is one."""
    if name.count("/") >= DEEPEST:
        return f"it has more than {DEEPEST} levels"
    if any(unicodedata.category(c) in {"Cc", "Cs"} for c in name):
        return "it holds a control character"
    if "#" in name:
        return "'#' stands between a section and its entry"
    return next(filter(None, map(_unreadable_part, name.split("/"))), "")


def _unreadable_part(part: str) -> str:
    # Some disks pass over signs that cannot be seen: `.g\u200cit` is git's own folder there.
    bare = "".join(c for c in part if unicodedata.category(c) != "Cf").casefold()
    if not bare:
        return "it is empty, or a level of it is"
    if bare.startswith((".", "git~")):
        return "a level of it begins with '.' or is another name of git's own folder"
    return "a level of it begins with '-'" if bare.startswith("-") else ""


def _unwritable(part: str) -> str:
    """Why some system cannot hold a file or folder of this name; empty when all can."""
    hidden = {"Cf", "Co", "Cn", "Zl", "Zp"}
    reasons = (
        (any(c in _REFUSED_SIGNS for c in part), "not every system can name a file so"),
        (
            any(unicodedata.category(c) in hidden and c not in _JOINERS for c in part),
            "it holds a character that cannot be seen",
        ),
        (
            part != part.strip() or part.endswith("."),
            "a level of it begins or ends with a blank, or ends with a dot",
        ),
        (part.casefold().endswith(SUFFIX), f"a section is named without {SUFFIX}"),
        (_DEVICE.fullmatch(part) is not None, "Windows keeps that name for a device"),
        (
            len(part.encode()) > _LONGEST_PART,
            f"a level of it is longer than {_LONGEST_PART} bytes",
        ),
    )
    return next((why for is_so, why in reasons if is_so), "")


def _prefixes(section: str) -> list[str]:
    parts = section.split("/")
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _refused(text: str, why: str, hint: str = _HINT) -> Invalid:
    return Invalid(f"Invalid section {opening(text, 80)!a}: {why}.", hint=hint)
