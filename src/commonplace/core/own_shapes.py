"""The shapes of one's own secrets, from the setting `secrets.own`: texts, and regular expressions.

An expression is read as a plain one whose repeats are bounded and never give back what they took,
so that no expression, however it is meant, takes longer than the length of the text allows.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST, LONGEST, SHORTEST = 100, 300, 4
MOST_REPEATS, MOST_TIMES = 8, 200

_TOKEN = re.compile(
    r"(?P<group>\(\?:)|(?P<end>\))|(?P<choice>\|)"
    r"|(?P<atom>\\[dDwWsS]|\\[^A-Za-z0-9]|\[\^?\]?(?:\\.|[^\]\\])*\]|[^\\\[\](){}*+?|^$])"
    r"|(?P<place>\\[bB]|[$^])|(?P<repeat>[*+?]|\{\d{1,3}(?:,\d{0,3})?\})",
    re.DOTALL,
)


def own_pattern(entry: str) -> re.Pattern[str]:
    """What finds one's own secret: a text as it is, or an expression between two slashes.

    Raises: ValueError, with a sentence on what cannot be taken.
    """
    is_expression = len(entry) > 2 and entry[0] == entry[-1] == "/"  # noqa: PLR2004  both slashes
    if len(entry) > LONGEST:
        raise ValueError(f"it has {len(entry)} characters, {LONGEST} are allowed")
    if not is_expression:
        if len(entry.strip()) < SHORTEST:
            raise ValueError(f"a text has {SHORTEST} characters at least")
        return re.compile(re.escape(entry))
    try:
        pattern = re.compile(_bounded(entry[1:-1]))
    except re.error as exc:
        raise ValueError(f"it cannot be read: {exc.msg}") from exc
    if pattern.search(""):
        raise ValueError("it finds a secret where there is no text")
    return pattern


def own_patterns(entries: Sequence[str]) -> list[re.Pattern[str]]:
    """What finds each of one's own secrets. Raises: ValueError, which says which by its number."""
    if len(entries) > MOST:
        raise ValueError(f"{len(entries)} are listed, {MOST} are allowed")
    found = []
    for number, entry in enumerate(entries, 1):
        try:
            found.append(own_pattern(entry))
        except ValueError as exc:
            raise ValueError(f"number {number}: {exc}") from exc
    return found


def _bounded(text: str) -> str:
    """The expression with repeats that are bounded and, as choices, never tried again."""
    open_groups: list[list[str]] = [[]]
    at = repeats = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"{text[at : at + 10]!r} is not taken: use signs, [..] and (?:..|..)")
        at, said = token.end(), token[0]
        if token["group"]:
            open_groups.append([])
            continue
        if token["end"]:
            said = f"(?>{''.join(open_groups.pop())})"
            if not open_groups:
                raise ValueError("a bracket is closed that was not opened")
        elif token["repeat"]:
            repeats += 1
            said = _repeated(open_groups[-1].pop() if open_groups[-1] else "|", said)
        open_groups[-1].append(said)
    if len(open_groups) > 1:
        raise ValueError("a bracket is open")
    if repeats > MOST_REPEATS:
        raise ValueError(f"it has {repeats} repeats, {MOST_REPEATS} are allowed")
    return f"(?>{''.join(open_groups[0])})"


def _repeated(last: str, times: str) -> str:
    if last in {"|", "^", "$", r"\b", r"\B"} or last.endswith("}+"):
        raise ValueError("a repeat follows nothing that can be repeated")
    if last.startswith("(?>") and "}+" in last:
        raise ValueError("a repeat inside a repeat is not taken")
    return last + _times(times)


def _times(said: str) -> str:
    low, high = {"*": (0, MOST_TIMES), "+": (1, MOST_TIMES), "?": (0, 1)}.get(said, (0, 0))
    if said[0] == "{":
        first, comma, last = said[1:-1].partition(",")
        low = int(first)
        high = int(last) if last else MOST_TIMES if comma else low
    if not low <= high <= MOST_TIMES:
        raise ValueError(f"{said} is not taken: a repeat is of {MOST_TIMES} times at most")
    return f"{{{low},{high}}}+"
