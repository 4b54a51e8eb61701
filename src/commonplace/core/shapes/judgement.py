"""Judges what follows the name of a secret: a value, a word, or a piece of a program.

Pure; knows no issuer: a value is judged by its signs and by what stands around it.
"""

from __future__ import annotations

import re

from commonplace.core.shapes.shape import Shape, Span

_DIGIT, _LETTER, _SYMBOL = re.compile(r"\d"), re.compile("[A-Za-z]"), re.compile(r"[!@#$%^&*?~+]")
_PROGRAM = re.compile(
    r"\[secret: |[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)*[({]|[({\\|%*]"
    r"|\$[{(\w]|0x[0-9A-Fa-f]+$"
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|https?:|/|\.\.|[\d.,:]+\.?$"
)
_LONGEST_NAME = 60
_QUERY = re.compile(r"[?&][\w.%-]*$")
_AFTER_SCHEME = re.compile(r"(?i)(?:bearer|basic|token)[ \t]+[\w-]{6,}\.[\w.-]{6,}$")
_WORDS = re.compile(r"[A-Za-z]+\d{0,2}(?:[_.:/-][A-Za-z]*\d{0,2})*[.:)]*")
_PLACEHOLDER = re.compile(
    r"(?i)[x*.#-]+$|(?:bearer|basic)$|<.*>$|\{.*\}$|(?:your|my|the|some|new|old|a)[ _-]"
    r"|pass(?:word|wd|phrase)?$|pwd$|(?:secret|token|none|null|true|false|string|str|redacted|hidden|optional|required|example)$"
)


def span_of(shape: Shape, match: re.Match[str]) -> Span | None:
    """The secret in a match of a shape; None where what follows a name is none."""
    groups = match.groupdict()
    if not groups:
        return Span(*match.span(), shape.kind)
    name = next((each for each in groups if groups[each] is not None), "")
    value, (start, end) = match[name], match.span(name)
    if not shape.named or "d" not in groups:
        # Two long words with a dot between are a name in a program, but not after `Bearer`.
        is_name = shape.named and _is_program(value) and not _AFTER_SCHEME.search(match[0])
        return None if is_name else Span(start, end, shape.kind)
    if name == "s":
        if _QUERY.search(match.string, max(match.start() - _LONGEST_NAME, 0), match.start()):
            value = value.partition("&")[0]
        bare = value.rstrip(".:!?)}")
        value, end = bare or value, start + len(bare or value)
    judge = _is_password if shape.kind == "password" else _is_token
    is_env = match[0][:1].isupper() and "=" in match[0] and " " not in match[0]
    is_secret = judge(value, is_quoted=name != "s", is_env=is_env)
    return Span(start, end, shape.kind) if is_secret else None


def _is_program(value: str) -> bool:
    """Whether it is a name or a call of a program, or stands for a value."""
    return bool(_PROGRAM.match(value) or _PLACEHOLDER.match(value))


def _is_password(value: str, *, is_quoted: bool, is_env: bool) -> bool:
    if _is_program(value) or value != value.strip():
        return False
    if is_quoted:
        return value[-1] not in ",:([{=+.?" and len(value) > 3  # noqa: PLR2004  shorter is a word
    if is_env and value.isalnum():
        return True
    mixed = bool(_LETTER.search(value)) and bool(_DIGIT.search(value) or _SYMBOL.search(value))
    return mixed and "(" not in value and "=" not in value[:-2]


def _is_token(value: str, *, is_quoted: bool, is_env: bool) -> bool:
    long = len(value) >= (12 if is_quoted else 8)
    if not long or " " in value or _is_program(value):
        return False
    if not (_DIGIT.search(value) and _LETTER.search(value)) or "(" in value:
        return False
    return is_env or not _WORDS.fullmatch(value)
