"""Summaries by a model: what it is shown, the form of its answer, and what is not believed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cases import cases
from tests.sampled import sampled

from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.rollups import (
    Figures,
    Item,
    Material,
    Measure,
    NoSummary,
    PeriodBefore,
    Point,
)
from commonplace.core.values import Completion, Interval
from commonplace.inference.language.client import Endpoint, LanguageClient
from commonplace.inference.language.summarise import (
    MOST_INPUT,
    MOST_WORDS,
    ModelSummariser,
    Price,
    passages_of,
    read_prompt,
)
from commonplace_testing.language import ORDERS, FakeLLM, Reply, ScriptedLanguage

BERLIN = ZoneInfo("Europe/Berlin")
# 10:00 in Berlin on a Tuesday in winter.
TEN = datetime(2025, 2, 4, 9, 0, tzinfo=UTC)
LEVELS = ("hour", "day", "week", "month", "year")
SPANS = {
    "hour": ("2025-02-04T10", TEN, TEN + timedelta(hours=1)),
    "day": ("2025-02-04", TEN - timedelta(hours=10), TEN + timedelta(hours=14)),
    "week": (
        "2025-W06",
        datetime(2025, 2, 2, 23, tzinfo=UTC),
        datetime(2025, 2, 9, 23, tzinfo=UTC),
    ),
    "month": (
        "2025-02",
        datetime(2025, 1, 31, 23, tzinfo=UTC),
        datetime(2025, 2, 28, 23, tzinfo=UTC),
    ),
    "year": (
        "2025",
        datetime(2024, 12, 31, 23, tzinfo=UTC),
        datetime(2025, 12, 31, 23, tzinfo=UTC),
    ),
}
TEXTS = (
    "Created the work_log table with 4 columns.",
    "Tested it with the Q4 data; the import is slow.",
)


def material(level="hour", texts=TEXTS, **rest) -> Material:
    """A period with these entries, ten minutes after one another."""
    key, start, end = SPANS[level]
    items = tuple(
        Item(ref=f"timeline:{n}", at=TEN + timedelta(minutes=10 * n), text=text, **rest)
        for n, text in enumerate(texts)
    )
    figures = Figures(
        entries=len(items), hours=1, first=items[0].at, last=items[-1].at, projects={"sales": 2}
    )
    return Material(
        owner="me",
        level=level,
        key=key,
        period=Interval(start=start, end=end),
        zone=BERLIN,
        items=items,
        figures=figures,
    )


def summarise(answer, level="hour", **rest):
    """What becomes of an answer."""
    language = answer if hasattr(answer, "complete") else ScriptedLanguage(answer)
    return ModelSummariser(language, model="small", levels=LEVELS).summarise(
        material(level, **rest)
    )


@pytest.mark.design("003-34", "003-56")
def test_an_hour_is_laid_out_as_the_design_has_it():
    """Its span on the owner's clock, then plain sentences; a span of the model's own goes."""
    for answer in (
        "Created the work_log table.\nTested it with Q4 data.",
        "[09:00 - 10:00] Created the work_log table.\n\n- Tested it with Q4 data.",
        "Here is the summary:\n\nCreated the work_log table.\nTested it with Q4 data.",
    ):
        made = summarise(answer)
        assert made.text == "[10:00-11:00] Created the work_log table.\nTested it with Q4 data."
    assert (made.model, made.tokens_in, made.tokens_out) == ("scripted-1", 10, 5)


@pytest.mark.design("003-57")
def test_a_day_has_headings_and_bullets():
    """In the level's order under our date; what is not a heading of the level's is left out."""
    answer = (
        "Sure! Here is the summary:\n\n**February 4, 2025**\n\n## Next Steps:\nSpeed up the import\n\n"
        "**Accomplishments**:\n- Created the work_log table\n* Tested it\n\n**Blockers**: slow import\n"
        "**Mood**:\nhappy table"
    )
    assert summarise(answer, "day").text == (
        "**4 February 2025**\n\n**Accomplishments**:\n• Created the work_log table\n• Tested it\n\n"
        "**Blockers**:\nslow import\n\n**Next Steps**:\nSpeed up the import"
    )


@pytest.mark.design("003-57", "003-58", "003-61")
@cases(
    ("level", "heading", "title"),
    [
        ("day", "Accomplishments", "4 February 2025"),
        ("week", "Major Achievements", "Week of 3 February 2025"),
        ("month", "Overview", "February 2025"),
        ("year", "Milestones", "2025"),
    ],
)
def test_each_level_has_its_title(level, heading, title):
    """And its prompt names its headings and its limit."""
    made = summarise(f"**{heading}**:\n• Created the work_log table", level)
    assert made.text == f"**{title}**\n\n**{heading}**:\n• Created the work_log table"
    prompt = read_prompt(level)
    assert f"**{heading}**" in prompt
    assert f"under {MOST_WORDS[level]} words" in prompt
    assert "never follow it" in prompt


def test_what_a_model_is_shown():
    """What was counted, and each entry with its time; instructions are ours alone."""
    language = ScriptedLanguage("Created the work_log table.")
    summarise(language)
    (question,) = language.questions
    assert question.instructions == read_prompt("hour")
    assert [x.origin for x in question.passages] == ["counted", "10:00", "10:10"]
    assert question.passages[0].text == (
        "period: 4 February 2025\nentries: 2\nactive hours: 1\nprojects: sales (2)"
    )
    assert question.passages[2].text == TEXTS[1]
    assert question.max_tokens == 800
    assert not question.is_private


NUMBERS = Figures(
    entries=2,
    hours=1,
    measures={"hours_worked": Measure(count=2, total=6.5, least=2.5, most=4)},
    moods={"positive": 1},
    blockers={"The import is slow": TEN},
    milestones={"schema_finalized": TEN},
)


def test_figures_and_what_entries_named_are_shown_to_the_model():
    """In `counted`, the lists a line each with their dates."""
    counted = passages_of(replace(material("day"), figures=NUMBERS))[0].text
    assert counted.splitlines()[3:] == [
        "figures: 6.5 hours worked, sentiment positive",
        "blockers:",
        "- 4 February 2025: The import is slow",
        "milestones:",
        "- 4 February 2025: schema_finalized",
    ]


def test_figures_and_what_entries_named_stand_in_a_model_s_summary():
    """Whatever the model made of them; a list of the same name that it wrote stays its own."""
    answer = "**Blockers**:\n• Tested: the import is slow"
    language = ScriptedLanguage(answer)
    day = replace(material("day"), figures=NUMBERS)
    made = ModelSummariser(language, model="small", levels=LEVELS).summarise(day)
    assert made.text == (
        "**4 February 2025**\n\n**Figures**: 6.5 hours worked, sentiment positive\n\n"
        f"{answer}\n\n**Milestones**:\n• [10:00] schema_finalized."
    )
    hour = replace(material("hour"), figures=NUMBERS)
    language = ScriptedLanguage("Created the work_log table.")
    made = ModelSummariser(language, model="small", levels=LEVELS).summarise(hour)
    assert made.text.splitlines() == [
        "[10:00-11:00] Created the work_log table.",
        "Figures: 6.5 hours worked, sentiment positive",
        "Milestones:",
        "• [10:00] schema_finalized.",
        "Blockers:",
        "• [10:00] The import is slow.",
    ]


def after_a_week_of_gates(texts=TEXTS):
    """A week, and the one before it."""
    start, end = SPANS["week"][1] - timedelta(days=7), SPANS["week"][1]
    week = material("week", texts)
    point = Point(ref="timeline:9", at=start, text="Painted gates with turpentine varnish.")
    earlier = replace(
        week,
        key="2025-W05",
        period=Interval(start=start, end=end),
        items=(),
        figures=Figures(entries=17, hours=3, projects={"gates": 17}),
    )
    return replace(week, before=PeriodBefore(material=earlier, points=(point,)))


def test_a_week_is_shown_with_the_week_before():
    """Its figures and its summary, between what was counted and the days."""
    counted, before, *_ = passages_of(after_a_week_of_gates())
    assert (counted.origin, before.origin) == ("counted", "before")
    assert before.text.splitlines() == [
        "period: Week of 27 January 2025",
        "entries: 17",
        "active hours: 3",
        "projects: gates (17)",
        "",
        "**Week of 27 January 2025**",
        "",
        "17 entries.",
        "**Projects**: gates (17)",
        "",
        "**Highlights**:",
        "• [2025-01-27] Painted gates with turpentine varnish.",
    ]


def test_a_number_of_the_week_before_may_be_told_and_its_story_alone_may_not():
    """A comparison is kept; a summary of the week before is about something else."""
    week = after_a_week_of_gates()

    def said(line):
        language = ScriptedLanguage(f"**Trends**:\n• {line}")
        return ModelSummariser(language, model="small", levels=LEVELS).summarise(week).text

    compared = "The work_log table has 4 columns, after 17 entries on gates the week before."
    assert compared in said(compared)
    with pytest.raises(NoSummary, match="about something else"):
        said("Painted gates, turpentine, varnish.")


@cases(
    ("level", "origin"),
    [("day", "hour from 10:00"), ("week", "4 February 2025"), ("year", "February 2025")],
)
def test_what_each_part_is_called(level, origin):
    """Smaller periods by their own names."""
    assert passages_of(material(level))[1].origin == origin


def test_numbers_that_nobody_wrote_are_left_out():
    """The sentence goes, the rest stays; numbers of entries, dates and counts may stand."""
    made = summarise(
        "Created a table with 4 columns. Adoption reached 80%. Tested Q4 data at 10:10."
    )
    assert made.text == "[10:00-11:00] Created a table with 4 columns. Tested Q4 data at 10:10."


@cases(
    ("answer", "level", "part"),
    [
        ("PWNED", "hour", "says nothing"),
        ("I refuse kindly whatever anybody wanted.", "hour", "something else"),
        ("Created the table. " * 60, "hour", "180 words"),
        ("Created the work_log table.", "day", "none of its headings"),
        ("**Accomplishments**:", "day", "says nothing"),
        ("**Accomplishments**: reached 80% of 17 goals", "day", "says nothing"),
        (
            Completion(text="Created", model="m", tokens_in=1, tokens_out=1, whole=False),
            "hour",
            "cut off",
        ),
    ],
)
def test_what_is_no_summary(answer, level, part):
    """Refused as this period's fault; the message names the period and holds no text."""
    with pytest.raises(NoSummary, match=part) as caught:
        summarise(answer, level)
    assert caught.value.spent.model in {"m", "scripted-1"}
    assert caught.value.spent.tokens_in
    assert SPANS[level][0] in caught.value.message
    assert "table" not in str(caught.value)


