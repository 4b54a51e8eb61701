"""Death in any verb of any journal: what was acknowledged is there, what was deleted is nowhere."""

from __future__ import annotations

import json
import random
import string
from collections import Counter

import pytest
from tests.proof.verbs import ADDING, CLOSING_S, DELETING, EDITING, VERBS, Verbs


class Lives:
    """One home in which verbs are killed, and what must be true of it at the next start.

    A word stands for a text: no other text has it. there: (ref, word) of what is recorded, by
    journal. gone: words that were recorded once, and of which no byte may be left.
    """

    def __init__(self, folder, rng, nursery):
        self.home = folder / "home"
        self.rng = rng
        self.verbs = Verbs(nursery, self.home, folder / "project")
        self.there = {verb.__name__.partition("_")[0]: [] for verb in ADDING}
        self.unsure = []
        self.gone = set()
        self.took = {}

    def prepare(self):
        """Let each verb live once: entries to alter and delete, and how long it takes."""
        for verb in (*ADDING, *ADDING, *EDITING, *DELETING):
            assert self.run(verb.__name__), verb
        self.start()

    def run(self, name, kill_after_s=CLOSING_S):
        """Run a verb on some entry of its journal; whether it was acknowledged."""
        there = self.there[name.partition("_")[0]]
        word = "".join(self.rng.choices(string.ascii_lowercase, k=16)) + "q"
        adding, deleting = VERBS[name] in ADDING, VERBS[name] in DELETING
        if adding:
            answer, took = self.verbs.run(name, f"the {word} plan", kill_after_s=kill_after_s)
            before, after = set(), {word}
            ref = answer and answer["answer"]
        else:
            ref, old = there.pop(self.rng.randrange(len(there)))
            given = (ref,) if deleting else (ref, f"another {word} plan")
            answer, took = self.verbs.run(name, *given, kill_after_s=kill_after_s)
            before, after = {old}, set() if deleting else {word}
        if answer is None:
            self.unsure.append((name, before, after))
            return False
        self.took[name] = took
        self.gone |= before
        there += [(ref, new) for new in after]
        return True

    def refill(self, name):
        """See that there is an entry for a verb to work on."""
        journal = name.partition("_")[0]
        if not self.there[journal]:
            assert self.run(next(each for each in VERBS if each.startswith(journal)))

    def start(self):
        """Start, which tells all that is there: what was acknowledged, and of the rest all or none."""
        answer, self.took["start"] = self.verbs.run("start")
        assert answer is not None
        assert answer["answer"]["problems"] == []
        listed = {
            journal: [
                (ref, word) for ref, text in texts for word in text.split() if len(word) == 17
            ]
            for journal, texts in answer["answer"]["texts"].items()
        }
        counts = Counter(word for found in listed.values() for _, word in found)
        assert not [word for word, count in counts.items() if count > 1]
        for journal, there in self.there.items():
            assert {*there} <= {*map(tuple, listed[journal])}, journal
        acknowledged = {word for there in self.there.values() for _, word in there}
        maybe = set()
        for name, before, after in self.unsure:
            assert before <= {*counts} or after <= {*counts}, name
            assert not (before and after) or not before | after <= {*counts}, name
            self.gone |= before - {*counts}
            maybe |= before | after
        assert {*counts} <= acknowledged | maybe
        self.there, self.unsure = listed, []

    def traces(self):
        """The files that hold bytes of what is gone; the word index cuts what words begin with.

        What an edit replaced is kept as long as its entry is there, to take the edit back.
        """
        found = set()
        there = tuple(ref for each in self.there.values() for ref, _ in each if ref)
        for path in self.home.rglob("*"):
            if path.is_file():
                body = path.read_bytes().lower()
                kept = path.parent.name == "former" and json.loads(path.read_bytes())["ref"]
                if kept and kept.endswith(there):
                    continue
                found |= {(path.name, word) for word in self.gone if word[3:12].encode() in body}
        return found


@pytest.fixture
def lives(tmp_path, nursery):
    """Makes a home in which each verb has lived once."""

    def make(seed):
        made = Lives(tmp_path, random.Random(seed), nursery)
        made.prepare()
        return made

    return make


@pytest.mark.parametrize(
    "passes", [pytest.param(1, marks=pytest.mark.long), pytest.param(15, marks=pytest.mark.whole)]
)
def test_a_kill_in_any_verb_loses_nothing_and_leaves_nothing(lives, counted, passes):
    """Killed at random moments, and the start after it as well: all or nothing, once, no byte."""
    home = lives(16)
    for _ in range(passes):
        names = [*VERBS]
        home.rng.shuffle(names)
        while names:
            for name in names[:4]:
                home.refill(name)
                home.run(name, home.rng.uniform(0.0, home.took[name]))
            del names[:4]
            home.verbs.run("start", kill_after_s=home.rng.uniform(0.0, home.took["start"]))
            home.start()
            assert home.traces() == set()
    for name in VERBS:
        counted(f"{name.replace('_', ' ')}, killed at a random moment", passes)


REMOVING = sorted((x.__name__ for x in (*EDITING, *DELETING)), key=lambda x: x[:7] != "private")
ERASING = ("sqlite COMMIT", "sqlite VACUUM", "sqlite PRAGMA")


@pytest.mark.parametrize(
    ("names", "steps"),
    [
        (REMOVING[:2], ERASING),
        pytest.param(["timeline_delete", "memory_delete"], ERASING, marks=pytest.mark.long),
        pytest.param(REMOVING, (), marks=pytest.mark.whole),
    ],
)
def test_a_kill_at_each_step_of_an_edit_or_a_delete(lives, shared_faults, names, steps, counted):
    """Wherever it dies, the next start erases every byte of what is not there any more."""
    home, faults = lives(7), shared_faults
    for name in names:
        nth, step = 0, "none yet"
        while step:
            nth += 1
            home.refill(name)
            faults.plan(nth, "kill", *steps)
            acknowledged = home.run(name)
            step = faults.lift()
            assert acknowledged or step
            home.start()
            assert home.traces() == set(), (name, step)
        counted(f"{name.replace('_', ' ')}, killed at each step", nth)
