"""What is told over HTTP of the machine that answers: never where on it something lies.

Never alters what a user wrote: only errors, and what an answer says of the server itself.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from commonplace.config import Settings
    from commonplace.core.values import Answer

HIDDEN = "…"
"""Stands for the folder that a path begins with."""

_OWN_WORDS = frozenset({"notes", "trouble", "why"})
"""Facts in which a tool says how it fared: never what was stored."""


class Veil:
    """Hides folders of this machine. folders: absolute; what lies in them is told from there on.

    named: what the caller gave. A folder that stands there is told as it was given: hidden, it
    would tell that it was guessed.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        named = {str(x) for folder in folders for x in (folder, os.path.realpath(folder))}
        named -= {os.sep}
        longest_first = sorted(named, key=lambda each: (-len(each), each))
        either = "|".join(re.escape(each) for each in longest_first)
        # `api/root` is no `/root`.
        self._hidden = re.compile(rf"(?<!\w)(?:{either})") if named else None

    def words(self, text: str, named: object = "") -> str:
        """What the server says of itself, in words that may be read elsewhere."""
        if self._hidden is None:
            return text
        return self._hidden.sub(lambda found: found[0] if found[0] in str(named) else HIDDEN, text)

    def error(self, error: CommonplaceError, named: object = "") -> CommonplaceError:
        """The same error, as it may be read elsewhere."""
        message, hint = self.words(error.message, named), self.words(error.hint, named)
        shown = CommonplaceError(message, hint=hint, error_code=error.error_code)
        shown.code = error.code
        return shown

    def answer(self, answer: Answer, named: object = "") -> Answer:
        """The same answer; what it says of the server is hidden in its text as in its facts."""
        said: dict[str, str] = {}
        facts = self._facts(answer.facts, said, named)
        text = answer.text
        for whole, shown in said.items():
            text = text.replace(whole, shown)
        return replace(answer, text=text, facts=facts) if said else answer

    def page(self, text: str) -> str:
        """The same page of a resource: where it is JSON, it has facts as an answer has."""
        try:
            facts = json.loads(text)
        except ValueError:
            return text
        said: dict[str, str] = {}
        shown = self._facts(facts, said, "")
        return json.dumps(shown, ensure_ascii=False, indent=2) if said else text

    def _facts(
        self, value: Any, said: dict[str, str], named: object, *, is_own: bool = False
    ) -> Any:
        if isinstance(value, dict):
            return {
                name: self._facts(each, said, named, is_own=name in _OWN_WORDS)
                for name, each in value.items()
            }
        if isinstance(value, list):
            return [self._facts(each, said, named, is_own=is_own) for each in value]
        if is_own and isinstance(value, str) and (shown := self.words(value, named)) != value:
            said[value] = shown
            return shown
        return value


def folders_of(settings: Settings, *, user_home: Path | None) -> list[Path]:
    """The folders that a server works in: those that its settings name, and its user's home."""
    named = [getattr(settings, each.name) for each in fields(settings)]
    return [each for each in [*named, user_home] if isinstance(each, Path)]
