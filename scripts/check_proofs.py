"""Holds that each promise of `docs/promises.md` is proved, and still made word for word.

Each row names tests that exist. Below a heading that links to a page, each row stands on that page
as a sentence or a clause of its own. Every promise of the table in `SECURITY.md` has a row. Prints
what is missing and ends with 1; never changes a file and runs no test.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PROMISES = ROOT / "docs" / "promises.md"
SECURITY = ROOT / "SECURITY.md"
HEADING = re.compile(r"#+ (?:\[[^\]]*\]\(([^)#]*)[^)]*\))?")
PLACE = re.compile(r"`([^`]+)`")
PROTECTED = re.compile(r"^\| who \| what holds \|\n\|-.*\n((?:\|.*\n)+)", re.MULTILINE)
OTHER_TABLE = re.compile(r"\| proved in \|\n\|-")
# A paragraph, an item of a list, a heading or a row of a table ends where the next begins.
BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.))")
ASIDE = re.compile(r"\s\(\[[^\]]*\]\([^)]*\)\)")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
MARKUP = re.compile(r"[*`]|^\s*(?:[-#]+|\d+\.) |^\s*\|")


def main() -> int:
    """Check every row of the page, and each place that it names."""
    missing: list[str] = []
    rows = [*promises(PROMISES.read_text("utf-8"))] if PROMISES.is_file() else []
    if not rows:
        missing.append("docs/promises.md: no table of what is promised, and where it is proved.")
    for page, promise, places in rows:
        if not places:
            missing.append(f"{promise} Name a place where it is proved.")
        if page and not is_said(page, promise):
            name = page.relative_to(ROOT).as_posix()
            missing.append(f"{name} does not say so, word for word, any more: {promise}")
        missing.extend(
            f"{place}: there is no such test; name where this is proved: {promise}"
            for place in places
            if not is_there(place)
        )
    proved = {promise for page, promise, _ in rows if page == SECURITY}
    missing.extend(
        f"SECURITY.md: nothing in docs/promises.md says where this is proved: {promise}"
        for promise in protections(SECURITY.read_text("utf-8"))
        if promise not in proved
    )
    if OTHER_TABLE.search((ROOT / "CONTRIBUTING.md").read_text("utf-8")):
        missing.append("CONTRIBUTING.md: move the rows of what is proved to docs/promises.md.")
    for line in missing:
        print(line)
    return 1 if missing else 0


def promises(text: str) -> Iterator[tuple[Path | None, str, list[str]]]:
    """Each promise with the page that makes it, if one is named above, and its places."""
    page = None
    for line, following in pairwise([*text.splitlines(), ""]):
        if heading := HEADING.match(line):
            page = heading[1] and Path(os.path.normpath(PROMISES.parent / heading[1]))
        elif line.startswith("|") and not line.startswith("|-") and not following.startswith("|-"):
            promise, _, places = line.strip("| ").partition(" | ")
            yield page or None, promise, PLACE.findall(places)


def is_said(page: Path, promise: str) -> bool:
    """Whether a page makes this promise, and does not go on before its clause has ended."""
    quoted = re.escape(folded(promise))
    clause = re.compile(rf"(?:^|(?<=[.:;,!?)]) ){quoted}(?:(?<=[.:;!?])|(?=[.:;!?]|$))")
    return any(clause.search(block) for block in blocks(page))


@cache
def blocks(page: Path) -> tuple[str, ...]:
    """The paragraphs, items and cells of a page, without markup; none where there is no page."""
    text = page.read_text("utf-8") if page.is_file() else ""
    parts = (part for block in BLOCK.split(text) for part in block.split(" | "))
    return tuple(folded(part.strip().removesuffix("|")) for part in parts)


def folded(text: str) -> str:
    """A text in one line, without links, emphasis and what begins an item or a row."""
    return " ".join(MARKUP.sub("", LINK.sub(r"\1", ASIDE.sub("", text))).split())


def protections(page: str) -> list[str]:
    """What `SECURITY.md` says that holds, a promise for each part of a cell between semicolons."""
    found = PROTECTED.search(page)
    if found is None:
        return ["a table of who is protected from, and what holds"]
    cells = (line.strip("| ").partition(" | ")[2] for line in found[1].splitlines())
    return [ASIDE.sub("", promise) for cell in cells for promise in cell.split("; ")]


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
