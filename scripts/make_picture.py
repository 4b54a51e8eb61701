"""Draws `docs/terminal.svg`, the picture of the README, from what real commands print.

Times and ids are those of the run, so nothing checks the picture; `make picture` draws it again.
"""

from __future__ import annotations

from io import StringIO

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from run_examples import ROOT, run_steps

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


def main() -> None:
    """Run the commands in a home of their own and draw the screen."""
    outcomes = run_steps(list(COMMANDS), {"COLUMNS": str(COLUMNS)})
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    for command, outcome in zip(COMMANDS, outcomes, strict=True):
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text.from_ansi(outcome.printed.rstrip()))
        console.print()
    picture = console.export_svg(title="", theme=THEME, code_format=FRAME, unique_id="terminal")
    (ROOT / "docs" / "terminal.svg").write_text(picture, "utf-8")


if __name__ == "__main__":
    main()
