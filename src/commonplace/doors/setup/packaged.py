"""The texts that clients are given whole: skills, and the module that OpenCode loads.

Never writes them anywhere: `files` does for a user, `scripts/make_docs.py` for the plugins.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MARK = "made by commonplace setup"
"""Stands in each of these texts: a file without it is the user's own."""

_SKILLS = Path(__file__).parent / "skills"
_MODULE = Path(__file__).parent / "opencode.js"
_SKILL_TOOLS = {
    "commonplace-recall": ("recall", "open_ref", "find_when_i", "list_by_time"),
    "commonplace-write": ("process_thoughts", "add_entry", "recall", "amend"),
}
_LICENSE = "license: MIT\n"
_PROGRAM = 'const PROGRAM = ["commonplace"];'


def list_skills() -> list[tuple[str, str]]:
    """The name of each skill, and its SKILL.md."""
    folders = sorted(path for path in _SKILLS.iterdir() if path.is_dir())
    return [(path.name, (path / "SKILL.md").read_text("utf-8")) for path in folders]


def with_allowed_tools(name: str, text: str, allows: Callable[[str], str]) -> str:
    """A skill that names the tools of its own which need no leave."""
    rules = [rule for tool in _SKILL_TOOLS[name] if (rule := allows(tool))]
    line = f"allowed-tools: {' '.join(rules)}\n" if rules else ""
    return text.replace(_LICENSE, _LICENSE + line, 1)


def render_module(program: Sequence[str]) -> str:
    """The module for OpenCode, which starts hooks by this program."""
    text = _MODULE.read_text("utf-8")
    assert _PROGRAM in text
    return text.replace(_PROGRAM, f"const PROGRAM = {json.dumps(list(program))};")
