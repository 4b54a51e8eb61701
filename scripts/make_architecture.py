"""Draws the rooms and their imports as `docs/architecture.svg`, read from the source itself.

`--check` only compares, and ends with 1 where the picture shows other imports than the code has.
The order of the rooms is that of the contract in `pyproject.toml`; equal imports give equal bytes.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "commonplace"
PICTURE = ROOT / "docs" / "architecture.svg"

LIBRARY = {"timeline": "library", "memory": "library", "aio": "library"}
"""The modules beside the rooms that programs import, drawn as one box."""

STEP_X, STEP_Y, WIDTH, HEIGHT, MARGIN, TOP = 94, 58, 86, 34, 28, 76
COLOURS = ("#4059ad", "#6b5b95", "#2a7f9e", "#1b998b", "#5a8f3c", "#b5892f", "#c8652b", "#a63d57")
STYLE = """text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #20242c }
.room { font-size: 14px; font-weight: 600; fill: #fff; text-anchor: middle }
.count { font-size: 11px; font-weight: 600; text-anchor: middle }
.title { font-size: 19px; font-weight: 700 }
.note { font-size: 12.5px; fill: #59606d }
.line { stroke: #b9c0cc; stroke-width: 1.5; fill: none }"""


def main() -> int:
    """Write or check the picture."""
    picture = render(list_layers(), count_imports())
    if "--check" not in sys.argv:
        PICTURE.write_text(picture, "utf-8")
    elif not PICTURE.exists() or PICTURE.read_text("utf-8") != picture:
        print(f"{PICTURE.relative_to(ROOT)} differs from the imports; `make docs` draws it.")
        return 1
    return 0


def list_layers() -> list[list[str]]:
    """The rooms, highest layer first, as the contract of import-linter lists them."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers")
    found: list[list[str]] = []
    for layer in layers:
        names = [name.split(".")[1] for name in re.split(r"\s*[|:]\s*", layer)]
        rooms = [LIBRARY.get(name, name) for name in names]
        known = {room for above in found for room in above}
        if new := list(dict.fromkeys(room for room in rooms if room not in known)):
            found.append(new)
    return found


def count_imports() -> Counter[tuple[str, str]]:
    """The imports between each two rooms, a module's of a module counted once, types included."""
    modules = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    counts: Counter[tuple[str, str]] = Counter()
    for name, path in modules.items():
        tree = ast.parse(path.read_text("utf-8"))
        for imported in imported_modules(tree, modules.keys()):
            pair = room_of(name), room_of(imported)
            if "" not in pair and pair[0] != pair[1]:
                counts[pair] += 1
    return counts


def imported_modules(tree: ast.Module, known: Collection[str]) -> set[str]:
    """The modules of ours that a module imports: of a package the part that is named."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(parts if parts <= set(known) else {node.module, *parts})
    return found & set(known)


def room_of(module: str) -> str:
    """The room that a module lies in; empty for what is not drawn."""
    name = [*module.split("."), ""][1]
    if name.startswith("_"):  # __main__ only starts a door
        return ""
    return LIBRARY.get(name, name)


def render(layers: list[list[str]], counts: Counter[tuple[str, str]]) -> str:
    """The picture: rooms down the diagonal, a circle where the left one imports the lower one."""
    rooms = [room for layer in layers for room in layer]
    at = {room: (MARGIN + i * STEP_X, TOP + i * STEP_Y) for i, room in enumerate(rooms)}
    pairs = sorted((p for p in counts if p[0] in at and p[1] in at), key=lambda p: (at[p[0]], p))
    bands = "".join(band(layer, at) for layer in layers if len(layer) > 1)
    lines = "".join(line(room, [p for p in pairs if p[0] == room], at) for room in rooms)
    arrows = "".join(arrow(room, [p for p in pairs if p[1] == room], at) for room in rooms)
    circles = "".join(circle(pair, counts[pair], at) for pair in pairs)
    boxes = "".join(box(room, at[room], COLOURS[i % len(COLOURS)]) for i, room in enumerate(rooms))
    width = 2 * MARGIN + (len(rooms) - 1) * STEP_X + WIDTH
    height = TOP + (len(rooms) - 1) * STEP_Y + HEIGHT + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="title">\n'
        '<title id="title">The rooms of Commonplace and their imports</title>\n'
        f"<style>{STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto" markerUnits="userSpaceOnUse">'
        '<path d="M0 0 8 4 0 8z" fill="#8b94a3"/></marker></defs>\n'
        f'<rect width="{width}" height="{height}" rx="10" fill="#fff"/>\n'
        f'<text class="title" x="{MARGIN}" y="40">Imports point down</text>\n'
        f"{legend(height)}{bands}{lines}{arrows}{circles}{boxes}</svg>\n"
    )


def legend(height: int) -> str:
    """How to read the picture, in its empty corner."""
    notes = (
        "Follow a room's line to the right: each circle is",
        "a room that it imports, found straight below.",
        "The number: its imports, a module's of a module",
        "counted once, those for types included.",
        "A grey band: one layer of the contract.",
        "Red: an import that points up.",
    )
    first = height - MARGIN - (len(notes) - 1) * 19
    return "".join(
        f'<text class="note" x="{MARGIN}" y="{first + 19 * i}">{note}</text>\n'
        for i, note in enumerate(notes)
    )


def band(layer: list[str], at: dict[str, tuple[int, int]]) -> str:
    """The ground under rooms of one layer."""
    (left, top), (right, bottom) = at[layer[0]], at[layer[-1]]
    return (
        f'<rect x="{left - 8}" y="{top - 8}" width="{right - left + WIDTH + 16}" '
        f'height="{bottom - top + HEIGHT + 16}" rx="10" fill="#f0f2f6"/>\n'
    )


def line(room: str, pairs: list[tuple[str, str]], at: dict[str, tuple[int, int]]) -> str:
    """From a room sideways to the last that it imports."""
    if not pairs:
        return ""
    x, y = at[room]
    ends = [at[target][0] + WIDTH // 2 for _, target in pairs]
    left, right = min(*ends, x + WIDTH // 2), max(*ends, x + WIDTH // 2)
    return f'<path class="line" d="M{left} {y + HEIGHT // 2}H{right}"/>\n'


def arrow(room: str, pairs: list[tuple[str, str]], at: dict[str, tuple[int, int]]) -> str:
    """From the circles of those who import a room to the room itself."""
    x, y = at[room]
    above = [at[source][1] + HEIGHT // 2 for source, _ in pairs if at[source][1] < y]
    below = [at[source][1] + HEIGHT // 2 for source, _ in pairs if at[source][1] > y]
    path = '<path class="line" d="M{} {}V{}" marker-end="url(#tip)"/>\n'
    down = path.format(x + WIDTH // 2, min(above), y - 1) if above else ""
    return down + (path.format(x + WIDTH // 2, max(below), y + HEIGHT + 1) if below else "")


def circle(pair: tuple[str, str], count: int, at: dict[str, tuple[int, int]]) -> str:
    """One room's imports of another: the larger the more, red where they point up."""
    source, target = pair
    x, y = at[target][0] + WIDTH // 2, at[source][1] + HEIGHT // 2
    ground, edge = (
        ("#e5f0ee", "#1b998b") if x > at[source][0] + WIDTH // 2 else ("#fbe3e1", "#c0392b")
    )
    radius = round(min(8 + count**0.5, 24), 1)
    return (
        f'<g><title>{source} imports {target}: {count}</title><circle cx="{x}" cy="{y}" '
        f'r="{radius}" fill="{ground}" stroke="{edge}" stroke-width="1.5"/>'
        f'<text class="count" x="{x}" y="{y + 4}">{count}</text></g>\n'
    )


def box(room: str, place: tuple[int, int], colour: str) -> str:
    """A room by its name."""
    x, y = place
    return (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="7" fill="{colour}"/>'
        f'<text class="room" x="{x + WIDTH // 2}" y="{y + HEIGHT // 2 + 5}">{room}</text>\n'
    )


if __name__ == "__main__":
    sys.exit(main())
