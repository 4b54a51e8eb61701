"""What the page on JSON promises of each command, read from its table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGE = (Path(__file__).parents[3] / "docs" / "json.md").read_text("utf-8")
EXPLAINED = {"by", "similarity", "legs"}
"""The names that an item has with `--explain` alone."""


class Promised(NamedTuple):
    """The names that a command prints, and those of the items of its lists, by the list's name."""

    top: frozenset[str]
    of_items: dict[str, frozenset[str]]


def _names(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"`([^`]+)`", text))


def _promises() -> dict[str, Promised]:
    """By the command; where one is there with more of its words, those count."""
    found = {}
    table = PAGE.split("| command | prints |\n|---|---|\n")[1].split("\n\n")[0]
    for commands, prints in re.findall(r"^\| (.*) \| (.*) \|$", table, re.MULTILINE):
        lists = re.findall(r"`([^`]+)` \((`[^)]*)\)", prints)
        inside = {name: _names(names) for name, names in lists}
        names = Promised(_names(re.sub(r"\([^)]*\)", "", prints)), inside)
        found |= dict.fromkeys(_names(commands), names)
    return found


PROMISES = _promises()


def broken(call: str, printed: dict[str, object]) -> list[str]:
    """What the page promises of a command and was not printed, a line each."""
    told = max((each for each in PROMISES if f"{call} ".startswith(f"{each} ")), key=len)
    promised = PROMISES[told]
    found = [f"{call}: no {each}" for each in sorted(promised.top - printed.keys())]
    for name, promised_names in promised.of_items.items():
        for item in printed.get(name) or ():
            missing = sorted(promised_names - item.keys())
            found += [f"{call}: an item of {name} without {each}" for each in missing]
    return found
