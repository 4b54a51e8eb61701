"""What `make test-npm` installs, and the mark of the tests that need it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

MODULES = Path(__file__).parents[2] / ".tools" / "node_modules"
PROGRAMS = MODULES / ".bin"

needs_npm = [
    pytest.mark.npm,
    pytest.mark.skipif(
        not shutil.which("npm") or not (PROGRAMS / "mcp-inspector").exists(),
        reason="The Inspector is not installed: `make test-npm` does it, and needs npm.",
    ),
]

TOOLS = Path(__file__).parents[2] / ".tools"
CLIENTS = TOOLS / os.environ.get("CP_TEST_CLIENTS", "clients") / "node_modules" / ".bin"
"""The real clients of users, which are driven by a scripted model; `make world` has the newest."""

needs_clients = [
    pytest.mark.npm,
    pytest.mark.skipif(
        not all((CLIENTS / name).exists() for name in ("claude", "codex", "gemini", "opencode")),
        reason="The clients are not installed: `make test-npm` does it, and needs npm.",
    ),
]
