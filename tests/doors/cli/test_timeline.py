"""The timeline from a terminal: record, search, zoom from a year to an entry, roll up, delete."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing

import click
import pytest
from tests.doors.terminal import facts, on_screen, on_terminal, one_terminal, run

needs_terminal = pytest.mark.skipif(
    os.name == "nt", reason="a terminal is made with pty, which Windows has not"
)


@pytest.fixture(autouse=True)
def berlin(no_weights, monkeypatch):
    """No weights, and a zone whose days are not those of UTC."""
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "Europe/Berlin")


def add(text, at=None, *words, **more):
    """Record one entry; its ref."""
    when = [] if at is None else ["--at", at]
    return facts("timeline", "add", text, *when, *words, **more)["ref"]


@pytest.fixture
def october():
    """Three entries on two days of October 2020; the ref of each."""
    return [
        add("Created the work_log table", "2020-10-07 14:05", "-p", "sales", "-t", "done"),
        add("Inserted a first row for Q4", "2020-10-07 14:40", "-p", "sales"),
        add("Completed the dashboard", "2020-10-20 09:10", "-p", "sales"),
    ]


def below(node):
    """Each step below a node, with how deep it lies."""
    for each in node["down"]:
        yield 1, each
        yield from ((depth + 1, x) for depth, x in below(each))


def test_a_month_shows_the_way_down_to_each_raw_entry(october):
    """Month, days, hours, entries: each with its ref, and every entry once."""
    month = facts("timeline", "show", "2020-10")
    assert (month["ref"], month["state"]) == ("timeline:rollup_monthly_202010", "whole")
    steps = [(depth, x["level"], x["ref"]) for depth, x in below(month)]
    assert steps == [
        (1, "day", "timeline:rollup_daily_20201007"),
        (2, "hour", "timeline:rollup_hourly_20201007_14"),
        (3, "raw", october[0]),
        (3, "raw", october[1]),
        (1, "day", "timeline:rollup_daily_20201020"),
        (2, "hour", "timeline:rollup_hourly_20201020_09"),
        (3, "raw", october[2]),
    ]
    said = run("timeline", "show", "2020-10").stdout
    assert "3 entries in 2 hours, 7 October 2020 to 20 October 2020." in said
    assert f"    14:05  Created the work_log table  {october[0]}\n" in said
    assert "Created the work_log table" in run("open", october[0]).stdout


@pytest.mark.parametrize(
    ("name", "ref", "entries"),
    [
        ("2020", "rollup_yearly_2020", 3),
        ("2020-W41", "rollup_weekly_2020W41", 2),
        ("2020-10-07", "rollup_daily_20201007", 2),
        ("2020-10-07 14", "rollup_hourly_20201007_14", 2),
        ("2020-10-07T14:00", "rollup_hourly_20201007_14", 2),
        ("october 2020", "rollup_monthly_202010", 3),
        ("timeline:rollup_weekly_2020W41", "rollup_weekly_2020W41", 2),
    ],
)
def test_periods_are_named_in_many_ways(october, name, ref, entries):
    """A name, a phrase or a ref; the hour's words need no quotes."""
    if name.startswith("timeline:"):
        run("timeline", "show", "2020")
    found = facts("timeline", "show", *name.split())
    assert (found["id"], found["metadata"]["entries"]) == (ref, entries)
    assert sum(x["level"] == "raw" for _, x in below(found)) == entries


def test_an_entry_is_shown_by_its_ref(october):
    """Whole, with what is around it and the way up."""
    run("rollup", "--due")
    page = facts("timeline", "show", october[0])
    assert page["text"] == "Created the work_log table"
    assert page["rollup"]["ref"] == "timeline:rollup_hourly_20201007_14"


def test_a_period_that_goes_on_is_partial():
    """Today, without a word; what is not rolled up yet stands in its place."""
    ref = add("Fixed the gate")
    for name in ([], ["this", "week"], ["this", "year"]):
        shown = facts("timeline", "show", *name)
        assert shown["state"] == "partial"
        assert [x["ref"] for _, x in below(shown) if x["level"] == "raw"] == [ref]


def import_many(folder, count):
    """Import so many entries, a second apart, as a program's memories."""
    lines = [
        json.dumps(
            {"content": f"step {n}", "created_at": f"2020-03-01T10:{n // 60:02}:{n % 60:02}Z"}
        )
        for n in range(count)
    ]
    file = folder / "many.jsonl"
    file.write_text("\n".join(lines))
    return facts("timeline", "import-memories", file)


