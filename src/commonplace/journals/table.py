"""THE TABLE: a row for each journal, in strings; a sixth journal is one more row.

Imports nothing: settings, command line, app, doctor and docs read it before any journal is there.
"""

from __future__ import annotations

from typing import NamedTuple


class JournalRow(NamedTuple):
    """What the rest of the house knows of a journal before it imports it.

    Args:
        name: with which its refs, its sources and its command begin.
        help: what it is for, as the command line lists it.
        wiring: `module:class` of its `JournalWiring`.
        command: `module:command` of its click command.
        toolsets: the names of its toolsets.
        is_default: whether its toolsets are offered where nothing else is asked for.
        feeds: whether its entries may count in the timeline's rollups.
    """

    name: str
    help: str
    wiring: str
    command: str
    toolsets: tuple[str, ...]
    is_default: bool = False
    feeds: bool = False


JOURNALS: tuple[JournalRow, ...] = (
    JournalRow(
        name="private",
        help="Write and search the private journal.",
        wiring="commonplace.app.wiring.private:PrivateWiring",
        command="commonplace.doors.cli.private:private",
        toolsets=("private",),
        is_default=True,
        feeds=True,
    ),
    JournalRow(
        name="chronicle",
        help="Log what was done, and ask when it was.",
        wiring="commonplace.app.wiring.chronicle:ChronicleWiring",
        command="commonplace.doors.cli.chronicle:chronicle",
        toolsets=("chronicle",),
        is_default=True,
        feeds=True,
    ),
    JournalRow(
        name="notebook",
        help="Keep what is understood, and how it came about.",
        wiring="commonplace.app.wiring.notebook:NotebookWiring",
        command="commonplace.doors.cli.notebook:notebook",
        toolsets=("notebook",),
        feeds=True,
    ),
    JournalRow(
        name="timeline",
        help="Record what happens, and read how hours, days and years went.",
        wiring="commonplace.app.wiring.timeline:TimelineWiring",
        command="commonplace.doors.cli.timeline:timeline",
        toolsets=("timeline",),
    ),
    JournalRow(
        name="memory",
        help="Keep and find what is known of a user.",
        wiring="commonplace.app.wiring.memory.wiring:MemoryWiring",
        command="commonplace.doors.cli.memory:memory",
        toolsets=("memory", "memory-write"),
    ),
)

RECALL = "recall"
"""The toolset over all journals; always offered among the defaults."""

FEEDS = tuple(row.name for row in JOURNALS if row.feeds)
"""The journals whose entries may count in the timeline's rollups."""

DEFAULT_TOOLSETS = (*(x for row in JOURNALS if row.is_default for x in row.toolsets), RECALL)

TOOLSETS = (
    *DEFAULT_TOOLSETS,
    *(x for row in JOURNALS if not row.is_default for x in row.toolsets),
)
"""All toolsets, in the order in which they are offered."""
