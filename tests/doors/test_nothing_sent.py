"""What commands ask of other machines: nothing, unless the user named one."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

USED = [
    ("log", "left the harbour", "--expires", "in 3 days"),
    ("private", "write", "--project-notes", "low at seven", "--user-context", "Tea."),
    ("notebook", "write", "boats", "Two of them.", "--overview", "# Boats"),
    ("timeline", "add", "moored", "--at", "2026-03-02 09:30"),
    ("memory", "save", "todo", "row ashore"),
    ("recall", "what of the harbour last spring"),
    ("when", "last left"),
    ("timeline", "show", "2026-03"),
    ("rollup", "--due"),
    ("reindex",),
    ("edit", "-1", "rowed ashore", "--yes"),
    ("undo", "--yes"),
    ("status",),
    ("brief",),
    ("doctor",),
    ("doctor", "--secrets"),
    ("import", "--all"),
    ("export", "out"),
    ("backup", "all.zip"),
    ("setup", "cursor"),
    ("model", "status"),
    ("forget", "--query", "ashore", "--before", "now", "--yes"),
    ("mcp",),
]
ASKED = [
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {
        "id": 2,
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": "harbour"}},
    },
]
NETWORK = ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname")
LISTENING = f"""
import json, os, sys
notes = os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
def note(what):
    os.write(notes, (json.dumps(what) + chr(10)).encode())
sys.addaudithook(lambda event, args: note([event, str(args)]) if event in {NETWORK} else None)
from commonplace.doors.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as ended:
        if ended.code:
            note([*words, ended.code])
"""


@pytest.mark.usefixtures("small_weights")
def test_no_command_asks_another_machine(tmp_path, counted):
    """Journals, searches, summaries, copies, a session: no name is looked up, none connected to."""
    said = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in ASKED)
    ran = subprocess.run(
        [sys.executable, "-P", "-c", LISTENING, json.dumps(USED), str(tmp_path / "notes")],
        input=said,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "left the harbour" in ran.stdout.splitlines()[-1]
    assert (tmp_path / "notes").read_text() == "", ran.stderr
    counted("commands that ask no other machine", len(USED))
