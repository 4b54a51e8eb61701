"""All journals are one face: what they have is called the same and takes the same.

mypy reads this file too, and holds each to `Library`, and memory and timeline to `MessageLibrary`.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from tests.patience import PATIENCE_S

from commonplace.chronicle import Chronicle
from commonplace.core.errors import Conflict, Denied, Invalid, NotFound, Unavailable
from commonplace.journals.transcripts.message import Message
from commonplace.journals.transcripts.store import TranscriptStore
from commonplace.library import Library, MessageLibrary
from commonplace.memory import Memory
from commonplace.notebook import Notebook
from commonplace.private import Private
from commonplace.search import policy
from commonplace.timeline import Timeline
from commonplace.transcripts import Transcripts
from commonplace_testing import FrozenClock, HashingEncoder, ReadySlot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from commonplace.core.ports import EncoderSlot

Face: TypeAlias = "type[Memory | Timeline | Private | Chronicle | Notebook | Transcripts]"

MESSAGE_FACES: tuple[type[Memory | Timeline], ...] = (Memory, Timeline)
JOURNAL_FACES: tuple[Face, ...] = (Private, Chronicle, Notebook, Transcripts)
FACES: tuple[Face, ...] = (*MESSAGE_FACES, *JOURNAL_FACES)
IN_ALL = {
    "beside",
    "close",
    "context",
    "delete",
    "edit",
    "expire",
    "get",
    "list",
    "read_text",
    "search",
    "supersede",
    "undo",
    "wait",
}
IN_BOTH = {*IN_ALL, "save_message"}
SAVES: dict[Face, set[str]] = {
    Memory: {"message", "journal", "todo", "gratitude", "preferences"},
    Timeline: {"message", "entry", "profile"},
    Private: {"entry"},
    Chronicle: {"entry"},
    Notebook: {"entry"},
    Transcripts: set(),
}
"""What each keeps, by a verb that begins with `save_`."""
HOW = {"at", "idempotency_key", "supersedes", "expires"}
"""What each of those takes by its name beside its texts."""
OF_ONE: dict[tuple[type, str], set[str]] = {
    (Memory, "search"): {"intent", "diverse", "unsure"},
    (Chronicle, "list"): {"tags"},
    (Chronicle, "search"): {"tags"},
}
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


@pytest.fixture(params=MESSAGE_FACES, ids=lambda face: face.__name__.lower())
def library(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock
) -> Iterator[MessageLibrary[Any]]:
    """Either face of messages, on an empty folder, at noon."""
    slot = ReadySlot(HashingEncoder())
    with request.param("ann", home=tmp_path, timezone="UTC", clock=clock, encoder=slot) as made:
        yield made


def test_what_all_have_is_what_is_promised_of_all() -> None:
    """A verb that every face has is a verb of `Library`, and the other way round."""
    assert set.intersection(*(set(verbs_of(face)) for face in FACES)) == IN_ALL
    assert set(verbs_of(Library)) == IN_ALL
    assert set(verbs_of(Memory)) & set(verbs_of(Timeline)) == set(verbs_of(MessageLibrary))
    assert set(verbs_of(MessageLibrary)) == IN_BOTH


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("verb", sorted(IN_ALL))
def test_a_verb_of_all_takes_the_same_arguments(face: Face, verb: str) -> None:
    """The same names, in the same order, with the same defaults and the same types."""
    check_arguments(face, Library, verb)


@pytest.mark.parametrize("face", MESSAGE_FACES)
def test_a_message_is_saved_in_the_same_way(face: Face) -> None:
    """As any verb that both have."""
    check_arguments(face, MessageLibrary, "save_message")


def check_arguments(face: type, promise: type, verb: str) -> None:
    """Check that a verb takes what is promised, and what this face alone has."""
    promised = list(verbs_of(promise)[verb].parameters.values())
    taken = list(verbs_of(face)[verb].parameters.values())
    assert taken[: len(promised)] == promised
    more = taken[len(promised) :]
    assert {each.name for each in more} == OF_ONE.get((face, verb), set())
    assert all(each.kind is each.KEYWORD_ONLY and each.default is not each.empty for each in more)


@pytest.mark.parametrize("face", FACES)
def test_what_is_kept_is_kept_in_the_same_way(face: Face) -> None:
    """By `save_…`, which says when, under which key, in whose place and until when; its ref."""
    saves = {name: each for name, each in verbs_of(face).items() if name.startswith("save_")}
    assert set(saves) == {f"save_{each}" for each in SAVES[face]}
    for name, signature in saves.items():
        if name != "save_preferences":  # of which there is one alone
            named = [x for x in signature.parameters.values() if x.kind is x.KEYWORD_ONLY]
            assert {each.name for each in named} >= HOW
            assert signature.return_annotation == "str"


@pytest.mark.parametrize("face", FACES)
def test_all_are_opened_in_the_same_way(face: Face) -> None:
    """One constructor, whose arguments have one meaning."""
    assert inspect.signature(face) == inspect.signature(Library)


@pytest.mark.parametrize("face", FACES)
def test_no_argument_has_two_names(face: Face) -> None:
    """What is one thing is called the same in the verbs of one face as well."""
    other_names = {"user_id", "thread_id", "content", "entry_id", "ref_id", "top_k", "within"}
    taken = {name for signature in verbs_of(face).values() for name in signature.parameters}
    assert not taken & other_names


def test_an_entry_goes_its_way_through_the_verbs_of_both(library: MessageLibrary[Any]) -> None:
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


def test_the_same_key_is_one_entry_in_both(library: MessageLibrary[Any]) -> None:
    """The first stands; without a key each is one of its own."""
    first = library.save_message("user", "Yes", idempotency_key="m-1")
    assert library.save_message("user", "Yes", idempotency_key="m-1") == first
    assert library.save_message("user", "Yes") != library.save_message("user", "Yes")


def test_a_save_takes_the_place_of_an_entry_in_both(library: MessageLibrary[Any]) -> None:
    """It is found first, by the words of the former too, and names it."""
    old = library.save_message("user", "The harbour light is green.")
    new = library.save_message("user", "It is out.", supersedes=old)
    best = library.search("harbour light green").hits[0]
    assert best.ref == new
    with pytest.raises(Conflict):
        library.save_message("user", "It is red.", supersedes=old)


def test_a_version_guards_a_deletion_in_both(library: MessageLibrary[Any]) -> None:
    """What changed since it was read is not deleted."""
    ref = library.save_message("user", "Yes")
    with pytest.raises(Conflict):
        library.delete(ref, expected="another")
    assert library.delete(ref, expected=library.read_text(ref).version).ref == ref


def test_what_cannot_be_done_raises_the_same_error_in_both(library: MessageLibrary[Any]) -> None:
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


def test_owners_stand_beside_each_other_in_both(library: MessageLibrary[Any]) -> None:
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


def test_an_entry_expires(tmp_path: Path, library: MessageLibrary[Any], clock: FrozenClock) -> None:
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


@pytest.mark.parametrize("year", [1, 9999])
def test_no_entry_is_of_a_time_that_another_zone_has_no_date_for(tmp_path: Path, year: int) -> None:
    """Every search there would fail for it."""
    slot = ReadySlot(HashingEncoder())
    with Chronicle("ann", home=tmp_path, encoder=slot) as log:
        with pytest.raises(Invalid, match=r"Invalid at: .* lies at an end of the calendar"):
            log.save_entry("a quiet harbour", at=datetime(year, 1, 1, tzinfo=UTC))
        assert list(log.list()) == []


def test_a_time_to_expire_must_be_in_the_future(library: MessageLibrary[Any]) -> None:
    """And aware; the entry stays as it was."""
    ref = library.save_message("user", "a quiet harbour")
    with pytest.raises(Invalid, match="is past"):
        library.expire(ref, NOON)
    with pytest.raises(Invalid, match="has no zone"):
        library.expire(ref, datetime(2027, 1, 1))  # noqa: DTZ001  what is refused
    with pytest.raises(NotFound):
        library.expire(f"{ref}x", NOON + timedelta(hours=1))
    assert library.get(ref).ref == ref


def test_what_is_saved_may_expire(library: MessageLibrary[Any], clock: FrozenClock) -> None:
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
    library: MessageLibrary[Any], clock: FrozenClock
) -> None:
    """The new entry has the end of the old one, and the notes say so."""
    end = NOON + timedelta(hours=1)
    old = library.save_message("user", "the blue door has a code", expires=end)
    done = library.supersede(old, "the blue door has another code")
    assert [note for note in done.notes if note.startswith("It expires ")]
    clock.at = end
    with pytest.raises(NotFound):
        library.get(done.ref)


def kept_in(face: Library[Any], text: str, **how: Any) -> str:
    """Keep a text, and give its ref."""
    match face:
        case MessageLibrary():
            return face.save_message("user", text, **how)
        case Private():
            return face.save_entry("feelings", text, **how)
        case Chronicle():
            return face.save_entry(text, **how)
        case Notebook():
            return face.save_entry("harbour", text, **how)
        case Transcripts():
            return said_in(face, text)
        case _:
            raise AssertionError(face)


def said_in(face: Transcripts, text: str) -> str:
    """Have an assistant's client say a text in a session of its own; its ref."""
    name = f"s{len(face.sessions())}"
    said = Message(id=f"{name}-1", role="user", at="2026-03-02T11:00:00.000Z", text=text)
    assert isinstance(store := face.service.store, TranscriptStore)
    assert store.append("claude-code", name, [said]) == 1
    return f"transcripts:claude-code/{name}#1"


