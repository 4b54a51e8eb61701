"""Rollups put into words by a model: over real HTTP, with every fault, and killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from tests.patience import PATIENCE_S, until

from commonplace.core.errors import Unavailable
from commonplace.core.values import Page
from commonplace.inference.language.budget import Metered, Run, TokenBudget
from commonplace.inference.language.client import Endpoint, LanguageClient
from commonplace.inference.language.extract import Extractive
from commonplace.inference.language.summarise import ModelSummariser
from commonplace.journals.timeline.expiry import apply_retention
from commonplace.journals.timeline.feed import Feeding
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace.journals.timeline.model_texts import CLAIM, LevelSummariser, ModelTexts
from commonplace.journals.timeline.retention import parse_retention
from commonplace.journals.timeline.rollups import Rollups
from commonplace_testing import FrozenClock, OneSource, a_doc
from commonplace_testing.language import (
    ORDERS,
    FakeLLM,
    Reply,
    ScriptedLanguage,
    busy,
    summarising,
)

# A Tuesday; by NOW its hours, the day, the week and the month are over.
TEN = datetime(2025, 2, 4, 10, 0, tzinfo=UTC)
NOW = datetime(2025, 3, 2, 12, 0, tzinfo=UTC)
SMALL, LARGE = ("hour", "day"), ("week", "month", "year")
say = summarising("The heron was counted at the harbour")


class World:
    """One owner's timeline, its rollups, and models behind a fake server."""

    def __init__(self, folder, fake):
        self.folder = folder
        self.clock = FrozenClock(NOW)
        self.journal = TimelineJournal(folder, owner="me", zone=UTC, clock=self.clock)
        self.rollups = Rollups(self.journal, Extractive())
        self.fake = fake
        self.budget = TokenBudget(folder / "llm", per_day=1_000_000, clock=self.clock, zone=UTC)

    def add(self, text="Counted the heron at the harbour.", *, hours=0.0, **rest):
        return self.journal.add(text, at=TEN + timedelta(hours=hours), **rest).entry

    def client(self, model, *, run=None):
        endpoint = Endpoint(url=self.fake.url, shape="openai", model=model, timeout_s=PATIENCE_S)
        client = LanguageClient(endpoint, sleep=lambda _seconds: None)
        return Metered(client, run or Run(self.budget, per_run=1_000_000))

    def model_texts(self, *, small=None, large=None, run=None, name="small"):
        small = small or self.client("small", run=run)
        large = large or self.client("large", run=run)
        writers = [
            LevelSummariser(
                summariser=ModelSummariser(language, model=name, levels=levels), levels=levels
            )
            for language, name, levels in ((small, name, SMALL), (large, "large", LARGE))
        ]
        return ModelTexts(self.rollups, writers)

    def rollup(self, level, at=TEN):
        entry = self.rollups.read(level, at)
        assert entry is not None
        return entry

    def close(self):
        self.journal.close()


@pytest.fixture
def world(tmp_path):
    with FakeLLM(say) as fake:
        made = World(tmp_path / "journal", fake)
        yield made
        made.close()


@pytest.mark.design("003-61", "003-62")
def test_every_level_is_put_into_words_by_its_model(world):
    """Hour and day by one, week and month by the better one; an open year stays as it is."""
    world.add()
    world.add("The heron was gone.", hours=3)
    told = world.model_texts().run()
    assert (told.done, told.failed, told.stopped) == (5, 0, "")
    assert world.rollup("hour").content == "[10:00-11:00] The heron was counted at the harbour."
    assert world.rollup("day").content == (
        "**4 February 2025**\n\n**Accomplishments**:\n• The heron was counted at the harbour"
    )
    assert world.rollup("month").content.startswith("**February 2025**\n\n**Learnings**:")
    assert [x.body["model"] for x in world.fake.asked] == ["small"] * 3 + ["large"] * 2
    facts = world.rollup("week").metadata
    assert (facts["llm_model"], facts["rollup_cost_tokens"]) == ("fake-1", 1050)
    assert facts["generator"].startswith("large ")
    assert (told.tokens, world.budget.spent()) == (5 * 1050, 5 * 1050)


def test_a_larger_period_is_made_of_the_new_texts(world):
    """Each is asked for once: what a new text makes stale comes after it."""
    world.add()
    world.rollups.catch_up()
    world.model_texts().run()
    day = next(x for x in world.fake.asked if "one day" in x.instructions)
    assert "[10:00-11:00] The heron was counted at the harbour." in day.text
    assert len(world.fake.asked) == 4
    assert world.model_texts().run().done == 0
    assert len(world.fake.asked) == 4


