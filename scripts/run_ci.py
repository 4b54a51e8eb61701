"""Runs what CI runs, two steps at a time where one of them waits, and says what each cost.

Judges processor seconds, never the clock; never changes a file but the budget, when asked.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).parent.parent
BUDGET = ROOT / ".ci" / "budget.json"
MOST_OVER = 1.25
SLOWEST = 20
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
_STEPS = {"check", "test", "long", "npm", "browser", "site"}
_WITH_BUDGET = _STEPS | {f"python{x}" for x in VERSIONS}
_FLOOR_ROUNDS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a step took.

    Attributes:
        step: Its name.
        wall_s: How long it took by the clock, seconds.
        processor_s: Processor time of its processes, seconds; of those that outlive their
            parents, such as a database server, nothing.
        floor_s: Processor time of a fixed piece of work beside it: how slow the machine was.
        is_passed: Whether it ended well.
    """

    step: str
    wall_s: float
    processor_s: float
    floor_s: float
    is_passed: bool


class Run:
    """The steps of one run, and what they cost."""

    def __init__(self, folder: Path) -> None:
        """Begin a run.

        Args:
            folder: Where the reports of the steps' tests lie.
        """
        self.costs: list[Cost] = []
        self._folder = folder
        self._printing = threading.Lock()
        # The order of the tests follows from the commit: another commit tries another, and the
        # same one fails again where it failed.
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607  the machine's own git
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        self._seed = int(head.stdout[:7], 16)

    def make(self, step: str, *words: str, is_shown: bool = True) -> None:
        """Run `make`, and note what it cost.

        Args:
            step: The name of the step.
            words: What make is given.
            is_shown: Whether the output is shown while it runs; else when it has ended.
        """
        options = f"--randomly-seed={self._seed} --junitxml={self._folder / step}.xml"
        command = ["make", *words, f"OPTIONS={options}"]
        before = floor_s()
        began = time.monotonic()
        if is_shown:
            self._say(f"== {step}")
            code, processor_s = _run(command, None)
        else:
            with tempfile.TemporaryFile() as output:
                code, processor_s = _run(command, output.fileno())
                output.seek(0)
                self._say(f"== {step}\n{output.read().decode('utf-8', 'replace')}")
        cost = Cost(
            step=step,
            wall_s=time.monotonic() - began,
            processor_s=processor_s,
            floor_s=(before + floor_s()) / 2,
            is_passed=code == 0,
        )
        self.costs.append(cost)
        ending = "passed" if cost.is_passed else f"FAILED with {code}"
        self._say(f"== {step} {ending}: {cost.wall_s / 60:.1f} min, {processor_s:.0f} processor s")

    def slowest(self) -> list[tuple[float, str]]:
        """The tests that took longest by the clock: seconds and `step: test`."""
        found = []
        for report in self._folder.glob("*.xml"):
            for case in ET.parse(report).iter("testcase"):  # noqa: S314  our own tests wrote it
                name = f"{report.stem}: {case.get('classname')}::{case.get('name')}"
                found.append((float(case.get("time", 0)), name))
        return sorted(found, reverse=True)[:SLOWEST]

    def _say(self, text: str) -> None:
        with self._printing:
            print(text, flush=True)


def _run(command: Sequence[str], output: int | None) -> tuple[int, float]:
    """Run a command; its exit code, and the processor seconds of all that it waited for."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output and subprocess.STDOUT,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def floor_s() -> float:
    """The processor seconds of a fixed piece of work, which are more on a slower machine."""
    began = time.thread_time()
    total = 0
    for number in range(_FLOOR_ROUNDS):
        total += number & 7
    return time.thread_time() - began


def find_python(version: str) -> str | None:
    """The first program that runs and says that it is of this version; a shim may run nothing."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [Path(x) for x in os.environ.get("PATH", "").split(os.pathsep) if x]
    places = [folder / f"python{version}" for folder in folders]
    places += sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
    return next((str(x) for x in places if x.exists() and version_of(str(x)) == version), None)


