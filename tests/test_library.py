"""Memory and timeline are one face: what both have is called the same and takes the same.

mypy reads this file too, and holds both to `Library`.
"""

from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from commonplace.core.errors import Conflict, Invalid, NotFound, Unavailable
from commonplace.library import Library
from commonplace.memory import Memory
from commonplace.timeline import Timeline
from commonplace_testing import FrozenClock, HashingEncoder, ReadySlot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FACES: tuple[type[Library[Any]], ...] = (Memory, Timeline)
IN_BOTH = {
    "beside",
    "close",
    "context",
    "delete",
    "edit",
    "expire",
    "get",
    "list",
    "read_text",
    "save_message",
    "search",
    "supersede",
    "undo",
}
OF_ONE: dict[tuple[type, str], set[str]] = {(Memory, "search"): {"intent", "diverse", "unsure"}}
"""Arguments that one face alone has, by face and verb: each by its name, and with a default."""
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def verbs_of(face: type) -> dict[str, inspect.Signature]:
    """The public methods of a class, with what they take."""
    functions = inspect.getmembers(face, inspect.isfunction)
    return {name: inspect.signature(each) for name, each in functions if name[0] != "_"}


@pytest.fixture
def clock() -> FrozenClock:
    """The present of both faces."""
    return FrozenClock(NOON)


@pytest.fixture(params=FACES, ids=lambda face: face.__name__.lower())
def library(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock
) -> Iterator[Library[Any]]:
    """Either face, on an empty folder, at noon."""
    slot = ReadySlot(HashingEncoder())
    with request.param("ann", home=tmp_path, timezone="UTC", clock=clock, encoder=slot) as made:
        yield made


def test_what_both_have_is_what_is_promised_of_both() -> None:
    """A verb that both faces have is a verb of `Library`, and the other way round."""
    assert set(verbs_of(Memory)) & set(verbs_of(Timeline)) == set(verbs_of(Library)) == IN_BOTH


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("verb", sorted(IN_BOTH))
def test_a_verb_of_both_takes_the_same_arguments(face: type, verb: str) -> None:
    """The same names, in the same order, with the same defaults and the same types."""
    promised = list(verbs_of(Library)[verb].parameters.values())
    taken = list(verbs_of(face)[verb].parameters.values())
    assert taken[: len(promised)] == promised
    more = taken[len(promised) :]
    assert {each.name for each in more} == OF_ONE.get((face, verb), set())
    assert all(each.kind is each.KEYWORD_ONLY and each.default is not each.empty for each in more)


@pytest.mark.parametrize("face", FACES)
def test_both_are_opened_in_the_same_way(face: type) -> None:
    """One constructor, whose arguments have one meaning."""
    assert inspect.signature(face) == inspect.signature(Library)


@pytest.mark.parametrize("face", FACES)
def test_no_argument_has_two_names(face: type) -> None:
    """What is one thing is called the same in the verbs of one face as well."""
    other_names = {"user_id", "thread_id", "content", "entry_id", "ref_id", "top_k", "within"}
    taken = {name for signature in verbs_of(face).values() for name in signature.parameters}
    assert not taken & other_names


def test_an_entry_goes_its_way_through_the_verbs_of_both(library: Library[Any]) -> None:
    """Kept, read, listed, found, gathered, edited, superseded, deleted: by one ref."""
    ref = library.save_message("user", "The harbour light is green.", at=NOON - timedelta(hours=1))
    entry = library.get(ref)
    assert (entry.ref, entry.at) == (ref, NOON - timedelta(hours=1))
    assert entry.text == "The harbour light is green."
    (listed,) = library.list(kinds=[entry.kind], since=NOON - timedelta(hours=2), until=NOON)
    assert (listed.ref, listed.text) == (ref, entry.text)
    (hit,) = library.search("harbour light", kinds=[entry.kind], limit=5).hits
    assert (hit.ref, hit.kind, hit.at, hit.text) == (ref, entry.kind, entry.at, entry.text)
    assert (hit.entry.ref, hit.by) == (ref, "both")
    assert "The harbour light is green." in library.context("harbour light")
    read = library.read_text(ref)
    assert (read.ref, read.text) == (ref, entry.text)
    edited = library.edit(ref, "The harbour light is red.", expected=read.version)
    assert library.get(edited.ref).text == "The harbour light is red."
    newer = library.supersede(edited.ref, "The harbour light is out.")
    assert newer.former == edited.ref
    assert library.delete(newer.ref).act == "deleted"
    with pytest.raises(NotFound):
        library.get(newer.ref)


def test_the_same_key_is_one_entry_in_both(library: Library[Any]) -> None:
    """The first stands; without a key each is one of its own."""
    first = library.save_message("user", "Yes", idempotency_key="m-1")
    assert library.save_message("user", "Yes", idempotency_key="m-1") == first
    assert library.save_message("user", "Yes") != library.save_message("user", "Yes")


