"""How fast the tools are whose formats we share, beside ours: in turn, over copies of one home.

Never installs one: an original that is not named is left out, with a word on how to name it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from bench.corpus import make_questions, make_texts
from bench.figures import Figure, Spread
from bench.homes import Home, encoded_home
from bench.logs import seen_home
from bench.sessions import OURS, session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bench.sessions import Session

_WARM = 2
_LONGEST_WORDS = 120


class Sizes(NamedTuple):
    """How many entries there are, and how often each thing is done."""

    entries: int
    starts: int
    writes: int
    questions: int


class Original(NamedTuple):
    """A program over the same files, and the tools that both it and we have.

    variable: the environment variable that holds the command of its server. home: makes one of so
    many entries.
    """

    name: str
    variable: str
    home: Callable[[Path, int], Home]
    write: tuple[str, str]
    search: tuple[str, str]


ORIGINALS = (
    Original(
        name="private-journal-mcp",
        variable="PRIVATE_JOURNAL_MCP",
        home=encoded_home,
        write=("process_thoughts", "technical_insights"),
        search=("search_journal", "query"),
    ),
    Original(
        name="chronicle's own tool",
        variable="CHRONICLE_MCP",
        home=seen_home,
        write=("add_entry", "message"),
        search=("search_entries", "text"),
    ),
)


def find_command(original: Original, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command of its server, as the user names it; empty where none is named."""
    return tuple(shlex.split(environ.get(original.variable, "")))


def original_figures(sizes: Sizes, cache: Path, scratch: Path) -> Iterator[Figure]:
    """A start, writes and warm searches of each original that is named, and of ours, in turn."""
    for original in ORIGINALS:
        command = find_command(original, os.environ)
        if not command:
            how = f"{original.variable} names no command that starts its server."
            print(f"{original.name} is left out: {how}", file=sys.stderr)
            continue
        home = original.home(cache, sizes.entries)
        places = [_copy(home, scratch / f"{original.variable}-{n}") for n in range(2)]
        yield from _beside(original, (OURS, command), places, sizes)


def _beside(
    original: Original,
    commands: tuple[tuple[str, ...], tuple[str, ...]],
    places: Sequence[Home],
    sizes: Sizes,
) -> Iterator[Figure]:
    texts = list(islice(make_texts(seed=11, longest=_LONGEST_WORDS), sizes.writes + _WARM))
    questions = make_questions(sizes.questions + _WARM)
    started: tuple[list[float], list[float]] = ([], [])
    for _ in range(sizes.starts):
        for spent, command, place in zip(started, commands, places, strict=True):
            with session(command, place) as one:
                one.initialize()
                _answer(one, original.search, questions[0])
                spent.append(one.ms())
    yield _figure(original, "start -> first search", started)
    with session(commands[0], places[0]) as ours, session(commands[1], places[1]) as theirs:
        for one in (ours, theirs):
            one.initialize()
        written = _in_turn((ours, theirs), original.write, texts)
        yield _figure(original, "write", written)
        searched = _in_turn((ours, theirs), original.search, questions)
        yield _figure(original, "warm search", searched)


def _in_turn(
    both: tuple[Session, Session], tool: tuple[str, str], given: Sequence[str]
) -> tuple[list[float], list[float]]:
    took: tuple[list[float], list[float]] = ([], [])
    for text in given:
        for spent, one in zip(took, both, strict=True):
            began = time.perf_counter()
            _answer(one, tool, text)
            spent.append((time.perf_counter() - began) * 1000)
    return took[0][_WARM:], took[1][_WARM:]


def _answer(one: Session, tool: tuple[str, str], text: str) -> None:
    name, argument = tool
    answer = one.ask("tools/call", {"name": name, "arguments": {argument: text}})
    if answer.get("isError"):
        sys.exit(f"{name} failed: {answer['content'][0]['text']}")


def _figure(original: Original, what: str, took: tuple[list[float], list[float]]) -> Figure:
    floor = Spread.of(took[1])
    return Figure(
        name=f"{what}, beside {original.name}",
        unit="ms",
        measured=Spread.of(took[0]),
        floor=floor,
        limit=floor.median,
        rule="as fast as the original",
    )


def _copy(home: Home, folder: Path) -> Home:
    """A home of its own with the same entries."""
    shutil.copytree(home.folder, folder)
    return Home(folder)
