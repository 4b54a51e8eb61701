"""Superseding beside other processes, and in processes that die: one successor, and never half."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.proof.verbs import Nursery, Verbs

JOURNALS = ("private", "chronicle", "notebook", "timeline", "memory")
AT_ONCE = 3


@pytest.fixture(scope="module")
def nurseries(nursery):
    """Where processes that write at once come from."""
    others = [Nursery() for _ in range(AT_ONCE - 1)]
    yield [nursery, *others]
    for each in others:
        each.close()


@pytest.fixture
def verbs_of(tmp_path, nursery):
    """Opens what runs verbs in processes of their own, over one home and project."""
    return lambda of=nursery: Verbs(of, tmp_path / "home", tmp_path / "project")


def asked(verbs, verb, *given):
    """What a verb answers in a process that nothing kills."""
    answer, _ = verbs.run(verb, *given)
    assert answer is not None, (verb, given)
    return answer["answer"]


@pytest.mark.parametrize(
    "rounds",
    [1, pytest.param(20, marks=pytest.mark.whole)],
)
@pytest.mark.parametrize("journal", JOURNALS)
def test_of_processes_that_supersede_one_entry_at_once_one_does(
    nurseries, verbs_of, journal, rounds
):
    """The others are refused with the ref of that one; who writes the same has that entry."""
    several = [verbs_of(each) for each in nurseries]
    for number in range(rounds):
        old = asked(several[0], "write", journal, f"the old plan {number}")["ref"]
        texts = [f"the new plan {number} {which}" for which in ("a", "b", "a")]
        at = time.time() + 0.3
        with ThreadPoolExecutor(AT_ONCE) as pool:
            running = [
                pool.submit(asked, verbs, "write", journal, text, old, at)
                for verbs, text in zip(several, texts, strict=True)
            ]
        answers = [each.result() for each in running]
        made = {answer["ref"] for answer in answers if "ref" in answer}
        assert len(made) == 1, answers
        assert made == {asked(several[1], "successor", old)}
        refused = [answer["refused"] for answer in answers if "refused" in answer]
        assert len(refused) in {1, 2}
        assert all(next(iter(made)) in each for each in refused)
    listed = asked(several[0], "start")
    assert listed["problems"] == []
    news = [text for _, text in listed["texts"][journal] if "the new plan" in text]
    assert len(news) == rounds


@pytest.mark.parametrize(
    ("journal", "stride"),
    [
        ("private", 11),
        *(pytest.param(journal, 9, marks=pytest.mark.long) for journal in JOURNALS),
        *(pytest.param(journal, 1, marks=pytest.mark.whole) for journal in JOURNALS),
    ],
)
def test_a_death_at_each_step_of_superseding(verbs_of, shared_faults, counted, journal, stride):
    """Killed before each step in turn: both entries hold, or the new one in place of the old one.

    What was acknowledged is linked. The same call again gives the entry that is there, or makes
    it, and recall puts it above what it replaced.
    """
    verbs, faults = verbs_of(), shared_faults
    pairs, step, nth = [], "none yet", 1 - stride
    while step:
        nth += stride
        old = asked(verbs, "write", journal, f"the quokka{nth}old plan")["ref"]
        text = f"the quokka{nth}new plan"
        faults.plan(nth, "kill")
        answer, _ = verbs.run("write", journal, text, old)
        step = faults.lift()
        assert answer or step
        before = asked(verbs, "successor", old)
        again = asked(verbs, "write", journal, text, old)["ref"]
        if answer:
            assert before == answer["answer"]["ref"], step
        assert before in {"", again}, step
        assert asked(verbs, "successor", old) == again, step
        pairs.append((old, again))
    listed = asked(verbs, "start")
    assert listed["problems"] == []
    texts = Counter(text.strip() for _, text in listed["texts"][journal])
    assert all(
        sum(count for text, count in texts.items() if f"quokka{number}{which}" in text) == 1
        for number in range(1, nth + 1, stride)
        for which in ("old", "new")
    ), texts
    for number, (old, new) in zip(range(1, nth + 1, stride), pairs, strict=True):
        found = asked(verbs, "recalled", f"quokka{number}old plan")
        assert found.index(new) < found.index(old)
    counted(f"a superseding in {journal}, killed at each step", len(pairs))