def version_of(python: str) -> str:
    """The version of a Python, such as 3.13; empty where it does not run."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def run_all(run: Run) -> str:
    """Run every step; what was tested on which Python, in a sentence.

    Steps run side by side where one of them waits: downloads beside the checks and the suite, and
    the clients and the browser, which use one core, beside the long part.
    """
    run.make("ready", ".venv/.weights")
    if not run.costs[0].is_passed:
        return "Nothing was tested: there is no environment to test in."
    tested = version_of(str(ROOT / ".venv/bin/python"))
    others = {x: python for x in VERSIONS if x != tested and (python := find_python(x))}
    absent = [x for x in VERSIONS if x != tested and x not in others]
    newest = max(others, key=lambda x: int(x[2:]), default="")

    def core(version: str, *, is_shown: bool) -> None:
        place = f"VENV=.venv/python{version}"
        which = "test-core" if version == newest else "test-version"
        run.make(f"python{version}", which, f"PYTHON={others[version]}", place, is_shown=is_shown)

    def download() -> None:
        run.make("download", "-k", "downloads", is_shown=False)
        for version, python in others.items():
            words = (f"PYTHON={python}", f"VENV=.venv/python{version}")
            name = f".venv/python{version}/.weights"
            run.make(f"ready{version}", name, *words, is_shown=False)

    with ThreadPoolExecutor(max_workers=1) as pool:
        beside = pool.submit(download)
        run.make("check", "check")
        run.make("test", "test")
        beside.result()
    run.make("site", "site")
    run.make("extras", "extras")

    def at_one_core() -> None:
        run.make("npm", "test-npm", is_shown=False)
        run.make("browser", "test-browser", is_shown=False)
        for version in others:
            if version != newest:
                core(version, is_shown=False)

    with ThreadPoolExecutor(max_workers=1) as pool:
        beside = pool.submit(at_one_core)
        run.make("long", "test-long")
        if newest:
            core(newest, is_shown=True)
        beside.result()
    names = ", ".join([tested, *others])
    return f"Tested on Python {names}; not on this machine: {', '.join(absent) or 'none'}."


def over_budget(costs: Iterable[Cost], budget: dict[str, float], floor: float) -> list[str]:
    """A sentence for each step that took more of the processor than it may.

    Args:
        costs: What the steps took.
        budget: Processor seconds of each step, as they were recorded.
        floor: The floor when they were recorded; a step on a slower machine may take more.
    """
    found = []
    for cost in costs:
        allowed = budget.get(cost.step, 0.0) * MOST_OVER * max(1.0, cost.floor_s / floor)
        if cost.step in budget and cost.processor_s > allowed:
            found.append(
                f"{cost.step} took {cost.processor_s:.0f} processor seconds, and may take "
                f"{allowed:.0f}: make it cheaper, or record a new budget with "
                "`.ci/run --record` and say why."
            )
    return found


def print_table(costs: Iterable[Cost], budget: dict[str, float]) -> None:
    """Print minutes and processor seconds of each step, beside its budget."""
    print(f"{'step':12} {'min':>6} {'processor s':>12} {'budget':>7} {'floor ms':>9}")
    for cost in costs:
        allowed = f"{budget[cost.step]:.0f}" if cost.step in budget else "-"
        line = f"{cost.step:12} {cost.wall_s / 60:6.1f} {cost.processor_s:12.0f}"
        print(f"{line} {allowed:>7} {cost.floor_s * 1000:9.0f}")


def record(costs: Sequence[Cost]) -> None:
    """Write what the steps took as their budget; downloads have none."""
    tested = [x for x in costs if x.step in _WITH_BUDGET]
    steps = {x.step: round(x.processor_s) for x in sorted(tested, key=lambda x: x.step)}
    floor = round(sum(x.floor_s for x in tested) / len(tested), 4)
    BUDGET.write_text(json.dumps({"floor_s": floor, "steps": steps}, indent=2) + "\n", "utf-8")


def main() -> int:
    """Run CI; 1 where a step failed or took more of the processor than its budget."""
    parser = argparse.ArgumentParser(prog=".ci/run", description="Run what CI runs.")
    parser.add_argument(
        "--record", action="store_true", help="Write what the steps took as their new budget."
    )
    is_recording = parser.parse_args().record
    began = time.monotonic()
    recorded = json.loads(BUDGET.read_text("utf-8")) if BUDGET.exists() else {"steps": {}}
    with tempfile.TemporaryDirectory(prefix="commonplace-ci-") as folder:
        run = Run(Path(folder))
        say = partial(print, flush=True)
        tested = run_all(run)
        say("\nThe slowest tests, in seconds:")
        for seconds, name in run.slowest():
            say(f"{seconds:7.1f} {name}")
    say("")
    print_table(run.costs, recorded["steps"])
    say(f"{'all':12} {(time.monotonic() - began) / 60:6.1f}")
    say(tested)
    faults = [f"{x.step} failed." for x in run.costs if not x.is_passed]
    if is_recording and not faults:
        record(run.costs)
    elif not is_recording and recorded["steps"]:
        faults += over_budget(run.costs, recorded["steps"], recorded["floor_s"])
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
