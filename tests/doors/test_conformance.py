"""The protocol's own conformance suite over both servers; `make test-npm` installs it.

Each scenario passes, or stands below with the reason why it cannot.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from server.tests.http_world import HttpServer
from tests.doors.http_bridge import HttpBridge
from tests.doors.npm import PROGRAMS, needs_npm
from tests.patience import PATIENCE_S

pytestmark = needs_npm

RAN = re.compile(r"^([✓✗]) (\S+):", re.MULTILINE)
NOT_OFFERED = {
    "completion-complete": "our prompts take no arguments, and no page has a template",
    "http-custom-header-server-validation": "no tool of ours is annotated with a header",
    "json-schema-2020-12": "asks for a tool with $defs, which ours do without",
    "logging-set-level": "a client is sent no log: deprecated since 2026-07-28",
    "prompts-get-embedded-resource": "prompts are text",
    "prompts-get-with-args": "prompts take no arguments",
    "prompts-get-with-image": "prompts are text",
    "resources-read-binary": "pages are text",
    "resources-subscribe": "nothing that is offered changes while a server runs",
    "resources-templates-read": "no page has a template",
    "resources-unsubscribe": "nothing that is offered changes while a server runs",
    "server-sse-polling": "a stream is not taken up again: every answer is whole",
    "tools-call-audio": "results are text",
    "tools-call-elicitation": "no tool asks the user through the client",
    "tools-call-embedded-resource": "results are text",
    "tools-call-image": "results are text",
    "tools-call-mixed-content": "results are text",
    "tools-call-with-logging": "a client is sent no log",
    "tools-call-with-progress": "no call takes long enough to say how far it is",
    "elicitation-sep1034-defaults": "no tool asks the user through the client",
    "elicitation-sep1330-enums": "no tool asks the user through the client",
}
NEEDS_A_TOOL = re.compile(r"input-required-result-|server-stateless$")
"""Scenarios since 2026-07-28 of tools that ask the client, by names of the suite's own."""

NOT_OF_STDIO = {
    "dns-rebinding-protection": "of HTTP, which the bridge speaks",
    "http-header-validation": "of HTTP, which the bridge speaks",
    "server-session-lifecycle": "of HTTP, which the bridge speaks",
}
NOT_OF_SERVE = {
    "prompts-get-simple": "asks for a prompt of the suite's own",
    "resources-read-text": "asks for a page of the suite's own",
    "tools-call-sampling": "asks for a tool of the suite's own",
}


def ran(url, revision):
    """Each scenario that the suite ran, and whether it passed."""
    suite = [PROGRAMS / "node", PROGRAMS / "conformance", "server", "--suite", "all"]
    done = subprocess.run(
        [*suite, "--url", url, "--spec-version", revision],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    found = {name: mark == "✓" for mark, name in RAN.findall(done.stdout)}
    assert len(found) > 20, done.stdout + done.stderr
    return {name: passed for name, passed in found.items() if not NEEDS_A_TOOL.match(name)}


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_our_own_loop_passes_what_applies(revision):
    """Through a bridge, with the suite's own tools, page and prompt in place of ours."""
    command = [sys.executable, "-m", "tests.doors.conformance_server"]
    with HttpBridge(command, Path(__file__).parents[2]) as bridge:
        found = ran(bridge.url, revision)
    reasons = NOT_OFFERED | NOT_OF_STDIO
    assert {x for x, passed in found.items() if not passed} == found.keys() & reasons.keys()


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_serve_passes_what_applies(words_only, revision):
    """With the tools that a user has."""
    with HttpServer() as server:
        found = ran(server.url, revision)
    reasons = NOT_OFFERED | NOT_OF_SERVE
    assert {x for x, passed in found.items() if not passed} == found.keys() & reasons.keys()
