"""The ledger follows a history that was rewritten by what differs, and is as one that is rebuilt."""

from __future__ import annotations

import subprocess
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.journals.notebook.moments import listened

if TYPE_CHECKING:
    from commonplace.journals.notebook.ledger import Ledger


def lines_of(ledger: Ledger) -> dict[str, list[tuple[str, str]]]:
    """What it says of every section: ids and hashes, newest first."""
    return {
        name: [(x.id, x.hash) for x in ledger.newest(name, length=999)]
        for name in sorted(ledger.section_counts())
    }


def rebuilt(book) -> Ledger:
    fresh = book.open()
    fresh.ledger.catch_up()
    return fresh.ledger


def test_a_rebase_is_followed_by_what_differs(book, monkeypatch):
    """Neither the commits before it nor an entry that stays are read again."""
    notes = book.open()
    for number in range(6):
        notes.write("a", str(number))
    notes.ledger.catch_up()
    book.git("rebase", "-q", "--force-rebase", "HEAD~2")
    with listened(monkeypatch, "log") as commands:
        notes.ledger.catch_up()
    told = [subprocess.run(x, capture_output=True, check=True).stdout for x in commands]
    # Two that are gone, two that came in their place; each changed this file.
    assert sum(each.count(b"a.md") for each in told) == 4
    assert lines_of(notes.ledger) == lines_of(rebuilt(book))
    book.git("reset", "-q", "--hard", "HEAD~3")
    notes.ledger.catch_up()
    assert lines_of(notes.ledger) == lines_of(rebuilt(book))
    assert notes.ledger.count("a") == 3


def test_a_copy_of_an_entry_that_is_left_is_that_entry(book):
    """A rebase merged with what it was made from: when one of both goes, the other's hash counts."""
    notes = book.open()
    notes.write("a", "one")
    notes.write("a", "two")
    book.git("branch", "before")
    book.git("rebase", "-q", "--force-rebase", "HEAD~1")
    book.git("merge", "-q", "--no-edit", "before")
    notes.ledger.catch_up()
    assert notes.ledger.count("a") == 2
    for target in ("HEAD^1", "before"):
        book.git("reset", "-q", "--hard", target)
        notes.ledger.catch_up()
        assert lines_of(notes.ledger) == lines_of(rebuilt(book))


def test_a_ledger_goes_to_any_commit_and_a_copy_is_its_own(book, tmp_path):
    """As a sync needs it: forth, back, aside, and to nothing at all."""
    notes = book.open()
    heads = [notes.write("a", str(number)).entry.hash for number in range(3)]
    copy = notes.ledger.copy_to(tmp_path / "copy.db")
    for at in (1, 0, 2):
        assert copy.catch_up(heads[at]) == heads[at]
        assert (copy.total(), copy.count("a")) == (at + 1, at + 1)
    assert (copy.catch_up(""), copy.total()) == ("", 0)
    assert notes.ledger.total() == 3
    copy.close()


KINDS = [
    *("write a", "write b", "rebase", "reset", "move", "side", "merge", "look"),
    *("end", "stay", "sweep"),
]
STEPS = st.lists(st.sampled_from(KINDS), min_size=5, max_size=14)


@pytest.fixture
def books(tmp_path):
    """Makes notebooks of their own, one for each example."""
    from tests.journals.conftest import Book

    made = []

    def make():
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Book(folder))
        return made[-1]

    yield make
    for each in made:
        each.close()


def expiring(book, notes, step):
    """Let the newest entry of a section expire, or one that has expired stay; or sweep those."""
    notes.ledger.catch_up()
    over = notes.ledger.list_expired()
    if step == "sweep":
        book.now += timedelta(seconds=2)
        notes.ledger.sweep([x.id for x in over])
        return
    shown = [line for name in notes.list_sections() for line in notes.ledger.newest(name)]
    end = book.now + timedelta(seconds=1) if step == "end" else None
    for line in (shown if end else over)[:1]:
        notes.set_end(f"{line.section}#{line.id}", end)


@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_whatever_becomes_of_a_history(books, steps):
    """Followed step by step, and read whole: the same."""
    book = books()
    notes = book.open()
    notes.write("a", "first")
    book.git("branch", "side")
    for number, step in enumerate(steps):
        words = step.split()
        if words[0] == "write":
            notes.write(words[1], str(number))
        elif step == "move" and (names := notes.list_sections()):
            notes.move(names[0], f"m{number}")
        elif step == "look":
            notes.ledger.catch_up()
        elif step in {"end", "stay", "sweep"}:
            expiring(book, notes, step)
        elif step == "side":
            book.git("switch", "-q", "side")
            notes.write("c", str(number))
            book.git("switch", "-q", "main")
        elif step == "merge":
            done = book.git("merge", "-q", "--no-edit", "-X", "ours", "side", check=False)
            if done.returncode:
                book.git("merge", "--abort", check=False)
        elif int(book.git("rev-list", "--count", "--first-parent", "HEAD").stdout) > 2:
            if step == "reset":
                book.git("reset", "-q", "--hard", "HEAD~1")
            else:
                book.git("rebase", "-q", "--force-rebase", "--rebase-merges", "HEAD~2")
    notes.ledger.catch_up()
    # Of two copies of an entry that are both in the history either may be named.
    seen, expected = (
        {k: sorted(x for x, _ in v) for k, v in lines_of(x).items()}
        for x in (notes.ledger, rebuilt(book))
    )
    assert seen == expected
    assert notes.ledger.digest() == rebuilt(book).digest()
    history = set(book.git("rev-list", "HEAD").stdout.split())
    assert {hash_ for lines in lines_of(notes.ledger).values() for _, hash_ in lines} <= history
