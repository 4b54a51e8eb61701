"""Writes a small home by the program that runs it, so that later versions prove that they read it.

One is made at each release, and never altered: `tests/app/test_golden_homes.py` opens them all.
Uses the commands that every version has, each as a person types it. The name of the machine stands
in the log: `unshare --uts` gives another.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

COMMANDS = (
    ("log", "Moved the site to Hetzner", "-t", "hosting", "--at", "2026-03-27 09:30"),
    ("log", "Renewed the certificate", "-t", "hosting", "--at", "2026-04-02 17:05"),
    ("log", "Told the customers", "--idempotency-key", "golden", "--at", "2026-04-03 10:00"),
    ("private", "write", "--feelings", "Glad that the move is over.", "--at", "2026-03-27 18:00"),
    (
        "private",
        "write",
        "--project-notes",
        "The deploy key lies in the safe.",
        "--at",
        "2026-03-28 08:00",
    ),
    (
        "notebook",
        "write",
        "hosting",
        "We left Fly for its outages.",
        "--overview",
        "The site is at Hetzner.",
    ),
    (
        "notebook",
        "write",
        "hosting/dns",
        "The zone is with the registrar.",
        "--overview",
        "DNS is simple.",
    ),
    (
        "timeline",
        "add",
        "Signed the contract with Hetzner",
        "--at",
        "2026-03-26 11:00",
        "-p",
        "site",
    ),
    ("timeline", "add", "Paid the first invoice", "--at", "2026-04-30 12:00", "-t", "money"),
    ("memory", "save", "message", "--role", "user", "--text", "I prefer short answers."),
    ("memory", "save", "todo", "--title", "Cancel the account at Fly"),
    ("memory", "save", "preference", "--language", "German"),
    ("rollup", "--due"),
    ("recall", "where is the site hosted"),
)
"""What is typed, in this order."""


def main() -> int:
    """Write the home into the file that is named; 1 where a command fails."""
    target = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as made:
        home, work = Path(made), Path(made, "site")
        work.mkdir()
        subprocess.run(["git", "init", "-q", str(work)], check=True)  # noqa: S607  the machine's own git
        names = {"DATA": ".local/share", "CONFIG": ".config", "STATE": ".local/state"}
        env = {x: y for x, y in os.environ.items() if not x.startswith(("COMMONPLACE", "XDG"))}
        env |= {f"XDG_{name}_HOME": str(home / path) for name, path in names.items()}
        env |= {"HOME": str(home), "TZ": "UTC", "COMMONPLACE_TIMEZONE": "UTC"}
        env |= {"USER": "ann", "LOGNAME": "ann"}  # the log names who logs
        for words in COMMANDS:
            done = subprocess.run(
                [sys.executable, "-m", "commonplace", *words],
                cwd=work,
                env=env,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                print(f"{' '.join(words)}: {done.stderr}", file=sys.stderr)
                return 1
        with tarfile.open(target, "w:xz") as archive:
            for path in sorted(home.rglob("*")):
                is_theirs = {"models", "hooks"} & {*path.relative_to(home).parts}
                if not path.is_symlink() and not is_theirs:
                    archive.add(path, path.relative_to(home), recursive=False)
    print(f"{target.name}: {target.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
