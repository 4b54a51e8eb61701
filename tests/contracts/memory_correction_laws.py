"""The laws of correcting a record of memory by its ref, whatever store is behind it.

Never imported by the product itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.contracts.memory_laws import every_kind, refused

from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.journals.memory.pages import MemoryPages
from commonplace.verbs.memory.amend import MemoryAmender

if TYPE_CHECKING:
    from tests.contracts.memory_laws import MemoryWorld

TEXTS = ("message", "journal", "todo", "gratitude")


class CorrectionContract:
    """What `amend` promises, as tests: subclass it and give a fixture named `world`."""

    def test_a_record_is_superseded_once(self, world: MemoryWorld) -> None:
        """Both stay and name each other; the same text again is the same record."""
        mine = world.open("ann")
        amender, pages = MemoryAmender(mine.service), MemoryPages(mine.service.store)
        saved = every_kind(mine)
        for kind in TEXTS:
            ref = saved[kind][1]
            done = amender.supersede(ref, "the wombat digs")
            assert (done.act, done.former) == ("superseded", ref)
            assert pages.read_ref(ref).superseded_by == done.ref
            new = pages.read_ref(done.ref)
            assert (new.supersedes, new.at) == (ref, pages.read_ref(ref).at)
            assert amender.supersede(ref, "the wombat digs").ref == done.ref
            assert done.ref in str(refused(Conflict, amender.supersede, ref, "the kiwi runs"))
            assert len(mine.list(kinds=[kind])) == 2

    def test_a_key_that_is_given_again_hides_no_superseding(self, world: MemoryWorld) -> None:
        """The key of another record, or of a superseding of another, is not what decides."""
        mine = world.open("ann")
        pages = MemoryPages(mine.service.store)
        first, second, third = (mine.save_todo(f"the quokka sleeps {n}") for n in range(3))
        mine.save_todo("the kiwi runs", idempotency_key="other")
        for old, key in ((first, "k"), (second, "k"), (third, "other")):
            new = mine.save_todo("the wombat digs", idempotency_key=key, supersedes=old)
            assert pages.read_ref(old).superseded_by == new
            assert mine.save_todo("the wombat digs", idempotency_key=key, supersedes=old) == new

    def test_a_record_whose_successor_is_deleted_can_be_superseded_again(
        self, world: MemoryWorld
    ) -> None:
        """Nothing of the deleted one is left, its link included."""
        mine = world.open("ann")
        amender, pages = MemoryAmender(mine.service), MemoryPages(mine.service.store)
        saved = every_kind(mine)
        for kind in TEXTS:
            ref = saved[kind][1]
            gone = amender.supersede(ref, "the wombat digs")
            amender.delete(gone.ref)
            assert pages.read_ref(ref).superseded_by == ""
            again = amender.supersede(ref, "the kiwi runs")
            assert pages.read_ref(ref).superseded_by == again.ref

    def test_an_altered_successor_keeps_its_link(self, world: MemoryWorld) -> None:
        """What alters a record leaves alone whose place it took."""
        mine = world.open("ann")
        amender, pages = MemoryAmender(mine.service), MemoryPages(mine.service.store)
        ref = mine.save_todo("the quokka sleeps")
        done = amender.supersede(ref, "the wombat digs")
        amender.edit(done.ref, "the kiwi runs")
        mine.edit_todo(done.ref, done=True)
        assert pages.read_ref(done.ref).supersedes == ref

    def test_a_search_shows_what_holds_above_what_it_replaced(self, world: MemoryWorld) -> None:
        """Also by words that stand in the former alone; each names the other and its time."""
        mine = world.open("ann")
        old = mine.save_todo("the quokka sleeps")
        mine.save_todo("the quokka eats")
        new = mine.save_todo("the wombat digs", supersedes=old)
        hits = mine.search("quokka sleeps").hits
        assert hits[0].ref == new
        found = {hit.ref: hit for hit in hits}
        was, now = found[old].replaced_by, found[new].replaces
        assert was is not None
        assert now is not None
        assert (was.ref, was.at) == (new, mine.get(new).at)
        assert (now.ref, now.at) == (old, mine.get(old).at)

    def test_no_user_corrects_what_another_has(self, world: MemoryWorld) -> None:
        """Another's ref is the ref of nothing."""
        mine, other = world.open("ann"), MemoryAmender(world.open("bob").service)
        ref = mine.save_todo("the quokka sleeps")
        refused(NotFound, other.edit, ref, "taken over")
        refused(NotFound, other.supersede, ref, "taken over")
        refused(NotFound, other.delete, ref)
        (todo,) = mine.todos()
        assert (todo.title, todo.supersedes) == ("the quokka sleeps", "")

    def test_preferences_have_no_text(self, world: MemoryWorld) -> None:
        """They are altered by their names."""
        mine = world.open("ann")
        mine.save_preferences(language="eo")
        refused(Invalid, MemoryAmender(mine.service).edit, "memory:preference/preferences", "x")
