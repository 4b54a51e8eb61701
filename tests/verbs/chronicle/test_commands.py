"""Keeping the log: what is edited, deleted or brought in is found so at once, and each once."""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cases import cases
from tests.sampled import sampled
from tests.verbs.chronicle_world import NOW, ChronicleWorld, messages

from commonplace.core.errors import Conflict, Invalid
from commonplace.journals.chronicle.imports import parse_export
from commonplace.verbs.chronicle.amend import changed_tags
from commonplace.verbs.chronicle.commands import FORMATS, ChronicleCommands
from commonplace.verbs.imports.giving_back import FromChronicle
from commonplace.verbs.imports.records import ImportRecords, JournalRecord
from commonplace.verbs.imports.taking_back import ImportTakingBack
from commonplace_testing import FrozenClock


@pytest.fixture
def world(tmp_path):
    """One user's chronicle."""
    made = ChronicleWorld(tmp_path / "home", tmp_path / "project")
    yield made
    made.close()


@pytest.fixture
def keeper(world):
    """Its owner's own verbs."""
    return ChronicleCommands(world.service)


def found(world, text, **more):
    """The messages of a search."""
    return messages(world("search_entries", text=text, **more))


def test_an_edit_is_found_at_once(world, keeper):
    """By its new words and not by its old ones, without a look at all entries."""
    ref = world("add_entry", message="a storm at sea").facts["ref"]
    answer = world.amender.edit_entry(ref=ref, message="a quiet harbour", at="yesterday 9am")
    assert answer.text.startswith("Edited:\n- 2026-11-20 09:00 a quiet harbour")
    assert found(world, "harbour") == ["a quiet harbour"]
    assert "a storm at sea" not in found(world, "storm")


def test_an_entry_changed_meanwhile_is_not_edited(world, keeper):
    """Who read the older one is told, and what is there stays."""
    ref = world("add_entry", message="one").facts["ref"]
    read = world.chronicle.read_event(ref)
    world.amender.edit_entry(ref=ref, message="two", expected=read.stamp)
    with pytest.raises(Conflict):
        world.amender.edit_entry(ref=ref, message="three", expected=read.stamp)
    with pytest.raises(Conflict):
        world.amender.delete_entry(ref=ref, expected=read.stamp)
    assert world.chronicle.read_event(ref).message == "two"


def test_a_time_that_cannot_be_read_names_its_argument(world, keeper):
    """And says what fits there."""
    ref = world("add_entry", message="one").facts["ref"]
    for verb, begins in (
        (
            lambda: world.amender.edit_entry(ref=ref, at="soonish"),
            "Invalid at: unknown time phrase",
        ),
        (lambda: keeper.export(form="json", since="soonish"), "Invalid since: unknown time phrase"),
        (lambda: keeper.export(form="json", until="soonish"), "Invalid until: unknown time phrase"),
    ):
        with pytest.raises(Invalid) as caught:
            verb()
        assert caught.value.message.startswith(f"{begins}: 'soonish'")
    with pytest.raises(Invalid, match="Use a past time such as yesterday 9am"):
        world("add_entry", message="x", at="tomorrow")


def test_the_index_forgets_what_is_gone(world, keeper):
    """Of a deleted entry nothing is left in the index."""
    ref = world("add_entry", message="first").facts["ref"]
    assert messages(world("search_entries", text="first")) == ["first"]
    world.amender.delete_entry(ref=ref)
    assert world.index.counts("").docs == 0


