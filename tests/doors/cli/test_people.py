"""Lists as people read them on a terminal."""

from __future__ import annotations

import re
from datetime import UTC

import click
import pytest

from commonplace.doors.cli.people import ListLook, render_list, render_page
from commonplace.doors.cli.terminal_width import wrapped_prose
from commonplace.journals.table import JOURNALS

LONG = "The migration needs a rehearsal before the release, since nobody knew the order of steps."


def shown(*texts, about="", lines=2, width=60):
    """The lines of a list of private entries."""
    items = [
        {
            "ref": f"private:{n}",
            "journal": "private",
            "at": "2026-03-02T09:30:00+00:00",
            "text": text,
        }
        for n, text in enumerate(texts, 1)
    ]
    look = ListLook(zone=UTC, about=about, width=width, lines=lines)
    return render_list({"items": items}, look).splitlines()


def test_an_entry_takes_a_line_or_two():
    """Number and date first; what is too long goes on in the second line, and is cut there."""
    first, second, third = (click.unstyle(line) for line in shown(LONG, "short"))
    assert first == "1  2026-03-02 09:30  private    The migration needs a"
    assert second == " " * 32 + "rehearsal before the…"
    assert third == "2  2026-03-02 09:30  private    short"
    assert max(map(len, (first, second, third))) <= 60


def test_what_was_replaced_says_since_when():
    """In a list by the day, in a page by the ref of what holds."""
    item = {"ref": "chronicle:1", "journal": "chronicle", "at": "2026-05-03T09:30:00+00:00"}
    link = {"ref": "chronicle:2", "at": "2026-05-09T09:30:00+00:00"}
    look = ListLook(zone=UTC, width=80)
    line = render_list({"items": [{**item, "text": "port 1", "replaced_by": link}]}, look)
    assert click.unstyle(line).endswith("[replaced 2026-05-09] port 1")
    line = render_list({"items": [{**item, "text": "port 1", "later": link}]}, look)
    assert click.unstyle(line).endswith("[later entry 2026-05-09] port 1")
    old = render_page({**item, "text": "port 1", "superseded_by": "chronicle:2"}, look)
    assert "No longer holds: chronicle:2 took its place." in old
    new = render_page({**item, "text": "port 2", "supersedes": "chronicle:0"}, look)
    assert "It took the place of chronicle:0." in new


def test_one_line_and_all_of_it():
    """--oneline cuts, --full shows the ref and the text as it was written."""
    (line,) = shown(LONG, lines=1)
    assert click.unstyle(line).endswith("The migration needs a…")
    lines = [click.unstyle(line).strip() for line in shown("one\ntwo", lines=None)]
    assert lines[1:] == ["private:1", "one", "two"]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_words_of_the_question_are_marked(name, value, monkeypatch):
    """In colour, unless NO_COLOR is set or the terminal is dumb; the journal too."""
    monkeypatch.setenv("TERM", "xterm")
    (line,) = shown("a quiet harbour", about="harbours")
    assert click.style("harbour", bold=True, underline=True) in line
    monkeypatch.setenv(name, value)
    (line,) = shown("a quiet harbour", about="harbours")
    assert "\x1b" not in line