@pytest.fixture
def opened(tmp_path: Path, clock: FrozenClock) -> Iterator[Callable[..., Library[Any]]]:
    """Opens a face of any owner in one home, and closes it."""
    made: list[Library[Any]] = []

    def opening(face: Face, owner: str = "ann", slot: EncoderSlot | None = None) -> Library[Any]:
        slot = slot or ReadySlot(HashingEncoder())
        home = tmp_path / "data"
        made.append(face(owner, home=home, timezone="UTC", clock=clock, encoder=slot))
        return made[-1]

    yield opening
    for each in made:
        each.close()


each_face = pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__.lower())
each_writer = pytest.mark.parametrize(
    "face", [x for x in FACES if SAVES[x]], ids=lambda face: face.__name__.lower()
)


@each_face
def test_an_entry_is_found_in_every_journal(opened: Any, face: Face) -> None:
    """Kept, read, listed, found, gathered, by one ref; deleted where the journal deletes."""
    library = opened(face)
    assert list(library.list()) == []
    assert list(library.search("harbour light").hits) == []
    ref = kept_in(library, "The harbour light is green.")
    entry = library.get(ref)
    assert (entry.ref, entry.text.strip()) == (ref, "The harbour light is green.")
    kind = [entry.kind]
    assert [x.ref for x in library.list(kinds=kind, since=NOON - timedelta(days=1))] == [ref]
    assert list(library.list(kinds=kind, until=NOON - timedelta(days=1))) == []
    (hit,) = library.search("harbour light", kinds=kind, limit=5).hits
    assert (hit.ref, hit.kind, hit.at, hit.text) == (ref, entry.kind, entry.at, entry.text)
    assert (hit.entry.ref, hit.by) == (ref, "both")
    assert list(library.search("harbour", until=NOON - timedelta(days=1)).hits) == []
    assert "The harbour light is green." in library.context("harbour light")
    assert "The harbour light is green." in library.context("")
    assert "The harbour light is green." in library.read_text(ref).text
    if face is Notebook:
        with pytest.raises(Denied, match="stays in its history"):
            library.delete(ref)
        return
    assert library.delete(ref).act == "deleted"
    with pytest.raises(NotFound):
        library.get(ref)
    assert list(library.search("harbour light", kinds=kind).hits) == []


