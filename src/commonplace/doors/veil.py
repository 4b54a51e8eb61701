"""What is told over HTTP of the machine that answers: never where on it something lies.

Never alters what a user wrote: only errors, and what an answer says of the server itself.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from commonplace.config import Settings
    from commonplace.core.values import Answer

_HERE = "localhost"
HIDDEN = "…"
"""Stands for the folder that a path begins with, and for a host."""

_OWN_WORDS = frozenset({"notes", "trouble", "why"})
"""Facts in which a tool says how it fared: never what was stored."""


class Veil:
    """Hides where things are. places: folders, whose contents are told from there on, and hosts.

    named: what the caller gave. A place that stands there is told as it was given: hidden, it
    would tell that it was guessed.
    """

    def __init__(self, places: Iterable[Path | str]) -> None:
        named = {str(each) for each in places}
        named |= {os.path.realpath(each) for each in named if os.path.isabs(each)}
        named -= {os.sep, ""}
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


def places_of(settings: Settings, *, user_home: Path | None) -> list[Path | str]:
    """Where a server works: the folders and databases that its settings name, its user's home."""
    named = [getattr(settings, each.name) for each in fields(settings)]
    hosts = [_host_of(url) for url in (settings.database_url, settings.database_worker_url) if url]
    return [*hosts, *(each for each in [*named, user_home] if isinstance(each, Path))]


def _host_of(url: str) -> str:
    """Where a database is, as errors name it; empty where that tells nothing, or nobody knows."""
    with suppress(ImportError, CommonplaceError):  # whoever opens it says so
        from commonplace.db.postgres import parse_address  # noqa: PLC0415  imports the driver

        host = parse_address(url)[1].rpartition(" at ")[2]
        return "" if host == _HERE else host
    return ""
