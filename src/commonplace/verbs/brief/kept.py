"""The files of the brief: what a session of each project may be told, kept ready to be read.

Derived from the journals, and made again at any time. Written under the folder's lock alone, and
each text without its secrets; read without a lock. Imports little: a hook reads and writes it.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress

from commonplace.core.brief_item import BriefItem
from commonplace.core.digest import sha256_hex
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import locked, make_folder, sync_folder, translated
from commonplace.core.plain_files import open_regular, remove_name, rename_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

FOLDER = "brief"
EVERYWHERE = ""
"""Stands in place of a project's folder for what is told in every project."""

LONGEST = 2_000
"""Characters of a line that are kept; of a note all, up to MOST_CHARACTERS."""

MOST_CHARACTERS = 128 * 1024
"""Of all lines of one journal in one file."""

_QUOTES = "timeline"
"""The journal whose lines quote entries of any journal: they go with any, and are made again."""

_VERSION = 1
_ENDING = ".json"
_NAME_OF_ALL = "everywhere"
_LARGEST = 1 << 24
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 40


class KeptBrief:
    """What one file holds.

    Args:
        root: The project's folder; EVERYWHERE for what is told in every project.
        sections: The lines of each journal, the newest first.
        notice: What a session must know of the project, a sentence; empty for nothing.
    """

    __slots__ = ("notice", "root", "sections")

    def __init__(self, root: str, sections: dict[str, list[BriefItem]], notice: str = "") -> None:
        self.root = root
        self.sections = sections
        self.notice = notice

    def lines(self) -> Iterator[BriefItem]:
        """The lines of all journals."""
        for lines in self.sections.values():
            yield from lines


