"""Bars and lines on stderr for what takes long: entries encoded, files fetched, clients set up.

Never prints anything where stderr is no terminal.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from commonplace.doors.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import TaskID


def show_steps(*, as_json: bool) -> Callable[[str], None]:
    """Says each step in a line of its own, before it is done; nothing beside JSON."""
    if as_json or not sys.stderr.isatty():
        return lambda _sentence: None
    return partial(say, err=True)


@contextmanager
def show_counting(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar, called with (done, still to do); None where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def on_progress(done: int, left: int) -> None:
            bar.update(task, completed=done, total=done + left)

        yield on_progress


@contextmanager
def show_fetching() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each file, called with (its name, bytes here, bytes in all)."""
    if not sys.stderr.isatty():
        yield lambda _name, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        tasks: dict[str, TaskID] = {}

        def on_progress(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=None)
            bar.update(tasks[name], completed=done, total=total or None)

        yield on_progress
