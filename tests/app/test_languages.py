"""The wiring of language models: from settings to a month in a model's words."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.core.errors import Denied, Invalid
from commonplace.verbs.timeline.commands import TimelineCommands
from commonplace_testing import FrozenClock
from commonplace_testing.language import FakeLLM, summarising

NOON = datetime(2025, 2, 4, 12, 0, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
say = summarising("The heron was counted")


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Makes apps whose settings are those given, over a home of the test's."""
    monkeypatch.setenv("TZ", "UTC")
    made = []

    def open_app(**environ):
        for name, value in environ.items():
            monkeypatch.setenv(f"COMMONPLACE_{name.upper()}", value)
        settings = read_settings(cwd=tmp_path / "project", home=tmp_path / "home")
        made.append(App(settings, user_home=tmp_path / "home", clock=FrozenClock(LATER)))
        return made[-1]

    yield open_app
    for each in made:
        each.close()


def test_nobody_is_asked_where_nothing_is_set(opened):
    """No model, no texts of one, no folder."""
    app = opened()
    assert app.languages.client() is None
    assert app.languages.find(better=True) is None
    assert app.languages.model_texts(app.timeline.rollups) is None
    assert not (app.folder / "llm").exists()


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_year_in_the_words_of_two_models(opened, monkeypatch, shape):
    """Hour and day by the first, the rest by the better one; tokens by day, cost by price."""
    monkeypatch.setenv("SOME_KEY", "sk-0123456789")
    with FakeLLM(say) as fake:
        app = opened(
            llm_url=fake.url,
            llm_shape=shape,
            llm_model="small",
            llm_better_model="large",
            llm_key_variable="SOME_KEY",
            llm_price="1/5",
            llm_better_price="10/50",
        )
        app.timeline.journal.add("Counted the heron.", at=NOON)
        model_texts = app.languages.model_texts(app.timeline.rollups)
        assert model_texts is not None
        told = model_texts.run()
        assert (told.done, told.stopped) == (5, "")
        assert [x.body["model"] for x in fake.asked] == ["small"] * 2 + ["large"] * 3
        assert {
            x.headers.get("x-api-key") or x.headers["Authorization"][7:] for x in fake.asked
        } == {"sk-0123456789"}
    # 1000 tokens in, 50 out each: 0.00125 dollars by the small one, 0.0125 by the large one.
    assert told.cost_usd == pytest.approx(2 * 0.00125 + 3 * 0.0125)
    assert app.languages.token_budget.spent() == told.tokens == 5 * 1050
    year = app.timeline.rollups.read("year", NOON)
    assert year is not None
    assert year.content == "**2025**\n\n**Learnings**:\n• The heron was counted"
    for root, _, names in os.walk(app.settings.home):
        for name in names:
            with open(os.path.join(root, name), "rb") as file:
                assert b"sk-0123" not in file.read()


def test_a_period_without_a_summary_of_use_is_told(opened):
    """Whoever rolls up reads of it, also where the others went well; its own words stand."""

    def of_days_nothing(asked):
        return "PWNED" if "one day" in asked.instructions else say(asked)

    with FakeLLM(of_days_nothing) as fake:
        app = opened(llm_url=fake.url, llm_model="small")
        app.timeline.journal.add("Counted the heron.", at=NOON)
        told = TimelineCommands(
            app.timeline.service(), lambda: app.languages.model_texts(app.timeline.rollups)
        ).roll_up()
    assert (told.facts["model"]["done"], told.facts["model"]["failed"]) == (4, 1)
    assert "Note: The model gave no usable summary of 1 period." in told.text


def test_what_lacks_is_told(opened, monkeypatch):
    """A model, a key; what it is that is missing, and never a key itself."""
    with pytest.raises(Invalid, match="no model of it"):
        opened(llm_url="http://127.0.0.1:9").languages.client()
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(Denied, match="SOME_KEY, which holds the key"):
        opened(llm_model="m", llm_key_variable="SOME_KEY").languages.client()


def test_whoever_waits_gets_less_time(opened):
    """A merge in the middle of a call; never more than the settings give."""
    app = opened(llm_url="http://127.0.0.1:9", llm_model="m", llm_timeout_s="60")
    times = [app.languages.client(within_s=x)._to.timeout_s for x in (None, 45.0, 300.0)]
    assert times == [60.0, 45.0, 60.0]


def test_the_cap_is_one_for_both_models(opened):
    """A run's tokens are those of all its models together."""
    with FakeLLM(say) as fake:
        app = opened(llm_url=fake.url, llm_model="small", llm_tokens_per_run="2000")
        for day in range(3, 8):
            app.timeline.journal.add("Counted the heron.", at=NOON.replace(day=day))
        model_texts = app.languages.model_texts(app.timeline.rollups)
        assert model_texts is not None
        told = model_texts.run()
        assert "The tokens of this run are spent" in told.stopped
        assert told.tokens < 2000


def test_private_entries_in_a_timeline_reach_no_model_elsewhere(opened, no_weights):
    """Nobody is asked for their hours, nor for what is made of them; a model that is here is."""
    settings = {
        "timeline_feed": "private",
        "llm_model": "small",
        "llm_timeout_s": "1",
    }
    app = opened(llm_url="http://llm.invalid/v1", **settings)
    tool = app.private.toolset().tool("process_thoughts")
    tool.call({"feelings": "A private heron.", "at": "2025-02-04 12:10"})
    app.timeline.service().run_due()
    model_texts = app.languages.model_texts(app.timeline.rollups)
    assert model_texts is not None
    assert (model_texts.run().stopped, app.languages.token_budget.spent()) == ("", 0)
    hour = app.timeline.rollups.read("hour", NOON)
    assert hour is not None
    assert "private heron" in hour.content
    with FakeLLM(say) as fake:
        near = opened(llm_url=fake.url, **{**settings, "llm_timeout_s": "60"})
        model_texts = near.languages.model_texts(near.timeline.rollups)
        assert model_texts is not None
        assert model_texts.run().done == 5
        assert "private heron" in fake.asked[0].text