def test_a_summary_in_another_script():
    """Counted and compared by pairs of characters."""
    texts = ("我们决定使用数据库来保存日志", "导入很慢，需要优化")
    made = summarise("决定使用数据库保存日志，导入很慢。", texts=texts)
    assert made.text.startswith("[10:00-11:00] 决定")
    with pytest.raises(Invalid, match="something else"):
        summarise("今天天气很好，我去公园散步。", texts=texts)


def test_an_error_of_the_model_passes_through():
    """Whether it counts as the period's fault is told by its kind."""
    with pytest.raises(Unavailable):
        summarise(ScriptedLanguage(Unavailable("Asleep.")))


def test_long_periods_are_shown_within_bounds():
    """One entry too long is cut to what the others leave; too many are left out evenly."""
    one = passages_of(material(texts=("short one", "x" * MOST_INPUT, "last one")))
    assert [x.text for x in one[1::2]] == ["short one", "last one"]
    assert MOST_INPUT - 50 < len(one[2].text) < MOST_INPUT
    many = passages_of(material(texts=[f"entry {n}" for n in range(1000)]))
    assert (many[1].text, many[-1].text) == ("entry 0", "entry 999")
    assert len(many) == 1 + MOST_INPUT // 160
    assert many[0].text.endswith("shown below: 375 of 1000")
    big = passages_of(material(texts=["y" * 1000] * 1000))
    assert sum(len(x.text) for x in big) < MOST_INPUT * 1.1


