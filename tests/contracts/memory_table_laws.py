"""The laws of a memory whose tables an application may write to by itself, as tests to subclass.

Never imported by the product itself.
"""

from __future__ import annotations

from typing import LiteralString, Protocol

import pytest
from tests.contracts.memory_laws import MemoryWorld, ids

_AT = "2026-01-01T10:00:00.000000Z"
_ROWS: tuple[LiteralString, ...] = (
    """INSERT INTO wb_message (id, user_id, role, content, created_at)
    VALUES ('m-1', 'ann', 'user', 'a quokkarine harbour', %s)""",
    """INSERT INTO wb_journal (id, user_id, title, body, is_draft, created_at, updated_at)
    VALUES ('j-1', 'ann', 'Evening', 'a zebrawoodish light', false, %s, %s)""",
    """INSERT INTO wb_todo (id, user_id, title, done, created_at, updated_at)
    VALUES ('t-1', 'ann', 'buy tamarindose soap', false, %s, %s)""",
    """INSERT INTO wb_gratitude (id, user_id, content, created_at, updated_at)
    VALUES ('g-1', 'ann', 'a marzipanical cake', %s, %s)""",
    """INSERT INTO wb_preferences (user_id, flags, created_at, updated_at)
    VALUES ('ann', '{"pet": "axolotlish"}', %s, %s)""",
)
_ROWS_FOUND = {
    "message": ("quokkarine", "memory:message/m-1"),
    "journal": ("zebrawoodish", "memory:journal/j-1"),
    "todo": ("tamarindose", "memory:todo/t-1"),
    "gratitude": ("marzipanical", "memory:gratitude/g-1"),
    "preference": ("axolotlish", "memory:preference/preferences"),
}


class TablesWorld(MemoryWorld, Protocol):
    """A world whose stores are tables of the memory design."""

    def run(self, statement: LiteralString, *values: object) -> None:
        """Run a statement on a store of user `ann`, as a program that knows nothing of ours does.

        Values stand for `%s`.
        """
        ...


class TablesContract:
    """These laws: subclass it and give a fixture named `world`."""

    @pytest.mark.design("002-20")
    def test_rows_of_other_programs_are_found(self, world: TablesWorld) -> None:
        """Put into, altered in and taken out of each table, long after the index was filled."""
        mine = world.open("ann")
        mine.save_todo("harbour")
        mine.search("harbour")
        for statement in _ROWS:
            world.run(statement, *[_AT] * statement.count("%s"))
        for kind, (word, ref_id) in _ROWS_FOUND.items():
            assert [(x.kind, x.ref) for x in mine.search(word).hits] == [(kind, ref_id)]
        assert mine.search("quokkarine").hits[0].by == "both"
        world.run("UPDATE wb_todo SET title = 'walnutty soap' WHERE id = 't-1'")
        world.run("UPDATE wb_journal SET is_draft = true WHERE id = 'j-1'")
        world.run("UPDATE wb_gratitude SET id = 'g-2' WHERE id = 'g-1'")
        world.run("DELETE FROM wb_message")
        world.run("DELETE FROM wb_preferences")
        for word in ("quokkarine", "zebrawoodish", "tamarindose", "axolotlish"):
            assert ids(mine.search(word, intent="none")) == [], word
        assert ids(mine.search("walnutty")) == ["memory:todo/t-1"]
        assert ids(mine.search("marzipanical")) == ["memory:gratitude/g-2"]
        assert ids(world.open("ann").search("walnutty")) == ["memory:todo/t-1"]
        assert mine.stats().found == 3

    def test_rows_that_are_refused_hide_nothing(self, world: TablesWorld) -> None:
        """A role that is none, an id that no ref can hold: with all that came with them."""
        mine = world.open("ann")
        saved = mine.save_message("user", "harbour")
        assert ids(mine.search("harbour")) == [saved]
        row = "INSERT INTO wb_message (id, user_id, role, content, created_at) VALUES "
        good = "('m-1', 'ann', 'user', 'harbour', %s), "
        bad: tuple[LiteralString, ...] = (
            "('m-2', 'ann', 'system', 'harbour', %s)",
            "('', 'ann', 'user', 'harbour', %s)",
            "('a b', 'ann', 'user', 'harbour', %s)",
            "('\u00e9', 'ann', 'user', 'harbour', %s)",
        )
        for values in bad:
            try:
                world.run(row + good + values, _AT, _AT)
            except Exception:  # noqa: BLE001  what the driver of some database raises
                continue
            raise AssertionError(f"It was taken, where the database was to refuse {values}.")
        assert ids(mine.search("harbour")) == [saved]
        world.run(row + good.rstrip(", "), _AT)
        assert {*ids(mine.search("harbour"))} == {saved, "memory:message/m-1"}
