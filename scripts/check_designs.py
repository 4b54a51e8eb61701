"""Holds that each row of the five designs works, which a test says, or differs for a reason.

The rows lie in `tests/designs`, the tests name them: `@pytest.mark.design("004-17")`. `make_docs`
takes its tables from here. Prints what is open and ends with 1; never changes a file and runs no
test.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
ROWS = ROOT / "tests" / "designs"
TESTS = ("tests", "server/tests", "chroma/tests")


class Row(NamedTuple):
    """What a design asks for, why this product differs, and what measures it where no test does."""

    number: str
    promise: str
    differs: str
    measured: str


def main() -> int:
    """Check that no row is open, and that no test names a row that there is not."""
    rows = {row.number: row for file in ROWS.glob("*.toml") for row in read_rows(file.stem)}
    found = proofs()
    missing = [
        f"{row.number}: mark the test that proves it, or say why it differs: {row.promise}"
        for row in sorted(rows.values())
        if not row.differs and not is_shown(row)
    ]
    missing += [
        f"{tests[0]}: no design has a row {number}."
        for number, tests in sorted(found.items())
        if number not in rows
    ]
    for line in missing:
        print(line)
    return 1 if missing else 0


def read_rows(journal: str) -> list[Row]:
    """The rows of one journal's design, in its order."""
    rows = tomllib.loads((ROWS / f"{journal}.toml").read_text("utf-8"))
    return [
        Row(number, row["promise"], row.get("differs", ""), row.get("measured", ""))
        for number, row in rows.items()
    ]


@cache
def proofs() -> dict[str, list[str]]:
    """The tests that name each row, as `tests/x.py::test_y`."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(path for folder in TESTS for path in (ROOT / folder).rglob("*.py")):
        text = path.read_text("utf-8")
        if "mark.design(" in text:
            marks_below(ast.parse(text), path.relative_to(ROOT).as_posix(), found)
    return found


def marks_below(node: ast.Module | ast.ClassDef, place: str, found: dict[str, list[str]]) -> None:
    """Add the tests of a file or a class, and of the classes in it, to the rows they name."""
    for each in node.body:
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        name = f"{place}::{each.name}"
        for number in (x for decorator in each.decorator_list for x in numbers(decorator)):
            found[number].append(name)
        if isinstance(each, ast.ClassDef):
            marks_below(each, name, found)


def numbers(decorator: ast.expr) -> list[str]:
    """The rows that a decorator names; none where it is another."""
    if not isinstance(decorator, ast.Call) or not ast.unparse(decorator.func).endswith(
        "mark.design"
    ):
        return []
    nodes = (node for argument in decorator.args for node in ast.walk(argument))
    return [str(node.value) for node in nodes if isinstance(node, ast.Constant)]


def is_shown(row: Row) -> bool:
    """Whether a test or a measurement shows that a row works."""
    return bool(row.measured) or row.number in proofs()


def design_table(journal: str) -> str:
    """A line for each row of a design: what it asks, and the tests of it or why it differs."""
    lines = "".join(
        f"| {row.number} | {row.promise} | {said_of(row)} |\n" for row in read_rows(journal)
    )
    return f"| row | what the design asks | how it is here |\n|---|---|---|\n{lines}"


def said_of(row: Row) -> str:
    """Whether a row works, by which tests, or why it differs."""
    tests = ", ".join(
        f"[{place.rpartition('::')[2]}](../{place.partition('::')[0]})"
        for place in proofs().get(row.number, ())
    )
    if row.differs:
        return f"differs: {row.differs}" + (f" See {tests}." if tests else "")
    if row.measured:
        return f"works, measured: {row.measured}"
    return f"works: {tests}" if tests else "**open**"


def differences_table(journal: str) -> str:
    """A line for each row of a design from which this product differs, with the reason."""
    lines = "".join(
        f"| {row.promise} | {row.differs} |\n" for row in read_rows(journal) if row.differs
    )
    return f"| the design | here, and why |\n|---|---|\n{lines}"


def counts_table() -> str:
    """How many rows of each design work, and how many differ."""
    lines = ""
    for file in sorted(ROWS.glob("*.toml"), key=lambda file: read_rows(file.stem)[0].number):
        rows = read_rows(file.stem)
        differ = sum(bool(row.differs) for row in rows)
        work = sum(not row.differs and is_shown(row) for row in rows)
        lines += (
            f"| {rows[0].number[:3]} | [{file.stem}]({file.stem}.md) | {len(rows)} | {work} "
            f"| {differ} | {len(rows) - work - differ} |\n"
        )
    head = "| design | of | rows | work | differ, for a reason | open |"
    return f"{head}\n|---|---|---|---|---|---|\n{lines}"


if __name__ == "__main__":
    sys.exit(main())