@each_writer
def test_an_entry_is_corrected_in_every_journal(opened: Any, face: Face) -> None:
    """Edited and superseded: the last text alone is found first, and an undo takes it back."""
    library = opened(face)
    ref = kept_in(library, "The harbour light is green.")
    read = library.read_text(ref)
    edited = library.edit(ref, read.text.replace("green", "red"), expected=read.version)
    assert "light is red" in library.get(edited.ref).text
    newer = library.supersede(edited.ref, "The harbour light is out.")
    assert newer.former == edited.ref
    assert library.search("harbour light").hits[0].ref == newer.ref
    with pytest.raises(Conflict):
        library.supersede(edited.ref, "The harbour light is blue.")
    library.undo(newer.ref)
    assert library.search("harbour light").hits[0].ref == edited.ref


@each_writer
def test_a_save_says_how(opened: Any, clock: FrozenClock, face: Face) -> None:
    """Of another time, once for a key, in the place of another, and until an instant."""
    library = opened(face)
    hour = timedelta(hours=1)
    first = kept_in(library, "The light is green.", at=NOON - hour, idempotency_key="a")
    assert kept_in(library, "The light is green.", at=NOON - hour, idempotency_key="a") == first
    assert library.get(first).at == NOON - hour
    second = kept_in(library, "The light is red.", supersedes=first)
    with pytest.raises(Conflict):
        kept_in(library, "The light is blue.", supersedes=first)
    with pytest.raises(Invalid, match="is past"):
        kept_in(library, "The light was blue.", expires=NOON)
    third = kept_in(library, "The gate is shut.", expires=NOON + hour)
    library.expire(second, NOON + hour)
    kinds = [library.get(third).kind]
    assert {x.ref for x in library.list(kinds=kinds)} == {first, second, third}
    clock.at = NOON + hour
    assert [x.ref for x in library.list(kinds=kinds)] == [first]
    with pytest.raises(NotFound):
        library.get(third)


