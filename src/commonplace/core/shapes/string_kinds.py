"""Tells random strings, chosen passwords, names of programs and other known forms apart.

Pure; knows neither issuers nor the names that stand before a value.
"""

from __future__ import annotations

import re
from functools import cache

_DIGIT, _LETTER, _SIGN = r"\d", r"[A-Za-z]", r"[!@#$%^&*?~+]"

_PROGRAM = (
    r"\[secret: |[({\\|%*\[]|\$[{(\w]|!\$?\w+$|0x[0-9A-Fa-f]{1,40}$|&[a-z]\w*$|--[a-z]"
    # An address, a path, a number, and what names another place where the value is.
    r"|\w{1,20}://|\.\.|\\?[A-Za-z]:[\\/]|~/|[\d.,:/%]+\.?$|ENC\[|arn:"
    r"|(?:env|vault|file|ssm|keyring|exec):"
    # The ref of an entry of ours.
    r"|(?:private|chronicle|notebook|timeline|memory|transcripts):[\w/@.#:-]{4,200}$"
)
_CALL = r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)*[({]"
_DOTTED = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\.?$"
_PATH = r"/|[\w.@-]{1,40}/(?:[\w.@-]{1,60}/){0,8}[\w.@-]{0,60}$"
_PLACEHOLDER = (
    r"(?i)[x*.#•…-]+$|(?:bearer|basic)$|<.*>$|\{.*\}$|.{0,40}(?:\.\.\.|…)$|.{0,12}x{6,}$"
    r"|(?:your|my|the|some|new|old|an?|enter|insert|put|replace|change|same|see)[ _-]|change_?me"
    r"|pass(?:word|wd|phrase)?$|pwd$|(?:secret|token|none|null|nil|true|false|string|str|redacted"
    r"|hidden|optional|required|example|placeholder|todo|tbd|undefined|dummy|test)$"
)
_BLANKED = r"([xX*])\1{7,}"
_LONGEST_BLANKED = 300

_NAME_OF_A_PROGRAM = (
    r"_*[a-z][a-z0-9]*(?:_[a-z0-9]+)+|[A-Za-z]?[a-z]+(?:[A-Z][a-z]+)+\d{0,2}"
    r"|[A-Z0-9]+(?:_[A-Z0-9]+)+"
)
_WORDS = r"[A-Za-z]+\d{0,2}(?:[_.:/-][A-Za-z]*\d{0,2})*[.:)]*"
_WORD_AND_NUMBER = r"[A-Za-z]+-?\d{1,2}[a-z]?"
_PHRASE = r"[A-Za-z]{3,12}(?:[- ][A-Za-z]{3,12}){3,11}"
_MAIL = r"[\w.+-]+@[\w.-]+\.[a-z]{2,6}"
_KNOWN_FORM = (
    # A number with a unit, a version, a day, a time.
    r"[\d.,]*\d[A-Za-z%]{1,6}|v?\d+(?:\.\d+)+[\w.+-]*|[A-Za-z]+\d*(?:\.\d+)+"
    r"|\d{4}-\d\d(?:-\d\d)?.{0,20}|\d\d?:\d\d.{0,12}"
    # A host with its port, an address of mail, a ticket, a name with a number.
    rf"|[\w-]+(?:\.[\w-]+)*\.[a-z]{{2,5}}(?::\d+)?|[\w.-]+:\d{{2,5}}|{_MAIL}"
    r"|[A-Z]{2,8}-\d{1,6}|#\d+|(?:[a-z]+-){2,}\d{1,2}|[A-Z]?[a-z]+\d{1,2}[-_][a-z]+"
    r"|\d+(?:st|nd|rd|th|x|k|M|er|e)?-[A-Za-z-]+"
)
# Longest first, and nothing is tried again: `desdes…` has as many readings as it has parts.
_ALGORITHM = (
    r"(?i)(?:(?:xchacha|chacha|xsalsa|bcrypt|scrypt|pbkdf|paseto|argon|blake|ecdsa|eddsa|kyber"
    r"|mlkem|curve|salsa|prime|oauth|hmac|ecdh|3des|hkdf|poly|secp|base|fido|totp|hotp|pkcs|aes"
    r"|des|rsa|dsa|sha|gcm|cbc|ctr|ccm|siv|ocb|tls|ssl|ssh|jwt|jws|jwe|utf|crc|ed|es|hs|rs|ps|md"
    r"|kw|rc|id|[dpvkx])[-_/+#]?\d{0,5}[-_/+]?)++(?:local|public)?+"
)
_LONGEST_ALGORITHM = 40
_KEYBOARD = (
    r"(?i)<?(?:(?:ctrl|control|alt|option|shift|cmd|command|super|meta|win|fn)[+-]){1,4}\w{1,12}>?"
    r"|<?(?-i:[CMSA]-){1,3}(?:\w|f\d\d?)>?"
)

_UUID = r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_HEX = r"[0-9a-f]+|[0-9A-F]+"
_BASE32 = r"(?![0-9A-F]+$)(?=[A-Z]*[2-7][A-Z]*[2-7])[A-Z2-7]{16,128}"
_BETWEEN = r"[^A-Za-z0-9]+"
_NAME_PARTS = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+"
_SIGNS = r"[!@#$%^&*+?~|]"

_LONGEST_PART, _LONGEST_OF_LONG = 3.3, 3.8
"""Letters or digits that stand together in a random string, on average; in a name 4 and more."""

_FEWEST_OF_LONG, _FEWEST_WITHOUT_DIGIT, _FEWEST_OF_HEX = 24, 20, 24
_FEWEST_OF_RANDOM, _FEWEST_TOGETHER = 16, 10
_FEWEST_OF_SIGNED, _FEWEST_SIGNS = 20, 3
_FEWEST_OF_CHOSEN, _FEWEST_OF_STRICT = 6, 8


regex = cache(re.compile)
"""An expression, compiled when it is first asked: a hook judges few values, and none of many."""


def is_random(text: str) -> bool:
    """Whether it is long, and changes between letters, capitals and digits as no name does."""
    text = text.removeprefix("0x")
    if regex(_BASE32).fullmatch(text):
        return True
    if len(text) < _FEWEST_OF_RANDOM or " " in text or regex(_UUID).search(text):
        return False
    longest = max(regex(_BETWEEN).split(text), key=len)
    if len(longest) < _FEWEST_TOGETHER or regex(_HEX).fullmatch(longest):
        return False
    if not regex(_DIGIT).search(longest) and (
        len(longest) < _FEWEST_WITHOUT_DIGIT or longest.islower() or longest.isupper()
    ):
        return False
    return _is_dense(longest, len(regex(_NAME_PARTS).findall(longest)))


def is_signed(text: str) -> bool:
    """Whether it is a long random string with many signs, as Django makes its keys."""
    signs = regex(_SIGNS).findall(text)
    return (
        len(text) >= _FEWEST_OF_SIGNED
        and len(set(signs)) >= _FEWEST_SIGNS
        and bool(regex(_DIGIT).search(text))
        and _is_dense(text, len(regex(_NAME_PARTS).findall(text)) + len(signs))
    )


def is_long_hex(text: str) -> bool:
    """Whether it is a hash, or a key that looks like one."""
    return len(text) >= _FEWEST_OF_HEX and bool(regex(_HEX).fullmatch(text))


def is_phrase(text: str) -> bool:
    """Whether it is four words and more with a hyphen or a blank between them."""
    return bool(regex(_PHRASE).fullmatch(text))


def is_mixed(text: str) -> bool:
    """Whether it has a letter, and a digit or a sign."""
    return bool(regex(_LETTER).search(text)) and bool(
        regex(_DIGIT).search(text) or regex(_SIGN).search(text)
    )


def is_words(text: str) -> bool:
    """Whether it is words, each with two digits at most: a name, whatever is between them."""
    return bool(regex(_WORDS).fullmatch(text))


def has_digit(text: str) -> bool:
    """Whether there is a digit in it."""
    return bool(regex(_DIGIT).search(text))


def is_term(text: str) -> bool:
    """Whether it is the name of an algorithm, or keys to be pressed."""
    is_algorithm = len(text) <= _LONGEST_ALGORITHM and regex(_ALGORITHM).fullmatch(text)
    return bool(is_algorithm or regex(_KEYBOARD).fullmatch(text))


def is_mail(text: str) -> bool:
    """Whether it is an e-mail address."""
    return bool(regex(_MAIL).fullmatch(text))


def is_blanked(text: str) -> bool:
    """Whether crosses stand in its place."""
    return len(text) < _LONGEST_BLANKED and bool(regex(_BLANKED).search(text))


def is_placeholder(text: str) -> bool:
    """Whether it stands for a value."""
    return bool(regex(_PLACEHOLDER).match(text))


def is_dotted(text: str) -> bool:
    """Whether it is names with dots between them, as of an attribute."""
    return bool(regex(_DOTTED).match(text))


def is_program(text: str) -> bool:
    """Whether it is a name or a call of a program, a path, or stands for a value."""
    if regex(_PROGRAM).match(text) or regex(_PLACEHOLDER).match(text):
        return True
    if regex(_CALL).match(text) and not is_signed(text):
        return True
    if regex(_DOTTED).match(text):
        return not any(is_random(part) for part in text.split("."))
    # Base64 has slashes too.
    return bool(regex(_PATH).match(text)) and not (
        "." not in text and "-" not in text and is_random(text.replace("/", ""))
    )


def is_chosen(text: str, *, strict: bool = False) -> bool:
    """Whether a person may have made it: letters with digits or signs, and of no other known form.

    Args:
        text: The value.
        strict: Nothing but a blank stands before it, so that any word with a figure may.
    """
    if len(text) < (_FEWEST_OF_STRICT if strict else _FEWEST_OF_CHOSEN) or not is_mixed(text):
        return not strict and is_phrase(text)
    if is_program(text) or is_term(text) or "(" in text:
        return False
    if (
        regex(_KNOWN_FORM).fullmatch(text)
        or regex(_UUID).search(text)
        or regex(_NAME_OF_A_PROGRAM).fullmatch(text)
    ):
        return False
    if not strict:
        return True
    return has_digit(text) and not (
        regex(_WORD_AND_NUMBER).fullmatch(text) or regex(_HEX).fullmatch(text)
    )


def _is_dense(text: str, parts: int) -> bool:
    longest = _LONGEST_PART if len(text) < _FEWEST_OF_LONG else _LONGEST_OF_LONG
    return len(text) <= parts * longest