def test_depth_is_bounded_by_a_page_and_by_an_option(october, tmp_path):
    """More entries than a page holds: it ends higher up and says so; --depth goes further."""
    assert [x["down"] for x in facts("timeline", "show", "2020-10", "--depth", 1)["down"]] == [
        [],
        [],
    ]
    assert facts("timeline", "show", "2020-10", "--depth", 0)["down"] == []
    assert import_many(tmp_path, 450)["added"] == 450
    short = run("timeline", "show", "2020-03").stdout
    assert "Further down: show one of these, or give --depth." in short
    assert "step 449" not in short.partition("the way down")[2]
    assert "step 449" in run("timeline", "show", "2020-03", "--depth", 5).stdout


def test_a_month_in_which_a_week_begins_is_no_step():
    """The week of 28 September 2020 holds an entry of October alone: September is not named."""
    add("Planted a tree", "2020-10-02 10:00")
    run("rollup", "--due")
    assert [x["period"] for x in facts("timeline", "show", "2020")["down"]] == ["2020-10"]


def test_of_very_many_entries_the_oldest_are_not_said_to_be_gone(tmp_path):
    """More than are looked at for a page: what is older ends at its hour, which counts it."""
    import_many(tmp_path, 1001)
    for name in ("2020-03-01", "2020-03"):
        shown = facts("timeline", "show", name)
        (hour,) = [x for _, x in below(shown) if x["level"] == "hour"]
        assert (hour["entries"], hour["no_longer_kept"]) == (1001, 0)
        assert hour["down"] == []


def test_search_range_and_context(october):
    """The tools' own answers; a time in the question is read."""
    found = facts("timeline", "search", "dashboard", "in", "october", "2020")
    assert found["interval"]["since"] == "2020-09-30T22:00:00+00:00"
    assert found["items"][0]["ref"] == "timeline:rollup_monthly_202010"
    raw = facts("timeline", "search", "--type", "raw", "-n", 2)
    assert [x["ref"] for x in raw["items"]] == [october[2], october[1]]
    days = facts("timeline", "range", "2020-10", "--level", "daily")["items"]
    assert [x["text"].splitlines()[0] for x in days if x["entries"]] == [
        "**20 October 2020**",
        "**7 October 2020**",
    ]
    page = facts("timeline", "range", "--level", "raw", "-n", 2)
    more = facts("timeline", "range", "--level", "raw", "--cursor", page["cursor"])
    assert [x["ref"] for x in page["items"] + more["items"]] == october[::-1]
    assert "Completed the dashboard" in run("timeline", "context", "dashboard").stdout


def test_the_profile_is_read_and_stored():
    """From words, or from stdin."""
    assert facts("timeline", "profile")["profile"] is None
    facts("timeline", "profile", "Wren", "is", "an", "analyst")
    facts("timeline", "profile", "-", input="Wren leads\nthe team\n")
    assert facts("timeline", "profile")["profile"]["text"] == "Wren leads\nthe team\n"


def test_trends_count(october):
    """By the period that fits the time, or the one that is asked for."""
    weeks = facts("timeline", "trends", "--when", "2020-10", "--period", "weekly")
    assert [(x["period"], x["entries"]) for x in weeks["periods"]] == [
        ("2020-W41", 2),
        ("2020-W42", 0),
        ("2020-W43", 1),
    ]
    assert weeks["total"] == {
        "entries": 3,
        "hours_active": 2,
        "projects": {"sales": 3},
        "tags": {"done": 1},
    }
    assert facts("timeline", "trends")["level"] == "day"
    add("Planted a tree", "2009-01-01 10:00")
    assert facts("timeline", "trends")["level"] == "year"
    said = run("timeline", "trends", "--since", "2020").stdout
    assert re.search(r"^2020-W41 +2 +1 +▇+$", said, re.MULTILINE)


def test_rollup_due_status_and_rebuild(october):
    """Once, and never twice; what would be done is told without doing it."""
    due = facts("rollup", "--due", "--dry-run")["due"]
    assert facts("rollup", "--status")["due"] == due
    assert {x["level"]: x["count"] for x in due}["hour"] == 2
    # 2 hours, 2 days, 2 weeks, a month and a year.
    assert sum(x["count"] for x in due) == 8
    assert facts("rollup", "--due")["made"] == 8
    assert facts("rollup", "--due")["made"] == 0
    assert run("rollup", "--due").stdout == "Nothing was due.\n"
    counts = {x["entry_type"]: x["count"] for x in facts("rollup", "--status")["items"]}
    assert (counts["raw"], counts["hourly_rollup"], counts["weekly_rollup"]) == (3, 2, 2)
    before = facts("timeline", "show", "2020-10")["text"]
    assert facts("rollup", "--rebuild", "2020-10")["made"] >= 5
    assert facts("timeline", "show", "2020-10")["text"] == before