@cases(
    ("asked", "tags"),
    [
        (["+c"], ("a", "B", "c")),
        (["-b"], ("a",)),
        (["-A", "+c", "-b"], ("c",)),
        (["x", "y"], ("x", "y")),
        (["x", "+y", "-x"], ("y",)),
        ([""], ("",)),
    ],
)
def test_tags_are_changed_by_their_signs(asked, tags):
    """`+` adds, `-` takes away in any case, plain ones replace; the journal drops empty ones."""
    assert changed_tags(("a", "B"), asked) == tags


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_holds_what_is_asked_for(world, keeper, form):
    """Inside the interval, with the tags, newest first, on the owner's clock."""
    world.log(
        ("2026-11-03 09:30:00", "too early", "a"),
        ("2026-11-04 23:30:00", "late", "a"),
        ("2026-11-04 09:30:00", "early", "a"),
        ("2026-11-04 10:00:00", "another tag", "b"),
    )
    answer = keeper.export(form=form, since="2026-11-04", until="2026-11-04", tags=["a"])
    assert answer.facts == {"format": form, "count": 2}
    read = parse_export(answer.text, zone=world.service.zone)
    assert [each.message for each in read] == ["late", "early"]
    assert "2026-11-04" in answer.text
    assert "2026-11-05" not in answer.text


_MESSAGES = st.lists(
    st.tuples(st.sampled_from(["same", "other"]), st.integers(0, 2), st.booleans()), max_size=8
)


@sampled(8, 25, entries=_MESSAGES)
def test_an_import_twice_is_an_import_once(tmp_path_factory, entries):
    """Whatever an export repeats, and whether its ids are numbers or UUIDs."""
    folder = tmp_path_factory.mktemp("import")
    world = ChronicleWorld(folder / "home", folder / "project")
    try:
        for message, second, _ in entries:
            world.chronicle.add_event(message, at=NOW.replace(second=second))
        events = world.chronicle.list_events(limit=100).events
        numbered = [
            replace(event, id=str(number) if is_number else event.id)
            for number, (event, (_, _, is_number)) in enumerate(zip(events, entries, strict=True))
        ]
        assert world.chronicle.import_events(numbered) == 0
        for event in events:
            world.amender.delete_entry(ref=event.id)
        assert world.chronicle.import_events(numbered) == len(entries)
        assert world.chronicle.import_events(numbered) == 0
        renumbered = sum(is_number for _, _, is_number in entries)
        assert world.chronicle.import_events(events) == renumbered
    finally:
        world.close()


def test_an_entry_edited_here_stays_as_it_is(world, keeper):
    """An older export does not bring its former words back."""
    ref = world("add_entry", message="before").facts["ref"]
    export = keeper.export(form="json").text
    world.amender.edit_entry(ref=ref, message="after")
    answer = keeper.import_export(export)
    assert answer.text == "Imported 0 entries; 1 was there already."
    assert messages(world("list_entries")) == ["after"]


def test_a_numbered_entry_is_known_in_every_form(world, keeper):
    """Markdown cuts fractions: its reading is that of the JSON of the same entry."""
    entry = '{"entries":[{"id":7,"timestamp":"2026-11-04T09:30:00.75Z","message":"x"}]}'
    assert keeper.import_export(entry).facts["added"] == 1
    markdown = "# Chronicle Export\n\n## 2026-11-04\n\n### 01:30:00 - x\n- **ID**: 7\n"
    assert keeper.import_export(markdown).facts["added"] == 0


def test_imports_tell_their_progress_and_keep_the_order(world, keeper):
    """(done, still to do) to the end."""
    world.log(*((f"2026-11-04 09:00:{second:02}", f"at {second}") for second in range(60)))
    export = keeper.export(form="json").text
    for event in world.chronicle.list_events(limit=100).events:
        world.amender.delete_entry(ref=event.id)
    told = []
    keeper.filed(keeper.import_export(export, progress=lambda *figures: told.append(figures)))
    assert told == [(60, 0)]
    assert found(world, "at 59")[0] == "at 59"


@pytest.fixture(params=["database", "tree"])
def moved(request, tmp_path):
    """A chronicle of another machine with three entries, ours, and an export of the other's."""
    place = tmp_path / "tree"
    if request.param == "tree":
        place.mkdir()
    other = ChronicleWorld(tmp_path / "other", tmp_path / "far", hostname="badger")
    other.log(*((f"2026-11-04 09:00:0{n}", f"far {n}") for n in range(3)))
    export = ChronicleCommands(other.service).export(form="json").text
    other.close()
    world = ChronicleWorld(
        tmp_path / "home", tmp_path / "project", path=place if request.param == "tree" else None
    )
    world.chronicle.add_event("mine, before")
    yield world, ChronicleCommands(world.service), export
    world.close()


