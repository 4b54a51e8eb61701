"""Secrets in text: hidden before a language model sees it, and kept out of what a server answers.

Pure. Knows the shapes below and no others: a password in plain prose, a card number, a person's
data or a random string with no known beginning passes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from commonplace.core.fence import fenced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.core.values import Question

_BEGINNINGS = (
    r"sk-[\w-]{16,300}",  # OpenAI, Anthropic, OpenRouter
    r"[sprw]k_(?:live|test)_\w{10,200}|whsec_\w{16,200}",  # Stripe
    r"gh[opsru]_\w{20,300}|github_pat_\w{20,300}",
    r"glpat-[\w-]{16,200}",
    r"xox[abeprs]-[\w-]{10,300}|xapp-[\w-]{10,300}",  # Slack
    r"A(?:KIA|SIA)[A-Z0-9]{16}",  # AWS
    r"AIza[\w-]{35}|ya29\.[\w-]{20,300}|GOCSPX-[\w-]{20,100}",  # Google
    r"hf_\w{20,100}|npm_\w{20,100}|dop_v1_\w{20,100}|pypi-[\w-]{20,400}",
    r"SG\.[\w-]{16,64}\.[\w-]{16,128}",  # SendGrid
    r"eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{8,2000}",  # a signed web token
)
_KINDS = (
    # A private key, to its end, or as far as it goes.
    (
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----)[\s\S]){0,20000}"
        r"(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
    ),
    # A known beginning.
    rf"(?<![\w-])(?:{'|'.join(_BEGINNINGS)})",
    # The password in an address.
    r"(?<=://)[^\s/:@'\"<>]{0,200}:(?P<address>[^\s/@'\"<>]{1,200})(?=@)",
    # A header by its name; without it, what holds a digit and so is no long word.
    (
        r"(?i:authorization[\"'`]?[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?(?:(?:bearer|basic|token)[ \t]+)?)"
        r"(?P<named>[^\s\"'`,;<>\[\]]{6,2000})"
    ),
    (
        r"(?i:\b(?:bearer|basic)[ \t]+)"
        r"(?P<header>(?=[\w.~+/-]{0,2000}[\d=])[\w.~+/=-]{16,2000})"
    ),
    # A password after its name; no path, for `pwd` is a folder as well.
    (
        r"(?i:(?:passwor[dt]|passwd|passphrase|pwd|kennwort|contraseña|mot de passe)[\"'`]?"
        r"[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?)(?P<password>(?!/)[^\s\"'`,;<>\[\]]{3,200})"
    ),
    # The same in prose, where it holds a digit.
    (
        r"(?i:(?:passwor[dt]|passphrase|pwd|pin) (?:is|was)[ \t]+[\"'`]?)"
        r"(?P<secret>(?=[^\s\"'`]{0,60}\d)[^\s\"'`,;<>\[\]]{3,200}(?<![.]))"
    ),
    # A token after its name, where it is neither a word nor a count.
    (
        r"(?i:(?:secret|token|credential|(?:api|access|private|account)[_ -]?key)s?[\"'`]?"
        r"[ \t]{0,4}[:=][ \t]{0,4}[\"'`]?)"
        r"(?P<token>(?!\d+\.?(?![\w.]))(?=[^\s\"'`,;]{0,200}\d)[^\s\"'`,;<>\[\]]{8,400})"
    ),
)
_SECRET = re.compile("|".join(f"(?:{kind})" for kind in _KINDS))
_MARK = re.compile(r"\[redacted-(\d{1,9})\]")
REDACTED = "[redacted]"

FEWEST_OF_A_KEY = 8
"""A shorter key is a placeholder, as many local servers take one, and may be a plain word."""

MOST_OF_A_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """Texts with `[redacted-1]` and so on in place of each secret, and what the marks stand for."""

    texts: tuple[str, ...]
    secrets: Mapping[str, str] = field(repr=False)

    def shown(self, text: str) -> str:
        """The text with each mark replaced by what it stands for; unknown marks stay."""
        return _MARK.sub(lambda mark: self.secrets.get(mark[0], mark[0]), text)


def hide_secrets(texts: Sequence[str]) -> Hidden:
    """The texts without their secrets; the same secret gets the same mark everywhere.

    A mark that stands in a text already is given to no secret.
    """
    taken = {int(number) for text in texts for number in _MARK.findall(text)}
    marks: dict[str, str] = {}
    number = 0

    def mark(found: re.Match[str]) -> str:
        nonlocal number
        group = found.lastgroup or 0
        secret = found[group]
        if secret not in marks:
            number += 1
            while number in taken:
                number += 1
            marks[secret] = f"[redacted-{number}]"
        start, end = (at - found.start() for at in found.span(group))
        return f"{found[0][:start]}{marks[secret]}{found[0][end:]}"

    hidden = tuple(_SECRET.sub(mark, text) for text in texts)
    return Hidden(texts=hidden, secrets={mark: secret for secret, mark in marks.items()})


def without_secrets(text: str, key: str = "") -> str:
    """The text with `[redacted]` in place of a key, in any case, and of each secret of known shape.

    The marks of `hide_secrets` stay.
    """

    def hidden(found: re.Match[str]) -> str:
        start, end = (at - found.start() for at in found.span(found.lastgroup or 0))
        secret = found[0][start:end]
        shown = secret if _MARK.fullmatch(secret) else REDACTED
        return f"{found[0][:start]}{shown}{found[0][end:]}"

    text = _SECRET.sub(hidden, text)
    if len(key) < FEWEST_OF_A_KEY:
        return text
    return re.sub(re.escape(key), REDACTED, text, flags=re.IGNORECASE)


def plain_name(text: str, key: str = "") -> str:
    """A name that another program gives, such as a model's: printable, short, without secrets."""
    printable = "".join(sign for sign in text if sign.isprintable())
    return without_secrets(printable, key)[:MOST_OF_A_NAME]


def safe_input(question: Question) -> str:
    """What of a question's passages may leave the process: no secret, each between its fences."""
    passages = question.passages
    hidden = hide_secrets([part for passage in passages for part in (passage.origin, passage.text)])
    pairs = zip(hidden.texts[::2], hidden.texts[1::2], strict=True)
    return "\n\n".join(fenced(text, origin) for origin, text in pairs)