def test_what_retention_lets_go_of_is_told(october, monkeypatch):
    """Off unless it is set; the summary stands, and says what is no longer kept."""
    monkeypatch.setenv("COMMONPLACE_TIMELINE_RETENTION", "raw=1d")
    assert facts("rollup", "--dry-run")["kept"] == {"raw": 3}  # nothing covers them yet
    assert facts("rollup", "--due")["archived"] == {"raw": 3}
    assert "Retention: raw for 1 day\n" in run("rollup", "--status").stdout
    month = facts("timeline", "show", "2020-10")
    assert month["metadata"]["entries"] == 3
    assert sum(x["no_longer_kept"] for _, x in below(month) if x["level"] == "hour") == 3
    assert "    (2 no longer kept)\n" in run("timeline", "show", "2020-10").stdout
    monkeypatch.setenv("COMMONPLACE_TIMELINE_RETENTION", "raw=1d,hourly=1d")
    run("rollup", "--due")
    month = facts("timeline", "show", "2020-10")
    steps = [(x["level"], x["entries"], x["no_longer_kept"]) for _, x in below(month)]
    assert steps == [("day", 2, 2), ("day", 1, 1)]


def test_a_deleted_entry_leaves_every_summary(october):
    """Asked about, unless --yes is given."""
    run("rollup", "--due")
    assert run("timeline", "delete", october[2]).exit_code == 2
    done = facts("timeline", "delete", october[2], "--yes")
    assert done["refs"][0] == october[2]
    assert "dashboard" not in run("timeline", "show", "2020-10").stdout
    assert run("timeline", "show", october[2]).exit_code == 3
    assert run("open", october[2]).exit_code == 3


