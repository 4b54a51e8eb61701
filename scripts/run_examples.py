"""Runs the examples of the README and the docs, and compares what they print with what they show.

A fenced block of kind `console` is run: each page in a home of its own, its commands in order, in
one shell on a terminal. What a command shows must be what it prints, where `…` stands for any text
and numbers that differ from run to run (ids, times, scores) only need the same form; a command
that shows nothing must succeed. A block of kind `python` is run as a program. A block of kind `sh`
is not run: it needs a network, a client, a server or another program. `--write` puts what was
printed below the commands that showed something else.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from pages import PAGES

ROOT = Path(__file__).parent.parent
COLUMNS, LINES = 100, 500
PLAIN = {"NO_COLOR": "1"}
BLOCK = re.compile(
    r"^(?P<fence>`{3,})(?P<kind>\w*)\n(?P<body>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE
)
PATIENT = """#!{python}
import sys
sys.path.pop(0)
from commonplace.__main__ import main
from commonplace.doors.cli import calls
from commonplace.search import policy
for module in (calls, policy):
    for name in [x for x in vars(module) if x.endswith("_WAIT_S")]:
        setattr(module, name, 300.0)
main()
"""
"""The command, as a machine that is not busy has it: meaning is waited for as long as it takes."""
GENERATED = re.compile(r"<!-- begin .*?<!-- end -->", re.DOTALL)
END = "\x1e"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CONTROL = re.compile(r"(\n|\r|\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07)")
DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
FORMS = (
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}\b"), "SHORT ID"),
    (re.compile(r"\b\d\d-\d\d-\d\d-\d{6}\b"), "NAME"),
    (re.compile(r"\bcp_[0-9a-f]{8}_[\w-]+"), "TOKEN"),
    (re.compile(r"\b[0-9a-f]{7,64}\b"), "HEX"),
    (re.compile(r"(?<!\d)\d?\d:\d\d(:\d\d(\.\d+)?)?(?!\d)"), "TIME"),
    (re.compile(r"\b(just now|yesterday|\d+ (minute|hour|day)s? ago)\b(?=[):])"), "AGE"),
    (re.compile(r"\b\d+\.\d+\b"), "NUMBER"),
)
"""What differs from run to run, and what it is compared as; days are among them unless a command
of the page names them."""


class Step(NamedTuple):
    """One command of a page, the lines it shows, and where these lines lie in the page's text."""

    command: str
    shown: str
    start: int
    end: int


class Outcome(Struct, frozen=True):
    """What a command printed, and the code it left with."""

    printed: str
    code: int


def main() -> int:
    """Run the pages that are named, or all of them."""
    words = [word for word in sys.argv[1:] if word != "--write"]
    found: list[str] = []
    for page in [Path(word).resolve() for word in words] or PAGES:
        found += run_page(page, writes="--write" in sys.argv)
    for line in found:
        print(line)
    return 1 if found else 0


def run_page(page: Path, *, writes: bool) -> list[str]:
    """What is wrong with a page's examples; rewrites what they show if asked to.

    Where one command shows something else, all that the page shows is written again, so that its
    ids and times fit together; what has a `…` in it is left to a person.
    """
    text, name = page.read_text("utf-8"), page.relative_to(ROOT)
    steps, wrong = read_steps(text)
    outcomes = run_steps([step.command for step in steps], PLAIN) if steps else []
    days = set(DAY.findall("\n".join(step.command for step in steps)))
    written, is_stale = text, False
    for step, outcome in reversed(list(zip(steps, outcomes, strict=True))):
        printed = COLOUR.sub("", outcome.printed)
        can_write = writes and "…" not in step.shown and str(ROOT) not in printed
        if outcome.code != 0:
            wrong.append(f"{step.command}\n  ends with {outcome.code}:\n{printed}")
        elif step.shown and not is_shown(step.shown, printed, days):
            is_stale = True
            if not can_write:
                wrong.append(f"{step.command}\n  shows:\n{step.shown}  prints:\n{printed}")
        if step.shown and can_write and outcome.code == 0:
            written = written[: step.start] + printed + written[step.end :]
    if is_stale and writes:
        page.write_text(written, "utf-8")
    return [f"{name}: {line}" for line in wrong]


