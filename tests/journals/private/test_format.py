"""Entries are rendered as private-journal-mcp writes them, and all that was ever written is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import cases
from tests.sampled import sampled

from commonplace.journals.private.format import (
    EPOCH,
    HEADINGS,
    decode,
    entry_at,
    first_micros,
    parse_entry,
    reference_text,
    render_day,
    render_file,
    render_stem,
    render_thoughts,
    to_millis,
)
from commonplace.journals.private.markdown import is_torn, split_frontmatter

AT = datetime(2026, 11, 21, 23, 19, 45, 15_000, tzinfo=UTC)
MTIME = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)

GOLDEN_WRITES = [
    (
        "v2.0.1/home/private-journal/2026-11-21/23-19-44-795464.md",
        {
            "reflections": "I felt frustrated that the SQLite migration kept hitting "
            '"database is locked" errors.\n\nIt got better once I slowed down.'
        },
    ),
    (
        "v2.0.1/home/private-journal/2026-11-21/23-19-45-093926.md",
        {
            "world_knowledge": "Café ☕ naïve — 日本語テスト, emoji 🎉, "
            'and "quotes" \\ backslash.\r\nCRLF line.'
        },
    ),
    ("v2.0.1/home/private-journal/2026-11-21/23-19-45-141138.md", {}),
    (
        "v2.0.1/proj/private-journal/2026-11-21/23-19-44-990954.md",
        {
            "project_notes": "WAL mode plus busy_timeout=5000 fixed the lock errors.\n\n"
            "- keep one writer\n- retry with jitter"
        },
    ),
    (
        "v2.0.1/proj/private-journal/2026-11-21/23-19-45-123906.md",
        {
            "project_notes": "Intro line\n\n## Sneaky Heading\n\ntext under it\n\n\n\n"
            "after blanks\n---\nrule"
        },
    ),
    (
        "v1.0.0/home/private-journal/2026-11-21/23-20-07-740250.md",
        {
            "feelings": "I felt frustrated that the SQLite migration kept hitting "
            '"database is locked" errors.\n\nIt got better once I slowed down.'
        },
    ),
]


@pytest.mark.design("000-04", "000-09", "000-25", "000-26")
@pytest.mark.parametrize(("path", "thoughts"), GOLDEN_WRITES)
def test_the_reference_s_own_bytes(golden, path, thoughts):
    """The same thoughts at the same time give the very bytes of the golden file, and its name."""
    content = (golden / path).read_bytes()
    keys = parse_entry(decode(content)).frontmatter
    at = EPOCH + timedelta(milliseconds=int(keys["timestamp"]))
    assert render_file(render_thoughts(thoughts), at, UTC).encode() == content
    digits = int(path[-9:-3])
    assert path.endswith(f"{render_day(at, UTC)}/{render_stem(at, UTC, digits)}.md")
    assert first_micros(at, digits % 1000) == digits


@pytest.mark.design("000-01", "000-26")
def test_sections_stand_in_one_order():
    """Whatever order the fields come in, the file has the reference's, a blank line between."""
    thoughts = {field: field for field in reversed(HEADINGS)}
    body = split_frontmatter(render_file(render_thoughts(thoughts), AT, UTC))[1]
    assert body == (
        "\n## Feelings\n\nfeelings\n\n## Reflections\n\nreflections\n\n## Observations\n\n"
        "observations\n\n## Project Notes\n\nproject_notes\n\n## User Context\n\nuser_context\n\n"
        "## Technical Insights\n\ntechnical_insights\n\n## World Knowledge\n\nworld_knowledge\n"
    )


@pytest.mark.design("000-20", "000-21", "000-23", "000-24", "000-25")
def test_the_name_is_local_and_the_date_is_utc():
    """Folder, name and title tell the owner's time; date and timestamp are the instant's."""
    zone = ZoneInfo("America/Los_Angeles")
    at = datetime(2026, 11, 22, 2, 20, 11, 318_000, tzinfo=UTC)
    assert render_day(at, zone) == "2026-11-21"
    assert render_stem(at, zone, first_micros(at, 7)) == "18-20-11-318007"
    assert render_file(render_thoughts({"feelings": "x"}), at, zone) == (
        '---\ntitle: "6:20:11 PM - November 21, 2026"\ndate: 2026-11-22T02:20:11.318Z\n'
        "timestamp: 1795314011318\n---\n\n## Feelings\n\nx\n"
    )


