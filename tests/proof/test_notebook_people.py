"""Notebook histories of several people: tools, plain git and wrong clocks in two or three clones."""

from __future__ import annotations

import contextlib
import random
import shlex
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.journals.notebook.team import Team
from tests.proof.reliability import counted  # noqa: F401  a fixture

from commonplace.core.errors import CommonplaceError, Conflict
from commonplace.journals.notebook.conflicts import Clashes
from commonplace.journals.notebook.sections import OverviewConflict

if TYPE_CHECKING:
    from pathlib import Path

SECTIONS = ("a", "a", "d/b")
START = datetime(2026, 11, 21, tzinfo=UTC)
STEPS = {
    "write": 7, "overview": 6, "edit": 2, "sync": 6, "pull": 4, "rebase": 2,
    "push": 1, "move": 1, "settle": 1, "forget": 1, "beside": 2,
}  # fmt: skip


@pytest.mark.parametrize(
    "histories",
    [2, pytest.param(6, marks=pytest.mark.long), pytest.param(120, marks=pytest.mark.whole)],
)
def test_histories_of_several_people(tmp_path, counted, histories):  # noqa: F811  the fixture
    """Nothing acknowledged is lost or reverted, counts and hashes are true, and all clones agree."""
    for seed in range(histories):
        folder = tmp_path / str(seed)
        folder.mkdir()
        History(folder, random.Random(seed)).run()
    counted("notebook histories of several people", histories)