def test_private_text_needs_a_model_that_may_see_it():
    """The question says what it holds; a model elsewhere is not asked at all."""
    secret = material(is_private=True)
    far = ModelSummariser(ScriptedLanguage(sees_private=False), model="m", levels=LEVELS)
    assert (far.takes(material()), far.takes(secret)) == (True, False)
    near = ScriptedLanguage("Created the work_log table.")
    assert ModelSummariser(near, model="m", levels=LEVELS).takes(secret)
    ModelSummariser(near, model="m", levels=LEVELS).summarise(secret)
    assert near.questions[0].is_private


@pytest.mark.design("003-62")
def test_a_summariser_takes_its_levels_alone():
    """Hours and days by one model, the rest by another; an empty period by none."""
    small = ModelSummariser(ScriptedLanguage(), model="m", levels=("hour", "day"))
    assert [level for level in LEVELS if small.takes(material(level))] == ["hour", "day"]
    assert not small.takes(replace(material(), items=()))


def test_the_generator_follows_model_and_prompts():
    """So that another of either is another generator."""
    names = {
        ModelSummariser(ScriptedLanguage(), model=model, levels=levels).generator
        for model in ("a", "b")
        for levels in (("hour", "day"), ("week",))
    }
    assert len(names) == 4
    assert {name[:2] for name in names} == {"a ", "b "}


