"""Exports say what the original's say, and every export ever written is read back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import strategies as st
from tests.cases import cases
from tests.sampled import sampled

from commonplace.core.errors import Invalid
from commonplace.journals.chronicle.event import Event
from commonplace.journals.chronicle.exports import render_json, render_markdown, render_yaml
from commonplace.journals.chronicle.imports import parse_export
from commonplace.journals.chronicle.times import from_instant, to_instant

CHICAGO = ZoneInfo("America/Chicago")
EXPORTED_AT = datetime(2026, 2, 1, 9, 0, 0, 999, tzinfo=UTC)


def imported(instant, **parts):
    """An entry of an export, of an instant in nanoseconds."""
    return Event(at=from_instant(instant), nanos=instant % 1000, **parts)


DEPLOYED = imported(
    id="abc123",
    instant=to_instant(datetime(2026, 1, 31, 14, 32, 15, tzinfo=UTC)),
    message="deployed v2.1.0",
    tags=("deployment", "production"),
    hostname="MacBook-Pro",
    username="harper",
    directory="/home/harper/app",
)
FIXED = imported(
    id="def456",
    instant=to_instant(datetime(2026, 1, 31, 10, 15, tzinfo=UTC)),
    message="fixed login bug",
    tags=("bugfix",),
    hostname="MacBook-Pro",
    username="harper",
    directory="/home/harper/app",
)
BARE = imported(
    id="7", instant=to_instant(datetime(2026, 1, 30, 23, 0, tzinfo=UTC)) + 5, message="a < b"
)

# Source: the expected text of the original's TestMarkdownExport.
MARKDOWN = """# Chronicle Export

Generated: 2026-02-01T09:00:00Z

---

## 2026-01-31

### 14:32:15 - deployed v2.1.0
- **ID**: abc123
- **Tags**: deployment, production
- **Host**: MacBook-Pro
- **User**: harper
- **Directory**: /home/harper/app

### 10:15:00 - fixed login bug
- **ID**: def456
- **Tags**: bugfix
- **Host**: MacBook-Pro
- **User**: harper
- **Directory**: /home/harper/app

"""

# By hand: encoding/json's MarshalIndent with two spaces, omitempty from the tags on.
JSON = """{
  "version": "1.0",
  "exported_at": "2026-02-01T09:00:00Z",
  "tool": "chronicle",
  "entries": [
    {
      "id": "def456",
      "timestamp": "2026-01-31T10:15:00Z",
      "message": "fixed login bug",
      "tags": [
        "bugfix"
      ],
      "hostname": "MacBook-Pro",
      "username": "harper",
      "working_directory": "/home/harper/app"
    },
    {
      "id": "7",
      "timestamp": "2026-01-30T23:00:00.000000005Z",
      "message": "a \\u003c b"
    }
  ]
}"""

# By hand: yaml.v3 indents by four, quotes what looks like a number or a time, and nothing else.
YAML = """version: "1.0"
exported_at: "2026-02-01T09:00:00Z"
tool: chronicle
entries:
    - id: abc123
      timestamp: "2026-01-31T14:32:15Z"
      message: deployed v2.1.0
      tags:
        - deployment
        - production
      hostname: MacBook-Pro
      username: harper
      working_directory: /home/harper/app
    - id: "7"
      timestamp: "2026-01-30T23:00:00.000000005Z"
      message: a < b
"""


def test_markdown_is_the_originals():
    """Days and their entries, newest first, whatever the order they come in."""
    assert render_markdown([FIXED, DEPLOYED], exported_at=EXPORTED_AT) == MARKDOWN


def test_json_is_the_originals():
    """Go's indentation, key order, omissions and escapes."""
    assert render_json([FIXED, BARE], exported_at=EXPORTED_AT) == JSON


def test_yaml_says_what_the_originals_says():
    """The same keys in the same order, omissions and values; theirs is read as ours is."""
    text = render_yaml([DEPLOYED, BARE], exported_at=EXPORTED_AT)
    ours, theirs = yaml.safe_load(text), yaml.safe_load(YAML)
    assert json.dumps(ours) == json.dumps(theirs)
    assert parse_export(YAML) == parse_export(text) == [DEPLOYED, BARE]


def test_an_export_of_nothing_says_so():
    """Each form has its header, and is read back as no entries."""
    texts = [
        render([], exported_at=EXPORTED_AT)
        for render in (render_json, render_yaml, render_markdown)
    ]
    assert texts[0].endswith('"entries": []\n}')
    assert texts[1].endswith("entries: []\n")
    assert texts[2].endswith("---\n\nNo entries to export.\n")
    assert [parse_export(text) for text in texts] == [[], [], []]


