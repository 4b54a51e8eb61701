"""Screens text for secrets: at every write, in every answer, and before a language model.

A secret of a known shape becomes `[secret: GitHub token, 3f9a]`: its kind, and the beginning of
a keyed hash of it, so that two secrets have two marks and none can be guessed back. Imports
little: a hook screens what it copies.
"""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import NamedTuple, TypeVar

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.own_shapes import own_patterns
from commonplace.core.shapes import Span, find, hinted, undisguised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from commonplace.core.shapes import Shape
    from commonplace.core.values import Question

_T = TypeVar("_T")

KEY_FILE = "secret-marks.key"
OWN = "own secret"
MODEL_KEY = "model key"

FEWEST_OF_A_KEY = 8
"""A shorter key is a placeholder, as many local servers take one, and may be a plain word."""

MOST_OF_A_NAME = 100

_MARK = re.compile(r"\[secret: [^\[\],\n]{1,60}, [0-9a-f]{4,16}\]")
_MARK_BEGINS = "[secret: "
_PRIVATE = re.compile(
    r"<\s{0,8}(?P<ends>/?)\s{0,8}private"
    # Only attributes may follow the word: `<private key>` is a placeholder.
    r"(?:\s{1,8}[\w:.-]{1,40}\s{0,8}=\s{0,8}(?:\"[^\"]{0,200}\"|'[^']{0,200}'|[^\s\"'<>]{1,200})){0,8}"
    r"\s{0,8}>",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(
    r"(?i)(?:pass(?:wor[dt]|wd|phrase|code)?|pwd?|psk|kennwort|contrase[ñn]a|mot de passe|secret"
    r"|token|cred(?:ential)?|key|auth(?:orization)?|cookie|sess(?:ion)?(?:[_-]?id)?|sid|_pat|_salt)s?$"
)
_DIGITS = 4
_KEY_BYTES = 32
_PASSING_KEY = os.urandom(_KEY_BYTES)
"""Of this process, where there is no disk to keep one."""
_left_out_now: ContextVar[LeftOut | None] = ContextVar("_left_out_now", default=None)


class LeftOut:
    """What was screened out of what is written, for the answer to the writer."""

    __slots__ = ("marks", "passages")

    def __init__(self) -> None:
        self.marks: dict[str, str] = {}
        self.passages = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on the secrets, and one on what was private."""
        said = []
        if count := len(self.marks):
            kinds = ", ".join(dict.fromkeys(self.marks.values()))
            said.append(
                f"{count} {'secret was' if count == 1 else 'secrets were'} replaced: {kinds}."
            )
        if count := self.passages:
            what = "private passage was" if count == 1 else "private passages were"
            said.append(f"{count} {what} left out.")
        return tuple(said)


@contextmanager
def noting_secrets() -> Iterator[LeftOut]:
    """Collects what the writes inside it screen out; of two, the inner one."""
    left_out = LeftOut()
    token = _left_out_now.set(left_out)
    try:
        yield left_out
    finally:
        _left_out_now.reset(token)


class Screen:
    """What hides secrets of known shapes and of one's own; also called for what is written.

    Args:
        key: Reads the key of the marks; None for one that ends with the process.
        own: Texts and expressions, as `secrets.own` has them.
        at_write: What becomes of a secret that is written: replace, refuse or keep.
    """

    __slots__ = ("_key", "_own", "_patterns", "at_write")

    def __init__(
        self,
        key: Callable[[], bytes] | None = None,
        *,
        own: Sequence[str] = (),
        at_write: str = "replace",
    ) -> None:
        self._key = key or (lambda: _PASSING_KEY)
        self._own = own
        self._patterns: list[re.Pattern[str]] | None = None
        self.at_write = at_write

    def __call__(self, text: str) -> str:
        """A text as it may be written. Raises: Invalid where secrets are refused."""
        return self._written(text, refuses=self.at_write == "refuse")

    def copied(self, text: str) -> str:
        """A text that is copied from elsewhere, as it may be kept: there is nobody to refuse it."""
        return self._written(text, refuses=False)

    def copied_all(self, texts: Sequence[str]) -> list[str]:
        """As `copied`, of many texts: what none of them hints at is looked for in none."""
        whole = "\n".join(texts)
        shapes = hinted(whole)
        if not (self._own or shapes or _PRIVATE.search(whole)):
            return list(texts)
        return [self._written(text, refuses=False, shapes=shapes) for text in texts]

    def values(self, value: _T) -> _T:
        """Data with each text in it as it may be written. Raises: as a call."""
        found: _T = mapped_texts(value, self)
        return found

    def refuse_name(self, name: str, what: str) -> None:
        """Refuse a name that holds a secret; a name is used elsewhere too, so no mark replaces it.

        Args:
            name: The new name.
            what: What bears it, for the error: `section`.

        Raises:
            Invalid, unless secrets are kept.
        """
        if self.at_write != "keep" and (spans := self.find(name)):
            raise Invalid(
                f"The name of the {what} holds a secret ({_kinds(spans)}); nothing was written.",
                hint="Give it another name.",
            )

    def shown(self, text: str) -> str:
        """A text as it may be shown: each secret by its mark."""
        spans = self.find(text)
        return _replaced(text, spans, self.mark) if spans else text

    def shown_values(self, value: _T) -> _T:
        """Data with each text in it as it may be shown."""
        found: _T = mapped_texts(value, self.shown)
        return found

    def find(self, text: str, shapes: Sequence[Shape] | None = None) -> list[Span]:
        """The secrets in a text, in its order; what a mark stands for is none.

        Args:
            text: Any text.
            shapes: Those that a longer text around it hints at, where they are known.
        """
        spans = find(text, shapes)
        if self._own:
            own = self._find_own(text)
            if disguised := undisguised(text):
                plain, places = disguised
                own += [
                    Span(places[x], places[y - 1] + 1, OWN) for x, y, _ in self._find_own(plain)
                ]
            spans = _united([*own, *spans])
        if spans and _MARK_BEGINS in text:
            marks = [match.span() for match in _MARK.finditer(text)]
            spans = [x for x in spans if not _is_inside(x, marks)]
        return spans

    def mark(self, secret: str, kind: str, digits: int = _DIGITS) -> str:
        """What stands in the place of a secret."""
        from hashlib import blake2s

        hashed = blake2s(secret.encode("utf-8", "surrogatepass"), key=self._key()).hexdigest()
        return f"{_MARK_BEGINS}{kind}, {hashed[:digits]}]"

    def names_behind(self, text: str, names: Iterable[str]) -> str:
        """A text with its marks replaced by the secrets that they stand for in some names.

        Args:
            text: A ref, say, as it was shown.
            names: What it may name, as it is kept; read only where the text has a mark.

        Returns:
            The text; a mark that stands for no secret of the names, or for two, stays.
        """
        wanted = set(_MARK.findall(text))
        found: dict[str, set[str]] = {}
        for name in dict.fromkeys(names) if wanted else ():
            for start, end, kind in self.find(name):
                secret = name[start:end]
                if (mark := self.mark(secret, kind)) in wanted:
                    found.setdefault(mark, set()).add(secret)
        known = {mark: min(secrets) for mark, secrets in found.items() if len(secrets) == 1}
        return Hidden((), known).shown(text)

    def hide(self, texts: Sequence[str]) -> Hidden:
        """The texts without their secrets; the same secret gets the same mark everywhere.

        A mark that stands in a text already is given to no secret: it gets more digits.
        """
        taken = {mark for text in texts for mark in _MARK.findall(text)}
        marks: dict[str, str] = {}

        def mark(secret: str, kind: str) -> str:
            if secret not in marks:
                digits = _DIGITS
                while (made := self.mark(secret, kind, digits)) in taken:
                    digits += 1
                taken.add(made)
                marks[secret] = made
            return marks[secret]

        hidden = tuple(_replaced(text, self.find(text), mark) for text in texts)
        return Hidden(hidden, {made: secret for secret, made in marks.items()})

    def without(self, text: str, key: str = "") -> str:
        """The text as it may be shown, without a key in any case of its letters."""
        text = self.shown(text)
        if len(key) < FEWEST_OF_A_KEY:
            return text
        return re.sub(re.escape(key), self.mark(key, MODEL_KEY), text, flags=re.IGNORECASE)

    def plain_name(self, text: str, key: str = "") -> str:
        """A name that another program gives, such as a model's: printable, short, no secret."""
        printable = "".join(sign for sign in text if sign.isprintable())
        return self.without(printable, key)[:MOST_OF_A_NAME]

    def safe_input(self, question: Question) -> str:
        """What of a question's passages may leave the process: no secret, each in its fences."""
        from commonplace.core.fence import fenced

        passages = question.passages
        hidden = self.hide([part for each in passages for part in (each.origin, each.text)])
        pairs = zip(hidden.texts[::2], hidden.texts[1::2], strict=True)
        return "\n\n".join(fenced(text, origin) for origin, text in pairs)

    def _find_own(self, text: str) -> list[Span]:
        return [
            Span(*match.span(), OWN)
            for pattern in self._compiled()
            for match in pattern.finditer(text)
            if match[0]
        ]

    def _compiled(self) -> list[re.Pattern[str]]:
        if self._patterns is None:
            self._patterns = own_patterns(self._own)
        return self._patterns

    def _written(self, text: str, *, refuses: bool, shapes: Sequence[Shape] | None = None) -> str:
        left_out = _left_out_now.get()
        text, passages = without_private(text)
        if left_out is not None:
            left_out.passages += passages
        spans = [] if self.at_write == "keep" else self.find(text, shapes)
        if not spans:
            return text
        if refuses:
            raise Invalid(
                f"The text holds a secret ({_kinds(spans)}); nothing was written.",
                hint="Take it out, or set secrets.at_write to replace.",
            )

        def mark(secret: str, kind: str) -> str:
            made = self.mark(secret, kind)
            if left_out is not None:
                left_out.marks[made] = kind
            return made

        return _replaced(text, spans, mark)


class Hidden(NamedTuple):
    """Texts with a mark in place of each secret, and what the marks stand for."""

    texts: tuple[str, ...]
    secrets: Mapping[str, str]

    def __repr__(self) -> str:
        """Without the secrets."""
        return f"Hidden({self.texts!r})"

    def shown(self, text: str) -> str:
        """The text with each mark replaced by what it stands for; unknown marks stay."""
        return _MARK.sub(lambda mark: self.secrets.get(mark[0], mark[0]), text)


def without_private(text: str) -> tuple[str, int]:
    """A text without what stands between `<private>` and `</private>`, and how often that was.

    One without an end goes to the end of the text: what was marked private is rather lost than
    kept. A tag that is quoted alone between two backticks is a word.
    """
    kept: list[str] = []
    depth = count = done = 0
    for tag in _PRIVATE.finditer(text):
        start, end = tag.span()
        if text[start - 1 : start] == "`" == text[end : end + 1]:
            continue
        if tag["ends"]:
            depth = max(depth - 1, 0)
            if not depth and done < 0:
                done = end
        else:
            if not depth:
                kept.append(text[done:start])
                count, done = count + 1, -1
            depth += 1
    if not count:
        return text, 0
    if done >= 0:
        kept.append(text[done:])
    return "".join(kept), count


def read_key(home: str) -> bytes:
    """The key of the marks in our home, made at first use; one of this process without a disk.

    A mark made with another key differs, and hides as much.
    """
    path = os.path.join(home, KEY_FILE)
    try:
        with open(path, "rb") as file:
            if len(key := file.read(_KEY_BYTES)) == _KEY_BYTES:
                return key
    except OSError:
        pass
    from pathlib import Path

    from commonplace.core.files import make_folder, write_new

    key = os.urandom(_KEY_BYTES)
    try:
        make_folder(home)
        write_new(Path(path), key, mode=0o600)
    except FileExistsError:  # another process was first; without hard links it is empty at first
        with open(path, "rb") as file:
            return file.read(_KEY_BYTES) or _PASSING_KEY
    except (CommonplaceError, OSError):
        return _PASSING_KEY
    return key


def screen_of(home: str, own: Sequence[str], at_write: str) -> Screen:
    """The screen of one home, as its settings say; the key is read when it is needed."""
    return Screen(cache(lambda: read_key(home)), own=own, at_write=at_write)


def _is_inside(span: Span, marks: Sequence[tuple[int, int]]) -> bool:
    """Whether a span lies in one of the marks, which are sorted and do not overlap."""
    at = bisect_right(marks, (span.start, sys.maxsize)) - 1
    return at >= 0 and span.end <= marks[at][1]


def _kinds(spans: Sequence[Span]) -> str:
    return ", ".join(dict.fromkeys(span.kind for span in spans))


def _united(spans: Sequence[Span]) -> list[Span]:
    """What overlaps as one, of the kind that begins first; one's own before any other."""
    united: list[Span] = []
    for span in sorted(spans, key=lambda x: (x.start, x.kind != OWN)):
        last = united[-1] if united else None
        if last is None or span.start >= last.end:
            united.append(span)
        else:
            kind = OWN if OWN in (last.kind, span.kind) else last.kind
            united[-1] = Span(last.start, max(last.end, span.end), kind)
    return united


def _replaced(text: str, spans: Sequence[Span], mark: Callable[[str, str], str]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, kind in spans:
        parts += [text[done:start], mark(text[start:end], kind)]
        done = end
    return "".join([*parts, text[done:]])


def mapped_texts(value: Any, screen: Callable[[str], str]) -> Any:
    """Data with each text in it screened, names included; a value's name may make it a secret."""
    if isinstance(value, str):
        return screen(value)
    if isinstance(value, Mapping):
        return _mapped_names(value, screen)
    if isinstance(value, list):
        return [mapped_texts(each, screen) for each in value]
    if type(value) is tuple:
        return tuple(mapped_texts(each, screen) for each in value)
    return value


def texts_in(value: Any, name: str = "") -> Iterator[str]:
    """Each text in data as `mapped_texts` screens it: names, and values with their names."""
    if isinstance(value, str):
        yield _named(name, value) or value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(key, str):
                yield key
            yield from texts_in(each, str(key))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_in(each)


def _mapped_names(values: Mapping[Any, Any], screen: Callable[[str], str]) -> dict[Any, Any]:
    mapped: dict[Any, Any] = {}
    for name, value in values.items():
        shown = screen(name) if isinstance(name, str) else name
        while shown != name and (shown in mapped or shown in values):
            shown += "'"  # two secrets may have one mark, and neither's value is lost
        both = _named(name, value)
        read = screen(both) if both else both
        begin, end = both[: len(both) - len(value) - 1] if both else "", both[-1:]
        if both and read.startswith(begin) and read.endswith(end):
            mapped[shown] = read[len(begin) : -1]
        else:
            mapped[shown] = mapped_texts(value, screen)
    return mapped


def _named(name: Any, value: Any) -> str:
    """An assignment of a value to its name, where the name is one of a secret; else empty."""
    if not (isinstance(name, str) and isinstance(value, str) and _SECRET_NAME.search(name)):
        return ""
    quote = "'" if '"' in value else '"'
    is_plain = quote not in value and "<" not in value + name
    return f"{name}={quote}{value}{quote}" if is_plain else ""