@each_face
def test_what_cannot_be_done_raises_the_same_error_in_every_journal(
    opened: Any, face: Face
) -> None:
    """A time without a zone, a limit, a kind, a budget, a ref of another journal."""
    library = opened(face)
    naive = NOON.replace(tzinfo=None)
    for call in (
        lambda: library.search("x", since=naive),
        lambda: library.search("x", as_of=naive),
        lambda: library.list(until=naive),
        lambda: library.list(since=NOON, until=NOON),
        lambda: library.list(limit=0),
        lambda: library.search("x", limit=0),
        lambda: library.search("x", limit=101),
        lambda: library.search("x", kinds=["quote"]),
        lambda: library.list(kinds=["quote"]),
        lambda: library.context("x", budget_tokens=1),
        lambda: library.wait(-1),
    ):
        with pytest.raises(Invalid):
            call()  # type: ignore[no-untyped-call]
    ref = kept_in(library, "The harbour light is green.")
    other = opened(Chronicle if face is not Chronicle else Memory)
    for act in (other.get, other.read_text, other.delete, opened(face, "bob").get):
        with pytest.raises((NotFound, Invalid)):
            act(ref)


@each_face
def test_owners_of_every_journal_never_meet(opened: Any, tmp_path: Path, face: Face) -> None:
    """Of any name, that of the machine's owner too: all lies in the home that was given."""
    ann, me = opened(face), opened(face, "me")
    kept_in(ann, "The harbour light is green.")
    with ann.beside("bob") as bob:
        assert type(bob) is face
        for other in (me, bob):
            assert list(other.list()) == []
            assert list(other.search("harbour light").hits) == []
            assert other.context("harbour light") == ""
        kept_in(bob, "The gate is shut.")
    kept_in(me, "The bell is rung.")
    written = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.*")}
    assert written == {"data"}
    ann.close()
    with pytest.raises(Unavailable, match="closed"):
        ann.list()
    with pytest.raises(Unavailable, match="closed"):
        ann.undo("x:1")
    assert [x.text.strip() for x in me.list() if "rollup" not in x.ref] == ["The bell is rung."]


