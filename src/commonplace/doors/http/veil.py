"""What is told over HTTP of the machine that answers: never where on it something lies.

Never alters what a user wrote: only errors, and what an answer says of the server itself.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import fields, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from commonplace.config.table import Settings
    from commonplace.core.values import Answer

_HERE = "localhost"
HIDDEN = "…"
"""Stands for the folder that a path begins with, and for a host."""

_OWN_WORDS = frozenset({"notes", "trouble", "why"})
"""Facts in which a tool says how it fared: never what was stored."""

_NOTE = "\nNote: "
"""Before each of the notes at the end of an answer's text."""

_JOURNAL = re.compile(r"\A\w+:")
_CUT = ("...", "…")
# Where a path or a host is over; a point is a part of it, unless the sentence is over too.
_OVER = re.compile(r"""[\s'"`,;:!?)\]}>]|\.(?:\s|\Z)|\Z""")


class Veil:
    """Hides where things are. places: folders, whose contents are told from there on, and hosts.

    named: what the caller gave. Where all of one text of it is repeated, it is told as it was
    given: hidden, it would tell that it was guessed. Nothing else lets a place through.
    """

    def __init__(self, places: Iterable[Path | str]) -> None:
        named = {str(each) for each in places}
        named |= {os.path.realpath(each) for each in named if os.path.isabs(each)}
        named -= {os.sep, ""}
        longest_first = sorted(named, key=lambda each: (-len(each), each))
        self._hidden = re.compile("|".join(map(_pattern, longest_first))) if named else None

    def words(self, text: str, named: object = ()) -> str:
        """What the server says of itself, in words that may be read elsewhere."""
        if self._hidden is None or not self._hidden.search(text):
            return text
        spans = [span for given in _texts(named) for span in self._repeated(given, text)]

        def shown(found: re.Match[str]) -> str:
            begins, ends = found.span()
            is_given = any(start <= begins and ends <= end for start, end in spans)
            return found[0] if is_given else HIDDEN

        return self._hidden.sub(shown, text)

    def _repeated(self, given: str, text: str) -> Iterator[tuple[int, int]]:
        """Where in a text all of what was given stands, as it is or as errors show it."""
        assert self._hidden is not None
        forms = _forms(given.strip()[: len(text) + 1])
        for found in self._hidden.finditer(text):
            for form in forms:
                yield from _around(found, form)

    def error(self, error: CommonplaceError, named: object = ()) -> CommonplaceError:
        """The same error, as it may be read elsewhere."""
        message, hint = self.words(error.message, named), self.words(error.hint, named)
        shown = CommonplaceError(message, hint=hint, error_code=error.error_code)
        shown.code = error.code
        return shown

    def answer(self, answer: Answer, named: object = ()) -> Answer:
        """The same answer; what it says of the server is hidden in its text as in its facts."""
        said: dict[str, str] = {}
        facts = self._facts(answer.facts, said, named)
        text = answer.text
        for whole in sorted(said, key=len, reverse=True):
            before, note, after = text.rpartition(f"{_NOTE}{whole}")
            if note:  # what stands before it may be a user's, and the same
                text = f"{before}{_NOTE}{said[whole]}{after}"
        return replace(answer, text=text, facts=facts) if said else answer

    def page(self, text: str) -> str:
        """The same page of a resource: where it is JSON, it has facts as an answer has."""
        try:
            facts = json.loads(text)
        except ValueError:
            return text
        said: dict[str, str] = {}
        shown = self._facts(facts, said, ())
        return json.dumps(shown, ensure_ascii=False, indent=2) if said else text

    def _facts(
        self, value: Any, said: dict[str, str], named: object, *, is_own: bool = False
    ) -> Any:
        if isinstance(value, dict):
            return {
                name: self._facts(each, said, named, is_own=name in _OWN_WORDS)
                for name, each in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._facts(each, said, named, is_own=is_own) for each in value]
        if is_own and isinstance(value, str) and (shown := self.words(value, named)) != value:
            said[value] = shown
            return shown
        return value


def _pattern(place: str) -> str:
    """A folder begins where no name goes on: `api/root` is no `/root`. A host is a whole name.

    One that may be a word, such as `memory`, is one only where something is said to be at it.
    """
    if os.path.isabs(place):
        return rf"(?<!\w){re.escape(place)}"
    before = r"(?<=\bat )" if place.isalpha() else r"(?<![\w.-])"
    return rf"{before}{re.escape(place)}(?![\w-]|\.\w)"


def _forms(given: str) -> set[str]:
    """How errors show what was given: in lower case, quoted, a ref without journal or entry."""
    bare = _JOURNAL.sub("", given)
    plain = {given, bare, given.partition("#")[0], bare.partition("#")[0]}
    either = plain | {each.lower() for each in plain}
    return either | {shown(each)[1:-1] for each in either for shown in (repr, ascii)}


def _around(found: re.Match[str], form: str) -> Iterator[tuple[int, int]]:
    """Where around a place the whole of a form stands, or its beginning where it is cut."""
    text, place = found.string, found[0]
    before = form.find(place)
    while 0 <= before <= found.start():
        start = found.start() - before
        end = start + _shared(form, text[start:])
        is_whole = end - start == len(form)
        is_over = _OVER.match(text, end) if is_whole else text.startswith(_CUT, end)
        if end >= found.end() and is_over:
            yield start, end
        before = form.find(place, before + 1)


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _texts(given: object) -> Iterator[str]:
    """Each text in what was given, as deep as it may be."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, dict):
        for each in given.items():
            yield from _texts(each)
    elif isinstance(given, (list, tuple)):
        for each in given:
            yield from _texts(each)


def places_of(settings: Settings, *, user_home: Path | None) -> list[Path | str]:
    """Where a server works: what its settings name, folders and hosts, and its user's home.

    `localhost` tells nothing.
    """
    named = [getattr(settings, each.name) for each in fields(settings)]
    databases = [x for x in (settings.database.url, settings.database.worker_url) if x]
    hosts = [_host_of_database(url) for url in databases]
    if settings.llm.url:
        from commonplace.inference.language.client import host_of

        hosts.append(host_of(settings.llm.url))
    told = [each for each in hosts if each != _HERE]
    return [*told, *(each for each in [*named, user_home] if isinstance(each, Path))]


def _host_of_database(url: str) -> str:
    """Where a database is, as errors name it; empty where nobody knows."""
    with suppress(ImportError, CommonplaceError):  # whoever opens it says so
        from commonplace.db.postgres.database import parse_address

        return parse_address(url)[1].rpartition(" at ")[2]
    return ""
