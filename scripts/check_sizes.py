"""Holds every source file under 700 lines, so that no file grows two subjects.

Prints the offenders and ends with 1; never changes a file.
"""

from __future__ import annotations

import sys
from pathlib import Path

MOST_LINES = 700
ROOT = Path(__file__).parent.parent


def main() -> int:
    """Check all Python files of the project."""
    folders = ("src", "server", "chroma", "testing", "examples", "tests", "scripts", "bench")
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    long = [(p, n) for p in files if (n := len(p.read_text("utf-8").splitlines())) > MOST_LINES]
    for path, lines in long:
        print(f"{path.relative_to(ROOT)}: {lines} lines; split it by subject (most: {MOST_LINES}).")
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