@each_face
def test_an_opening_that_fails_is_tried_again(opened: Any, tmp_path: Path, face: Face) -> None:
    """At the next call, by the same object."""
    library = opened(face)
    (tmp_path / "data").write_text("a file in the place of the home")
    with pytest.raises((Denied, Invalid, Unavailable)):
        kept_in(library, "The harbour light is green.")
    (tmp_path / "data").unlink()
    ref = kept_in(library, "The harbour light is green.")
    assert library.search("harbour light").hits[0].ref == ref


def test_a_weak_match_of_what_was_said_is_called_so(opened: Any) -> None:
    """As recall does: what was said is much, and something of it is always the nearest."""
    transcripts = opened(Transcripts)
    said_in(transcripts, "The harbour light is green.")
    assert transcripts.search("harbour light green").notes == ()
    (note,) = transcripts.search("bakery").notes
    assert note.startswith("Weak match")


def test_journals_of_one_owner_stand_beside_each_other(opened: Any) -> None:
    """With one model; each is closed by itself."""
    chronicle = opened(Chronicle)
    with chronicle.beside("ann", Private) as private, private.beside("ann", Memory) as memory:
        assert (type(private), type(memory)) == (Private, Memory)
        ref = private.save_entry("user_context", "Prefers small commits.")
        chronicle.close()
        assert private.get(ref).text.strip() == "Prefers small commits."
        assert memory.list() == []


def test_the_machines_owner_has_the_machines_journals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a home of its own a program writes where the command line reads."""
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "data"))
    with Private("me", encoder=ReadySlot(HashingEncoder())) as mine:
        noted = mine.get(mine.save_entry("project_notes", "Invoices are rounded per line."))
        felt = mine.get(mine.save_entry("feelings", "Relieved."))
    assert (noted.kind, felt.kind) == ("project", "user")
    assert noted.path.is_relative_to(tmp_path / "project" / ".private-journal")
    assert felt.path.is_relative_to(tmp_path / "home" / ".private-journal")


def test_the_name_of_a_served_user_is_no_machines_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program too would write the machine's journals beside that user's."""
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "data"))
    slot = ReadySlot(HashingEncoder())
    with Chronicle("ann", encoder=slot) as served:
        kept_in(served, "Rang the bell.")
    monkeypatch.setenv("COMMONPLACE_OWNER", "ann")
    with Chronicle("ann", encoder=slot) as mine, pytest.raises(Denied, match="who is served from"):
        mine.list()


@each_writer
def test_a_program_waits_until_all_is_found(opened: Any, face: Face) -> None:
    """A vector that follows a long text is there after the wait."""
    encoder = HashingEncoder()
    library = opened(face, slot=ReadySlot(encoder))
    kept_in(library, "harbour " * (policy.ENCODE_AT_ONCE // 8 + 1))
    library.wait(PATIENCE_S)
    _, index = library._filed(library.service)
    assert index.counts(encoder.identity).pending == 0


@each_face
def test_without_a_model_no_one_waits(opened: Any, face: Face) -> None:
    """It is said at once that there is none, and why; words find all the same."""
    library = opened(face, slot=ReadySlot(reason="No weights are here."))
    ref = kept_in(library, "The harbour light is green.")
    with pytest.raises(Unavailable, match="No weights are here") as error:
        library.wait(PATIENCE_S)
    assert "Words find it" in error.value.hint
    assert library.search("harbour").hits[0].ref == ref


def test_entries_come_above_summaries(opened: Any, clock: FrozenClock) -> None:
    """Unless a summary is asked for: by its kind, or by a question for how a time went."""
    timeline = opened(Timeline)
    ref = timeline.save_entry("Fixed the gate.", at=NOON - timedelta(days=40))
    clock.advance(60)
    assert timeline.roll_up() > 0
    hits = timeline.search("Fixed the gate.").hits
    assert hits[0].ref == ref
    assert [hit.kind for hit in hits] == sorted((hit.kind for hit in hits), key="raw".__ne__)
    (day,) = timeline.search("gate", kinds=["daily_rollup"]).hits
    assert "gate" in day.text
    asked = timeline.search("what did I do on 21 January 2026?")
    assert asked.hits[0].kind == "daily_rollup"


LEFT_OPEN = """
import sys
from commonplace import Chronicle, Memory
from commonplace_testing import HashingEncoder, ReadySlot

class Slot(ReadySlot):
    def close(self, timeout_s=0.0):
        print("closed", flush=True)

def main():
    memory = Memory("ann", home=sys.argv[1], encoder=Slot(HashingEncoder()))
    chronicle = memory.beside("ann", Chronicle)
    memory.save_journal("Long", "harbour " * 30_000)
    chronicle.save_entry("gate " * 30_000)
    {end}

main()
"""


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("memory.close(); chronicle.close()", ""),
        ("pass", ""),
        ("sys.exit(0)", ""),
        ("raise KeyError('on purpose')", "KeyError: 'on purpose'"),
    ],
    ids=["closed", "left open", "exit", "exception"],
)
def test_a_program_ends_without_a_word_of_ours(tmp_path: Path, end: str, said: str) -> None:
    """However it ends, all is closed, and nothing of what is cut off is said on stderr."""
    code = LEFT_OPEN.replace("{end}", end)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "data")],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert "closed" in done.stdout
    errors = [line for line in done.stderr.splitlines() if line]
    assert errors[-1:] == ([said] if said else [])
    assert "vectors" not in done.stderr


