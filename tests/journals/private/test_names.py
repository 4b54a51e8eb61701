"""Names in a day folder that no ref can hold: each is passed over and named, and hides no other."""

from __future__ import annotations

import os

import pytest

from commonplace.core.values import Put, Since
from commonplace.journals.private.source import sources_of

DAY = "2026-11-21"
NOTHING_KNOWN = Since(mark=None, stamps=lambda _prefix: {})

# What a file may be called and no ref can hold: each is a name below a day folder, as bytes.
UNNAMEABLE = {
    "a backslash": b"back\\slash.md",
    "a line break": b"new\nline.md",
    "a tab": b"tab\t.md",
    "an escape": b"\x1b[31mred.md",
    "no UTF-8": b"\xff\xfe.md",
    "a line separator": "line\u2028.md".encode(),
    "an encoded dot": b"%2e%2e.md",
    "an encoded slash": b"a%2Fb.md",
    "a double suffix": b"twice.md.md",
}


def plant(world, name: bytes, text: bytes = b"## Reflections\n\nplanted\n") -> None:
    """Put a file of this name into the day folder."""
    folder = os.fsencode(world.user_root / DAY)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(text)


def found_by_scan(journal) -> list[str]:
    """The refs that the index would be handed."""
    changes = sources_of(journal)[0].scan(NOTHING_KNOWN)
    return [change.doc.ref for change in changes if isinstance(change, Put)]


@pytest.mark.parametrize("name", UNNAMEABLE.values(), ids=UNNAMEABLE.keys())
def test_a_name_that_no_ref_can_hold_hides_nothing(world, name):
    """Lists and the index have every other entry, and doctor names the one that is passed over."""
    journal = world.open()
    (ref,) = journal.write({"feelings": "honest"}).refs
    plant(world, name)
    assert [entry.ref for entry in journal.list_entries(limit=10)] == [ref]
    assert found_by_scan(journal) == [ref]
    assert [journal.path_of(each.ref) for each in journal.list_entries(limit=10)]
    (problem,) = journal.problems()
    assert "is not read" in problem.what
    assert problem.hint


@pytest.mark.parametrize(
    "name",
    [b"a" * 252 + b".md", "pi\u00f1ata.md".encode(), b"two words.md", b"C.md", b"~.md", b"a#b.md"],
)
def test_an_unusual_name_that_a_ref_can_hold_is_read(world, name):
    """Long, accented, with blanks: what can be asked for again is listed, and read by its ref."""
    journal = world.open()
    plant(world, name)
    (entry,) = journal.list_entries(limit=10)
    assert found_by_scan(journal) == [entry.ref]
    assert journal.read_entry(entry.ref).text == entry.text
    assert not any("is not read" in problem.what for problem in journal.problems())


@pytest.mark.parametrize("kind", ["folder", "fifo", "link", "dangling link", "loop"])
def test_what_is_no_file_is_neither_read_nor_waited_for(world, kind):
    """A folder, a pipe or a link named like an entry is passed over at once."""
    journal = world.open()
    (ref,) = journal.write({"feelings": "honest"}).refs
    odd = world.user_root / DAY / "odd.md"
    match kind:
        case "folder":
            odd.mkdir()
        case "fifo":
            os.mkfifo(odd)
        case "link":
            odd.symlink_to("/etc/hostname")
        case "dangling link":
            odd.symlink_to(world.temp / "nowhere")
        case _:
            odd.symlink_to(odd)
    assert [entry.ref for entry in journal.list_entries(limit=10)] == [ref]
    assert found_by_scan(journal) == [ref]
    assert len(journal.problems()) == 1


def test_a_day_that_cannot_be_entered_hides_no_other(world, plain_permissions):
    """Its entries stay in the index as they are; all others are listed and found."""
    journal = world.open()
    (ref,) = journal.write({"feelings": "honest"}).refs
    world.put("2026-11-20/10-00-00-000000.md", b"## Reflections\n\nclosed\n")
    closed = f"{sources_of(journal)[0].name}/2026-11-20/10-00-00-000000"
    (world.user_root / "2026-11-20").chmod(0)
    try:
        with plain_permissions():
            assert [entry.ref for entry in journal.list_entries(limit=10)] == [ref]
            known = Since(
                mark=None,
                stamps=lambda prefix: {closed: "1:1"} if closed.startswith(prefix) else {},
            )
            changes = list(sources_of(journal)[0].scan(known))
            assert [change.doc.ref for change in changes] == [ref]
            assert any("2026-11-20 cannot be listed" in x.what for x in journal.problems())
    finally:
        (world.user_root / "2026-11-20").chmod(0o700)
