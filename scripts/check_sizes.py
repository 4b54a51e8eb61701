"""Holds the size of files, functions and rooms, so that what is added is weighed.

Prints what is too large and ends with 1; never changes a file.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "server", "chroma", "testing", "examples", "tests", "scripts", "bench")
PACKAGES = ("src", "server/src", "chroma/src", "testing/src")

MOST_LINES = 700
"""Lines of a file: a longer one holds two subjects."""
MOST_OF_A_FUNCTION = 60
LONG_FUNCTION = 40
MOST_LONG_FUNCTIONS = 30
"""Functions of `src` that may have more lines than `LONG_FUNCTION`."""

ROOMS = {
    "src/commonplace": 2500,
    "src/commonplace/app": 5910,
    "src/commonplace/config": 2000,
    "src/commonplace/core": 11521,
    "src/commonplace/db": 1250,
    "src/commonplace/doors": 1750,
    "src/commonplace/doors/cli": 7500,
    "src/commonplace/doors/demos": 250,
    "src/commonplace/doors/doctor": 750,
    "src/commonplace/doors/hooks": 750,
    "src/commonplace/doors/setup": 2500,
    "src/commonplace/doors/stdio": 1250,
    "src/commonplace/doors/web": 5670,
    "src/commonplace/importers": 2000,
    "src/commonplace/index": 3505,
    "src/commonplace/inference": 3470,
    "src/commonplace/journals": 250,
    "src/commonplace/journals/chronicle": 5660,
    "src/commonplace/journals/git": 2750,
    "src/commonplace/journals/memory": 1750,
    "src/commonplace/journals/notebook": 8320,
    "src/commonplace/journals/private": 6555,
    "src/commonplace/journals/timeline": 5950,
    "src/commonplace/journals/transcripts": 5565,
    "src/commonplace/search": 5369,
    "src/commonplace/verbs": 2723,
    "src/commonplace/verbs/backup": 1250,
    "src/commonplace/verbs/brief": 1250,
    "src/commonplace/verbs/chronicle": 2100,
    "src/commonplace/verbs/export": 1000,
    "src/commonplace/verbs/forgetting": 1571,
    "src/commonplace/verbs/imports": 1750,
    "src/commonplace/verbs/memory": 1550,
    "src/commonplace/verbs/notebook": 2150,
    "src/commonplace/verbs/private": 1000,
    "src/commonplace/verbs/recall": 1500,
    "src/commonplace/verbs/timeline": 2550,
    "src/commonplace/verbs/today": 800,
    "src/commonplace/verbs/transcripts": 1250,
    "server/src/commonplace_server": 18263,
    "server/src/commonplace_server/grants": 940,
    "server/src/commonplace_server/state": 1200,
    "chroma/src/commonplace_chroma": 750,
    "testing/src/commonplace_testing": 2000,
}
"""The most lines of Python in each room; what lies in a room of its own below does not count."""


def main() -> int:
    """Check the project."""
    found = [*check_files(ROOT), *check_functions(ROOT), *check_rooms(ROOT, ROOMS)]
    for line in found:
        print(line)
    return 1 if found else 0


def check_files(root: Path) -> list[str]:
    """A line for each file that is too long."""
    return [
        f"{path.relative_to(root)}: {lines} lines; split it by subject (most: {MOST_LINES})."
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
        if (lines := count_lines(path)) > MOST_LINES
    ]


def check_functions(root: Path) -> list[str]:
    """A line for each function that is too long, and one where too many are long."""
    found: list[str] = []
    long: list[tuple[int, str]] = []
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    continue
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                place = f"{path.relative_to(root)}:{node.lineno}: {node.name}"
                if lines > MOST_OF_A_FUNCTION:
                    found.append(f"{place} has {lines} lines (most: {MOST_OF_A_FUNCTION}).")
                if lines > LONG_FUNCTION and package == "src":
                    long.append((lines, place))
    if len(long) > MOST_LONG_FUNCTIONS:
        shortest = sorted(long)[: len(long) - MOST_LONG_FUNCTIONS]
        found.append(
            f"{len(long)} functions have more than {LONG_FUNCTION} lines"
            f" (most: {MOST_LONG_FUNCTIONS}); the nearest to it:"
        )
        found += [f"    {place}, {lines}" for lines, place in shortest]
    return found


def check_rooms(root: Path, rooms: dict[str, int]) -> list[str]:
    """A line for each room with more lines than its budget, and for each file in no room."""
    lines: Counter[str] = Counter()
    found: list[str] = []
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            inside = path.relative_to(root).parents
            room = next((each for each in map(str, inside) if each in rooms), None)
            if room is None:
                found.append(f"{path.relative_to(root)} is in no room of scripts/check_sizes.py.")
            else:
                lines[room] += count_lines(path)
    found += [
        f"{room} has {lines[room]:,} lines of {most:,}: take some out, or raise its budget in"
        " scripts/check_sizes.py, in a commit of its own that says what the user gets."
        for room, most in rooms.items()
        if lines[room] > most
    ]
    return found


def count_lines(path: Path) -> int:
    """The lines of a file."""
    return len(path.read_text("utf-8").splitlines())


if __name__ == "__main__":
    sys.exit(main())