FORKED = """
import os, sys
from commonplace import Memory
from commonplace_testing import HashingEncoder, ReadySlot

with Memory("ann", home=sys.argv[1], encoder=ReadySlot(HashingEncoder())) as memory:
    memory.save_todo("harbour")
    child = os.fork()
    if not child:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    ref = memory.save_todo("the quiet gate")
    memory.wait(60)
    assert memory.search("quiet gate").hits[0].ref == ref
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork there")
def test_a_child_that_ends_closes_nothing_of_its_parents(tmp_path: Path) -> None:
    """Neither does it wait for threads that it does not have."""
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.stderr, done.returncode) == ("", 0)


FORKED_AND_USED = """
import os, sys
from commonplace import Chronicle, Memory, Private, Timeline, Unavailable
from commonplace_testing import HashingEncoder, ReadySlot

def opened():
    first = Memory("ann", home=sys.argv[1], encoder=ReadySlot(HashingEncoder()))
    return [first, *(first.beside("ann", each) for each in (Chronicle, Private, Timeline))]

def saved(journal, text):
    if isinstance(journal, Private):
        return journal.save_entry("feelings", text)
    if isinstance(journal, Chronicle):
        return journal.save_entry(text)
    return journal.save_message("user", text)

ours = opened()
for each in ours:
    saved(each, "harbour")
child = os.fork()
if not child:
    afresh = opened() if sys.argv[2] == "afresh" else ours
    for each in afresh:
        try:
            print("kept", saved(each, "the quiet gate"), flush=True)
        except Unavailable as exc:
            print("refused", exc.message, exc.hint, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
for each in ours:
    print("ours", saved(each, "the loud gate"))
    each.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork there")
@pytest.mark.parametrize("opened", ["before", "afresh"])
def test_a_child_loses_no_entry_to_its_parents_close(opened: str, tmp_path: Path) -> None:
    """What it is told was kept is there after the parent's end, and all else is refused."""
    command = [sys.executable, "-W", "ignore", "-c", FORKED_AND_USED, str(tmp_path), opened]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    said = [line.partition(" ")[::2] for line in done.stdout.splitlines()]
    refused = [text for act, text in said if act == "refused"]
    assert len(refused) >= (3 if opened == "afresh" else 4)
    assert all("was forked" in text and "`spawn`" in text for text in refused)
    journals: dict[str, type[Memory | Chronicle | Private | Timeline]] = {
        "memory": Memory,
        "chronicle": Chronicle,
        "private": Private,
        "timeline": Timeline,
    }
    for ref in (text for act, text in said if act != "refused"):
        made, slot = journals[ref.partition(":")[0]], ReadySlot(HashingEncoder())
        with made("ann", home=tmp_path, encoder=slot) as journal:
            assert journal.get(ref).text
