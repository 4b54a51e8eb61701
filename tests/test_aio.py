"""Every journal in an event loop; mypy reads this file too, and holds the types to it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, assert_type

import pytest

from commonplace.aio import (
    AsyncChronicle,
    AsyncMemory,
    AsyncNotebook,
    AsyncPrivate,
    AsyncTimeline,
    AsyncTranscripts,
    JournalStorage,
    Verb,
)
from commonplace.chronicle import Chronicle
from commonplace.core.values import Amendment, EditableText, Page
from commonplace.journal_library import JournalFound
from commonplace.journals.chronicle.event import Event
from commonplace.journals.memory.records import Record, Todo
from commonplace.journals.private.journal import PrivateEntry
from commonplace.journals.timeline.entry import TimelineEntry
from commonplace.journals.transcripts.message import SessionSummary
from commonplace.memory import Memory
from commonplace.notebook import Notebook
from commonplace.private import Private
from commonplace.timeline import Timeline
from commonplace.transcripts import Transcripts
from commonplace.verbs.memory.finding import MemoryFound
from commonplace.verbs.timeline.finding import TimelineFound
from commonplace_testing import HashingEncoder, ReadySlot

if TYPE_CHECKING:
    from pathlib import Path


NOT_AWAITED = {"beside", "close", "service"}


def test_a_memory_is_awaited_and_keeps_its_types(tmp_path: Path) -> None:
    """Every verb runs in a thread, takes what the verb takes, and gives what it gives."""

    async def scenario() -> None:
        slot = ReadySlot(HashingEncoder())
        async with AsyncMemory(Memory("ann", home=tmp_path, encoder=slot)) as memory:
            ref = await memory.save_todo("harbour", done=False)
            assert_type(ref, str)
            found = await memory.search("harbour", limit=3)
            assert_type(found, MemoryFound)
            assert [hit.ref for hit in found.hits] == [ref]
            assert_type(await memory.todos(limit=5), Sequence[Todo])
            assert_type(await memory.list(limit=5), Sequence[Record])
            assert_type(await memory.context("harbour"), str)
            both = await asyncio.gather(memory.search("harbour"), memory.context("harbour"))
            assert_type(both, tuple[MemoryFound, str])
            assert_type(await memory.edit(ref, "the gate"), Amendment)
            async with memory.beside("bob") as other:
                assert_type(other, AsyncMemory)
                assert await other.todos() == []
                assert (other.owner, memory.owner) == ("bob", "ann")
            with pytest.raises(TypeError):
                await memory.save_todo(wrong=True)  # type: ignore[call-arg]

    asyncio.run(scenario())


def test_a_timeline_is_awaited_and_keeps_its_types(tmp_path: Path) -> None:
    """Under the name of its design as well."""

    async def scenario() -> None:
        async with AsyncTimeline(Timeline("ann", home=tmp_path, timezone="UTC")) as timeline:
            ref = await timeline.save_entry("Fixed the gate.")
            assert_type(ref, str)
            assert_type(await timeline.get(ref), TimelineEntry)
            assert_type(await timeline.search("gate"), TimelineFound)
            assert_type(await timeline.list(limit=5), Sequence[TimelineEntry])
            assert_type(await timeline.rollup("daily"), TimelineEntry | None)
            assert_type(await timeline.context("gate"), str)
        async with JournalStorage(home=tmp_path, timezone="UTC") as storage:
            found = await storage.search("ann", "gate", entry_types=["raw"])
            assert_type(found, list[dict[str, Any]])
            assert [entry["content"] for entry in found] == ["Fixed the gate."]

    asyncio.run(scenario())


def test_the_other_journals_are_awaited_and_keep_their_types(tmp_path: Path) -> None:
    """Each with the values of its own."""

    async def scenario() -> None:
        slot = ReadySlot(HashingEncoder())
        async with AsyncPrivate(Private("ann", home=tmp_path, encoder=slot)) as private:
            ref = await private.save_entry("user_context", "Prefers small commits.")
            assert_type(await private.get(ref), PrivateEntry)
            assert_type(await private.search("commits"), JournalFound[PrivateEntry])
            assert_type(await private.wait(), None)
            assert_type(await private.read_text(ref), EditableText)
            async with AsyncChronicle(private.sync.beside("ann", Chronicle)) as chronicle:
                log = await chronicle.save_entry("Deployed the API.", tags=["api"])
                assert_type(await chronicle.list(tags=["api"]), Sequence[Event])
                assert_type((await chronicle.search("API")).hits[0].entry, Event)
                assert_type(await chronicle.delete(log), Amendment)
            async with AsyncNotebook(private.sync.beside("ann", Notebook)) as notebook:
                written = await notebook.save_entry("api", "Six codes.", overview="Codes are six.")
                assert_type(await notebook.get(written), Page)
                assert (await notebook.section("api")).overview == "Codes are six."
            async with AsyncTranscripts(private.sync.beside("ann", Transcripts)) as transcripts:
                assert_type(await transcripts.sessions(), Sequence[SessionSummary])
                assert await transcripts.sessions() == []
            with pytest.raises(TypeError):
                await private.save_entry("user_context")  # type: ignore[call-arg]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("wrapped", "wrapper"),
    [
        (Memory, AsyncMemory),
        (Timeline, AsyncTimeline),
        (Private, AsyncPrivate),
        (Chronicle, AsyncChronicle),
        (Notebook, AsyncNotebook),
        (Transcripts, AsyncTranscripts),
    ],
)
def test_no_verb_is_left_out(wrapped: type, wrapper: type) -> None:
    """What the library has, an event loop has under the same name."""
    verbs = {name for name, _ in inspect.getmembers(wrapped, inspect.isfunction) if name[0] != "_"}
    awaited = {name for name in dir(wrapper) if isinstance(getattr(wrapper, name), Verb)}
    assert awaited == verbs - NOT_AWAITED