def luminance(colour):
    """The relative luminance (WCAG 2) of one of the colours 16 to 255 of xterm."""
    steps = (0, 95, 135, 175, 215, 255)
    parts = [steps[(colour - 16) // base % 6] / 255 for base in (36, 6, 1)]
    if colour >= 232:
        parts = [(8 + 10 * (colour - 232)) / 255] * 3
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(share * x for share, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("journal", [row.name for row in JOURNALS])
def test_each_journal_is_read_on_a_light_and_on_a_dark_screen(journal, monkeypatch):
    """With a contrast of 4.4 to white and to black, of which 4.58 is the most that both allow."""
    monkeypatch.setenv("TERM", "xterm-256color")
    item = {"ref": f"{journal}:1", "journal": journal, "text": "x"}
    (line,) = render_list({"items": [item]}, ListLook(zone=UTC, width=60)).splitlines()
    found = re.search(r"\x1b\[38;5;(\d+)m" + journal, line)
    assert found
    bright = luminance(int(found[1])) + 0.05
    assert min(1.05 / bright, bright / 0.05) >= 4.4


def test_a_count_and_ages_are_shown():
    """How many match stands above; how long ago it was before what it says."""
    item = {
        "ref": "chronicle:1",
        "at": "2026-03-02T09:30:00+00:00",
        "text": "x",
        "age": "2 days ago",
    }
    shaped = {"items": [item], "counted": "1 entry matches."}
    lines = [
        click.unstyle(render_list(shaped, ListLook(zone=UTC, width=width))).splitlines()
        for width in (60, None)
    ]
    assert lines == [
        ["1 entry matches.", "1  2026-03-02 09:30             2 days ago: x"],
        ["1 entry matches.", "2026-03-02 09:30  2 days ago  chronicle:1  x"],
    ]


def test_stored_text_steers_no_terminal():
    """An escape is made visible, in the text and in a ref."""
    assert all("\x1b[2J" not in line for line in shown("a\x1b[2Jb"))


@pytest.mark.parametrize("width", [80, 200])
def test_wide_signs_fit_too(width):
    """Two columns each."""
    first, second = (click.unstyle(line) for line in shown("港" * 300, width=width))
    for line in (first, second):
        assert len(line) + line.count("港") <= width


def page_of(text, **more):
    """The lines of a private entry's page, eighty columns wide."""
    page = {
        "ref": "private:1",
        "journal": "private",
        "at": "2026-03-02T09:30:00+00:00",
        "text": text,
        **more,
    }
    return click.unstyle(render_page(page, ListLook(zone=UTC, width=80))).splitlines()


def test_a_page_is_the_text_as_it_was_written():
    """Below its first words, with when and where; what lies around it is below. No fence."""
    before = {"ref": "private:0", "at": "2026-03-01T09:30:00+00:00", "text": "a storm"}
    assert page_of("## Feelings\n\nCalm.", before=before) == [
        "Calm.",
        "2026-03-02 09:30  private",
        "private:1",
        "",
        "## Feelings",
        "",
        "Calm.",
        "",
        "before 2026-03-01 09:30  a storm",
    ]


def test_a_page_is_named_by_its_first_words():
    """Not by the clock time in a file's front matter, which is left out; a line is said once."""
    file = '---\ntitle: "9:30:00 AM - March 2, 2026"\ndate: x\n---\n\nLeft the harbour.\n'
    assert page_of(file) == ["Left the harbour.", "2026-03-02 09:30  private", "private:1"]
    assert page_of(f"{LONG} {LONG}\n\nMore.")[0].endswith("...")


def test_a_long_line_alone_is_said_once():
    """Whole, and wrapped, in place of its first words and the line below them."""
    lines = page_of(LONG)
    assert lines == [
        "The migration needs a rehearsal before the release, since nobody knew the order",
        "of steps.",
        "2026-03-02 09:30  private",
        "private:1",
    ]


def test_a_row_of_a_table_goes_on_below_its_second_column():
    """A path that is wider than the terminal stays whole, beside its name."""
    path = "/home/someone/.local/share/commonplace/users/me/timeline.db"
    rows = f"Index     {LONG}\nTimeline  {path}, not made yet"
    assert wrapped_prose(rows, 50).splitlines() == [
        "Index     The migration needs a rehearsal before",
        "          the release, since nobody knew the order",
        "          of steps.",
        f"Timeline  {path},",
        "          not made yet",
    ]
    assert wrapped_prose(f"+ {LONG}", 60).splitlines()[1].startswith("  ")


def test_how_a_time_was_read_wraps_at_words():
    """At the width of the terminal, above the entries."""
    item = {"ref": "private:1", "at": "2026-03-02T09:30:00+00:00", "text": "x"}
    look = ListLook(
        zone=UTC, width=40, time_line="Time: 2026-03-02 to 2026-03-03, read from 'then'"
    )
    lines = render_list({"items": [item]}, look).splitlines()
    assert lines[:2] == ["Time: 2026-03-02 to 2026-03-03, read", "from 'then'"]


def test_an_exchange_names_who_spoke_once():
    """Its text says who said what; a turn alone is named before its text."""
    item = {"ref": "transcripts:a/b#1", "at": "2026-03-02T09:30:00+00:00", "kind": "turn"}
    both = {**item, "author": "assistant", "text": "user: Ready?\n\nassistant: Yes."}
    alone = {**item, "author": "assistant", "text": "Yes."}
    look = ListLook(zone=UTC, width=80)
    lines = click.unstyle(render_list({"items": [both, alone]}, look)).splitlines()
    assert lines[0].endswith("  user: Ready? assistant: Yes.")
    assert lines[1].endswith("  assistant: Yes.")


@pytest.mark.parametrize(
    ("said", "ends"),
    [
        (f"user: {LONG} {LONG}\n\nassistant: Done.", ["user: The migration needs a…", "Done."]),
        (f"user: Why?\n\nassistant: {LONG} {LONG}", ["Why? assistant: The", "a rehearsal…"]),
        (f"user: {LONG} {LONG}", ["user: The migration needs a", "the release,…"]),
    ],
)
def test_a_long_exchange_shows_its_question_short_and_its_answer(said, ends):
    """The answer has the second line, where the question would take both."""
    item = {"ref": "t:1", "at": "2026-03-02T09:30:00+00:00", "kind": "turn", "text": said}
    lines = click.unstyle(render_list({"items": [item]}, ListLook(zone=UTC, width=66))).splitlines()
    assert [line.endswith(end) for line, end in zip(lines, ends, strict=True)] == [True, True]
    assert max(map(len, lines)) <= 66


def test_prose_wraps_at_words_and_what_is_fenced_does_not():
    """At the width of the terminal; a list's lines go on below their first word."""
    code = "```\n" + "x " * 60 + "\n```"
    lines = page_of(f"# Plan\n\n{LONG}\n\n- {LONG}\n\n{code}")
    assert lines[6:10] == [
        "The migration needs a rehearsal before the release, since nobody knew the order",
        "of steps.",
        "",
        "- The migration needs a rehearsal before the release, since nobody knew the",
    ]
    assert lines[10] == "  order of steps."
    assert "x " * 60 in lines


def test_why_a_hit_was_found_is_said_in_words(monkeypatch):
    """With `--explain` on a terminal: what gave how much, below the entry."""
    item = {
        "ref": "private:1",
        "journal": "private",
        "at": "2026-03-02T09:30:00+00:00",
        "text": "a quiet harbour",
        "by": "both",
        "legs": {"words": 0.2, "meaning": 0.6},
        "similarity": 0.512,
        "score": 0.8,
    }
    look = ListLook(zone=UTC, width=100)
    lines = click.unstyle(render_list({"items": [item], "chance": 0.62}, look)).splitlines()
    assert lines[0] == "Chance that these are about the question: 62%"
    assert [line.strip() for line in lines[2:]] == [
        "found by its words and its meaning (words 25%, meaning 75%);",
        "nearness in meaning 0.51 of 1; score 0.80 of 1",
    ]


def test_what_fits_less_is_counted():
    """With the option that shows it."""
    item = {"ref": "private:1", "at": "2026-03-02T09:30:00+00:00", "text": "x"}
    lines = render_list({"items": [item], "folded": 9}, ListLook(zone=UTC, width=80)).splitlines()
    assert lines[-1] == "9 less likely: `--all`"
