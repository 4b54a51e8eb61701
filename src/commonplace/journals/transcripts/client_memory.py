"""Owns how the index follows what clients note by themselves: their own files, as they are now.

Never writes to one and never copies one; follows no link.
"""

from __future__ import annotations

import logging
import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.brief_item import CLIENT
from commonplace.core.errors import CommonplaceError, NotFound
from commonplace.core.files import regular_file
from commonplace.core.redact import without_private
from commonplace.core.text import opening, text_hash
from commonplace.core.values import FROM_CLIENT, Doc, Drop, Page, Put
from commonplace.journals.transcripts.message import JOURNAL, NOTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.core.values import Change, Since

PREFIX = f"{JOURNAL}:memory@"
"""With which the refs of such notes begin; no client has that name."""

_CODEX_FILES = ("MEMORY.md", "memory_summary.md")
_INDEX = "MEMORY.md"
_LINK = re.compile(r"[-*][ \t]+.*\[[^\]]*\]\([^)]+\.md\).*")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]")
_LARGEST = 1024 * 1024
_MOST_LISTED = 200

_log = logging.getLogger(__name__)


class ClientNote(NamedTuple):
    """A file of a client's own memory, there when it was listed."""

    ref: str
    client: str
    path: str
    scope: str
    at: datetime
    stamp: str


class ClientMemory:
    """What the clients of this machine's user noted by themselves, as the index follows it.

    Args:
        claude: Claude Code's folder of projects, there or not; empty for none.
        codex: Codex' folder of memories, likewise.
        shown: Replaces the secrets in a text.
    """

    name = f"{JOURNAL}:memory"
    cheap_mark = True
    exact_mark = False

    def __init__(self, claude: str, codex: str, shown: Callable[[str], str]) -> None:
        self._claude = claude
        self._codex = codex
        self._shown = shown
        self._folders: dict[str, str] = {}

    def is_there(self) -> bool:
        """Whether there is any such file."""
        return next(self._paths(), None) is not None

    def mark(self) -> str:
        """What changes with the name, size or time of any file; empty for none."""
        found = [(path, x.st_size, x.st_mtime_ns) for _, path, x in self._paths()]
        return text_hash(repr(found)) if found else ""

    def scan(self, since: Since) -> Iterator[Change]:
        """Puts of what is new or altered, then drops; a file that cannot be read stays as filed."""
        known = since.stamps(PREFIX)
        there: set[str] = set()
        for note in sorted(self._notes(), key=lambda each: each.at, reverse=True):
            if known.get(note.ref) == note.stamp:
                there.add(note.ref)
                continue
            try:
                text = self._read(note)
            except CommonplaceError as exc:
                _log.warning("A note of %s is passed over: %s", note.client, exc)
                there.add(note.ref)
                continue
            if text:
                there.add(note.ref)
                doc = Doc(
                    ref=note.ref,
                    journal=JOURNAL,
                    kind=NOTE,
                    scope=note.scope,
                    at=note.at,
                    text=text,
                    stamp=note.stamp,
                    author=note.client,
                    tags=(FROM_CLIENT,),
                )
                yield Put(doc)
        yield from (Drop(ref) for ref in sorted(known.keys() - there))

    def find(self, ref: str) -> ClientNote | None:
        """The file that a ref stands for, if it is there; the ref is never made a path."""
        return next((note for note in self._notes() if note.ref == ref), None)

    def read_ref(self, ref: str) -> Page:
        """The whole file under a ref. Raises: NotFound, Denied, Unavailable."""
        note = self.find(ref)
        if note is None:
            raise NotFound(
                f"No note of a client {opening(ref, 100)!r}.",
                hint="The client may have removed its file; ask recall again.",
            )
        return Page(
            ref=ref,
            journal=JOURNAL,
            scope=note.scope,
            kind=NOTE,
            at=note.at,
            text=self._read(note),
            author=note.client,
            word=CLIENT,
        )

    def _read(self, note: ClientNote) -> str:
        """What a file says, without secrets and what is marked private; nothing of a mere index.

        Raises: NotFound, Denied, Unavailable.
        """
        with regular_file(note.path) as file:
            text = file.read(_LARGEST).decode("utf-8-sig", "replace")
        text = without_private(text)[0].strip()
        lines = [line.strip() for line in text.splitlines()]
        said = [line for line in lines if line and not line.startswith("#")]
        is_index = os.path.basename(note.path) == _INDEX and all(map(_LINK.fullmatch, said))
        return "" if is_index else self._shown(text)

    def _notes(self) -> Iterator[ClientNote]:
        for slug, path, stat in self._paths():
            client = "claude-code" if slug else "codex"
            scope = self._folder_of(slug) if slug else ""
            yield ClientNote(
                ref=f"{PREFIX}{client}/{text_hash(path)}",
                client=client,
                path=path,
                scope=scope,
                at=datetime.fromtimestamp(stat.st_mtime, UTC),
                stamp=text_hash(f"{stat.st_size} {stat.st_mtime_ns} {scope}"),
            )

    def _paths(self) -> Iterator[tuple[str, str, os.stat_result]]:
        """The name of its project, the path and the state of each; no name for all projects."""
        found = [("", os.path.join(self._codex, x)) for x in _CODEX_FILES if self._codex]
        for slug in sorted(_folders_in(self._claude), reverse=True):
            folder = os.path.join(self._claude, slug, "memory")
            if not os.path.islink(folder):
                with suppress(OSError):
                    names = sorted(x for x in os.listdir(folder) if x.lower().endswith(".md"))
                    found[:0] = [(slug, os.path.join(folder, name)) for name in names]
        for slug, path in found:
            if not os.path.islink(path):
                with suppress(OSError):
                    yield slug, path, os.stat(path)

    def _folder_of(self, slug: str) -> str:
        """The project's folder, of whose path the client made a name; empty where it is unknown."""
        if slug not in self._folders:
            found = [*_named(os.sep, slug, [_MOST_LISTED])]
            self._folders[slug] = found[0] if len(found) == 1 else ""
        return self._folders[slug]


def _folders_in(folder: str) -> list[str]:
    if not folder:
        return []
    try:
        with os.scandir(folder) as found:
            return [each.name for each in found if each.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _named(folder: str, slug: str, left: list[int]) -> Iterator[str]:
    """The folders whose paths make a name: Claude Code writes `-` for all but letters and figures.

    left: how many folders may still be listed, of a tree that has too many to go through.
    """
    if left[0] <= 0:
        return
    left[0] -= 1
    for name in sorted(_folders_in(folder)):
        path = os.path.join(folder, name)
        made = _NOT_IN_NAMES.sub("-", path)
        if made == slug:
            yield path
        elif slug.startswith(f"{made}-"):
            yield from _named(path, slug, left)