@pytest.mark.design("000-23")
@cases(
    ("hour", "title"),
    [
        (0, "12:05:09 AM"),
        (1, "1:05:09 AM"),
        (11, "11:05:09 AM"),
        (12, "12:05:09 PM"),
        (13, "1:05:09 PM"),
    ],
)
def test_titles_count_twelve_hours(hour, title):
    """Midnight and noon are 12, and hours below ten have no zero."""
    at = datetime(2026, 1, 2, hour, 5, 9, tzinfo=UTC)
    assert f'title: "{title} - January 2, 2026"\n' in render_file(
        render_thoughts({"feelings": "x"}), at, UTC
    )


def test_lone_surrogates_are_replaced():
    """Half an emoji, as a model may send it, becomes U+FFFD; the rest stays."""
    raw = render_file(render_thoughts({"feelings": "half \ud83d of it"}), AT, UTC)
    assert raw.endswith("half \ufffd of it\n")
    raw.encode()


_TITLE = '---\ntitle: "x"\n'
VARIANTS = [
    (
        "an entry of May 2025, before there was frontmatter",
        b"# 8:16:46 PM - May 27, 2025\n\nboop",
        ("2025-05-27", "20-16-46-123456"),
        "2025-05-27T20:16:46.123456+00:00",
        (),
        "boop",
    ),
    (
        "the Java port: three digits, no milliseconds, small letters, a blank line at the end",
        (
            b'---\ntitle: "11:57:47 a.m. - January 15, 2025"\ndate: 2025-01-15T11:57:47Z\n'
            b"timestamp: 1736942267000\n---\n\n## Feelings\n\ncalm\n\n"
        ),
        ("2025-01-15", "11-57-47-000"),
        "2025-01-15T11:57:47+00:00",
        ("Feelings",),
        "calm",
    ),
    (
        "a date where the timestamp is missing",
        b"---\ndate: 2025-01-15T11:57:47.5Z\n---\ntext",
        ("2025-01-15", "11-57-47-000"),
        "2025-01-15T11:57:47.500000+00:00",
        (),
        "text",
    ),
    (
        "three digits of a second in the name alone",
        b"text",
        ("2025-01-15", "11-57-47-250"),
        "2025-01-15T11:57:47.250000+00:00",
        (),
        "text",
    ),
    (
        "CRLF throughout, a byte order mark, single quotes",
        b"\xef\xbb\xbf---\r\ntitle: 'x'\r\ntimestamp: '1736942267000'\r\n---\r\n\r\n## My Day\r\n\r\n\r\n\r\ngood\r\n",
        ("2025-01-15", "notes"),
        "2025-01-15T11:57:47+00:00",
        ("My Day",),
        "My Day\n\ngood",
    ),
    (
        "seconds where milliseconds belong",
        b"---\ntimestamp: 1736942267\ndate: 2025-01-15T11:57:47Z\n---\ntext",
        ("2025-01-15", "x"),
        "2025-01-15T11:57:47+00:00",
        (),
        "text",
    ),
    (
        "absurd values, one after the other",
        b"---\ntimestamp: 99999999999999999999999999\ndate: 9999-99-99\n---\ntext",
        ("2025-01-15", "11-57-47-000001"),
        "2025-01-15T11:57:47.000001+00:00",
        (),
        "text",
    ),
    (
        "frontmatter that never ends",
        b'---\ntitle: "x"\ntimestamp: 1736942267000\n\n## Feelings\n\ntext',
        ("2025-01-15", "11-57-47-000001"),
        "2025-01-15T11:57:47.000001+00:00",
        ("Feelings",),
        '---\ntitle: "x"\ntimestamp: 1736942267000\n\ntext',
    ),
    (
        "a file that begins with a rule",
        b"---\nA thought.\n---\nAnother.",
        ("2025-01-15", "11-57-47-000001"),
        "2025-01-15T11:57:47.000001+00:00",
        (),
        "---\nA thought.\n---\nAnother.",
    ),
    (
        "nothing at all",
        b"",
        ("2025-01-15", "11-57-47-000001"),
        "2025-01-15T11:57:47.000001+00:00",
        (),
        "",
    ),
    (
        "bytes that are not UTF-8",
        b"caf\xe9 and \xff\xfe",
        ("2025-01-15", "11-57-47-000001"),
        "2025-01-15T11:57:47.000001+00:00",
        (),
        "caf\ufffd and \ufffd\ufffd",
    ),
    (
        "a YAML bomb and a tag that would run code",
        (
            b"---\na: &a [x,x]\nb: &b [*a,*a]\nc: !!python/object/apply:os.system [false]\n"
            b"timestamp: 1736942267000\n---\ntext"
        ),
        ("2025-01-15", "x"),
        "2025-01-15T11:57:47+00:00",
        (),
        "text",
    ),
    (
        "a doubled key: the first counts",
        b"---\ntimestamp: 1736942267000\ntimestamp: 1\n---\ntext",
        ("2025-01-15", "x"),
        "2025-01-15T11:57:47+00:00",
        (),
        "text",
    ),
    (
        "a name that tells no time: the first moment of its day",
        b"text",
        ("2025-01-15", "my notes"),
        "2025-01-15T00:00:00+00:00",
        (),
        "text",
    ),
    (
        "a name that tells no time, touched on its day: the file's own",
        b"text",
        ("2026-11-23", "my notes"),
        "2026-11-23T08:00:00+00:00",
        (),
        "text",
    ),
    (
        "no day at all: the file's own time",
        b"text",
        ("", "my notes"),
        "2026-11-23T08:00:00+00:00",
        (),
        "text",
    ),
    (
        "an hour there is not",
        b"text",
        ("2025-01-15", "31-57-47-000001"),
        "2026-11-23T08:00:00+00:00",
        (),
        "text",
    ),
]


