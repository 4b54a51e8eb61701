"""`commonplace setup` as a user calls it."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner

from commonplace.doors.cli import main


def setup(*words: str, code: int = 0) -> dict[str, Any]:
    """Run `commonplace setup`; what it says, as facts, and nothing where it fails."""
    run = CliRunner().invoke(main, ["setup", *words, "--json"])
    assert run.exit_code == code, run.output
    return dict(json.loads(run.stdout)) if run.stdout else {}
