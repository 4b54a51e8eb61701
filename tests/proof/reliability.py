"""What the tests that try to break the product went through, and the page that shows it.

A test that takes `counted` is one of them, in whatever folder: `make proof` runs it, and writes the table of `docs/reliability.md`; nothing else writes it.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
TABLE = re.compile(r"(<!-- counts -->\n).*?(<!-- end of counts -->)", re.DOTALL)
_PROPERTY = "proof"
_CASES: Counter[str] = Counter()


@pytest.fixture
def counted(record_property):
    """Count the cases that a test went through: `counted("hostile repositories", 43)`."""

    def count(family: str, cases: int) -> None:
        record_property(_PROPERTY, (family, cases))

    return count


def add_report(report: pytest.TestReport) -> None:
    """Take the counts of a test that passed, from whichever process ran it."""
    if report.when == "call" and report.passed:
        for name, value in report.user_properties:
            if name == _PROPERTY:
                family, cases = value
                _CASES[family] += cases


def table() -> str:
    """A row for each family of tests, with what this run went through."""
    rows = "".join(f"| {family} | {cases:,} |\n" for family, cases in sorted(_CASES.items()))
    return f"| what was tried | cases in the last run |\n|---|---|\n{rows}"


def write_page() -> None:
    """Put the counts of this run into the page."""
    text = PAGE.read_text("utf-8")
    PAGE.write_text(TABLE.sub(lambda found: f"{found[1]}{table()}{found[2]}", text), "utf-8")
