"""Writes the parts of the docs that come from the code: help texts, tools, settings.

`--check` only compares, and ends with 1 where the docs tell something else than the code.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, get_args, get_type_hints

from click.testing import CliRunner

from commonplace.config.table import SETTINGS
from commonplace.doors.cli import main as cli
from commonplace.tools.chronicle.tools import ChronicleTools
from commonplace.tools.memory.tools import MemoryTools
from commonplace.tools.notebook.tools import NotebookTools
from commonplace.tools.private.tools import PrivateTools
from commonplace.tools.recall.tools import RecallTools
from commonplace.tools.timeline.tools import TimelineTools

if TYPE_CHECKING:
    from commonplace.tools.toolset import Tool

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(r"(<!-- begin (\w+)( [\w -]+)? -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Rewrite or check every page."""
    stale = []
    for page in PAGES:
        text = page.read_text("utf-8")
        made = BLOCK.sub(lambda m: f"{m[1]}{render(m[2], (m[3] or '').split())}{m[4]}", text)
        if made != text:
            stale.append(page)
            if "--check" not in sys.argv:
                page.write_text(made, "utf-8")
    for page in stale:
        print(f"{page.relative_to(ROOT)} differs from the code; `make docs` writes it.")
    return 1 if stale and "--check" in sys.argv else 0


def render(kind: str, words: list[str]) -> str:
    """The text of one block: `help private write`, `tools private`, `settings`."""
    match kind:
        case "help":
            return help_text(words)
        case "tools":
            return "".join(tool_text(tool) for tool in TOOLSETS[words[0]])
        case "settings":
            return settings_table()
    raise SystemExit(f"Unknown block in the docs: {kind!r}. Use help, tools or settings.")


def help_text(words: list[str]) -> str:
    """What `commonplace WORDS --help` prints."""
    result = CliRunner().invoke(
        cli, [*words, "--help"], prog_name="commonplace", terminal_width=88, catch_exceptions=False
    )
    command = " ".join(["commonplace", *words, "--help"])
    return f"```\n$ {command}\n{result.output}```\n"


def no_desk() -> NoReturn:
    """Stands where tools would be opened: the docs call none."""
    sys.exit("The docs call no tool.")


TOOLSETS = {
    "private": PrivateTools(desk=no_desk).toolset.tools,
    "chronicle": ChronicleTools(desk=no_desk).toolset.tools,
    "recall": RecallTools(desk=no_desk).toolset.tools,
    "notebook": NotebookTools(desk=no_desk).toolset.tools,
    "timeline": TimelineTools(desk=no_desk).toolset.tools,
    "memory": MemoryTools(service=no_desk).toolset.tools,
    "memory-write": MemoryTools(service=no_desk).write_toolset.tools,
}


PROJECT_FILES = {"no": "", "inside": "inside it", "narrow": "may narrow", "yes": "may set"}


def tool_text(tool: Tool) -> str:
    """A tool's name, description and arguments."""
    rows = "".join(argument_row(tool, name) for name in tool.schema["properties"])
    head = f"**`{tool.name}`**: {tool.description}\n\n"
    return f"{head}| argument | default | what |\n|---|---|---|\n{rows}\n"


def argument_row(tool: Tool, name: str) -> str:
    """One argument: name, default and range as the signature has them."""
    schema = tool.schema["properties"][name]
    _, arg = get_args(get_type_hints(tool.run, include_extras=True)[name])
    bounds = "" if arg.least is None else f" ({arg.least} to {arg.most})"
    choices = f" ({', '.join(schema['enum'])})" if "enum" in schema else ""
    needed = name in tool.schema.get("required", ())
    default = "required" if needed else f"`{schema['default']!r}`" if "default" in schema else ""
    return f"| `{name}` | {default} | {arg.text}{bounds}{choices} |\n"


def settings_table() -> str:
    """Every setting with its environment name, and what a project's file may do with it."""
    rows = "".join(
        f"| `{s.key}` | `{s.env}` | {s.help} | {PROJECT_FILES[s.project]} |\n" for s in SETTINGS
    )
    return f"| key | environment | what | project's file |\n|---|---|---|---|\n{rows}"


if __name__ == "__main__":
    sys.exit(main())
