"""The texts that clients are given whole: skills, and the module that OpenCode loads.

Never writes them anywhere: `files` does for a user, `scripts/make_docs.py` for the plugins.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK = "made by commonplace setup"
"""Stands in each of these texts: a file without it is the user's own."""

_SKILLS = Path(__file__).parent / "skills"
_MODULE = Path(__file__).parent / "opencode.js"
_PROGRAM = 'const PROGRAM = ["commonplace"];'


def list_skills() -> list[tuple[str, str]]:
    """The name of each skill, and its SKILL.md."""
    folders = sorted(path for path in _SKILLS.iterdir() if path.is_dir())
    return [(path.name, (path / "SKILL.md").read_text("utf-8")) for path in folders]


def render_module(program: Sequence[str]) -> str:
    """The module for OpenCode, which starts hooks by this program."""
    text = _MODULE.read_text("utf-8")
    assert _PROGRAM in text
    return text.replace(_PROGRAM, f"const PROGRAM = {json.dumps(list(program))};")
