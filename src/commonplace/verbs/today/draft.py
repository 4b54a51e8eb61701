"""What is being typed on the page, kept so that a reload or another browser finds it again.

One text of one owner, in a file of its own: its fields on the first line, then the text as it was
typed, so that forgetting finds its words. Never writes an entry.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from msgspec import Struct, field

from commonplace.core.errors import CommonplaceError
from commonplace.core.files import regular_file, remove_file, replace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

FOLDER = "draft"
"""Its name in the owner's folder."""

MOST = 16 * 1024 * 1024
"""The largest file that is read, in bytes: no page sends more."""

_NAME = "page.md"

CHOSEN = "as"
"""The field that says what is written, which is chosen and not typed."""


class DraftText(Struct, frozen=True, kw_only=True):
    """What was typed. fields: what else the form had, such as tags; text may be empty."""

    text: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_words(self) -> bool:
        """Whether anything was typed, and not only chosen."""
        return bool(self.text.strip() or any(v for k, v in self.fields.items() if k != CHOSEN))


class PageDraft(Struct, frozen=True, kw_only=True):
    """The draft of one owner.

    Attributes:
        folder: Where it lies, there or not.
        prepare: Makes it where it is missing.
    """

    folder: Path
    prepare: Callable[[], object]

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

    def drop(self) -> None:
        """Remove it; may be called twice. Raises: Unavailable, Denied."""
        remove_file(self._path)

    @property
    def _path(self) -> Path:
        return self.folder / _NAME