def test_times_are_written_on_the_clock_of_the_export():
    """The zone of exported_at rules, as the original writes local times."""
    at = EXPORTED_AT.astimezone(CHICAGO)
    assert '"timestamp": "2026-01-31T04:15:00-06:00"' in render_json([FIXED], exported_at=at)
    assert "exported_at: '2026-02-01T03:00:00-06:00'" in render_yaml([FIXED], exported_at=at)
    text = render_markdown([FIXED], exported_at=at)
    assert "## 2026-01-31\n\n### 04:15:00 - fixed" in text
    assert parse_export(text, zone=CHICAGO) == [FIXED]


_text = st.text(st.characters(exclude_categories=["Cs"]))
_hard = st.sampled_from(
    ["", " ", "\n", "\n\n", " a\nb", "a\n b", "\ta\nb", "a\n\tb\n", "a \nb", "~", "null", "---", "a: b", "a:",
     "#", "a #b", "'", '"', "\\", "- a", "?", ": a", "\u2028", "a\u2029\nb", "\x85", "\ufeff", "\r\n", "1_0", "<<",
     "=", "!x", "&a", "*a", "%a", "{a}", "[a]", "| a", "a\n\n", "...", "0o7", "1e3", "2026-1-1", "\x7f", "\xa0",
     "### 10:00:00 - x\n- **ID**: y\n\n## 2026-01-01"]
)  # fmt: skip
_any = _text | _hard | st.lists(_hard, max_size=4).map("".join)
_entries = st.lists(
    st.builds(
        imported,
        id=_any.filter(bool),
        # The years 2 to 9998: any zone's clock can show these.
        instant=st.integers(-62_000_000_000 * 10**9, 253_000_000_000 * 10**9),
        message=_any,
        tags=st.lists(_any, max_size=3).map(tuple),
        hostname=_any,
        username=_any,
        directory=_any,
    ),
    max_size=4,
)
_zones = st.sampled_from(
    [UTC, CHICAGO, ZoneInfo("Asia/Kathmandu"), timezone(timedelta(seconds=61))]
)


@pytest.mark.parametrize("render", [render_json, render_yaml])
@sampled(20, 100, entries=_entries, zone=_zones)
def test_an_export_comes_back_as_it_was(render, entries, zone):
    """JSON and YAML lose nothing: no character, no nanosecond, no order."""
    text = render(entries, exported_at=EXPORTED_AT.astimezone(zone))
    assert parse_export(text) == entries


@sampled(20, 100, entries=_entries)
def test_yaml_means_the_same_to_another_reader(entries):
    """A reader that knows nothing of us finds the texts as texts."""
    found = yaml.safe_load(render_yaml(entries, exported_at=EXPORTED_AT))
    assert [each["message"] for each in found["entries"]] == [each.message for each in entries]
    assert [each.get("tags", []) for each in found["entries"]] == [[*each.tags] for each in entries]


_line = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))


@sampled(
    20,
    100,
    entries=st.lists(
        st.builds(
            imported,
            id=_line.filter(bool),
            instant=st.integers(0, 4_000_000_000).map(lambda seconds: seconds * 10**9),
            message=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"))
            | _hard.map(lambda text: text.replace("\r", "")),
            tags=st.lists(_line.filter(lambda tag: tag and "," not in tag), max_size=3).map(tuple),
            hostname=_line,
            username=_line,
            directory=_line,
        ),
        max_size=4,
    ),
)
def test_markdown_comes_back_but_for_what_it_cannot_say(entries):
    """Whole seconds, LF and tags without commas survive, and no message forges an entry."""
    found = parse_export(render_markdown(entries, exported_at=EXPORTED_AT))
    assert found == sorted(entries, key=lambda entry: -entry.instant)


def test_the_originals_raw_lines_are_read():
    """The original writes a message's further lines as they are."""
    text = MARKDOWN.replace("login bug\n", "login bug\n\n  the token\n## 2026-02-30\nexpired\n")
    found = parse_export(text.replace("\n", "\r\n"))
    assert [each.message for each in found] == [
        "deployed v2.1.0",
        "fixed login bug\n\n  the token\n## 2026-02-30\nexpired",
    ]