class BriefFiles:
    """The brief's files of one owner, there or not. Safe among threads and processes.

    Args:
        owner_folder: The owner's.
        prepare: Makes the owner's folder where it is missing.
        journals: Those whose lines alone are dropped; None for all.
    """

    def __init__(
        self,
        owner_folder: str | os.PathLike[str],
        prepare: Callable[[str], object] = make_folder,
        journals: Collection[str] | None = None,
    ) -> None:
        self.folder = os.path.join(owner_folder, FOLDER)
        self._prepare = prepare
        self._journals = journals

    def read(self, root: str) -> KeptBrief | None:
        """What is kept of a project; None where there is no file, or none of this version."""
        return _parse(self._content(root))

    def list_roots(self) -> list[str]:
        """The folders of the projects of which something is kept, sorted. Raises: OSError."""
        if not os.path.isdir(self.folder):
            return []
        found = []
        for path in self._list():
            with suppress(OSError), open_regular(path) as file:
                kept = _parse(file.read(_LARGEST))
                found.append(kept.root if kept else EVERYWHERE)
        return sorted({root for root in found if root != EVERYWHERE})

    def _content(self, root: str) -> bytes:
        try:
            with open_regular(self._path(root)) as file:
                return file.read(_LARGEST)
        except OSError:
            return b""

    def refresh(
        self,
        root: str,
        reads: Mapping[str, Callable[[Sequence[BriefItem]], Iterable[BriefItem] | None]],
        screen: Callable[[str], str],
        notice: Callable[[], str] | None = None,
    ) -> None:
        """Put what some journals hold now in the place of what is kept of them.

        They are read under the lock, so that nothing which is deleted during that comes back:
        a deletion waits for the lock, then takes the line of its entry out.

        Args:
            root: The project's folder, or EVERYWHERE.
            reads: Gives the lines of each journal, the newest first, and is given those that are
                kept; None leaves these.
            screen: What each text goes through, to hide the secrets in it.
            notice: Gives what a session must know of the project; None leaves what is kept.

        Raises:
            Unavailable, Denied; what reading a journal raises.
        """
        self._prepare(self.folder)
        with locked(self.folder):
            with suppress(
                OSError, CommonplaceError
            ):  # the next reading, or a deletion, tries again
                self._remove_temps()
            before = self._content(root)
            kept = _parse(before)
            sections = dict(kept.sections) if kept else {}
            for journal, read in reads.items():
                found = read(sections.get(journal, ()))
                if found is not None:
                    sections[journal] = _screened(found, sections.get(journal, ()), screen)
            said = notice() if notice else kept.notice if kept else ""
            content = _render(KeptBrief(root, sections, said))
            is_needed = before or root or any(sections.values())
            if is_needed and content != before:
                self._write(self._path(root), content)

    def drop(self, refs: Iterable[str]) -> list[tuple[str, str]]:
        """Take the lines of these refs out of every file, and those that are made of them.

        Once this returns no file holds a word of them, also after a power cut.

        Returns:
            The project's folder and the journal of each section that lost some.

        Raises:
            Unavailable, Denied: a file can neither be written nor removed.
        """
        gone = {x for x in refs if self._journals is None or x.partition(":")[0] in self._journals}
        # A session's line quotes its messages, and goes with any of them; they go with it.
        whole = {ref.partition("#")[0] for ref in gone}

        def stays(line: BriefItem) -> bool:
            if line.journal == _QUOTES:
                return not gone
            session = line.ref.partition("#")[0]
            return line.ref not in whole and line.ref not in gone and session not in gone

        changed: list[tuple[str, str]] = []

        def without(kept: KeptBrief) -> None:
            for journal, lines in kept.sections.items():
                left = [line for line in lines if stays(line)]
                if len(left) < len(lines):
                    kept.sections[journal] = left
                    changed.append((kept.root, journal))

        self._change(whole, without)
        return changed

    def set_end(self, ref: str, at: float | None) -> None:
        """Note when an entry expires, None for never. Raises: as `drop`."""

        def ending(kept: KeptBrief) -> None:
            for line in kept.lines():
                if line.ref == ref:
                    line.expires = at
                elif line.journal == _QUOTES and at is not None:
                    line.expires = at if line.expires is None else min(line.expires, at)

        self._change({ref}, ending)

    def _change(self, refs: set[str], change: Callable[[KeptBrief], None]) -> None:
        """Change the files that hold one of these texts, and have them on the disk."""
        if not refs or not os.path.isdir(self.folder):
            return
        signs = [f"{_QUOTES}:".encode(), *(json.dumps(ref)[1:-1].encode() for ref in refs)]
        with locked(self.folder), translated(self.folder):
            self._remove_temps()
            for path in self._list():
                with open(path, "rb") as file:
                    content = file.read()
                if not any(sign in content for sign in signs):
                    continue
                kept = _parse(content)
                if kept is None:  # of another version, or broken: it is made again
                    self._remove(path)
                    continue
                change(kept)
                try:
                    self._write(path, _render(kept), sync=os.fsync)
                except OSError:
                    self._remove(path)  # a full disk takes no shorter file either
                sync_folder(self.folder)

    def _write(
        self, path: str, content: bytes, sync: Callable[[int], object] = lambda _: None
    ) -> None:
        """Put a file under its name in one step; under the lock.

        Not by `core.files.temp_file`, which loads pathlib and platform: a hook writes here too.
        """
        temp = os.path.join(self.folder, f".{os.getpid()}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        with translated(path):
            try:
                with os.fdopen(os.open(temp, flags, 0o600), "wb") as file:
                    file.write(content)
                    file.flush()
                    sync(file.fileno())
                rename_over(temp, path)
            except OSError:
                with suppress(OSError):
                    os.unlink(temp)
                raise

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            remove_name(path)
        sync_folder(self.folder)

    def _path(self, root: str) -> str:
        name = _NAME_OF_ALL
        if root:
            plain = _NOT_PLAIN.sub("-", os.path.basename(root))[:_LONGEST_NAME]
            name = f"{plain}-{sha256_hex(os.fsencode(root))[:8]}"
        return os.path.join(self.folder, name + _ENDING)

    def _remove_temps(self) -> None:
        """Remove what processes left that were killed while they wrote; under the lock."""
        for path in self._list():
            if not path.endswith(_ENDING):
                self._remove(path)

    def _list(self) -> list[str]:
        return sorted(entry.path for entry in os.scandir(self.folder) if entry.is_file())


def _screened(
    found: Iterable[BriefItem], kept: Sequence[BriefItem], screen: Callable[[str], str]
) -> list[BriefItem]:
    """Lines as they may be kept; what is kept already in the same words went through it before."""
    clean = {(line.ref, line.kind): line.text for line in kept}
    lines: list[BriefItem] = []
    room = MOST_CHARACTERS
    for line in found:
        if line.text != clean.get((line.ref, line.kind)):
            line.text = screen(line.text)
        line.text = line.text[: min(room, LONGEST if line.kind == "event" else room)]
        room -= len(line.text)
        lines.append(line)
        if room <= 0:
            break
    return lines


def _render(kept: KeptBrief) -> bytes:
    content = {
        "version": _VERSION,
        "root": kept.root,
        "notice": kept.notice,
        "sections": {
            journal: [{name: getattr(line, name) for name in BriefItem.__slots__} for line in lines]
            for journal, lines in kept.sections.items()
            if lines
        },
    }
    return json.dumps(content, separators=(",", ":")).encode()


def _parse(content: bytes) -> KeptBrief | None:
    """What a file holds; None where it is broken, or of another version."""
    try:
        found = json.loads(content)
        if found["version"] != _VERSION:
            return None
        sections = {
            str(journal): [_parse_line(line) for line in lines]
            for journal, lines in found["sections"].items()
        }
        return KeptBrief(str(found["root"]), sections, str(found["notice"]))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def _parse_line(line: dict[str, Any]) -> BriefItem:
    expires = line["expires"]
    return BriefItem(
        float(line["at"]),
        str(line["text"]),
        str(line["ref"]),
        str(line["kind"]),
        tuple(map(str, line["tags"])),
        expires=None if expires is None else float(expires),
        word=str(line["word"]),
    )