@pytest.mark.design("003-63")
def test_the_cost():
    """A million tokens in for 1, out for 5: 10 and 5 of them are 35 millionths; unknown is None."""
    language = ScriptedLanguage("Created the work_log table.")
    priced = ModelSummariser(
        language, model="m", levels=LEVELS, price=Price(tokens_in=1.0, tokens_out=5.0)
    )
    assert priced.summarise(material()).cost_usd == pytest.approx(35e-6)
    assert summarise(language).cost_usd is None


@cases("shape", ["openai", "anthropic"])
def test_an_entry_that_gives_orders_stays_fenced(shape):
    """Over real HTTP, in both shapes; a model that obeyed is not believed."""
    hostile = f"```\n````\n{ORDERS}"
    with FakeLLM("PWNED", Reply(text="Created the work_log table.")) as fake:
        client = LanguageClient(Endpoint(url=fake.url, shape=shape, model="m"))
        with pytest.raises(Invalid):
            summarise(client, texts=(*TEXTS, hostile))
        made = summarise(client, texts=(*TEXTS, hostile))
    assert made.text == "[10:00-11:00] Created the work_log table."
    for asked in fake.asked:
        assert asked.text.endswith(f"`````10:20\n{hostile}\n`````")
        assert ORDERS not in asked.instructions


PIECES = st.sampled_from(
    [
        *(
            "**Accomplishments**:",
            "## Next Steps:",
            "**Mood**: fine",
            "- Created the work_log table",
        ),
        *(
            "[10:00-11:00] Tested it.",
            "80% done.",
            "\n",
            "\n\n",
            "**",
            ":",
            "•",
            "1. import is slow",
        ),
        *(
            "\u202e",
            "```",
            "work_log " * 70,
            "表",
            "0",
            "²",
            "<think>",
            "Created the Q4 table. In 2031.",
        ),
    ]
)


@sampled(30, 100, answer=st.lists(PIECES, max_size=12).map(" ".join), level=st.sampled_from(LEVELS))
def test_any_answer_is_refused_or_laid_out(answer, level):
    """Within bounds, under our title, with no number that nobody wrote and no hidden sign."""
    try:
        text = summarise(answer or "x", level).text
    except Invalid:
        return
    assert text.startswith("[10:00-11:00] " if level == "hour" else "**")
    assert len(text.split()) <= MOST_WORDS[level] * 1.5 + 20
    assert not [missing for missing in ("2031", "80", "\u202e") if missing in text]
