"""The laws of taking a user's memory elsewhere, whatever store is behind it.

Never imported by the product itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.contracts.memory_laws import every_kind

from commonplace.journals.memory.portable import PortableMemory
from commonplace.verbs.memory.amend import MemoryAmender

if TYPE_CHECKING:
    from tests.contracts.memory_laws import MemoryWorld

    from commonplace.journals.memory.portable import PortableRecord
    from commonplace.memory import Memory


def items_of(memory: Memory) -> list[PortableRecord]:
    """All that an export holds of a user."""
    return [*PortableMemory(memory.service.store).export_items(None)]


class ExportContract:
    """What an export and an import promise, as tests: subclass it with a fixture named `world`."""

    def test_what_is_exported_comes_back_as_it_was(self, world: MemoryWorld) -> None:
        """Ids, times and links too, for another user; the index finds it there."""
        mine, other = world.open("ann"), world.open("bob")
        saved = every_kind(mine)
        world.clock.advance(3600)
        MemoryAmender(mine.service).supersede(saved["todo"][1], "the wombat digs")
        mine.edit_journal(saved["journal"][1], is_draft=True)
        items = items_of(mine)
        assert len(items) == len(saved) + 1
        target = PortableMemory(other.service.store)
        assert target.is_empty()
        assert target.import_items(iter(items)) == len(items)
        assert items_of(other) == items
        assert not target.is_empty()
        assert [hit.kind for hit in other.search("wombat", intent="none").hits] == ["todo"]

    def test_what_is_there_stays(self, world: MemoryWorld) -> None:
        """Imported again after one was altered, nothing is new and nothing goes back."""
        mine, other = world.open("ann"), world.open("bob")
        saved = every_kind(mine)
        items = items_of(mine)
        target = PortableMemory(other.service.store)
        assert target.import_items(iter(items[:2])) == 2
        assert target.import_items(iter(items)) == len(items) - 2
        other.edit_journal(saved["journal"][1], body="altered since")
        kept = items_of(other)
        assert target.import_items(iter(items)) == 0
        assert items_of(other) == kept

    def test_only_what_is_not_older_is_exported(self, world: MemoryWorld) -> None:
        """By the time that a record is of."""
        mine = world.open("ann")
        every_kind(mine)
        world.clock.advance(2 * 86_400)
        start = world.clock()
        late = mine.save_todo("the quokka sleeps")
        found = PortableMemory(mine.service.store).export_items(start)
        assert [item.ref for item in found] == [late]