@pytest.mark.design("000-27")
@cases(("content", "path", "at", "headings", "text"), [x[1:] for x in VARIANTS])
def test_everything_ever_written_is_read(content, path, at, headings, text):
    """Each shape of a file gives its time, its headings and its text."""
    parsed = parse_entry(decode(content))
    assert entry_at(parsed.frontmatter, *path, MTIME, UTC).isoformat() == at
    assert parsed.headings == headings
    assert parsed.text == text


@cases(
    ("zone", "expected"),
    [
        ("America/Los_Angeles", "2026-11-22T07:19:45+00:00"),
        ("Asia/Kathmandu", "2026-11-21T17:34:45+00:00"),
        ("Australia/Lord_Howe", "2026-11-21T12:19:45+00:00"),
        ("Pacific/Kiritimati", "2026-11-21T09:19:45+00:00"),
    ],
)
def test_a_path_is_read_in_the_owner_s_zone(zone, expected):
    """A file without a time of its own has the local time of its name."""
    assert entry_at({}, "2026-11-21", "23-19-45", MTIME, ZoneInfo(zone)).isoformat() == expected


def test_a_date_without_a_zone_is_the_owner_s():
    """`date: 2026-11-21 09:30` written by hand in Berlin is 08:30 UTC."""
    at = entry_at({"date": "2026-11-21 09:30"}, "", "x", MTIME, ZoneInfo("Europe/Berlin"))
    assert at == datetime(2026, 11, 21, 8, 30, tzinfo=UTC)


def test_headings_in_code_fences_are_text():
    """`## ` inside a fence is code; after the fence it is a heading again; doubles count once."""
    raw = (
        "## Feelings\n\n```md\n## Not one\n```\n\n~~~\n## Nor this\n```\n~~~\n\n## Feelings\n"
        "## Project Notes  \n##No\n ## No\n### No\n## \n"
    )
    parsed = parse_entry(raw)
    assert parsed.headings == ("Feelings", "Project Notes")
    assert parsed.text == (
        "```md\n## Not one\n```\n\n~~~\n## Nor this\n```\n~~~\n\n##No\n ## No\n### No\n##"
    )


