"""Looks through files, and through what git has packed, for shingles of a text.

Follows no link and changes nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct, field

from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from commonplace.db.raw_files import RawFiles
    from commonplace.journals.git.repo import GitRepository
    from commonplace.verbs.forgetting.shingles import Shingle

_PART = 16 << 20
_OVERLAP = 1 << 16
"""Bytes of a part that the next one begins with: more than 12 words and what is between them."""


class ByteScan(Struct, kw_only=True):
    """What a look through files came to.

    Attributes:
        objects: How many objects of git were read, unpacked.
        found: The shingles that a place holds, by the place.
        unread: What could not be read, each with the reason.
    """

    raw: RawFiles
    files: int = 0
    objects: int = 0
    size: int = 0
    found: dict[str, set[Shingle]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    def read_files(self, places: Sequence[Path], shingles: Sequence[Shingle], skip: Path) -> None:
        """Look through every file of these folders, each once."""
        seen: set[str] = set()
        for place in places:
            for path in _files_of(place, str(skip), self.unread):
                real = os.path.realpath(path)
                if real not in seen and not _is_shared_memory(path):
                    seen.add(real)
                    self._read_file(path, shingles)

    def read_repository(self, repo: GitRepository, shingles: Sequence[Shingle]) -> None:
        """Look through every object of a repository, whether anything leads to it or not."""
        try:
            names = repo.git.run(
                ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]
            ).out.split()
            for at in range(0, len(names), 500):
                step = [x.decode("ascii") for x in names[at : at + 500]]
                for each in repo.read_objects(step):
                    if each is not None:
                        self.objects += 1
                        self.size += len(each.content)
                        self._look(history_of(repo), each.content, shingles)
        except CommonplaceError as exc:
            self.unread.append(exc.located)

    def read_texts(self, place: str, texts: Iterable[str], shingles: Sequence[Shingle]) -> None:
        """Look through texts that lie in a place that is no file, such as a database."""
        for text in texts:
            content = text.encode("utf-8", "surrogatepass")
            self.size += len(content)
            self._look(place, content, shingles)

    def _read_file(self, path: str, shingles: Sequence[Shingle]) -> None:
        try:
            with self.raw.opened(path) as file:
                before = b""
                while part := file.read(_PART):
                    self.size += len(part)
                    there = before + part
                    self._look(path, there, shingles)
                    before = there[-_OVERLAP:]
            self.files += 1
        except FileNotFoundError:
            return  # another process took it away
        except (OSError, ValueError) as exc:
            self.unread.append(f"{path}: {exc}")

    def _look(self, place: str, content: bytes, shingles: Sequence[Shingle]) -> None:
        if there := {shingle for shingle in shingles if shingle.is_in_bytes(content)}:
            self.found.setdefault(place, set()).update(there)


def history_of(repo: GitRepository) -> str:
    """How a trace names a repository's objects as its place."""
    return f"{repo.common_dir} (git's history)"


def _is_shared_memory(path: str) -> bool:
    """Whether a file has numbers of pages and locks alone: what processes share of a database."""
    return path.endswith("-shm") and os.path.exists(path.removesuffix("-shm"))


def _files_of(place: Path, skip: str, unread: list[str]) -> Iterator[str]:
    if place.is_file():
        yield str(place)
        return

    def note(exc: OSError) -> None:
        if not isinstance(exc, FileNotFoundError):
            unread.append(f"{exc.filename}: {exc.strerror}")

    for folder, folders, names in os.walk(place, onerror=note):
        folders[:] = [x for x in folders if os.path.join(folder, x) != skip]
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield path
