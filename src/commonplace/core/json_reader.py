"""The one reader of JSON documents of any size: value by value, with the line in every error.

Never holds more than one value that was asked for.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGEST_VALUE = 16 * 1024 * 1024
"""The most characters of one value."""

_CHUNK = 256 * 1024
_MARGIN = 64
"""A fault this close to the end of what was read may be that end."""
_SPACE = re.compile(r"[ \t\r\n]*")
_KINDS = {"{": "an object", "[": "a list", '"': "a text", "t": "true", "f": "false", "n": "null"}


class BadJson(Invalid):
    """A document is no JSON, breaks off, or is not what was expected there."""


class JsonReader:
    """A document that is read in its order: each value is taken, walked through, or passed over.

    Args:
        read: Gives the next bytes, at most so many.
        name: What errors call it.
        errors: `replace` for bytes that are not UTF-8 to become U+FFFD.

    Raises:
        BadJson: By each method but `line` and `fault`.
    """

    def __init__(self, read: Callable[[int], bytes], name: str, *, errors: str = "strict") -> None:
        self._bytes = read
        self._name = name
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors)
        self._decode = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._lines = 1
        self._counted = 0
        self._is_taken = True

    @property
    def line(self) -> int:
        """Of what is read next."""
        self._lines += self._text.count("\n", self._counted, self._at)
        self._counted = max(self._counted, self._at)
        return self._lines

    def fault(self, message: str, hint: str = "") -> BadJson:
        """An error that names the file and the line."""
        return BadJson(
            f"The file {{place}}, line {self.line}: {message}",
            hint=hint or "Export it again, then import it again.",
            place=self._name,
        )

    def begins(self) -> str:
        """The sign that the next value begins with; empty at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # matches nothing, too
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read(_CHUNK):
                return ""

    def kind(self) -> str:
        """What the next value is, in words."""
        sign = self.begins()
        return _KINDS.get(sign, "a number" if sign else "nothing")

    def members(self) -> Iterator[str]:
        """Each name of an object; its value is next, and is passed over unless it is taken."""
        for _ in self._through("{", "}", "an object"):
            if self.begins() != '"':
                raise self.fault("a name in quotes is missing.")
            name = self._raw()
            if (sign := self.begins()) != ":":
                raise self.fault(": is missing." if sign else "the JSON breaks off.")
            self._at += 1
            self._is_taken = False
            yield str(name)
            if not self._is_taken:
                self.skip()

    def elements(self) -> Iterator[int]:
        """The line of each element of a list, which is next; see `members`."""
        for _ in self._through("[", "]", "a list"):
            self.begins()
            self._is_taken = False
            yield self.line
            if not self._is_taken:
                self.skip()

    def value(self) -> Any:
        """The next value, whole; one that is too long is an error."""
        self._is_taken = True
        self.begins()
        return self._raw()

    def skip(self) -> None:
        """Go past the next value, however long it is."""
        try:
            self._skip()
        except RecursionError:
            raise self.fault("a value is nested too deep.") from None

    def _skip(self) -> None:
        self._is_taken = True
        match self.begins():
            case "{":
                for _ in self.members():
                    self._skip()
            case "[":
                for _ in self.elements():
                    self._skip()
            case _:
                self._raw()

    def _through(self, opens: str, closes: str, kind: str) -> Iterator[None]:
        if self.begins() != opens:
            raise self.fault(f"expected {kind}, found {self.kind()}.")
        self._is_taken = True
        self._at += 1
        if self.begins() == closes:
            self._at += 1
            return
        while True:
            yield
            self._is_taken = True
            sign = self.begins()
            if sign not in (",", closes):
                raise self.fault(
                    "the JSON breaks off." if not sign else f"expected a comma or {closes}."
                )
            self._at += 1
            if sign == closes:
                return

    def _raw(self) -> Any:
        size = _CHUNK
        while len(self._text) - self._at <= LARGEST_VALUE:
            try:
                value, end = self._decode(self._text, self._at)
            except RecursionError:
                raise self.fault("a value is nested too deep.") from None
            except json.JSONDecodeError as exc:
                if not exc.msg.startswith("Unterminated") and exc.pos + _MARGIN < len(self._text):
                    self._at = exc.pos
                    raise self.fault("what stands there is not JSON.") from None
                # Twice as much each time: what is read in vain stays a part of the whole.
                size = max(size, len(self._text))
                if self._read(size):
                    continue
                rest = self._text[exc.pos :].strip()
                is_cut = not rest or exc.msg.startswith("Unterminated")
                self._at = min(exc.pos, len(self._text))
                raise self.fault(
                    "the JSON breaks off." if is_cut else "what stands there is not JSON."
                ) from None
            except ValueError:
                raise self.fault("a number is too long.") from None
            # A number could go on behind what has been read.
            if end < len(self._text) or not self._read(size):
                self._at = end
                return value
        raise self.fault(f"a value is longer than {LARGEST_VALUE >> 20} MB.")

    def _read(self, size: int) -> bool:
        """Read on; whether there was anything."""
        chunk = self._bytes(size)
        _ = self.line  # counts what leaves
        self._text, self._at, self._counted = self._text[self._at :], 0, 0
        try:
            self._text += self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as exc:
            self._at = len(self._text)
            raise self.fault("it is not UTF-8.", hint="Save it as UTF-8.") from exc
        return bool(chunk)
