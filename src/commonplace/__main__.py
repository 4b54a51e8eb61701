"""The `commonplace` command, and `python -m commonplace`.

Never imports the command line before `mcp` and `hook` had the chance to answer without it.
"""

from __future__ import annotations

import os

# The first statement that runs: a parent that dies while we import must be noticed later.
PARENT = os.getppid()

import atexit
import gc
import sys

# `python -m` puts the working directory first, where a cloned repository may hold any module. What
# is found there before this line, a `commonplace.py` above all, only `python -P -m` passes over.
if __name__ == "__main__" and not sys.flags.safe_path:
    sys.path.pop(0)

# Python looks at 700 new objects: 70 times while modules are imported, which leave nothing to find.
_COLLECTED_AT = 50_000


def main() -> None:
    """Run the command line; `mcp` and `hook` begin before anything of it is imported."""
    _open_closed_streams()
    command, words = sys.argv[1:2], sys.argv[2:]
    if sys.argv[1:3] == ["chronicle", "mcp"]:
        command, words = ["mcp"], _of_chronicle_alone(words)
    if command in (["mcp"], ["serve"]):
        from commonplace.doors.interrupt import end_at_ctrl_c

        end_at_ctrl_c()
    if command == ["hook"]:
        from commonplace.doors.hooks.hook import serve as serve_hook

        serve_hook(sys.argv[2:])
    collect_rarely()
    if command == ["mcp"]:
        from commonplace.doors.stdio.start import serve_at_once

        serve_at_once(words, parent=PARENT)
    from commonplace.doors.cli import main as command_line

    command_line()


def _of_chronicle_alone(words: list[str]) -> list[str]:
    """What follows `mcp` in the command that `chronicle mcp`, or `chronicle mcp serve`, stands for.

    Words with `--toolsets` stay as they are, so that the command line refuses them.
    """
    rest = words[2:] if words[1:2] == ["serve"] else words[1:]
    if any(word.startswith("--toolsets") for word in rest):
        return words
    return ["--toolsets", "chronicle", *rest]


def _open_closed_streams() -> None:
    """Open a standard stream that the caller closed on the null device.

    Else a database would be given its number, and what a child process prints go into that file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115  stays open


def collect_rarely() -> None:
    """Let Python look for unreachable cycles seldom, and not at the end: a seventh of a command."""
    gc.set_threshold(_COLLECTED_AT)
    atexit.register(gc.freeze)


if __name__ == "__main__":
    main()
