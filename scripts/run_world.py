"""Runs the tests of clients with the newest version of each, and sessions of older SDKs.

Prints what differs from the pinned versions, and how far each client came in one story of sessions;
ends with 1 where something fails. Not part of CI: what is published today is no fault of a change.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from argparse import ArgumentParser
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".tools" / "world"
PINNED = ROOT / "requirements" / "clients" / "package.json"
SDKS = {
    "2025-06-18": ["mcp>=1.10,<1.14", "pydantic<2.12"],
    "2025-11-25": ["mcp>=1.23,<2"],
    "2026-07-28": ["mcp>=2,<3"],
}
"""For each revision the versions of the official SDK for Python that speak it as their newest."""

CLIENTS = {
    "claude-code": ("Claude Code", "@anthropic-ai/claude-code"),
    "codex": ("Codex", "@openai/codex"),
    "gemini": ("Gemini CLI", "@google/gemini-cli"),
    "opencode": ("OpenCode", "opencode-ai"),
}
"""Each client of which the story is told: its title, and its package."""

STORY = "tests/doors/test_real_clients.py"
ELSEWHERE = {"CP_TEST_CLIENTS": FOLDER.name}  # the tests forget variables named `COMMONPLACE_…`


def main() -> int:
    """Install, compare, run."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--load",
        type=int,
        default=0,
        help="So many processes keep the machine busy; only SDKs and stories are run then.",
    )
    load = parser.parse_args().load
    pinned = json.loads(PINNED.read_text("utf-8"))["dependencies"]
    newest = install(pinned)
    for name, version in pinned.items():
        same = "" if newest[name] == version else f"  (pinned: {version})"
        print(f"{name} {newest[name]}{same}", flush=True)
    report = FOLDER / "report.xml"
    with busy(load):
        failed = [
            revision for revision, packages in SDKS.items() if not sdk_session(revision, packages)
        ]
        words = [sys.executable, "-m", "pytest", "-m", "npm", "-n0", "-q"]
        # Properties of a test are in the former shape of the report alone.
        words += [f"--junitxml={report}", "-o", "junit_family=xunit1"]
        words += [STORY] if load else ["tests/doors", "server/tests"]
        tested = subprocess.run(words, cwd=ROOT, env={**os.environ, **ELSEWHERE}, check=False)
    print(table(report, newest))
    return 1 if failed or tested.returncode else 0


def table(report: Path, newest: Mapping[str, str]) -> str:
    """How far each client came in the story, as docs/clients.md shows it.

    Args:
        report: What pytest wrote, with a property `client|step|outcome` for each step.
        newest: The version of each package.
    """
    seen: dict[str, dict[str, str]] = {name: {} for name in CLIENTS}
    for each in ET.parse(report).iter("property"):  # noqa: S314  our own tests wrote it
        if each.get("name") == "seen":
            client, step, outcome = str(each.get("value")).split("|")
            seen[client][step] = outcome
    steps = [*dict.fromkeys(step for outcomes in seen.values() for step in outcomes)]
    titles = [f"{title} {newest[package]}" for title, package in CLIENTS.values()]
    lines = [f"| what | {' | '.join(titles)} |", f"|---|{'---|' * len(titles)}"]
    lines += [
        f"| {step} | {' | '.join(seen[name].get(step, 'failed') for name in CLIENTS)} |"
        for step in steps
    ]
    return "\n".join(lines)


def install(pinned: dict[str, str]) -> dict[str, str]:
    """Install the newest version of each client; what they are."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    packages = [f"{name}@latest" for name in pinned]
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(FOLDER)]
    subprocess.run([*npm, *packages], cwd=FOLDER, check=True)
    return {
        name: json.loads((FOLDER / "node_modules" / name / "package.json").read_text("utf-8"))[
            "version"
        ]
        for name in pinned
    }


def sdk_session(revision: str, packages: Sequence[str]) -> bool:
    """Whether the SDK's own client opens a session of this revision, lists, writes and finds."""
    place = FOLDER / f"sdk-{revision}"
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    script = ROOT / "tests" / "doors" / "sdk_client.py"
    done = subprocess.run(
        [python, script, sys.executable, FOLDER / f"home-{revision}"],
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout.strip() or done.stderr.strip().rpartition("\n")[2]
    print(f"SDK of {revision}: {said}", flush=True)
    return done.returncode == 0 and said.startswith(revision)


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep the machine busy with so many processes."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


if __name__ == "__main__":
    raise SystemExit(main())
