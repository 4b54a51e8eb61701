"""What the private journal holds newest under certain headings, read without opening it.

Never reads another heading, never follows a link, and imports next to nothing: a hook asks it
within its few milliseconds.
"""

from __future__ import annotations

import os
import re

from commonplace.core.brief_item import BriefItem
from commonplace.core.digest import sha256_hex
from commonplace.journals.private.markdown import (
    SUPERSEDED_BY,
    parse_keys,
    split_frontmatter,
    split_sections,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FOLDER = ".private-journal"
PROJECT_NOTES = "project notes"
USER_CONTEXT = "user context"

LONGEST = 64 * 1024
"""Bytes of one entry that are read."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_STEM = re.compile(r"[0-9A-Za-z_-]+")


class QuickRoots:
    """The two folders of private entries, as `resolve_roots` finds them.

    Args:
        user: The user's; empty where there is none.
        project: The project's; empty where there is none, or the user's serves as both.
        base: The folder, above the project's, that may come from a stranger; empty where the user
            named the project's.
    """

    __slots__ = ("base", "project", "user")

    def __init__(self, user: str, project: str, base: str) -> None:
        self.user = user
        self.project = project
        self.base = base

    @property
    def scope(self) -> str:
        """The scope of the project's root."""
        real = os.path.realpath(self.project)
        if self.base:
            below = os.path.relpath(self.project, self.base)
            real = os.path.join(os.path.realpath(self.base), below)
        return f"project@{sha256_hex(os.fsencode(real))[:8]}"

    @property
    def leads_away(self) -> bool:
        """Whether a stranger's symbolic link lies on the way to the project's root."""
        at = self.base
        parts = os.path.relpath(self.project, at).split(os.sep) if at else ()
        for part in parts:
            at = os.path.join(at, part)
            if os.path.islink(at):
                return True
        return False


def find_roots(
    settings: Mapping[str, str | None], project: str, home: str, base: str
) -> QuickRoots:
    """Where this owner's private entries lie.

    Args:
        settings: The values of `private.path`, `private.user_path` and `private.both_path`.
        project: The project's folder; empty where there is none.
        home: The user's home folder; empty where there is none.
        base: The folder of the project's file that set `private.path`; else empty.
    """
    both = settings["private.both_path"]
    user = settings["private.user_path"] or both or (os.path.join(home, FOLDER) if home else "")
    named = None if base and both else settings["private.path"]
    if named or both:
        found = QuickRoots(user, named or both or "", base if named else "")
    elif project:
        found = QuickRoots(user, os.path.join(project, FOLDER), project)
    else:
        found = QuickRoots(user, "", "")
    if found.project and os.path.realpath(found.project) == os.path.realpath(user):
        return QuickRoots(user, "", "")
    return found


def list_recent(
    root: str, scope: str, headings: frozenset[str] | None, *, files: int
) -> list[BriefItem]:
    """What the newest entries of a root say under these headings, newest first.

    What a later entry took the place of is left out.

    Args:
        root: The folder of day folders; there or not.
        scope: The root's.
        headings: In lower case; None for all of an entry.
        files: How many files are read at most.
    """
    items = []
    for _, (day, stem, path) in zip(range(files), _newest_files(root), strict=False):
        read = _read(path)
        if read is None:
            continue
        raw, changed = read
        frontmatter, body = split_frontmatter(raw)
        keys = parse_keys(frontmatter)
        if keys.get(SUPERSEDED_BY):
            continue
        millis = keys.get("timestamp", "")
        is_time = millis.isdecimal() and len(millis) <= len("1700000000000")
        at = (int(millis) / 1000 if is_time else 0.0) or changed
        items += [
            BriefItem(at, text, f"private:{scope}/{day}/{stem}", heading or "note")
            for heading, text in split_sections(body)
            if text and (headings is None or heading.lower() in headings)
        ]
    return items


def _newest_files(root: str) -> Iterator[tuple[str, str, str]]:
    """Day, stem and path of every entry, newest first; a link is none."""
    try:
        with os.scandir(root) as found:
            days = [
                x.name for x in found if _DAY.fullmatch(x.name) and x.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return
    for day in sorted(days, reverse=True):
        folder = os.path.join(root, day)
        try:
            names = sorted(os.listdir(folder), reverse=True)
        except OSError:
            continue
        for name in names:
            if name.endswith(".md") and _STEM.fullmatch(name[:-3]):
                yield day, name[:-3], os.path.join(folder, name)


def _read(path: str) -> tuple[str, float] | None:
    """A regular file's text and its mtime; None where it is none, or cannot be read."""
    try:
        flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, os.O_RDONLY | flags)
        with os.fdopen(descriptor, "rb") as file:
            changed = os.fstat(descriptor).st_mtime
            return file.read(LONGEST).decode("utf-8", "replace"), changed
    except OSError:
        return None