def test_a_fence_that_never_closes_hides_nothing():
    """A stray ``` does not swallow the headings after it."""
    assert parse_entry("## A\n\n```\n\n## B\n").headings == ("A", "B")


def test_torn_frontmatter_is_told_from_a_rule():
    """Only frontmatter that begins with a key and never ends is torn."""
    assert is_torn("---\ntitle: x\n\ntext")
    assert not is_torn("---\ntitle: x\n---\ntext")
    assert not is_torn("---\n\njust a rule")
    assert not is_torn("text")


@pytest.mark.design("000-30", "000-31")
@cases(
    ("raw", "text", "sections"),
    [
        ("---\na: b\n---\n\n## X\n\nbody\n", "body", ("X",)),
        ("---\r\na: b\r\n---\r\nbody", "---\r\na: b\r\n---\r\nbody", ()),
        ("\ufeff---\na: b\n---\nbody", "---\na: b\n---\nbody", ()),
        ("```\n## In a fence\n```", "```\n\n```", ("In a fence",)),
        ("## Crlf\r\none\r\n\r\n\r\n\r\ntwo", "one\r\n\r\n\r\n\r\ntwo", ("Crlf",)),
        ("## A \n## A\nx\n\n\n\n\ny", "x\n\ny", ("A ", "A")),
        ("a\u2028## After\u2029b", "a\u2028\u2029b", ("After",)),
    ],
)
def test_the_reference_s_extraction(raw, text, sections):
    r"""What private-journal-mcp would put into `.embedding`, its oddities included.

    Source: its expressions `/^---\n.*?\n---\n/s`, `/^## (.+)$/gm`, `/\n{3,}/g` and `trim`.
    """
    assert reference_text(raw) == (text, sections)


@sampled(
    30,
    100,
    thoughts=st.dictionaries(st.sampled_from(list(HEADINGS)), st.text(max_size=200), min_size=1),
    millis=st.integers(31_622_400_000, 7_258_000_000_000),
    zone=st.sampled_from(["UTC", "America/Los_Angeles", "Asia/Kathmandu", "Australia/Lord_Howe"]),
)
def test_what_is_rendered_is_parsed(thoughts, millis, zone):
    """Any texts at any time: the time comes back, each text lies in the file, headings in order."""
    at = EPOCH + timedelta(milliseconds=millis)
    raw = render_file(render_thoughts(thoughts), at, ZoneInfo(zone))
    assert decode(raw.encode()) == raw
    parsed = parse_entry(raw)
    read = entry_at(parsed.frontmatter, "", "", MTIME, UTC)
    assert to_millis(read) == millis
    assert all(text in raw for text in thoughts.values())
    assert "title" in parsed.frontmatter
    if not any(x in text for text in thoughts.values() for x in ("```", "~~~")):
        known = [HEADINGS[field] for field in HEADINGS if field in thoughts]
        assert [x for x in parsed.headings if x in known] == known


@settings(deadline=None)  # a busy machine is no fault of the text
@given(st.text())
def test_any_text_is_an_entry(raw):
    """No text raises, and cleaning twice is cleaning once for what has no frontmatter."""
    parsed = parse_entry(raw)
    assert parsed.text == parsed.text.strip()
    reference_text(raw)
    is_torn(raw)


def test_a_heading_that_somebody_wrote_is_text_and_a_category_is_not():
    """`## Kubernetes ingress` tells what the entry is about; `## Feelings` tells nothing of it."""
    parsed = parse_entry("## Feelings\n\ntired\n\n## Kubernetes ingress\n\nhad to restart\n")
    assert parsed.headings == ("Feelings", "Kubernetes ingress")
    assert parsed.text == "tired\n\nKubernetes ingress\n\nhad to restart"