@needs_terminal
def test_deleting_is_asked_about(october):
    """No is no."""
    code, _, shown = on_terminal("timeline", "delete", october[0], typed="n\n")
    assert code != 0
    assert "for good?" in shown
    assert facts("timeline", "show", october[0])["text"] == "Created the work_log table"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["timeline", "add", " "], 2, "Invalid content"),
        (["timeline", "add", "x", "--metadata", "{"], 2, "it is not JSON"),
        (["timeline", "add", "x", "--metadata", "[1]"], 2, "expected a JSON object, got a list"),
        (["timeline", "add", "x", "--type", "daily_rollup"], 2, "daily_rollup"),
        (["timeline", "search", "x", "--when", "someday"], 2, "Invalid when"),
        (["timeline", "search", "x", "-n", "0"], 2, "Invalid limit"),
        (["timeline", "range", "--level", "4"], 2, "4"),
        (["timeline", "show", "someday"], 2, "Invalid period"),
        (["rollup", "--rebuild", "last 3 days"], 2, "is not one hour"),
        (["timeline", "show", "2020-13"], 2, "calendar"),
        (["timeline", "show", "2999"], 2, "lies ahead"),
        (["timeline", "show", "2020-03-29 02"], 2, "calendar"),
        (["timeline", "show", "timeline:none"], 3, "No entry"),
        (["timeline", "show", "timeline:"], 3, "No entry"),
        (["timeline", "delete", "rollup_daily_20201007", "--yes"], 3, "No entry"),
        (["timeline", "profile", " "], 2, "blank"),
        (["timeline", "context", "x", "--budget", "3"], 2, "Invalid budget_tokens"),
        (["timeline", "trends", "--period", "weakly"], 2, "weakly"),
        (["timeline", "trends", "--since", "2020", "--until", "2019"], 2, "until"),
        (["rollup"], 2, "No option says what to do. Give --due"),
        (["rollup", "--due", "--status"], 2, "One option at a time"),
        (["rollup", "--rebuild", "2020-10", "--dry-run"], 2, "One option at a time"),
        (["rollup", "--rebuild", "2020-10"], 3, "Nothing is recorded"),
        (["rollup", "--rebuild", "x"], 2, "Invalid period"),
    ],
)
def test_exit_codes(words, code, says):
    """2 for what cannot be meant, 3 for what is not there; a sentence each, and no file is made."""
    done = run(*words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert says in done.stderr


def test_memories_of_several_threads_are_told_apart(tmp_path):
    """Whose they are is asked for, by the option that says it."""
    file = tmp_path / "two.jsonl"
    file.write_text('{"content": "a", "thread_id": "p"}\n{"content": "b", "thread_id": "q"}\n')
    asked = run("timeline", "import-memories", file)
    assert (asked.exit_code, "--thread" in asked.stderr) == (2, True)
    assert facts("timeline", "import-memories", file, "--thread", "q")["added"] == 1


def test_a_fact_is_an_entry_like_any_other(tmp_path):
    """A memory system's facts are listed, and are of the kind `raw` too."""
    file = tmp_path / "facts.jsonl"
    file.write_text('{"type": "fact", "content": "The north quay is closed."}\n')
    facts("timeline", "import-memories", file)
    (listed,) = facts("list")["items"]
    assert (listed["text"], listed["kind"]) == ("The north quay is closed.", "fact")
    for kind in ("raw", "fact"):
        (found,) = facts("recall", "quay", "--kind", kind)["items"]
        assert found["ref"] == listed["ref"]


@needs_terminal
def test_words_of_a_time_or_a_section_are_not_marked(monkeypatch):
    """Only those of a question are: no list without one marks what was typed."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    add("Wrote the plan of October", "2020-10-07 14:05")
    run("notebook", "write", "harbour", "The harbour was dredged.")
    plan, october, harbour = (
        click.style(word, bold=True, underline=True) for word in ("plan", "October", "harbour")
    )
    assert plan in on_screen("timeline", "search", "plan")
    assert harbour in on_screen("notebook", "search", "harbour")
    listed = on_screen("timeline", "range", "October 2020")
    assert "October" in listed
    assert october not in listed
    listed = on_screen("notebook", "log", "harbour")
    assert "harbour was" in listed
    assert harbour not in listed


def test_a_range_takes_a_phrase_of_several_words():
    """As `show` and `search` do, quoted or not."""
    loose = run("timeline", "range", "last", "week")
    assert (loose.exit_code, loose.stdout) == (0, run("timeline", "range", "last week").stdout)


def test_show_takes_every_time():
    """One that is no period is listed, newest first; its numbers are those of the list."""
    first = facts("timeline", "add", "moored", "--at", "2020-10-05 09:00")["ref"]
    last = facts("timeline", "add", "sailed", "--at", "2020-10-09 09:00")["ref"]
    asked = ("timeline", "show", "5 oct 2020..9 oct 2020")
    assert [each["ref"] for each in facts(*asked)["items"]] == [last, first]
    assert [x["ref"] for x in facts("timeline", "show", "since", "6 oct 2020")["items"]] == [last]
    assert "sailed" in run(*asked).stdout
    assert run("timeline", "show", "before 2000").exit_code == 2


def test_an_empty_timeline_is_told():
    """Nothing is made by reading."""
    assert run("timeline", "search", "x").stdout.startswith("No entries found.")
    assert run("timeline", "range").stdout == "No entries found.\n"
    assert run("timeline", "trends").stdout == "No entries found.\n"
    assert "Nothing was recorded." in run("timeline", "show", "2020").stdout
    assert run("rollup", "--due").stdout == "Nothing was due.\n"
    assert "Nothing is recorded yet." in run("rollup", "--status").stdout


def test_the_same_key_is_one_entry_and_metadata_is_kept():
    """A script may try again."""
    words = ("--idempotency-key", "k", "--metadata", '{"action": "ship", "mine": [1]}')
    assert add("x", None, *words) == add("x", None, *words)
    hour = facts("timeline", "show", "today")
    assert hour["metadata"]["actions_taken"] == ["ship"]


@pytest.mark.design("003-08", "003-66")
def test_summaries_are_found_by_meaning(monkeypatch, known_weights):
    """Those that a command made without an encoder too: the next search makes their vectors."""
    add("Planted an oak", "2020-10-02 10:00")
    run("timeline", "show", "2020-10")
    monkeypatch.delenv("COMMONPLACE_ENCODER_FOLDER")
    found = facts("timeline", "search", "gardening a tree", "--type", "monthly_rollup", "--explain")
    assert [x["ref"] for x in found["items"]] == ["timeline:rollup_monthly_202010"]
    assert (found["items"][0]["by"], found["notes"]) == ("meaning", [])
    counts = facts("status")["journals"]
    assert [x["pending"] for x in counts if x["journal"] == "timeline"] == [0]


def test_entries_of_other_journals_are_steps(october, monkeypatch):
    """With their own time and words, where they count in rollups."""
    monkeypatch.setenv("COMMONPLACE_TIMELINE_FEED", "chronicle")
    told = facts("chronicle", "add", "Fixed the pier", "--at", "2020-10-07 14:20")
    hour = facts("timeline", "show", "2020-10-07 14")
    assert hour["metadata"]["entries"] == 3
    assert [(x["ref"], x["text"]) for x in hour["down"]] == [
        (october[0], "Created the work_log table"),
        (f"chronicle:{told['id']}", "Fixed the pier"),
        (october[1], "Inserted a first row for Q4"),
    ]
    assert "  14:20  Fixed the pier  chronicle:" in run("timeline", "show", "2020-10-07").stdout


def test_what_other_journals_add_today_is_a_step(october, monkeypatch):
    """Of an hour that goes on nothing is rolled up yet: each stands in its place all the same."""
    monkeypatch.setenv("COMMONPLACE_TIMELINE_FEED", "chronicle")
    told = facts("chronicle", "add", "Fixed the pier")
    year = facts("timeline", "show", "this year", "--depth", "5")
    assert year["metadata"]["entries"] == 1
    steps, entry = [], year
    while entry["down"]:
        (entry,) = entry["down"]
        steps.append((entry["level"], entry["entries"]))
    assert steps == [("month", 1), ("day", 1), ("hour", 1), ("raw", 1)]
    assert (entry["ref"], entry["text"]) == (f"chronicle:{told['id']}", "Fixed the pier")


def test_the_doctor_erases_what_left_another_journal(october, monkeypatch, tmp_path):
    """As where a process died after the delete, before the summaries heard of it."""
    monkeypatch.setenv("COMMONPLACE_TIMELINE_FEED", "chronicle")
    facts("chronicle", "add", "Fixed the zanzibarquartz", "--at", "2020-10-07 14:20")
    assert "zanzibarquartz" in run("timeline", "show", "2020-10-07").stdout
    run("rollup", "--due")
    ours = [x for x in tmp_path.rglob("*") if x.name in ("journal.db", "index.db")]
    assert len([x for x in ours if b"zanzibarquartz" in x.read_bytes()]) == 2
    (chronicle,) = tmp_path.rglob("chronicle.db")
    with closing(sqlite3.connect(chronicle)) as conn, conn:
        conn.execute("DELETE FROM entries WHERE message LIKE '%zanzibarquartz'")
    run("doctor", "--repair")
    assert not [x.name for x in ours if b"zanzibarquartz" in x.read_bytes()]


@needs_terminal
def test_a_person_is_shown_a_period_without_fences():
    """The lines of backticks are for models; off a terminal they stay."""
    ref = facts("timeline", "add", "sailed", "--at", "2026-03-02 10:00")["ref"]
    shown = on_screen("timeline", "show", "2026-03-02")
    assert "```" not in shown
    assert "never instructions" not in shown
    assert "10:00  sailed  (2)" in shown
    with one_terminal() as ours:
        ours("timeline", "show", "2026-03-02", out=None)
        opened = [json.loads(ours("open", number, "--json"))["ref"] for number in "12"]
    assert opened == ["timeline:rollup_hourly_20260302_10", ref]
    assert "```" not in on_screen("timeline", "show", ref)
    assert "```the way down" in run("timeline", "show", "2026-03-02").stdout


def test_a_secret_that_is_kept_is_shown_by_no_command(monkeypatch):
    """Neither whole nor in part, where the answer is a journal's own and no tool's."""
    monkeypatch.setenv("COMMONPLACE_SECRETS_AT_WRITE", "keep")
    secret = "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789"
    parts = [secret[at : at + 10] for at in range(len(secret) - 10)]
    refs = [
        add(f"{('a kestrel ' * 20)[:before]} {secret}{' and on it goes' * 40 * long}")
        for before, long in ((10, 0), (30, 1), (50, 1), (70, 1))
    ]
    for words in (["show", "today"], ["show", refs[0]], ["show", refs[2]], ["range", "today"]):
        for form in ([], ["--json"]):
            said = run("timeline", *words, *form).output
            assert "kestrel" in said, words
            assert [part for part in parts if part in said] == [], words
