"""The laws of what is left to do in a user's memory, as tests to subclass.

Never imported by the product itself.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tests.contracts.memory_laws import ids

if TYPE_CHECKING:
    from tests.contracts.memory_laws import MemoryWorld


class TodosContract:
    """These laws: subclass it and give a fixture named `world`."""

    def test_what_is_left_to_do_is_every_open_todo(self, world: MemoryWorld) -> None:
        """The newest first, whatever they say, with a model or without; none that is done."""
        mine = world.open("ann")
        now = world.clock()
        mine.save_message("user", "What is left to do is on my list")
        call = mine.save_todo("Call the dentist", at=now - timedelta(days=40))
        mine.edit_todo(mine.save_todo("What is left to do on my list"), done=True)
        lamp = mine.save_todo("A new lamp", at=now - timedelta(days=1))
        bread = mine.save_todo("Bread", at=now - timedelta(days=2))
        for question in ("What is left to do", "what is on my list?", "what do I still have to do"):
            found = mine.search(question)
            assert ids(found) == [lamp, bread, call], question
            assert found.todos == len(found.hits)
            assert {hit.by for hit in found.hits} == {"kind"}
        few = mine.search("what is left to do", limit=2)
        assert ids(few) == [lamp, bread]
        assert few.notes[-1].startswith("More to-dos are open than these 2")
        days = {"since": now - timedelta(days=3), "until": now}
        assert ids(mine.search("what is left to do", **days)) == [lamp, bread]
        assert bread not in ids(mine.search("what is left to do", kinds=["message"]))
        mine.edit_todo(lamp, done=True)
        world.use(None)
        assert ids(world.open("ann").search("what is left to do")) == [bread, call]
        assert ids(world.open("bob").search("what is left to do")) == []

    def test_where_no_todo_is_open_it_is_said(self, world: MemoryWorld) -> None:
        """What fits best is shown then, as to any question."""
        mine = world.open("ann")
        done = mine.save_todo("What is left on my list")
        mine.edit_todo(done, done=True)
        found = mine.search("what is left on my list")
        assert ids(found) == [done]
        assert (found.todos, found.notes[0]) == (0, "No to-do is open.")

    def test_what_is_left_of_a_thing_has_open_todos_before_done_ones(
        self, world: MemoryWorld
    ) -> None:
        """A done one that fits better, and many of them, take no open one's place."""
        mine = world.open("ann")
        now = world.clock()
        soil = mine.save_todo("soil for the garden behind the house", at=now - timedelta(days=90))
        for day in range(12):
            done = mine.save_todo("left to do garden", at=now - timedelta(days=day))
            mine.edit_todo(done, done=True)
        other = mine.save_todo("Call the dentist")
        found = ids(mine.search("what is left to do for the garden"))
        assert found[0] == soil
        assert other not in found
