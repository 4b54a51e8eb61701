"""THE TABLE: a row for each journal, in strings; one more journal is one more row.

Imports nothing: settings, command line, app, doctor and docs read it before any journal is there.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class JournalRow(NamedTuple):
    """What the rest of the house knows of a journal before it imports it.

    Args:
        name: with which its refs, its sources and its command begin.
        help: what its command does, as the command line lists it.
        purpose: what it keeps, in a line for those who choose a journal.
        wiring: `module:class` of its `JournalWiring`.
        command: `module:command` of its click command.
        toolsets: the names of its toolsets.
        title: what a text for a model calls it, where that is not its name.
        default_tools: those of its tools that are listed where nothing else is asked for; the
            others of the same toolsets can be called then, and are not listed.
        original_tools: those that the program or design it comes from offers under these names.
        example: a call of its command, as it is typed behind `commonplace`.
        feeds: whether its entries may count in the timeline's rollups.
        names_authors: whether each entry says who wrote it, so that several users may share it.
    """

    name: str
    help: str
    purpose: str
    wiring: str
    command: str
    toolsets: tuple[str, ...]
    default_tools: tuple[str, ...] = ()
    original_tools: tuple[str, ...] = ()
    title: str = ""
    example: str = ""
    feeds: bool = False
    names_authors: bool = False


JOURNALS: tuple[JournalRow, ...] = (
    JournalRow(
        name="private",
        help="Write and search the private journal.",
        purpose="What your assistant learned, felt and decided; what you prefer. Markdown files.",
        wiring="commonplace.app.wiring.private:PrivateWiring",
        command="commonplace.doors.cli.private:private",
        example='private write "the flaky test waits for a port"',
        toolsets=("private",),
        title="private journal",
        default_tools=("process_thoughts",),
        original_tools=(
            "process_thoughts",
            "search_journal",
            "read_journal_entry",
            "list_recent_entries",
            "read_recent_entries",
        ),
        feeds=True,
    ),
    JournalRow(
        name="chronicle",
        help="Log what was done, and ask when it was.",
        purpose="What was done, and when: a line for each thing, with tags, by day and project.",
        wiring="commonplace.app.wiring.chronicle:ChronicleWiring",
        command="commonplace.doors.cli.chronicle:chronicle",
        example="chronicle list last month -t deploy",
        toolsets=("chronicle",),
        default_tools=("add_entry", "find_when_i"),
        original_tools=(
            "add_entry",
            "list_entries",
            "search_entries",
            "remember_this",
            "what_was_i_doing",
            "find_when_i",
        ),
        feeds=True,
        names_authors=True,
    ),
    JournalRow(
        name="notebook",
        help="Keep what is understood, and how it came about.",
        purpose="What a team understands, and how it came about: Markdown in a git repository.",
        wiring="commonplace.app.wiring.notebook:NotebookWiring",
        command="commonplace.doors.cli.notebook:notebook",
        example='notebook write api/errors "every error has a code"',
        toolsets=("notebook",),
        original_tools=(
            "journal_read",
            "journal_write",
            "journal_list_entries",
            "journal_toc",
            "journal_search",
            "journal_synthesize_conflict",
        ),
        feeds=True,
        names_authors=True,
    ),
    JournalRow(
        name="timeline",
        help="Record what happens, and read how hours, days and years went.",
        purpose="Everything that happens, summed up by hour, day, week, month and year.",
        wiring="commonplace.app.wiring.timeline:TimelineWiring",
        command="commonplace.doors.cli.timeline:timeline",
        example="timeline show last week",
        toolsets=("timeline",),
        names_authors=True,
    ),
    JournalRow(
        name="memory",
        help="Keep and find what is known of a user.",
        purpose="What an application knows of each of its users: messages, to-dos, preferences.",
        wiring="commonplace.app.wiring.memory.wiring:MemoryWiring",
        command="commonplace.doors.cli.memory:memory",
        example='memory save todo "renew the certificate"',
        toolsets=("memory", "memory-write"),
        original_tools=("memory_search",),
    ),
    JournalRow(
        name="transcripts",
        help="List, read and delete what was said in sessions.",
        purpose="What you and your assistants said in each session, word for word, as it was said.",
        wiring="commonplace.app.wiring.transcripts:TranscriptWiring",
        command="commonplace.doors.cli.transcripts:transcripts",
        example="transcripts list yesterday",
        toolsets=("transcripts",),
        feeds=True,
    ),
)

RECALL = "recall"
"""The toolset over all journals."""

RECALL_TOOLS = ("recall", "list_by_time", "open_ref", "amend")
"""Those of its tools that are listed where nothing else is asked for."""

DEFAULT = "default"
"""The toolset that is offered where nothing else is asked for: few tools of several journals."""

CLASSIC = "classic"
"""The toolset that lists what the programs and designs that the journals come from offer."""

CONNECTOR = "connector"
"""The toolset of the two tools, over all journals, that a connector of ChatGPT knows."""

OF_SPACES = (RECALL, *(x for row in JOURNALS if row.names_authors for x in row.toolsets))
"""The toolsets of a space: the other journals are of one person each."""

JOURNALS_OF_SPACES = tuple(row.name for row in JOURNALS if row.names_authors)
"""The journals that those are of."""

JOURNAL_NAMES = tuple(row.name for row in JOURNALS)

FEEDS = tuple(row.name for row in JOURNALS if row.feeds)
"""The journals whose entries may count in the timeline's rollups."""

PARTS = {
    DEFAULT: (RECALL, *(x for row in JOURNALS if row.default_tools for x in row.toolsets)),
    CLASSIC: tuple(x for row in JOURNALS if row.original_tools for x in row.toolsets),
}
"""The toolsets whose tools can be called where one of these two is offered."""


def with_parts(toolsets: Sequence[str]) -> frozenset[str]:
    """The names of these toolsets, and of those that they are made of."""
    return frozenset([*toolsets, *(part for name in toolsets for part in PARTS.get(name, ()))])


ALL_TOOLSETS = (DEFAULT, RECALL, *(x for row in JOURNALS for x in row.toolsets))
"""What `all` stands for: every tool that no other does the work of is listed once."""

BESIDE_ALL = (CLASSIC, CONNECTOR)
"""The toolsets that `all` leaves out: what is in them is the work of others."""

TOOLSETS = (*ALL_TOOLSETS, *BESIDE_ALL)
"""All names of toolsets."""