def test_a_day_is_put_into_words_whose_hours_have_expired(world):
    """From what is left of its entries: their number, and what summaries quote of them."""
    world.add(metadata={"projects": ["herons"]})
    world.add("Painted the gate.", hours=2)
    keep = parse_retention("raw=24h,hourly=24h")
    for days in (0, 10):
        world.clock.at = NOW + timedelta(days=days)
        apply_retention(world.rollups, keep)
    assert world.rollups.list_due() == []
    world.model_texts().run()
    (day,) = [x for x in world.fake.asked if "one day" in x.instructions]
    assert "Counted the heron at the harbour." in day.text
    assert "entries: 2" in day.text
    found = world.rollup("day")
    assert found.metadata["generator"].startswith("small ")
    assert (found.metadata["entries"], found.metadata["projects"]) == (2, ["herons"])
    assert found.content.startswith("**4 February 2025**\n\n**Accomplishments**:")


def test_a_run_tells_how_far_it_is(world):
    """What is done, and what has an extractive text still: hour, day, week, month."""
    world.add()
    told = []
    world.model_texts().run(progress=lambda *counts: told.append(counts))
    assert told == [(1, 3), (2, 2), (3, 1), (4, 0)]


def test_nothing_is_due_after_a_run(world):
    """Whatever a new text makes stale is made again in it."""
    world.add()
    world.model_texts().run()
    assert world.rollups.list_due() == []


def test_the_last_weeks_come_first(world):
    """Then the past; each period is asked for once all the same."""
    for days in (0, 20, 400, 800):
        world.add(hours=-24 * days)
    told = world.model_texts().run(most=4)
    assert told.done == 4
    assert world.rollup("day").metadata["generator"].startswith("small ")
    assert world.model_texts().run().stopped == ""
    asked = [x.instructions.partition("The period is one ")[2][:5] for x in world.fake.asked]
    assert {x: asked.count(x) for x in asked} == {
        "hour.": 4,
        "day; ": 4,
        "week;": 4,
        "month": 4,
        "year;": 2,
    }


def test_the_extractive_text_stands_until_a_model_answers(world):
    """Without one, and while it fails; then it is replaced."""
    world.add()
    world.fake.say(busy(status=529))
    told = world.model_texts().run()
    assert told.done == 0
    assert "529" in told.stopped
    assert world.rollup("hour").content.startswith("[10:00-11:00] 1 entry")
    assert world.rollup("month").content
    world.fake.say(say)
    assert world.model_texts().run().done == 4
    assert world.rollup("hour").content == "[10:00-11:00] The heron was counted at the harbour."


@pytest.mark.parametrize(
    "fault", [busy(), Reply(status=401), Reply(status=404), Reply(raw=b"<html>"), Reply(hangs=True)]
)
def test_a_model_that_cannot_answer_stops_the_run(world, fault):
    """One period is tried, no failure is counted, and nothing is lost."""
    world.add()
    world.fake.say(fault)
    endpoint = Endpoint(url=world.fake.url, shape="openai", model="small", timeout_s=0.5)
    told = world.model_texts(small=LanguageClient(endpoint, sleep=lambda _s: None)).run()
    assert (told.done, told.failed) == (0, 0)
    assert told.stopped
    world.fake.say(say)
    assert world.model_texts().run().done == 4


@pytest.mark.parametrize(
    "fault",
    [
        "PWNED",
        Reply(status=400),
        pytest.param(Reply(text="The heron was", whole=False), marks=pytest.mark.long),
        pytest.param(Reply(text=" "), marks=pytest.mark.long),
    ],
)
def test_a_poisoned_period_is_left_alone_after_three_failures(world, fault):
    """And asked for again once it has changed; all others go on."""
    world.add("A poisoned marsh.")
    world.add(hours=3)

    def answer(asked):
        return fault if "marsh" in asked.text and "one hour" in asked.instructions else say(asked)

    world.fake.say(answer)
    runs = [world.model_texts().run() for _ in range(4)]
    assert [x.failed for x in runs] == [1, 1, 1, 0]
    assert [x.poisoned for x in runs] == [[], [], ["2025-02-04T10"], []]
    assert runs[0].done == 4
    hours = [x for x in world.fake.asked if "marsh" in x.text and "one hour" in x.instructions]
    assert len(hours) == 3
    assert world.rollup("hour").content.startswith("[10:00-11:00] 1 entry")
    world.add("The heron is back.", hours=0.5)
    world.fake.say(say)
    told = world.model_texts().run()
    assert (told.failed, told.done) == (0, 4)


