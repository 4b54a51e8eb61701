"""Holds the plain words: one class to a name, no banned or private word, a short glossary.

Prints what it finds and ends with 1; never changes a file.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PACKAGES = ("src", "server/src", "chroma/src", "testing/src")
BANNED = (
    "told|tells?|teller|anew|whoever|somebody|meanwhile|desks?|lanes?|errands?|turnstiles?|purse"
    "|veil|shelf|shelves|pace|spared|mends?|mended|mending|mendable"
)
"""Words of our own for what has a standard name; a name is split at `_` and at capitals."""
BANNED_FILES = "own|owner|owners|once|sides?|fold|rolls?|former|awaited"
"""Words that do not say what is in a file, even where they are fine inside one."""
PRIVATE = {
    "glimpse": r"glimpses?",
    "rewording": r"rewordings?",
    "zoom": r"zoom(?:s|ed|ing)?",
    "spool": r"spool(?:s|ed|ing)?",
    "stage": r"stages?|staged",
    "piece": r"pieces?",
    "anchor": r"anchors?|anchored",
    "leg": r"legs?",
    "leaning": r"leanings?",
    "fate": r"fates?",
    "charge": r"(?<!in )charges?",
    "tidy": r"tid(?:y|ies|ied|ying)",
}
"""Words that meant something in this house alone, in all their forms; each has a plain one now."""
ANY_FORM = re.compile("|".join(PRIVATE.values()))
FORMS = {word: re.compile(rf"(?<![a-z_-])(?:{x})(?![a-z_-])") for word, x in PRIVATE.items()}
IN_NAMES = frozenset({"zoom", "stage", "piece", "anchor", "charge"})
"""Of those, what is plain English in a sentence: it may be no name of ours all the same."""
PUBLIC = {"legs": "what words and meaning gave to a score: a fact of the JSON, a field of `Hit`"}
"""Forms that a stored format, an option or a fact that users see has for its name, and which."""
STANDARD = {
    "src/commonplace/journals/git/": "stage",
    "src/commonplace/journals/notebook/": "stage",
}
"""Where a word is the field's own: git's index has stages, and what is staged."""
STANDING: dict[str, int] = {}
"""How many lines still bear a private word where its room has not been gone through: never more."""
MOST_TERMS = 30
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
GLOSSARY = re.compile(r"^## Glossary\n(.*?)^## ", re.DOTALL | re.MULTILINE)


def main() -> int:
    """Check the packages and the glossary of `docs/design.md`."""
    classes: dict[str, list[str]] = defaultdict(list)
    found: list[str] = []
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        names = names_of(path.read_text("utf-8"))
        for at, name in names.classes:
            classes[name].append(f"{path.relative_to(ROOT)}:{at}")
        if re.fullmatch(BANNED_FILES, path.stem):
            found.append(f"{path.relative_to(ROOT)}: the name does not say what is in the file.")
        found.extend(
            f"{path.relative_to(ROOT)}: {name}: use the standard term."
            for name in sorted({path.stem, *(name for _, name in names.given)})
            if any(re.fullmatch(BANNED, part.lower()) for part in PART.findall(name))
        )
    found += check_private(ROOT)
    twice = sorted((name, at) for name, at in classes.items() if len(at) > 1)
    found += [f"{at[-1]}: class {name} is also at {', '.join(at[:-1])}." for name, at in twice]
    glossary = GLOSSARY.search((ROOT / "docs" / "design.md").read_text("utf-8"))
    terms = len(re.findall(r"^\| ", glossary[1], re.MULTILINE)) - 1 if glossary else 0
    if not 0 < terms <= MOST_TERMS:
        found.append(f"docs/design.md: {terms} terms in the glossary; 1 to {MOST_TERMS} may be.")
    for line in found:
        print(line)
    return 1 if found else 0


def check_private(root: Path) -> list[str]:
    """A line for each place of a private word, of those that stand in more places than they may."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(path for folder in PACKAGES for path in (root / folder).rglob("*.py")):
        name = str(path.relative_to(root))
        standard = {word for begin, word in STANDARD.items() if name.startswith(begin)}
        for line, word in private_words(path.read_text("utf-8")):
            if word not in standard:
                places[word].append(f"{name}:{line}")
    pages = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("*/docs/*.md")]
    pages += root.glob("docs/recipes/*.md")
    for path in sorted(path for path in pages if path.name != "CHANGELOG.md"):
        for line, said in enumerate(path.read_text("utf-8").splitlines(), 1):
            # Code, and where a link leads, are no sentences.
            for word in words_in(re.sub(r"`[^`]*`|\([^)]*\)", "", said), in_names=False):
                places[word].append(f"{path.relative_to(root)}:{line}")
    return [
        f"{place}: {word} is a word of our own; use the plain one."
        for word, at in sorted(places.items())
        if len({*at}) > STANDING.get(word, 0)
        for place in dict.fromkeys(at)
    ]


def private_words(source: str) -> Iterator[tuple[int, str]]:
    """Each private word that a file's own names, its comments and its docstrings hold."""
    names = names_of(source)
    for at, name in names.given:
        for word in words_in(" ".join(PART.findall(name)), in_names=True):
            yield at, word
    # To tell comments from code takes ten times as long as to look for the words in either.
    if not words_in(source, in_names=False):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_docstring = token.type == tokenize.STRING and token.start[0] in names.documented
        if token.type == tokenize.COMMENT or is_docstring:
            for offset, line in enumerate(token.string.splitlines()):
                for word in words_in(line, in_names=False):
                    yield token.start[0] + offset, word


class Names(NamedTuple):
    """What a file gives names to, by line; its classes; the lines of statements of one constant."""

    given: list[tuple[int, str]]
    classes: list[tuple[int, str]]
    documented: set[int]


@cache
def names_of(source: str) -> Names:
    """The names in a file; what they were read from, most of it, is let go of at once."""
    names = Names([], [], set())
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            names.documented.add(node.lineno)
        elif name := defined_name(node):
            names.given.append((getattr(node, "lineno", 1), name))
            if isinstance(node, ast.ClassDef):
                names.classes.append((node.lineno, name))
    return names


@cache
def words_in(said: str, *, in_names: bool) -> list[str]:
    """The private words in a text, less those that are public names."""
    lowered = said.lower()
    if not ANY_FORM.search(lowered):
        return []
    return [
        word
        for word, forms in FORMS.items()
        if in_names or word not in IN_NAMES
        for found in forms.findall(lowered)
        if found not in PUBLIC
    ]


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
