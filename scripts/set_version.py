"""Writes one version into all our distributions and into what they require of each other.

Tags nothing and commits nothing; the tag of the commit is the version of a release.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = tuple(Path(folder, "pyproject.toml") for folder in (".", "server", "chroma", "testing"))
_OURS = re.compile(
    r'^(version = "|    "commonplace-(?:memory|server|chroma)==)[^"]+(?=")', re.MULTILINE
)


def main() -> int:
    """Write it; 2 where it is no version."""
    version = sys.argv[1] if sys.argv[1:] else ""
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        print(f"{version!r} is no version: run `make version VERSION=0.2.0`.", file=sys.stderr)
        return 2
    for file in FILES:
        text = (ROOT / file).read_text("utf-8")
        (ROOT / file).write_text(_OURS.sub(rf"\g<1>{version}", text), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
