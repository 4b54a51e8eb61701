"""Owns the samples that the rules for secrets are measured by: contexts of secrets, and look-alikes.

Never holds a key that was given out, nor one that a scanner could take for real: a sample names
the shape of its value, and the value is made when the tests run.

`secret_samples.txt` has one context a line, `look_alikes.txt` one text without a secret. Both were
written from what providers publish of their formats, and from the formats in the rules of gitleaks,
detect-secrets and trufflehog, before the rules of ours were measured by them. Each second line
belongs to the half `building`, which may be looked at when a rule is written, each other one to the
half `measuring`, which is only counted.

In a line `⏎` ends a line of the text. `«…»` is a secret, `⟦…⟧` a made value that is none. Between
the marks stand pieces apart by spaces: `hex*40` is forty characters of a class, a word such as `pw`
a whole value, and anything else itself, so that `gh p_ b62*36` is no token until it is made.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

HERE = Path(__file__).parent
MADE_OF_EACH = 3

_CLASSES = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "dig": string.digits,
    "abc": string.ascii_lowercase,
    "Abc": string.ascii_letters,
    "low": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "up32": "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    "B32": string.ascii_uppercase + "234567",
    "b62": string.ascii_letters + string.digits,
    "b64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "-_",
    "rand": string.ascii_letters + string.digits + "!*+-._~",
    "odd": string.ascii_letters + string.digits + "!#$%&*+-.^_~@?",
    "django": string.ascii_lowercase + string.digits + "!@#$%^&*(-_=+)",
    "wp": "".join(c for c in string.printable[:94] if c not in "'\\\"") + " ",
}
_WORDS = (
    "falcon harbor maple violin copper saddle lantern pebble walnut glacier meadow thistle anchor "
    "bramble cobalt dahlia ember fjord gravel heron indigo juniper kestrel lichen marble nutmeg"
).split()


class Sample(NamedTuple):
    """A text, and where in it its secrets stand: none in a look-alike."""

    text: str
    secrets: tuple[tuple[int, int], ...]
    family: str


def contexts(half: str) -> list[Sample]:
    """The texts with a secret in one half."""
    return list(_samples("secret_samples.txt", half))


def look_alikes(half: str) -> list[Sample]:
    """The texts without one in one half."""
    return list(_samples("look_alikes.txt", half))


def is_left_of(sample: Sample, spans: Iterable[tuple[int, int]]) -> bool:
    """Whether a character of a secret stands outside all spans; line ends may."""
    covered = {at for start, end in spans for at in range(start, end)}
    return any(
        at not in covered and not sample.text[at].isspace()
        for start, end in sample.secrets
        for at in range(start, end)
    )


def _samples(name: str, half: str) -> Iterator[Sample]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    family, number = "", 0
    for line in lines:
        if line.startswith("=== "):
            family = line.removeprefix("=== ")
            continue
        number += 1
        if ("building", "measuring")[number % 2] == half:
            for turn in range(MADE_OF_EACH):
                yield _made(line, family, random.Random(f"{line}{turn}"))


def _made(line: str, family: str, rng: random.Random) -> Sample:
    """The text that a line describes, with values made by `rng`."""
    text, secrets = "", []
    for part in re.split(r"(«[^»]*»|⟦[^⟧]*⟧)", line.replace("⏎", "\n")):
        start = len(text)
        if part.startswith(("«", "⟦")):
            text += "".join(_piece(piece, rng) for piece in part[1:-1].split())
        else:
            text += part
        if part.startswith("«"):
            secrets.append((start, len(text)))
    return Sample(text, tuple(secrets), family)


def _piece(piece: str, rng: random.Random) -> str:
    if piece in _WHOLE:
        return _WHOLE[piece](rng)
    name, _, length = piece.rpartition("*")
    if name not in _CLASSES:
        return piece
    letters = _CLASSES[name]
    made = "".join(rng.choice(letters) for _ in range(int(length)))
    if name in ("rand", "odd", "wp", "django"):
        # A generated password begins with a letter: what a line quotes or splits stays what it is.
        made = rng.choice(string.ascii_lowercase) + made[1:-2] + rng.choice("23456789") + "k"
    return made


def _password(rng: random.Random) -> str:
    """One that a person would choose: words, digits and signs, eight characters or more."""
    word, other = rng.sample(_WORDS, 2)
    digits = str(rng.randrange(100, 9999))
    return rng.choice(
        (
            f"{word.capitalize()}{digits}{rng.choice('!*.+')}",
            f"{word}{digits}",
            f"{word}-{digits}-{other.capitalize()}",
            f"{digits}{rng.choice('_.!')}{word.capitalize()}x",
            f"{word[:3].upper()}{digits}{other[:4]}",
            f"{word[0].upper()}{word[1:3]}{digits}{rng.choice('!*')}{other[:2].upper()}q",
        )
    )


def _url64(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _jwt(rng: random.Random) -> str:
    claims = {"sub": rng.choice(_WORDS), "role": "service", "iat": rng.randrange(10**9, 2 * 10**9)}
    signature = base64.urlsafe_b64encode(rng.randbytes(32)).decode().rstrip("=")
    return f"{_url64({'alg': 'HS256', 'typ': 'JWT'})}.{_url64(claims)}.{signature}"


def _uuid(rng: random.Random) -> str:
    made = "".join(rng.choice("0123456789abcdef") for _ in range(32))
    return f"{made[:8]}-{made[8:12]}-4{made[13:16]}-a{made[17:20]}-{made[20:]}"


def _pem_line(rng: random.Random) -> str:
    """A PEM block as JSON holds it: one line, with its line ends escaped."""
    body = base64.b64encode(rng.randbytes(144)).decode()
    kind = "PRIVATE" + " KEY"
    return rf"-----BEGIN {kind}-----\nMIIE{body[:60]}\n{body[60:124]}\n-----END {kind}-----"


_WHOLE: dict[str, Callable[[random.Random], str]] = {
    "pw": _password,
    "word": lambda rng: rng.choice(_WORDS),
    "Word": lambda rng: rng.choice(_WORDS).capitalize(),
    "phrase": lambda rng: "-".join(rng.sample(_WORDS, 5)),
    "uuid": _uuid,
    "jwt": _jwt,
    "basic": lambda rng: base64.b64encode(f"svc:{_password(rng)}".encode()).decode(),
    "pemline": _pem_line,
    "sp": lambda _: " ",
    "nl": lambda _: "\n",
}