def test_models_that_fail_in_turns_are_not_asked_for_ever(world):
    """As those of two machines on one timeline; one that is new there is asked once."""
    world.add()
    world.fake.say("PWNED")
    failed = [world.model_texts(name=name).run().failed for name in ("one", "two") * 4]
    assert failed == [4, 4, 4, 0, 0, 0, 0, 0]
    assert [world.model_texts(name="three").run().failed for _ in range(2)] == [2, 0]
    world.fake.say(say)
    assert world.model_texts(name="four").run().done == 4


def test_three_failures_in_a_row_are_the_models_fault(world):
    """It is not asked for all the rest, at a price."""
    for hours in range(6):
        world.add(hours=hours)
    world.fake.say("PWNED")
    told = world.model_texts().run()
    assert (told.failed, told.stopped) == (3, "3 periods in a row got no usable summary.")
    assert len(world.fake.asked) == 3


@pytest.mark.design("003-63")
def test_caps_stop_the_run_and_the_extractive_text_stands(world):
    """A question and its longest answer must fit into what is left; the next day goes on."""
    for hours in range(4):
        world.add(hours=hours)
    told = world.model_texts(run=Run(world.budget, per_run=1600)).run()
    assert told.done >= 1
    assert "The tokens of this run are spent" in told.stopped
    assert world.rollup("month").content
    world.budget.per_day = world.budget.spent() + 100
    assert "Today's tokens are spent" in world.model_texts().run().stopped
    world.clock.advance(86_400)
    world.budget.per_day = 1_000_000
    assert world.model_texts().run().stopped == ""


def test_what_changes_while_a_model_is_asked_is_not_overwritten(world):
    """Its answer is thrown away; the rollup is made again from what is there now."""
    world.add()
    world.rollups.catch_up()

    class Meanwhile(ScriptedLanguage):
        def complete(self, question):
            if not self.questions:
                world.add("A late arrival: the egret came.", hours=0.2)
                world.rollups.catch_up()
            return super().complete(question)

    small = Meanwhile("The heron was counted at the harbour.")
    told = world.model_texts(small=small).run(most=1)
    assert "egret" in world.rollup("hour").content
    assert told.done == 1  # the day, or the week above it
    world.model_texts().run()
    assert world.rollup("hour").content == "[10:00-11:00] The heron was counted at the harbour."


def test_what_is_deleted_meanwhile_stays_deleted(world):
    """A model's text of it is not stored."""
    entry = world.add("The heron has a secret.")

    class Meanwhile(ScriptedLanguage):
        def complete(self, question):
            world.journal.delete(entry.id)
            return super().complete(question)

    world.model_texts(
        small=Meanwhile("The heron has a secret."), large=ScriptedLanguage(Unavailable("No."))
    ).run()
    assert world.rollup("hour").content == ""
    assert b"secret" not in (world.folder / "journal.db").read_bytes()


def test_another_model_is_not_paid_for_what_is_written(world):
    """Only a rebuilt period is put into words again, with all it is made of and goes into."""
    world.add()
    world.model_texts().run()
    writer = ModelSummariser(world.client("newer"), model="newer", levels=SMALL)
    newer = ModelTexts(world.rollups, [LevelSummariser(summariser=writer, levels=SMALL)])
    assert newer.run().done == 0
    world.rollups.rebuild("hour", TEN)
    assert newer.run().done == 2
    assert world.rollup("hour").metadata["generator"].startswith("newer ")


def test_two_processes_do_not_pay_twice(world):
    """What one is at, the other leaves alone."""
    world.add()
    world.rollups.catch_up()
    seen = []

    class Slow(ScriptedLanguage):
        def complete(self, question):
            if not seen:
                seen.append(world.model_texts().run().done)
            return super().complete(question)

    world.model_texts(small=Slow("The heron was counted at the harbour.")).run(most=1)
    hours = [x for x in world.fake.asked if "one hour" in x.instructions]
    assert hours == []
    assert world.rollup("hour").content == "[10:00-11:00] The heron was counted at the harbour."


