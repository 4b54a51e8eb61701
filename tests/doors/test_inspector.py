"""The real MCP Inspector drives the real server; `make test-npm` installs both."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.doors.stdio import server_command

TOOLS = Path(__file__).parents[2] / ".tools" / "node_modules" / ".bin"

pytestmark = [
    pytest.mark.npm,
    pytest.mark.skipif(
        not shutil.which("npm") or not (TOOLS / "mcp-inspector").exists(),
        reason="The Inspector is not installed: `make test-npm` does it, and needs npm.",
    ),
]


def inspect(tmp_path, *arguments: str) -> subprocess.CompletedProcess[str]:
    project = tmp_path / "proj"
    project.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        # The Inspector needs the node that came with it, not the system's.
        "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}",
    }
    passed = [
        word
        for name, value in os.environ.items()
        if name in {"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"}
        for word in ("-e", f"{name}={value}")
    ]
    return subprocess.run(
        [
            TOOLS / "mcp-inspector",
            "--cli",
            *server_command(),
            *passed,
            "--cwd",
            str(project),
            *arguments,
        ],
        env=environment,
        cwd=project,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_inspector_finds_nothing_wrong_with_the_tools(tmp_path):
    """`--strict` reports every schema that some host would refuse; there is none."""
    done = inspect(tmp_path, "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["tools"]) == 13


def test_the_inspector_writes_and_finds(tmp_path):
    """A thought written by one Inspector session is found by the next."""
    written = inspect(
        tmp_path,
        "--method=tools/call",
        "--tool-name=process_thoughts",
        "--tool-arg",
        "feelings=The locked database wore me out.",
    )
    assert written.returncode == 0, written.stderr
    found = inspect(
        tmp_path,
        "--method=tools/call",
        "--tool-name=search_journal",
        "--tool-arg",
        "query=database trouble",
    )
    assert "The locked database wore me out." in found.stdout, found.stderr
