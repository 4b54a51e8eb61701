"""Draws `docs/terminal.svg`, the picture of the tutorial, from what real commands print.

`--check` writes nothing and says whether the picture is still that, but for times and ids, which
are those of the run.
"""

from __future__ import annotations

import sys
from io import StringIO

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from run_examples import ROOT, in_forms, run_steps

PICTURE = ROOT / "docs" / "terminal.svg"
COMMANDS = (
    'commonplace private write "Green build again: the cache had kept old wheels."',
    "commonplace log yesterday 9am: deployed v2.1.0 -t release",
    "commonplace recall what was wrong with the build",
)
COLUMNS = 92
THEME = TerminalTheme(
    (23, 25, 35),
    (216, 222, 233),
    [
        (59, 66, 82),
        (240, 113, 120),
        (163, 190, 140),
        (235, 203, 139),
        (129, 161, 193),
        (180, 142, 173),
        (136, 192, 208),
        (229, 233, 240),
    ],
)
# rich's own frame fetches its font from a network; a picture in a README must not.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
  <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> int:
    """Draw the picture, or compare it."""
    drawn = draw()
    if "--check" not in sys.argv:
        PICTURE.write_text(drawn, "utf-8")
    elif in_forms(PICTURE.read_text("utf-8"), set()) != in_forms(drawn, set()):
        print(f"{PICTURE.relative_to(ROOT)} is not what the commands print. Run `make picture`.")
        return 1
    return 0


def draw() -> str:
    """Run the commands in a home of their own and draw the screen."""
    outcomes = run_steps(list(COMMANDS), {"COLUMNS": str(COLUMNS)})
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    for command, outcome in zip(COMMANDS, outcomes, strict=True):
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text.from_ansi(outcome.printed.rstrip()))
        console.print()
    return console.export_svg(title="", theme=THEME, code_format=FRAME, unique_id="terminal")


if __name__ == "__main__":
    sys.exit(main())
