"""Memory and timeline in an event loop; mypy reads this file too, and holds the types to it."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, assert_type

import pytest

from commonplace.aio import AsyncMemory, AsyncTimeline, JournalStorage, Verb
from commonplace.journals.memory.records import Todo
from commonplace.memory import Memory
from commonplace.services.memory.finding import MemoryFound
from commonplace.testing import HashingEncoder, ReadySlot
from commonplace.timeline import Timeline

if TYPE_CHECKING:
    from pathlib import Path


NOT_AWAITED = {"beside", "close", "service"}


def test_a_memory_is_awaited_and_keeps_its_types(tmp_path: Path) -> None:
    """Every verb runs in a thread, takes what the verb takes, and gives what it gives."""

    async def scenario() -> None:
        slot = ReadySlot(HashingEncoder())
        async with AsyncMemory(Memory("ann", home=tmp_path, encoder=slot)) as memory:
            ref_id = await memory.save_todo("harbour", done=False)
            assert_type(ref_id, str)
            found = await memory.search("harbour", top_k=3)
            assert_type(found, MemoryFound)
            assert [hit.record.id for hit in found.hits] == [ref_id]
            assert_type(await memory.todos(limit=5), list[Todo])
            assert_type(await memory.context("harbour"), str)
            async with memory.beside("bob") as other:
                assert_type(other, AsyncMemory)
                assert await other.todos() == []
                assert (other.user_id, memory.user_id) == ("bob", "ann")
            with pytest.raises(TypeError):
                await memory.save_todo(wrong=True)  # type: ignore[call-arg]

    asyncio.run(scenario())


def test_a_timeline_is_awaited_and_keeps_its_types(tmp_path: Path) -> None:
    """Under the name of its design as well."""

    async def scenario() -> None:
        async with AsyncTimeline(Timeline(home=tmp_path, timezone="UTC")) as timeline:
            entry_id = await timeline.add_entry("ann", "Fixed the gate.")
            assert_type(entry_id, str)
            assert_type(await timeline.context("ann", "gate"), str)
        async with JournalStorage(home=tmp_path, timezone="UTC") as storage:
            entry = await storage.get_entry("ann", entry_id)
            assert_type(entry, dict[str, Any])
            assert entry["content"] == "Fixed the gate."

    asyncio.run(scenario())


@pytest.mark.parametrize(("wrapped", "wrapper"), [(Memory, AsyncMemory), (Timeline, AsyncTimeline)])
def test_no_verb_is_left_out(wrapped: type, wrapper: type) -> None:
    """What the library has, an event loop has under the same name."""
    verbs = {name for name, _ in inspect.getmembers(wrapped, inspect.isfunction) if name[0] != "_"}
    awaited = {name for name in dir(wrapper) if isinstance(getattr(wrapper, name), Verb)}
    assert awaited == verbs - NOT_AWAITED
