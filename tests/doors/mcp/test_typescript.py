"""The official TypeScript client works through the front as it does with the SDK alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.doors.npm import MODULES, PROGRAMS, needs_npm
from tests.doors.raw_server import server_command
from tests.patience import PATIENCE_S

pytestmark = needs_npm

SCRIPT = Path(__file__).parents[1] / "typescript_client.mjs"
FLAGS = ("--structured", "--toolsets", "private,notebook")
PASSING = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T/][\d:.\-]+(?:\+00:00)?Z?)?"
    r"|\d+:\d\d:\d\d [AP]M - \w+ \d+, \d{4}|timestamp: \d{13}"
)


def session(cwd, mode, *flags):
    """What the client saw in one session: lists, a write, a refusal, a question to its own model."""
    done = subprocess.run(
        [
            PROGRAMS / "node",
            SCRIPT,
            MODULES / "@modelcontextprotocol" / "client",
            mode,
            *server_command(*FLAGS, *flags),
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
def test_a_session_is_the_same_from_a_snapshot_and_without(tmp_path, mode, revision):
    """Handshake, lists, calls, errors and sampling, but for the time of the write."""
    seen = session(tmp_path, mode)
    assert seen["revision"] == revision
    assert "search_journal" in seen["tools"]
    assert "journal_toc" in seen["tools"]
    assert seen["refused"]["structuredContent"]["code"] == "invalid"
    assert seen["merged"]["structuredContent"]["made_by"] == "client"
    assert seen["asked"] == [1]
    plain = session(tmp_path, mode, "--plain")
    assert PASSING.sub("", json.dumps(seen)) == PASSING.sub("", json.dumps(plain))