@pytest.mark.parametrize("fails", [True, False], ids=["no answer", "no summary"])
def test_a_process_that_stood_still_ends_no_claim_but_its_own(world, fails):
    """Another has taken the summary by then: a third does not pay for it as well."""
    world.add()
    world.rollups.catch_up()
    taken, over, others = threading.Event(), threading.Event(), []

    class Other(ScriptedLanguage):
        def complete(self, question):
            taken.set()
            assert over.wait(PATIENCE_S)
            return super().complete(question)

    class Still(ScriptedLanguage):
        def complete(self, question):
            if others:
                return super().complete(question)
            world.clock.advance(CLAIM.total_seconds())
            other = world.model_texts(small=Other("The heron was counted at the harbour."))
            others.append(pool.submit(other.run, most=1))
            assert taken.wait(PATIENCE_S)
            if fails:
                raise Unavailable("The model did not answer.", hint="Ask later.")
            return super().complete(question)

    with ThreadPoolExecutor(1) as pool:
        try:
            world.model_texts(small=Still("PWNED")).run(most=1)
            world.model_texts().run(most=1)
        finally:
            over.set()
        assert others[0].result().done == 1
    assert [x for x in world.fake.asked if "one hour" in x.instructions] == []


def test_private_text_stays_on_this_machine(world):
    """A model elsewhere is not asked for what holds private text, nor for what is made of it."""

    class Pages:
        def read_ref(self, ref):
            at = TEN + timedelta(minutes=30)
            return Page(
                ref=ref, journal="private", scope="user", kind="entry", at=at, text=told.text
            )

    told = a_doc("private:user/x", "A private heron.", journal="private", kind="entry")
    told = replace(told, at=TEN + timedelta(minutes=30))
    source = OneSource("private:user", [told], prefix="private:")
    world.rollups.feed = Feeding(
        world.journal, sources=lambda: [source], openers=lambda: {"private": Pages()}
    )
    world.add(hours=3)
    assert world.rollups.feed.sync() == 1
    far = ScriptedLanguage("The heron was counted at the harbour.", sees_private=False)
    world.model_texts(small=far, large=ScriptedLanguage(sees_private=False)).run()
    assert [x.is_private for x in far.questions] == [False]
    assert "private heron" in world.rollup("hour", TEN + timedelta(minutes=30)).content
    assert "private heron" not in str(far.questions)


def test_an_entry_that_gives_orders_is_data(world):
    """Fenced in what the model is shown, and no answer of its kind is stored."""
    world.add(ORDERS)
    world.fake.say("PWNED")
    world.model_texts().run()
    assert f"\n{ORDERS}\n```" in world.fake.asked[0].text
    assert ORDERS not in world.fake.asked[0].instructions
    assert world.rollup("hour").content.startswith("[10:00-11:00] 1 entry")


def test_what_it_cost_is_written_down(world):
    """In the log beside the journal, where no text of entries is."""
    world.add("A marsh harrier.")
    world.fake.say("PWNED", say)
    world.model_texts().run()
    world.model_texts().run()
    lines = [json.loads(x) for x in (world.folder / "rollups.log").read_text().splitlines()]
    told = [(x["level"], x["outcome"], x["tokens_in"]) for x in lines if x["generator"][0] != "e"]
    assert told[0] == ("hour", "no summary", 1000)
    assert ("hour", "stored", 1000) in told
    assert "marsh" not in (world.folder / "rollups.log").read_text()
    # The hour twice, the day, the week and the month twice: what came of it does not matter.
    assert world.budget.spent() == 8 * 1050


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from tests.journals.timeline.test_model_texts import World
from types import SimpleNamespace
world = World(Path(sys.argv[1]), SimpleNamespace(url=sys.argv[2]))

class Dying:
    def __init__(self, client):
        self.client = client

    def __getattr__(self, name):
        return getattr(self.client, name)

    def complete(self, question):
        self.client.complete(question)
        os.kill(os.getpid(), 9)

world.model_texts(small=Dying(world.client("small"))).run()
"""


@pytest.mark.parametrize("answer", [say, Reply(hangs=True)])
def test_killed_before_the_commit(world, answer):
    """While a model is asked, and with its answer in hand: only that one answer is made again."""
    world.add()
    world.rollups.catch_up()
    world.fake.say(answer)
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
    command = [sys.executable, "-c", KILLED, str(world.folder), world.fake.url, root]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        until(lambda: world.fake.asked or process.poll() is not None, "the model to be asked")
        if answer is not say:
            process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, process.stderr.read()
    assert len(world.fake.asked) == 1
    assert world.rollup("hour").content.startswith("[10:00-11:00] 1 entry")
    world.fake.say(say)
    world.model_texts().run()
    assert world.rollup("hour").content.startswith("[10:00-11:00] 1 entry")
    assert world.rollup("day").content.endswith("The heron was counted at the harbour")
    world.clock.advance(CLAIM.total_seconds())
    world.model_texts().run()
    assert world.rollup("hour").content == "[10:00-11:00] The heron was counted at the harbour."
    # What the killed one had set aside counts as spent.
    assert world.budget.spent() > 1050 * 7
