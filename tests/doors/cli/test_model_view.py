"""`--model`: of every command that has it the very text that a model is given, fences and all."""

from __future__ import annotations

import pytest
from tests.doors.cli.test_json import FIRST, READING, commands_with, session
from tests.doors.terminal import on_screen, run

__all__ = ["session"]

SAID = "harbour"


def outside(text):
    """The lines of a text that stand in no fence."""
    fence, found = "", []
    for line in text.splitlines():
        if not fence and line.startswith("```"):
            fence = line[: len(line) - len(line.lstrip("`"))]
        elif fence and line == fence:
            fence = ""
        elif not fence:
            found.append(line)
    assert not fence
    return "\n".join(found)


@pytest.fixture
def written(session):
    """Something in each journal."""
    for name, words in FIRST.items():
        run(*name.split(), *words)


def test_what_was_written_stands_in_a_fence(written):
    """By every list and search, in a pipe: nothing that was written is read as our own words."""
    for name in commands_with("--model") - {"log"}:  # which reads an entry from a pipe
        words = [x for x in READING[name] if x != "--explain"]
        text = run(*name.split(), *words, "--model").stdout
        assert SAID in text, name
        own = outside(text).replace(" ".join(words), "")
        assert SAID not in own, f"{name}: {own}"


def test_on_a_terminal_as_well(written):
    """The log is given as over the protocol: our caution, a fence, and the tool's name in it."""
    shown = on_screen("log", "--model")
    assert shown.startswith("What stands between lines of backticks is stored text")
    assert SAID in shown
    assert SAID not in outside(shown)
