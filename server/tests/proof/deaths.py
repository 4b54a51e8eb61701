"""How a journal's writers are killed in the midst, and what must hold of what they told.

A child tells in a file what it has done: `saved`, `altered` or `deleted`, a number and a ref.
"""

from __future__ import annotations

import os
import signal
from functools import partial

import psutil
from tests.patience import until


def asked_of(database, folder, **given):
    """What a child is told."""
    urls = {"app_url": database.app_url, "worker_url": database.worker_url}
    return {"home": str(folder), "user": "ann", **urls, **given}


def wait_for(child):
    """Until a child is gone."""
    until(lambda: not psutil.pid_exists(child), "the child is gone")


def has_lines(told, count):
    """Whether so much was told."""
    return told.read_text().count("\n") >= count


def kill_writers(act, deaths, database, children, folder):
    """Let children do something, each at a server of its own, and kill them; all that they told."""
    told, first = folder / "told", 0
    told.touch()
    for _ in range(deaths):
        home = folder / f"home {first}"
        home.mkdir()
        before = told.read_text().count("\n")
        child = children.start(act, **asked_of(database, home, told=str(told), first=first))
        until(partial(has_lines, told, before + 7), "the child has done some")
        os.kill(child, signal.SIGKILL)
        wait_for(child)
        first = 1 + max(int(line.split()[1]) for line in told.read_text().splitlines())
    return [*map(str.split, told.read_text().splitlines())]


def check_told(told, there, deaths):
    """Check that what was told to be done is so; what was not is whole or not at all, and once.

    there: the texts of the entries, by their refs.
    """
    acts = {}
    for act, number, ref in told:
        acts.setdefault(int(number), []).append((act, ref))
    for number, done in acts.items():
        last, ref = done[-1]
        texts = {"saved": f"harbour n{number}.", "altered": f"fence n{number}."}
        if last == "deleted":
            assert ref not in there
        elif number % 5 or ref in there:
            later = texts["altered"] if number % 3 == 0 else texts[last]
            assert there[ref] in {texts[last], later}
    numbers = [text.rpartition("n")[2] for text in there.values()]
    assert len(numbers) == len({*numbers})
    assert len(acts) >= deaths