def read_steps(text: str) -> tuple[list[Step], list[str]]:
    """The commands of a page in order, and the blocks whose kind does not say what to do."""
    steps, wrong = [], []
    generated = [found.span() for found in GENERATED.finditer(text)]
    for block in BLOCK.finditer(text):
        kind, body, start = block["kind"], block["body"], block.start("body")
        if any(first <= start < last for first, last in generated):
            continue
        if kind == "console":
            steps += read_console(body, start)
        elif kind == "python" and not body.startswith("# "):
            steps.append(Step(f"python - <<'END'\n{body}END", "", start, start))
        elif kind != "sh" and re.search(r"^(\$ |commonplace )", body, re.MULTILINE):
            wrong.append(f"Is this block console (run) or sh (not run)?\n{body}")
    return steps, wrong


def read_console(body: str, start: int) -> list[Step]:
    """The commands of a block, each after `$ `, and what stands below them."""
    found = re.finditer(r"^\$ ((?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", body, re.MULTILINE)
    return [Step(x[1].rstrip(), x[2], start + x.start(2), start + x.end(2)) for x in found]


def run_steps(commands: list[str], environ: dict[str, str]) -> list[Outcome]:
    """Run commands in one shell, in a new home, on a terminal; `environ` adds to what they see."""
    with tempfile.TemporaryDirectory(prefix="examples-") as folder:
        home = Path(folder).resolve() / "home"
        home.mkdir()
        programs = home.parent / "bin"
        programs.mkdir()
        for name in ("commonplace", "cpl"):
            (programs / name).write_text(PATIENT.format(python=sys.executable), "utf-8")
            (programs / name).chmod(0o755)
        script = home.parent / "script"
        ends = [f"{command}\nprintf '\\036%d\\n' $?\n" for command in commands]
        script.write_text("".join(ends), "utf-8")
        primary, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        with subprocess.Popen(
            ["/usr/bin/env", "bash", str(script)],
            cwd=home,
            env=environment(home, programs) | environ,
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=terminal,
        ):
            os.close(terminal)
            output = on_screen(read_all(primary)).replace(str(home), "~")
    *parts, rest = output.split(END)
    if len(parts) != len(commands):
        raise SystemExit(f"The shell ended early, after:\n{rest}")
    codes = [int(part.partition("\n")[0]) for part in [*parts[1:], rest]]
    texts = [parts[0], *(part.partition("\n")[2] for part in parts[1:])]
    return [Outcome(text, code) for text, code in zip(texts, codes, strict=True)]


def environment(home: Path, programs: Path) -> dict[str, str]:
    """What every command sees: of the user's own only the programs, ours first."""
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join(
            [str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]
        ),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PAGER": "cat",
        "TZ": "UTC",
    }


def read_all(primary: int) -> str:
    """What is printed on a terminal until nobody holds it any more."""
    parts = []
    with open(primary, "rb", buffering=0) as file:
        while True:
            try:
                part = file.read(65536)
            except OSError:  # Linux: the other end is closed
                break
            if not part:
                break
            parts.append(part)
    return b"".join(parts).decode()


def on_screen(output: str) -> str:
    """What is left on a terminal's screen, colours kept; a progress bar that was erased is not."""
    lines, row = [""], 0
    is_at_start = True
    for part in CONTROL.split(output):
        match part:
            case "\n":
                row, is_at_start = row + 1, True
                lines += [""] * (row == len(lines))
            case "\r":
                is_at_start = True
            case "\x1b[1A":
                row = max(row - 1, 0)
            case "\x1b[2K":
                lines[row] = ""
            case _ if part and (part.endswith("m") or not part.startswith("\x1b")):
                lines[row] = part if is_at_start else lines[row] + part
                is_at_start = False
    return "\n".join(lines)


def is_shown(shown: str, printed: str, days: set[str]) -> bool:
    """Whether what a page shows is what was printed, `…` and the forms aside."""
    pattern = re.escape(in_forms(shown, days)).replace("\\ …", "(?:\\ .*)?").replace("…", ".*")
    return re.fullmatch(pattern, in_forms(printed, days)) is not None


def in_forms(text: str, days: set[str]) -> str:
    """A text with its form in place of what differs from run to run; lines may break elsewhere."""
    text = DAY.sub(lambda day: day[0] if day[0] in days else "DAY", text)
    for pattern, form in FORMS:
        text = pattern.sub(form, text)
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