@pytest.fixture
def records(tmp_path):
    """What imports note that they added, each a second after the one before."""
    clock = FrozenClock()

    def ticking():
        clock.advance(1)
        return clock()

    return ImportRecords(tmp_path / "records", ticking)


def imported(keeper, records, export, **more):
    """The record of an import of an export."""
    record = records.new()
    record.begin("chronicle")
    keeper.import_export(export, noting=record.into("chronicle"), **more)
    return record


def taken_back(world, records, record):
    """What went of an import that is taken back."""
    taking = ImportTakingBack(
        record,
        records.others(record.id),
        lambda _journal: FromChronicle(world.amender),
        reopen=print,
    )
    (share,) = taking.take_back(None, most=0).shares
    return share


def test_an_import_is_taken_back(moved, records):
    """All of it, though another machine logged it, and nothing that was logged before."""
    world, keeper, export = moved
    record = imported(keeper, records, export)
    world.service.filing.sweep()
    assert found(world, "far")
    assert taken_back(world, records, record).entries == 3
    assert messages(world("list_entries")) == ["mine, before"]
    assert "far 1" not in found(world, "far")


def test_what_an_import_found_there_is_no_part_of_it(moved, records):
    """Nor is what was logged since: of one that was repeated what it added the second time goes."""
    world, keeper, export = moved
    first = imported(keeper, records, export)
    world.amender.delete_entry(ref=world("search_entries", text="far 1").facts["entries"][0]["id"])
    again = imported(keeper, records, export)
    world.chronicle.add_event("mine, after")
    assert taken_back(world, records, again).entries == 1
    left = ["far 0", "far 2", "mine, after", "mine, before"]
    assert sorted(messages(world("list_entries"))) == left
    assert taken_back(world, records, first).entries == 2


def test_an_import_that_broke_off_and_one_that_went_on_each_take_back_their_own(moved, records):
    """Also where the first was killed before it had noted what it wrote."""
    world, keeper, export = moved
    whole = json.loads(export)
    part = json.dumps({**whole, "entries": whole["entries"][:1]})

    class Killed(JournalRecord):
        def put_added(self, versions, *, updated=0):
            """Nothing: its process is gone."""

    first = records.new()
    first.begin("chronicle")
    keeper.import_export(part, noting=Killed(first, "chronicle"))
    second = imported(keeper, records, export)
    assert taken_back(world, records, second).entries == 2
    assert taken_back(world, records, first).entries == 1


def test_an_imported_entry_that_was_changed_stays(moved, records):
    """Edited or replaced: nobody's work is undone with the import, and it is named."""
    world, keeper, export = moved
    record = imported(keeper, records, export)
    edited, replaced = (
        world("search_entries", text=text).facts["entries"][0]["id"] for text in ("far 1", "far 2")
    )
    world.amender.edit_entry(ref=edited, message="near 1")
    world.chronicle.supersede_event(replaced, "near 2")
    share = taken_back(world, records, record)
    assert share.edited_count == 2
    assert {*share.edited} == {f"chronicle:{edited}", f"chronicle:{replaced}"}
    left = ["far 2", "mine, before", "near 1", "near 2"]
    assert sorted(messages(world("list_entries"))) == left


def test_what_is_no_tree(keeper, tmp_path):
    """A folder without entries is named."""
    with pytest.raises(Invalid, match="holds no entries"):
        keeper.import_tree(tmp_path)


def test_nothing_to_upgrade(keeper, world):
    """A new database is the newest."""
    world.log(("2026-11-04 09:30:00", "x"))
    assert keeper.upgrade().text == f"{world.path} needs no upgrade."
