"""What importing sessions costs: against reading their lines at all, and in memory.

Never measures in this process: each import runs in one of its own, into a home of its own.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from msgspec import Struct

from bench.corpus import make_lines
from bench.figures import Figure, Spread
from commonplace.journals.transcripts.copying import Kept
from commonplace.journals.transcripts.store import TranscriptStore
from commonplace.verbs.transcripts.importing import TranscriptImport

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARE = 8.0
"""An import may take this many times what it takes to read each line as JSON."""

GIGABYTE_S = 60.0
PEAK_MB = 200.0
AGAIN_S = 1.0

_FIRST = datetime(2026, 1, 1, 9, tzinfo=UTC)
_TOOLS = ("Bash", "Read", "Edit", "Grep")


class Sizes(Struct, frozen=True, kw_only=True):
    """How large and how often. megabytes: of the sessions that are imported."""

    megabytes: int
    times: int


def transcript_figures(sizes: Sizes, scratch: Path) -> Iterator[Figure]:
    """The import's figures; reading alone takes turns with it."""
    home = scratch / "home"
    size = make_sessions(home, megabytes=sizes.megabytes)
    floors, imports, again = [], [], []
    for number in range(sizes.times):
        floors.append(_run("read", home))
        into = scratch / f"kept-{number}"
        imports.append(_run("import", home, into))
        again.append(_run("import", home, into))
        shutil.rmtree(into)
    floor = Spread.of([each["cpu_s"] for each in floors])
    took = Spread.of([each["cpu_s"] for each in imports])
    what = f"{sizes.megabytes:,} MB of sessions"
    count = f"{imports[0]['messages']:,.0f} messages, each kept; counted first, then copied."
    yield Figure(
        name=f"import of {what}",
        unit="s",
        measured=took,
        floor=floor,
        limit=floor.median * SHARE,
        rule=f"{SHARE:g} times reading each line as JSON",
        note=f"user and system time; {count}",
    )
    yield _plain("that, for 1 GB", "s", [x["cpu_s"] * 1e9 / size for x in imports], GIGABYTE_S)
    yield _plain("peak memory of that", "MB", [x["peak_mb"] for x in imports], PEAK_MB)
    yield _plain("again with nothing new", "s", [x["cpu_s"] for x in again], AGAIN_S)


def _plain(name: str, unit: str, values: list[float], limit: float) -> Figure:
    rule = f"{limit:g} {unit}"
    spread = Spread.of(values)
    return Figure(name=name, unit=unit, measured=spread, floor=None, limit=limit, rule=rule)


def make_sessions(home: Path, *, megabytes: int) -> int:
    """Sessions as Claude Code keeps them, until they are so large; the same each time. Their size.

    Most of what such a file holds is thoughts and what tools were given and answered.
    """
    size, number = 0, 0
    lines = make_lines(seed=71)
    choice = random.Random(71)  # noqa: S311  the same each time
    while size < megabytes * 1_000_000:
        number += 1
        session = str(UUID(int=choice.getrandbits(128)))
        path = home / ".claude" / "projects" / f"-project-{number % 20}" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        at = _FIRST + timedelta(hours=number)
        said = _session(session, at, lines, choice)
        size += path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in said))
    return size


def _session(
    session: str, at: datetime, lines: Iterator[str], choice: random.Random
) -> Iterator[dict[str, object]]:
    def line(role: str, *blocks: dict[str, object], **more: object) -> dict[str, object]:
        nonlocal at
        at += timedelta(seconds=choice.randint(1, 40))
        return {
            "parentUuid": None,
            "isSidechain": False,
            "cwd": "/home/user/project",
            "sessionId": session,
            "version": "2.1.197",
            "gitBranch": "main",
            "type": role,
            "message": {"role": role, "content": blocks},
            "uuid": str(UUID(int=choice.getrandbits(128))),
            "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            **more,
        }

    def words(most: int) -> str:
        return "\n".join(next(lines) for _ in range(choice.randint(1, most)))

    for turn in range(choice.randint(5, 60)):
        yield line("user", {"type": "text", "text": words(8)})
        yield line("assistant", {"type": "thinking", "thinking": words(12), "signature": "x" * 300})
        yield line("assistant", {"type": "text", "text": words(16)})
        for call in range(choice.randint(1, 6)):
            key = f"toolu_{turn}_{call}"
            called: dict[str, object] = {"type": "tool_use", "id": key}
            called |= {"name": choice.choice(_TOOLS), "input": {"command": words(2)}}
            yield line("assistant", called)
            output = words(120)
            answer: dict[str, object] = {"type": "tool_result", "tool_use_id": key}
            answer["content"] = output
            yield line("user", answer, toolUseResult={"stdout": output, "stderr": ""})


def _run(what: str, *folders: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.transcripts", what, *map(str, folders)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def import_all(home: Path, into: Path) -> float:
    """Import all sessions of a home as the command does, without the index; how many messages."""
    store = TranscriptStore(str(into))
    try:
        importing = TranscriptImport(store, Kept(), home=str(home), environ={})
        originals = importing.find("claude-code")
        importing.plan(originals)
        return sum(each.messages for each in importing.run(originals))
    finally:
        store.close()


def read_all(home: Path) -> float:
    """Read each line of all sessions as JSON; how many lines."""
    count = 0
    for path in sorted(home.rglob("*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                json.loads(line)
                count += 1
    return count


def _main() -> None:
    what, *folders = sys.argv[1:]
    began = time.process_time()
    count = read_all(Path(folders[0])) if what == "read" else import_all(*map(Path, folders))
    cpu = time.process_time() - began
    status = Path("/proc/self/status")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if status.exists():  # ru_maxrss counts what the parent held as well
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        peak = int(lines["VmHWM"].split()[0]) / 1024
    print(json.dumps({"messages": count, "cpu_s": cpu, "peak_mb": peak}))


if __name__ == "__main__":
    _main()
