"""Death at any moment of an import: the next one goes on, and nothing is there twice."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.importable import KINDS, command_of

DIARY = "".join(f"[2024-05-0{n} 09:30] Day {n}\nAt the harbour.\n\n" for n in (1, 2, 3))


def sampled(kinds, always, stride, closer):
    """Each kind with a stride: those of `always` in every run, and all of them closer when long."""
    often = [(kind, stride) for kind in kinds if kind in always]
    marked = ((closer, pytest.mark.long), (1, pytest.mark.whole))
    return often + [pytest.param(k, n, marks=mark) for k in kinds for n, mark in marked]


@pytest.mark.parametrize(("into", "stride"), sampled(["private", "timeline"], {"private"}, 13, 7))
def test_a_death_at_each_step_of_an_import(world, shared_commands, shared_faults, into, stride):
    """Killed before each step in turn, each time with a diary of other days."""
    diary = world.folder / "journal.txt"

    def imported():
        """What an import says of itself."""
        ran = shared_commands.run(world.folder, "import", "jrnl", diary, "--into", into, "--json")
        return ran.out

    step, nth, dead = "none yet", 1 - stride, 0
    while step:
        nth += stride
        year = 1980 + nth % 200
        diary.write_text(DIARY.replace("2024", str(year)))
        shared_faults.plan(nth, "kill")
        imported()
        step = shared_faults.lift()
        dead += bool(step)
        after, again = (json.loads(imported()) for _ in range(2))
        assert after["new"] + after["there"] == 3, step
        assert (again["new"], again["there"], again["updated"]) == (0, 3, 0)
        if into == "private":
            days = [p for p in world.entries() if p.parent.name.startswith(str(year))]
            assert len(days) == 3, step
    assert dead
    assert world.problems() == []


@pytest.mark.parametrize(
    ("kind", "stride"), sampled(KINDS, {"timeline", "chronicle", "export"}, 71, 17)
)
def test_a_death_at_each_step_of_an_import_or_its_undo(
    world, shared_commands, shared_faults, kind, stride
):
    """What it added goes whole when it is asked for again, and the same import brings it whole."""
    words = command_of(kind, world.folder)

    def call(*words):
        """A command over the same home."""
        return shared_commands.run(world.folder, *words)

    def undo():
        """Take back the newest until there is nothing left; what it names is passed over."""
        while (ran := call("undo", "--yes")).code in (0, 4):
            pass
        return ran

    def texts():
        """What every journal shows."""
        found = json.loads(call("list", "--json", "-n", "100").out)["items"]
        return sorted((each["journal"], each["text"]) for each in found)

    call(*words)
    brought = texts()
    assert undo().code == 3
    assert (len(brought) >= 3, texts()) == (True, [])
    call(*words)
    nth, dead, left = 1 - stride, set(), ["undo", "import"]
    while left:
        nth += stride
        for killed in tuple(left):
            if killed == "import":
                assert undo().code == 3
            shared_faults.plan(nth, "kill")
            call(*words) if killed == "import" else call("undo", "--yes")
            if step := shared_faults.lift():
                dead.add(killed)
            else:
                left.remove(killed)
            assert undo().code == 3, step
            assert texts() == [], step
            call(*words)
            assert texts() == brought, step
    assert dead == {"undo", "import"}
    assert world.problems() == []


@pytest.mark.parametrize("into", ["private", "timeline"])
def test_two_imports_at_once_take_each_entry_once(world, tmp_path, into):
    """And count it once between them."""
    diary = tmp_path / "journal.txt"
    diary.write_text("".join(f"[2024-05-01 09:{n:02}] Day {n}\n\n" for n in range(40)))
    words = [sys.executable, "-m", "commonplace", "import", "jrnl", str(diary), "--into", into]
    both = [subprocess.Popen([*words, "--json"], stdout=subprocess.PIPE) for _ in range(2)]
    said = [json.loads(each.communicate()[0]) for each in both]
    assert sum(each["new"] for each in said) == 40
    assert [each["new"] + each["there"] for each in said] == [40, 40]
    assert into != "private" or len(world.entries()) == 40
    assert world.problems() == []
