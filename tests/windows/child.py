"""Runs commands for a test on Windows: reads and writes lines of JSON."""

from __future__ import annotations

import json
import sys
import traceback

import tests.windows.patient  # noqa: F401
from click.testing import CliRunner

from commonplace.doors.cli import main

for line in sys.stdin:
    words, given = json.loads(line)
    done = CliRunner().invoke(main, words, input=given)
    output = done.output
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        output += "".join(traceback.format_exception(done.exception))
    sys.stdout.write(json.dumps([done.exit_code, output]) + "\n")
    sys.stdout.flush()