def test_a_save_takes_the_place_of_an_entry_in_both(library: Library[Any]) -> None:
    """It is found first, by the words of the former too, and names it."""
    old = library.save_message("user", "The harbour light is green.")
    new = library.save_message("user", "It is out.", supersedes=old)
    best = library.search("harbour light green").hits[0]
    assert best.ref == new
    with pytest.raises(Conflict):
        library.save_message("user", "It is red.", supersedes=old)


def test_a_version_guards_a_deletion_in_both(library: Library[Any]) -> None:
    """What changed since it was read is not deleted."""
    ref = library.save_message("user", "Yes")
    with pytest.raises(Conflict):
        library.delete(ref, expected="another")
    assert library.delete(ref, expected=library.read_text(ref).version).ref == ref


def test_what_cannot_be_done_raises_the_same_error_in_both(library: Library[Any]) -> None:
    """A time without a zone, one that ends before it begins, a limit, a kind, a role, a budget."""
    naive = NOON.replace(tzinfo=None)
    for call in (
        lambda: library.search("x", since=naive),
        lambda: library.list(until=naive),
        lambda: library.list(since=NOON, until=NOON),
        lambda: library.list(limit=0),
        lambda: library.search("x", limit=0),
        lambda: library.search("x", limit=101),
        lambda: library.search("x", kinds=["quote"]),
        lambda: library.list(kinds=["quote"]),
        lambda: library.save_message("system", "x"),  # type: ignore[arg-type]
        lambda: library.save_message("user", " "),
        lambda: library.context("x", budget_tokens=1),
    ):
        with pytest.raises(Invalid):
            call()


def test_owners_stand_beside_each_other_in_both(library: Library[Any]) -> None:
    """Closing one leaves the other; what is closed says so."""
    library.save_message("user", "The harbour light is green.")
    with library.beside("bob") as other:
        assert type(other) is type(library)
        assert (library.owner, other.owner) == ("ann", "bob")
        assert list(other.list()) == []
        library.close()
        library.close()
        with pytest.raises(Unavailable, match="closed"):
            library.list()
        assert list(other.list()) == []
    with pytest.raises(Invalid):
        library.beside("a\nb")


def test_an_entry_expires(tmp_path: Path, library: Library[Any], clock: FrozenClock) -> None:
    """From its instant on it is in no answer, and after the next write in no file."""
    gone = library.save_message("user", "the blue door behind the bakery")
    kept = library.save_message("user", "a quiet harbour")
    for ref in (gone, kept):
        library.expire(ref, NOON + timedelta(hours=1))
    library.expire(kept, None)
    clock.at = NOON + timedelta(minutes=59)
    assert library.get(gone).ref == gone
    clock.at = NOON + timedelta(hours=1)
    written = [entry.ref for entry in library.list() if "rollup" not in entry.ref]
    assert written == [kept]
    with pytest.raises(NotFound):
        library.get(gone)
    library.save_message("user", "the lamps are lit")
    library.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if b"bakery" in path.read_bytes()] == []


def test_a_time_to_expire_must_be_in_the_future(library: Library[Any]) -> None:
    """And aware; the entry stays as it was."""
    ref = library.save_message("user", "a quiet harbour")
    with pytest.raises(Invalid, match="is past"):
        library.expire(ref, NOON)
    with pytest.raises(Invalid, match="has no zone"):
        library.expire(ref, datetime(2027, 1, 1))  # noqa: DTZ001  what is refused
    with pytest.raises(NotFound):
        library.expire(f"{ref}x", NOON + timedelta(hours=1))
    assert library.get(ref).ref == ref


def test_what_is_saved_may_expire(library: Library[Any], clock: FrozenClock) -> None:
    """In the same call; a time that is past saves nothing."""
    kept = library.save_message("user", "the harbour is quiet")
    end = NOON + timedelta(hours=1)
    gone = library.save_message("user", "the blue door has a code", expires=end)
    with pytest.raises(Invalid, match="is past"):
        library.save_message("user", "never said", expires=NOON)
    said = {entry.ref for entry in library.list() if "rollup" not in entry.ref}
    assert said == {kept, gone}
    clock.at = end
    assert {entry.ref for entry in library.list() if "rollup" not in entry.ref} == {kept}


def test_a_correction_expires_with_what_it_corrects(
    library: Library[Any], clock: FrozenClock
) -> None:
    """The new entry has the end of the old one, and the notes say so."""
    end = NOON + timedelta(hours=1)
    old = library.save_message("user", "the blue door has a code", expires=end)
    done = library.supersede(old, "the blue door has another code")
    assert [note for note in done.notes if note.startswith("It expires ")]
    clock.at = end
    with pytest.raises(NotFound):
        library.get(done.ref)
