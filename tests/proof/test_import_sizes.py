"""A million entries, of another program and of an export of ours, are gone through in 300 MB."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

MILLION = 1_000_000
MOST_MB = 300

IMPORT = """
import atexit, re, sys
from pathlib import Path
from commonplace.doors.cli import main

def say_peak():
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    print(int(peak[1]) // 1024, file=sys.stderr)

atexit.register(say_peak)
main(["import", *sys.argv[1:], "--dry-run", "--json"])
"""

pytestmark = [
    pytest.mark.whole,
    pytest.mark.usefixtures("no_weights"),
    pytest.mark.skipif(
        not Path("/proc/self/status").exists(), reason="Linux alone says a peak without our own."
    ),
]


def looked_at(*words):
    """What a look at an import says, and how many MB its process took at the most."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), int(done.stderr.split()[-1])


def test_a_million_memories_of_another_program(tmp_path):
    """Each is parsed, screened, and looked for in the timeline; the last one as well."""
    path = tmp_path / "memories.json"
    with path.open("w") as file:
        file.write("[")
        for number in range(MILLION - 1):
            file.write(
                f'{{"id": "{number}", "memory": "At the harbour, for the {number}th time"}},\n'
            )
        file.write('{"id": "0", "memory": "The number of the first"}]')
    said, peak = looked_at("mem0", str(path))
    path.unlink()
    assert said["new"] == MILLION - 1
    assert [each["why"] for each in said["items"]] == ["another with the same id came before it"]
    assert peak <= MOST_MB


def test_a_million_entries_of_an_export(tmp_path):
    """Every line is checked, and every ref compared with those before it."""
    folder = tmp_path / "export"
    (folder / "chronicle").mkdir(parents=True)
    digest, size = hashlib.sha256(), 0
    with (folder / "chronicle" / "entries.jsonl").open("wb") as file:
        for number in range(MILLION):
            line = (
                f'{{"ref":"chronicle:00000000-0000-4000-8000-{number:012}",'
                f'"at":"2026-11-20T09:00:00Z","message":"deployed v{number}",'
                '"written":"2026-11-24T02:31:40Z","tags":["release"],"hostname":"host",'
                '"username":"ada","directory":"/srv/app"}\n'
            ).encode()
            file.write(line)
            digest.update(line)
            size += len(line)
    entries = {
        "name": "chronicle/entries.jsonl",
        "role": "entries",
        "items": MILLION,
        "size": size,
        "sha256": digest.hexdigest(),
    }
    manifest = {
        "format": "commonplace-export",
        "version": 1,
        "owner": "me",
        "zone": "UTC",
        "since": None,
        "journals": {"chronicle": MILLION},
        "files": [entries],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    said, peak = looked_at(str(folder))
    (folder / "chronicle" / "entries.jsonl").unlink()
    assert said["journals"]["chronicle"] == MILLION
    assert peak <= MOST_MB
