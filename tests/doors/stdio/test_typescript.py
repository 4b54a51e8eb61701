"""The official TypeScript client works with our server over stdio, in both eras of the protocol."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.doors.npm import MODULES, PROGRAMS, needs_npm
from tests.doors.raw_server import server_command
from tests.patience import PATIENCE_S

pytestmark = needs_npm

SCRIPT = Path(__file__).parents[1] / "typescript_client.mjs"
FLAGS = ("--structured", "--toolsets", "private,notebook")


def session(cwd, mode):
    """What the client saw in one session: lists, a write, a refusal, a question to its own model."""
    done = subprocess.run(
        [
            PROGRAMS / "node",
            SCRIPT,
            MODULES / "@modelcontextprotocol" / "client",
            mode,
            *server_command(*FLAGS),
        ],
        cwd=cwd,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("mode", "revision"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_a_session_of_the_typescript_client(tmp_path, mode, revision):
    """Handshake, lists, calls, errors and sampling."""
    seen = session(tmp_path, mode)
    assert seen["revision"] == revision
    assert "search_journal" in seen["tools"]
    assert "journal_toc" in seen["tools"]
    assert seen["refused"]["structuredContent"]["code"] == "invalid"
    assert seen["merged"]["structuredContent"]["made_by"] == "client"
    assert seen["asked"] == [1]