def test_lists_of_every_version_are_read():
    """`list --json` in lower case, and in Go's field names with counted ids."""
    lower = [
        {"id": "abc", "timestamp": "2026-01-31T14:32:15.5-06:00", "message": "m", "hostname": "h",
         "username": "u", "working_directory": "/w", "tags": None}
    ]  # fmt: skip
    capital = [
        {"ID": 12, "Timestamp": "2025-11-29T14:32:15Z", "Message": "m", "Hostname": "h",
         "Username": "u", "WorkingDirectory": "/w", "Tags": ["a"], "CreatedAt": "2025-11-29T14:32:15Z"},
    ]  # fmt: skip
    (first,) = parse_export(json.dumps(lower, indent=2))
    (second,) = parse_export("\ufeff" + json.dumps(capital))
    assert first.at == datetime(2026, 1, 31, 20, 32, 15, 500_000, tzinfo=UTC)
    assert (first.id, first.tags, first.directory) == ("abc", (), "/w")
    assert second.at == datetime(2025, 11, 29, 14, 32, 15, tzinfo=UTC)
    assert (second.id, second.tags, second.directory) == ("12", ("a",), "/w")
    assert parse_export("null\n") == []


def test_yaml_written_by_hand_is_read():
    """Times stay texts until they are parsed, and a plain null is nothing."""
    text = "entries:\n- {id: 5, timestamp: 2026-01-31 10:15:00, message: null, tags: ~}\n"
    at = datetime(2026, 1, 31, 10, 15, tzinfo=UTC)
    assert parse_export(text) == [imported(id="5", instant=to_instant(at), message="")]


@cases(
    ("text", "said"),
    [
        ("", "not an export"),
        ("hello", "not an export"),
        ('[{"id": "a",\n "message" 3}]', "line 2"),
        ("[" * 100_000, "JSON"),
        ("[" + "9" * 5_000 + "]", "JSON"),
        ("{}", "holds no `entries`"),
        ('{"entries": {}}', "a list of `entries`, got an object"),
        (
            '[{"id": "a", "timestamp": "2026-01-31T10:15:00Z", "message": "m"}, 7]',
            "Entry 2: expected an object, got a number",
        ),
        ('[{"id": "a", "timestamp": "2026-01-31T10:15:00Z"}]', "Entry 1 has no message"),
        ('[{"timestamp": "2026-01-31T10:15:00Z", "message": "m"}]', "Entry 1 has no id"),
        ('[{"id": "a", "timestamp": "soon", "message": "m"}]', "Entry 1: its timestamp"),
        ('[{"id": "a", "message": "m"}]', "Entry 1: its timestamp"),
        ('[{"id": "a", "message": 5}]', "Entry 1: expected text as its message, got a number"),
        ('[{"id": true, "message": "m"}]', "Entry 1: expected text as its id, got a boolean"),
        (
            '[{"id": "a", "message": "m", "tags": "x"}]',
            "Entry 1: expected a list of texts as its tags",
        ),
        (YAML.replace("2026-01-30T", "2026-02-30T"), "Entry 2 (line 14): its timestamp"),
        (YAML.replace("abc123", "a: b"), "line 5"),
        (YAML.replace("abc123", "a\x01"), "character"),
        (YAML.replace("tool: chronicle", "version: again"), "Line 3"),
        (YAML.replace("abc123", "&a abc123"), "Line 5 holds a YAML anchor"),
        (YAML.replace("abc123", "*a"), "Line 5 holds a YAML anchor"),
        (YAML.replace("abc123", "!!python/name:os.system x"), "Line 5 holds a YAML anchor"),
        (YAML + "---\nid: x\n", "2 documents"),
        ("id: " + "[" * 50_000, "nested too deep"),
        (MARKDOWN.replace("- **ID**: def456\n", ""), "Line 16: the entry has no ID"),
        (MARKDOWN.replace("10:15:00", "25:15:00"), "Line 16: 25:15:00 is not a time"),
        (MARKDOWN.replace("## 2026-01-31", "## 2026-13-31"), "Line 7: 2026-13-31 is not a date"),
        (MARKDOWN.replace("## 2026-01-31", ""), "Line 9: an entry stands above"),
    ],
)
def test_what_is_wrong_is_named(text, said):
    """An error names the line or the entry, has a next step, and holds none of the entry's text."""
    with pytest.raises(Invalid) as refused:
        parse_export(text)
    assert said in refused.value.message
    assert refused.value.hint
    assert "os.system" not in str(refused.value)


def test_an_endless_export_is_refused():
    """A text past the limit is not even looked at."""
    with pytest.raises(Invalid, match="more than 1,000"):
        parse_export("x" * 1_001, limit=1_000)
