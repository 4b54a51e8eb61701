"""Stored text as it is shown to a model: what hides is made visible, and a fence closes it off.

Pure functions over strings; never shortens, and never decides what a text means.
"""

from __future__ import annotations

import re
from itertools import pairwise

# What shows nothing or turns what follows around: controls, bidi signs, zero-width signs, tags,
# variation selectors, fillers (Unicode's Default_Ignorable_Code_Point), lone surrogates.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Alone in its place each of these belongs to the writing: an emoji's colour, a family of emoji, the
# joiners of Arabic and Indic scripts.
_EMOJI = "\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINING = "\u0620-\u08ff\u0900-\u0dff"
_COLOURED = f"[#*0-9\u00a9\u00ae\u203c\u2049\u2122\u2139{_EMOJI}]"
_WRITTEN = re.compile(
    f"(?<={_COLOURED})\ufe0f"
    f"|(?:(?<=[{_EMOJI}])|(?<={_COLOURED}\ufe0f))\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
)
_TICKS = re.compile("`+")
_FEWEST_TICKS = 3


def visible(text: str) -> str:
    """The text with all that hides written out, as in `<U+202E>`; line breaks and tabs stay.

    A line break of two signs (CR LF) becomes one. What belongs to the writing stays: a variation
    selector behind an emoji, a joiner between two emoji or two letters that join.
    """
    text = text.replace("\r\n", "\n")
    # Most text is this plain, and asking so is a tenth of looking sign by sign.
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    kept = [match.span() for match in _WRITTEN.finditer(text)]
    ends = [0, *(end for span in kept for end in span), len(text)]
    parts = (text[start:end] for start, end in pairwise(ends))
    return "".join(
        part if number % 2 else _HIDDEN.sub(lambda sign: f"<U+{ord(sign[0]):04X}>", part)
        for number, part in enumerate(parts)
    )


def visible_line(text: str) -> str:
    """As `visible`, on one line: line breaks and tabs are written out as well."""
    return visible(text).replace("\n", "<U+000A>").replace("\t", "<U+0009>")


def shows_nothing(text: str) -> bool:
    """Whether nothing is to be seen of a text: it is blank but for signs that hide."""
    return not _HIDDEN.sub("", text).strip()


def fenced(text: str, origin: str) -> str:
    """The text between two lines of backticks, more than stand together anywhere in it.

    So no text can close its fence. The opening line names the origin; hidden signs of both are
    made visible.
    """
    shown = visible(text)
    longest = len(max(_TICKS.findall(shown), default="")) if "`" in shown else 0
    fence = "`" * max(_FEWEST_TICKS, longest + 1)
    return f"{fence}{visible_line(origin).replace('`', chr(39))}\n{shown}\n{fence}"
