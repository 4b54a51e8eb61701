"""Holds that each promise in `CONTRIBUTING.md` is proved: its file is there and has that test.

Every promise that `SECURITY.md` makes in its table stands there too, word by word. Prints what is
missing and ends with 1; never changes a file and runs no test.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
SECTION = re.compile(r"^## What is proved, and where\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
PLACE = re.compile(r"`([^`]+)`")
PROTECTED = re.compile(r"^\| who \| what holds \|\n\|-.*\n((?:\|.*\n)+)", re.MULTILINE)
LINK = re.compile(r" \(\[[^\]]*\]\([^)]*\)\)")


def main() -> int:
    """Check every row of the table, and each place that it names."""
    found = SECTION.search((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    rows = promises(found[1]) if found else []
    missing = [] if rows else ["CONTRIBUTING.md: no table of what is proved, and where."]
    for promise, places in rows:
        if not places:
            missing.append(f"{promise} Name a place where it is proved.")
        missing.extend(
            f"{place}: there is no such test; name where this is proved: {promise}"
            for place in places
            if not is_there(place)
        )
    proved = {promise for promise, _ in rows}
    missing.extend(
        f"SECURITY.md: nothing in CONTRIBUTING.md says where this is proved: {promise}"
        for promise in protections((ROOT / "SECURITY.md").read_text("utf-8"))
        if promise not in proved
    )
    for line in missing:
        print(line)
    return 1 if missing else 0


def promises(section: str) -> list[tuple[str, list[str]]]:
    """Each promise with its places; a heading of the table stands above a line of dashes."""
    rows = []
    for line, following in pairwise([*section.splitlines(), ""]):
        if line.startswith("|") and not line.startswith("|-") and not following.startswith("|-"):
            promise, _, places = line.strip("| ").partition(" | ")
            rows.append((promise, PLACE.findall(places)))
    return rows


def protections(page: str) -> list[str]:
    """What `SECURITY.md` says that holds, a promise for each part of a cell between semicolons."""
    found = PROTECTED.search(page)
    if found is None:
        return ["a table of who is protected from, and what holds"]
    cells = (line.strip("| ").partition(" | ")[2] for line in found[1].splitlines())
    return [LINK.sub("", promise) for cell in cells for promise in cell.split("; ")]


def is_there(place: str) -> bool:
    """Whether a file has a test of this name, or any where only the file is named."""
    path, _, name = place.partition("::")
    tests = tests_of(ROOT / path)
    return name in tests if name else bool(tests)


@cache
def tests_of(path: Path) -> frozenset[str]:
    """The names of functions, methods and classes that are tests; none where there is no file."""
    if not path.is_file():
        return frozenset()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    names = {node.name for node in nodes if isinstance(node, kinds)}
    return frozenset(name for name in names if name.startswith(("test_", "Test")))


if __name__ == "__main__":
    sys.exit(main())
