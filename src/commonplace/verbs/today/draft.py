"""What is being typed on the page, kept so that a reload or another browser finds it again.

A text in a file of its own, of the box or of the form of an entry: its fields on the first line,
then the text as it was typed, so that forgetting finds its words. Never writes an entry.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import regular_file, remove_file, replace_file, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

FOLDER = "draft"
"""Its name in the owner's folder."""

MOST = 16 * 1024 * 1024
"""The largest file that is read, in bytes: no page sends more."""

MOST_KEPT = 20
"""Entries whose correction was begun and not saved; of more those typed in last are kept."""

_NAME = "page"
_OF_ENTRIES = "entry-"

CHOSEN = "as"
"""The field that says what is written, which is chosen and not typed."""

CORRECTIONS = ("edit", "supersede")
"""What the form of an entry does with it, one draft of each."""


class DraftText(Struct, frozen=True, kw_only=True):
    """What was typed. fields: what else the form had, such as tags; text may be empty."""

    text: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_words(self) -> bool:
        """Whether anything was typed, and not only chosen."""
        return bool(self.text.strip() or any(v for k, v in self.fields.items() if k != CHOSEN))


def list_drafts(folder: Path, refs: Iterable[str]) -> Sequence[Path]:
    """The files of what is being typed into the forms of entries, by any member of a space.

    Raises: Unavailable, Denied.
    """
    named = {_name_of(ref, act) for ref in refs for act in CORRECTIONS}
    with translated(folder), suppress(FileNotFoundError):
        return [folder / x for x in os.listdir(folder) if x.partition(".")[0] in named]
    return []


def remove_drafts(folder: Path, refs: Iterable[str]) -> None:
    """Remove what is being typed into the forms of entries that go. Raises: Unavailable, Denied."""
    for path in list_drafts(folder, refs):
        remove_file(path)


def _name_of(ref: str, act: str) -> str:
    named = f"{act} {ref}".encode("utf-8", "surrogatepass")
    return f"{_OF_ENTRIES}{sha256_hex(named)[:32]}"


class PageDraft(Struct, frozen=True, kw_only=True):
    """A draft of one owner: what is in the box, or in the form of an entry.

    Attributes:
        folder: Where it lies, there or not.
        prepare: Makes it where it is missing.
        member: Whose it is, where the owner is a space; else empty.
        name: Of its file, without the ending.
    """

    folder: Path
    prepare: Callable[[], object]
    member: str = ""
    name: str = _NAME

    def of_entry(self, ref: str, act: str) -> PageDraft:
        """What is being typed into a form of an entry. act: One of `CORRECTIONS`."""
        return replace(self, name=_name_of(ref, act))

    def read(self) -> DraftText:
        """What was typed last; nothing where nothing is kept, or it cannot be read."""
        try:
            with regular_file(self._path) as file:
                content = file.read(MOST + 1)
            head, _, text = content.decode("utf-8", "replace").partition("\n")
            fields = {str(name): str(value) for name, value in json.loads(head).items()}
        except (OSError, CommonplaceError, ValueError, AttributeError, RecursionError):
            return DraftText()  # whatever lies there is no draft of ours
        return DraftText() if len(content) > MOST else DraftText(text=text, fields=fields)

    def keep(self, draft: DraftText) -> None:
        """Keep what was typed; nothing typed leaves no file. Raises: Unavailable, Denied."""
        if not draft.has_words:
            self.drop()
            return
        self.prepare()
        head = json.dumps(draft.fields, ensure_ascii=False)
        content = f"{head}\n{draft.text}".encode("utf-8", "replace")
        replace_file(self._path, content, mode=0o600)
        if self.name != _NAME:
            self._drop_older()

    def drop(self) -> None:
        """Remove it; may be called twice. Raises: Unavailable, Denied."""
        remove_file(self._path)

    def _drop_older(self) -> None:
        """Drop the oldest of what was begun and never saved."""
        with suppress(OSError, CommonplaceError):
            paths = [*self.folder.glob(f"{_OF_ENTRIES}{'[!.]' * 32}{self._end}")]
            for path in sorted(paths, key=os.path.getmtime, reverse=True)[MOST_KEPT:]:
                remove_file(path)

    @property
    def _end(self) -> str:
        """The ending of its files' names: one for each member, as nobody else may read a draft."""
        return f".{sha256_hex(self.member.encode())[:16]}.md" if self.member else ".md"

    @property
    def _path(self) -> Path:
        return self.folder / f"{self.name}{self._end}"
