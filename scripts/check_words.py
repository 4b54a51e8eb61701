"""Holds the plain words: one class to a name, no banned word in a name, a short glossary.

Prints what it finds and ends with 1; never changes a file.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
BANNED = (
    "told|tells?|teller|anew|whoever|somebody|meanwhile|desks?|lanes?|errands?|turnstiles?|purse"
    "|veil|shelf|shelves|pace|spared|mends?|mended|mending|mendable"
)
"""Words of our own for what has a standard name; a name is split at `_` and at capitals."""
BANNED_FILES = "own|owner|owners|once|sides?|fold|rolls?|former|awaited"
"""Words that do not say what is in a file, even where they are fine inside one."""
MOST_TERMS = 30
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
GLOSSARY = re.compile(r"^## Glossary\n(.*?)^## ", re.DOTALL | re.MULTILINE)


def main() -> int:
    """Check the packages and the glossary of `docs/design.md`."""
    classes: dict[str, list[str]] = defaultdict(list)
    found: list[str] = []
    packages = (ROOT / "src", *(ROOT / name / "src" for name in ("server", "chroma", "testing")))
    for path in sorted(path for package in packages for path in package.rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
        if re.fullmatch(BANNED_FILES, path.stem):
            found.append(f"{path.relative_to(ROOT)}: the name does not say what is in the file.")
        found.extend(
            f"{path.relative_to(ROOT)}: {name}: use the standard term."
            for name in sorted({path.stem, *map(defined_name, nodes)})
            if any(re.fullmatch(BANNED, part.lower()) for part in PART.findall(name))
        )
    twice = sorted((name, at) for name, at in classes.items() if len(at) > 1)
    found += [f"{at[-1]}: class {name} is also at {', '.join(at[:-1])}." for name, at in twice]
    glossary = GLOSSARY.search((ROOT / "docs" / "design.md").read_text("utf-8"))
    terms = len(re.findall(r"^\| ", glossary[1], re.MULTILINE)) - 1 if glossary else 0
    if not 0 < terms <= MOST_TERMS:
        found.append(f"docs/design.md: {terms} terms in the glossary; 1 to {MOST_TERMS} may be.")
    for line in found:
        print(line)
    return 1 if found else 0


def defined_name(node: ast.AST) -> str:
    """The name that this node gives to something; empty where it gives none."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
            return name
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return name
    return ""


if __name__ == "__main__":
    sys.exit(main())