class History:
    """A random history, and what its people were told was written."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.rng = rng
        self.people = rng.choice([2, 2, 3])
        self.team = Team(folder, people=self.people)
        self.clocks = [timedelta(days=rng.choice([0, 0, -1, -30, 2])) for _ in range(self.people)]
        self.seconds = 0
        self.has_union = rng.random() < 0.5
        # Of each entry: who wrote it, the address and the hash he was told, its id, its text.
        self.written: list[tuple[int, str, str, str, str]] = []
        self.keys: dict[tuple[int, str], str] = {}
        # The paragraphs of overviews, and those that somebody who had read them replaced.
        self.paragraphs: set[str] = set()
        self.replaced: set[str] = set()

    def run(self) -> None:
        """Take some steps, sync everybody twice, then look."""
        if self.has_union:
            for which in range(self.people):
                info = self.team.place(which) / ".git" / "info"
                info.mkdir(exist_ok=True)
                (info / "attributes").write_text("*.md merge=union\n")
        kinds, weights = zip(*STEPS.items(), strict=True)
        for kind in self.rng.choices(kinds, weights, k=self.rng.randint(8, 16)):
            which = self.rng.randrange(self.people)
            self.turn(which)
            getattr(self, kind)(which)
        for which in [*range(self.people)] * 2:
            self.turn(which)
            self.sync(which)
        self.check()
        self.team.close()

    def turn(self, which: int) -> None:
        """Time goes on, by the clock of one person."""
        self.seconds += 60
        self.team.now = START + timedelta(seconds=self.seconds) + self.clocks[which]

    def section(self, which: int) -> str:
        known = self.team.notes[which].list_sections()
        return self.rng.choice([*SECTIONS, *known])

    def write(self, which: int, section: str = "", **rest: str) -> None:
        section = section or self.section(which)
        key = self.rng.choice([None, None, "k", "l"])
        text = f"entry {len(self.written)}"
        made = self.team.notes[which].write(section, text, idempotency_key=key, **rest).entry
        if made.text != text:
            assert self.keys[which, key] == made.id  # the same key in the same clone alone
            return
        if key is not None:
            self.keys[which, key] = made.id
        self.written.append((which, made.section, made.hash, made.id, text))

    def overview(self, which: int, section: str = "") -> None:
        """An overview of two paragraphs of which one is new, by who has read the other."""
        section = section or self.section(which)
        text, old, new = self.changed(which, section)
        before = len(self.written)
        with contextlib.suppress(OverviewConflict):
            self.write(
                which, section, overview=text, base_version=self.team.version(which, section)
            )
            if len(self.written) > before:
                self.note(old, new)

    def changed(self, which: int, section: str) -> tuple[str, str, str]:
        """A section's overview with one paragraph replaced; that one, and the new one."""
        try:
            text = self.team.notes[which].read_section(section).overview
        except CommonplaceError:
            text = ""
        blocks = text.split("\n\n") if text else []
        at = self.rng.randrange(2)
        new = f"Paragraph {self.seconds} is long enough to be told from any other."
        if at >= len(blocks):
            return "\n\n".join([*blocks, new]), "", new
        old = blocks[at]
        return "\n\n".join([*blocks[:at], new, *blocks[at + 1 :]]), old, new

    def note(self, old: str, new: str) -> None:
        self.paragraphs.add(new)
        self.replaced |= {*old.splitlines()}

    def edit(self, which: int) -> None:
        """A commit by hand, which leaves the count as it is."""
        section = self.section(which)
        path = self.team.place(which) / f"{section}.md"
        if path.is_file():
            text, old, new = self.changed(which, section)
            count = path.read_text().rpartition("<!--")[2]
            hash_ = self.team.hand(which, "By hand", **{
                section.replace("/", "__"): f"{text}\n\n<!--{count}"
            })  # fmt: skip
            id_ = self.team.notes[which].read_entry(f"{section}#{hash_}").id
            self.written.append((which, section, hash_, id_, "By hand"))
            self.note(old, new)

    def sync(self, which: int) -> None:
        for note in self.team.sync(which).notes:
            if note.startswith("A rebase by hand lost an entry"):
                command = note.partition(": git -C ")[2].partition(" brings it back")[0]
                self.team.git(which, *shlex.split(command)[1:])
                self.sync(which)

    def pull(self, which: int, *words: str) -> None:
        """What plain git merges of itself; the rest is given up."""
        git = self.team.git
        git(which, "pull", "-q", *(words or ("--no-rebase", "--no-edit")), "origin", "main", check=False)  # fmt: skip
        for verb in ("merge", "rebase"):
            git(which, verb, "--abort", check=False)
        assert git(which, "status", "--porcelain") == ""

    def beside(self, which: int) -> None:
        """One pulls by hand what another has synced of the same section, who goes on."""
        other = self.rng.choice([x for x in range(self.people) if x != which])
        section = self.rng.choice(SECTIONS)
        for person, step, *more in (
            (other, self.sync),
            (which, self.sync),
            (other, self.overview, section),
            (other, self.sync),
            (which, self.write, section),
            (which, self.pull),
            (other, self.write),
            (other, self.sync),
        ):
            self.turn(person)
            step(person, *more)

    def rebase(self, which: int) -> None:
        self.pull(which, "--rebase")

    def push(self, which: int) -> None:
        self.team.git(which, "push", "-q", "origin", "main", check=False)

    def move(self, which: int) -> None:
        if names := self.team.notes[which].list_sections():
            with contextlib.suppress(Conflict):
                self.team.notes[which].move(self.rng.choice(names), f"m{self.rng.randrange(4)}")

    def settle(self, which: int) -> None:
        """Whoever settles a clash has read both, and takes one."""
        clashes = Clashes(self.team.notes[which])
        for clash in clashes.list_open():
            text = self.rng.choice([clash.ours, None])
            clashes.settle(clash, text)
            loser = clash.ours if text is None else clash.theirs
            taken = clash.theirs if text is None else text
            self.replaced |= {*loser.splitlines()} - {*taken.splitlines()}

    def forget(self, which: int) -> None:
        """The ledger is lost."""
        self.team.notes[which].close()
        for path in self.team.folder.glob(f"{self.team.place(which).name}.db*"):
            path.unlink()

    def check(self) -> None:
        team = self.team
        everyone = range(self.people)
        head = team.remote_head() if self.written else ""
        assert {team.head(x) for x in everyone if head} <= {head}
        waiting = [c.ours for x in everyone for c in Clashes(team.notes[x]).list_open()]
        for which in everyone if head else ():
            files = team.files(which)
            assert files == team.files(0)
            self.check_entries(which)
            self.check_counts(which, files)
            shown = {line for text in files.values() for line in text.splitlines()}
            kept = shown.union(*(text.splitlines() for text in waiting))
            assert self.paragraphs - self.replaced <= kept
            # A union merge by plain git may itself bring an older line back.
            assert self.has_union or not self.replaced & shown - {""}

    def check_entries(self, which: int) -> None:
        """Every entry by its id; by its hash where it was written, or if it has that hash still."""
        notes = self.team.notes[which]
        ours = set(self.team.git(which, "rev-list", "main").split())
        for writer, section, hash_, id_, text in self.written:
            assert notes.read_entry(f"{section}#{id_}").text == text
            if which == writer or hash_ in ours:
                assert notes.read_entry(f"{section}#{hash_}").id == id_

    def check_counts(self, which: int, files: dict[str, str]) -> None:
        """As files state them, as the ledger has them, and as one made anew reads them."""
        notes = self.team.notes[which]
        before = {
            x: {y.id for y in notes.ledger.newest(x, length=999)}
            for x in notes.ledger.section_counts()
        }
        self.forget(which)
        notes.ledger.catch_up()
        after = {
            x: {y.id for y in notes.ledger.newest(x, length=999)}
            for x in notes.ledger.section_counts()
        }
        assert before == after
        assert {x[3] for x in self.written} == set().union(*after.values())
        for name, text in files.items():
            if "entry count" in text:
                assert text.endswith(f"<!-- entry count: {len(after.get(name, ()))} -->\n")
                assert text.count("entry count") == 1
