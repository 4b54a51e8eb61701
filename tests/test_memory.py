"""Memory as a library: users beside each other, closing, and the asynchronous wrapper."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from tests.memory_world import SqliteMemoryWorld

from commonplace.core.errors import CommonplaceError, Invalid, NotFound, Unavailable
from commonplace.core.owner_folders import folder_owner


@pytest.fixture
def world(tmp_path):
    made = SqliteMemoryWorld(tmp_path)
    yield made
    made.close()


def test_users_beside_each_other_share_a_model_and_nothing_else(world):
    """Closing one leaves the other as it is; the last one closes all."""
    ann = world.open("ann")
    with ann.beside("bob") as bob:
        ann.save_todo("harbour")
        assert bob.search("harbour").hits == ()
        ann.close()
        ann.close()
        with pytest.raises(Unavailable):
            ann.search("harbour")
        bob.save_todo("harbour")
        assert len(bob.search("harbour").hits) == 1
    users = {folder_owner(x) for x in (world.home / "users").iterdir()}
    assert users == {"ann", "bob"}


def test_each_kind_reads_and_lists_as_its_own_type(world):
    """What was written comes back, newest first; another kind's id is none."""
    with world.open("ann") as mine:
        message = mine.save_message("user", "harbour", at=world.clock())
        journal = mine.save_journal("Evening", "quiet")
        todo = mine.save_todo("fence", done=True)
        gratitude = mine.save_gratitude("cake")
        assert mine.message(message).role == "user"
        assert (mine.journal(journal).title, mine.journal(journal).body) == ("Evening", "quiet")
        assert mine.todo(todo).done
        assert mine.gratitude(gratitude).text == "cake"
        assert mine.edit(gratitude, "bread").text == "bread"
        lists = (mine.messages(), mine.journals(), mine.todos(), mine.gratitudes())
        assert [[x.ref for x in each] for each in lists] == [
            [message],
            [journal],
            [todo],
            [gratitude],
        ]
        assert mine.preferences() is None
        with pytest.raises(Invalid, match="not a todo"):
            mine.todo(message)
        with pytest.raises(NotFound):
            mine.get(f"{todo}0")
        with pytest.raises(Invalid):
            mine.edit_todo("", done=True)
        with pytest.raises(Invalid):
            mine.search("x", since=world.clock().replace(tzinfo=None))


def test_a_context_holds_preferences_and_what_fits_the_question(world):
    """Whole within its budget, each text fenced under its ref; a blank question asks for the newest."""
    with world.open("ann") as mine:
        mine.save_preferences(language="eo")
        light = mine.save_todo("paint the harbour light")
        mine.save_message("assistant", "The bakery opens at six.")
        found = mine.context("harbour light")
        assert found.startswith("```memory:preference/preferences ")
        assert f"```{light} " in found
        assert "language=eo" in found
        assert "paint the harbour light" in found
        newest = mine.context("")
        assert "The bakery opens at six." in newest
        assert "paint the harbour light" in newest
        long = mine.save_journal("Harbour", "waves " * 4000)
        cut = mine.context("harbour waves", budget_tokens=200)
        assert len(cut.encode()) <= 800
        assert f"```{long} " in cut
        assert "…" in cut
        for wrong in (99, 100_001):
            with pytest.raises(Invalid, match="budget_tokens"):
                mine.context("harbour", budget_tokens=wrong)


def test_threads_share_one_object(world):
    """Four threads save and search: every record is there once."""
    with world.open("ann") as mine:
        failures = []

        def work(name):
            try:
                for number in range(8):
                    mine.save_todo(f"harbour {name}{number}")
                    assert mine.search(f"{name}{number}").hits
            except (CommonplaceError, AssertionError) as exc:
                failures.append(exc)

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(mine.todos()) == mine.stats().found == 32


# SQLite's lock of who copies the log into the file: of it alone nobody waits.
COPYING = """
import fcntl, sys
with open(sys.argv[1], "r+b") as shared:
    fcntl.lockf(shared, fcntl.LOCK_EX, 1, 121)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.name == "nt", reason="SQLite's locks are of another kind there")
def test_another_process_in_the_way_delays_the_erasing(world):
    """The record is deleted and says so; the next opening erases its bytes."""
    file = world.folder("ann") / "memory" / "memory.db-shm"
    with world.open("ann") as mine:
        ref_id = mine.save_todo("quokkarine")
        command = [sys.executable, "-c", COPYING, file]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout.readline() == b"held\n"
            (note,) = mine.delete(ref_id).notes
            other.stdin.close()
        assert "later" in note
        assert mine.search("quokkarine").hits == ()
    assert world.open("ann").service.store.to_erase() != ()
    with world.open("ann") as again:
        assert again.search("quokkarine").hits == ()
        assert again.service.store.to_erase() == ()
    assert world.traces("quokkarine") == []
