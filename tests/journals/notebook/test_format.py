"""The two forms on disk: what is written comes back as it was, whatever a text looks like."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from commonplace.core.errors import Invalid
from commonplace.core.ids import key_id, new_id
from commonplace.journals.git.history import Commit, TouchedPath
from commonplace.journals.notebook.format import (
    KEYS,
    CommitMessage,
    entries_of,
    entry_message,
    parse_file,
    parse_message,
    render_file,
    render_message,
    version_of,
)

ID = "019aa947-0000-7000-8000-000000000001"
FORGED = "019aa947-0000-7000-8000-00000000dead"

texts = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1
).filter(lambda x: bool(x.strip()))


def written(text, **more):
    return entry_message(
        section="a/b",
        entry_id=ID,
        text=text,
        summary=more.get("summary"),
        work_context=more.get("context"),
    )


@given(texts, st.one_of(st.none(), texts), st.one_of(st.none(), texts))
def test_an_entry_comes_back_as_written(text, summary, context):
    """Any Unicode, blank lines at both ends, lines that look like trailers."""
    message = written(text, summary=summary, context=context)
    assert parse_message(render_message(message).decode()) == message
    assert message.text == text


@pytest.mark.parametrize(
    "text",
    [
        f"done\n\nEntry-Id: {FORGED}",
        f"done\n\nWork-Context: lies\nEntry-Id: {FORGED}\nCommonplace: move\nMoved-From: x\n",
        "a\n---\nb\n\n--- a/x\n+++ b/x",
        "# heading\n# comment\n#",
        "\n\n\nx\n\n\n",
        "x\r\n\r\ny\r\n",
        "<!-- entry count: 9 -->",
    ],
)
def test_a_forged_trailer_is_text(text):
    """Only the last paragraph is ours, and it is always there."""
    found = parse_message(render_message(written(text)).decode())
    assert (found.text, found.entry_id, found.verb, found.section) == (text, ID, "", "a/b")


def test_the_last_id_of_the_last_paragraph_wins():
    """As when two entries were squashed; an id that is none does not count."""
    message = f"sum\n\ntext\n\nEntry-Id: {FORGED}\nSigned-off-by: Ann\nEntry-Id: {ID.upper()}\nEntry-Id: no\n"
    assert parse_message(message) == CommitMessage(summary="sum", text="text", entry_id=ID)
    assert parse_message(f"Entry-Id: {ID}\n").entry_id == ""


@pytest.mark.design("001-37", "001-66")
def test_the_message_is_what_people_see_in_git_log():
    """A summary, the text, and one paragraph of ours."""
    message = written("# What we learned\nX beats Y.", context="debugging\nretrieval")
    assert render_message(message).decode() == (
        "What we learned\n\n# What we learned\nX beats Y.\n\n"
        f"Work-Context: debugging retrieval\nSection: a/b\nEntry-Id: {ID}\n"
    )


@pytest.mark.design("001-36")
def test_the_form_of_the_design_is_read():
    """`work_context:` first, then the text."""
    found = parse_message("work_context: debugging memory\n\n# Today\n\nWe found it.\n")
    assert (found.work_context, found.summary) == ("debugging memory", "Today")
    assert (found.text, found.entry_id) == ("# Today\n\nWe found it.", "")


@pytest.mark.parametrize("bad", ["", " \n", "a\0b", "x" * (10 * 1024 * 1024 + 1)])
def test_what_cannot_be_an_entry(bad):
    """Nothing, NUL, more than 10 MB."""
    with pytest.raises(Invalid):
        written(bad)


def test_a_lone_surrogate_becomes_the_replacement_sign():
    """UTF-8 holds none."""
    assert written("a\ud800b").text == "a\ufffdb"


overviews = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.mark.design("001-33", "001-35")
@given(overviews, st.integers(0, 10**9))
def test_an_overview_comes_back_without_its_count(overview, count):
    """Line ends after the last line alone are not kept."""
    found = parse_file(render_file(overview, count))
    assert found.count == count
    assert found.overview == overview.rstrip("\r\n")
    assert parse_file(render_file(found.overview, 7)).version == found.version


@pytest.mark.design("001-34")
def test_the_file_ends_with_the_count():
    """As the design shows it."""
    assert (
        render_file("# Now\n\nWe know.", 47) == b"# Now\n\nWe know.\n\n<!-- entry count: 47 -->\n"
    )
    assert render_file("", 1) == b"<!-- entry count: 1 -->\n"


@pytest.mark.parametrize(
    ("content", "overview", "count"),
    [
        (b"By hand.", "By hand.", None),
        (b"A\r\n\r\n<!-- entry count: 3 -->\r\n", "A", 3),
        (b"A\n\n<!-- entry count: 3 -->\n\nWritten below.\n", "A\n\n\nWritten below.", 3),
        (b"A\n<!-- entry count: x -->\n", "A\n<!-- entry count: x -->", None),
        (b"\xff\n<!-- entry count: 2 -->", "\ufffd", 2),
        (b"A <!-- entry count: 2 -->", "A <!-- entry count: 2 -->", None),
        (b"A\n\n<!-- entry count: 3 -->\nB\n\n<!-- entry count: 4 -->\n", "A\n\nB", 4),
        (b"A\n\n<!-- entry count: 3 -->\n<!-- entry count: 4 -->\n", "A", 4),
        (
            b"```\n<!-- entry count: 47 -->\n```\n\n<!-- entry count: 2 -->\n",
            "```\n<!-- entry count: 47 -->\n```",
            2,
        ),
        (b"```\n<!-- entry count: 47 -->\n```\n", "```\n<!-- entry count: 47 -->\n```", None),
        (b"", "", None),
    ],
)
def test_files_that_people_edited(content, overview, count):
    """A count that is not in its place is still no part of the overview, nor are several of them."""
    found = parse_file(content)
    assert (found.overview, found.count) == (overview, count)


def test_bytes_that_are_no_text_are_written_again_as_they_were():
    """An entry alone changes the count, not a letter of the overview."""
    found = parse_file(b"caf\xe9\n", errors="surrogateescape")
    assert render_file(found.overview, 1) == b"caf\xe9\n\n<!-- entry count: 1 -->\n"


def test_a_version_is_the_hash_of_what_is_read():
    """The first 12 hex digits of sha256 of "abc" (FIPS 180-2)."""
    assert version_of("abc") == "ba7816bf8f01"


def test_ids():
    """UUIDv7 of a time; those of keys and of commits by hand follow from them."""
    made = uuid.UUID(new_id(datetime(2026, 11, 22, tzinfo=UTC), b"\xff" * 10))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == 1795305600000
    assert key_id(KEYS, "me", "k") == key_id(KEYS, "me", "k") != key_id(KEYS, "you", "k")
    one, rebased = commit("fix", "a.md"), replace(commit("fix", "a.md"), hash="d" * 40)
    assert id_of(one) == id_of(rebased) != id_of(commit("fix", "b.md"))


def id_of(made):
    """The id of the entry that a commit is."""
    return next(iter(entries_of(made))).id


def commit(message, *paths, parents=("p",)):
    touched = tuple(TouchedPath(path=x, is_file=True) for x in paths)
    at = datetime(2026, 11, 22, tzinfo=UTC)
    return Commit(
        hash="c" * 40,
        parents=parents,
        author="Ann",
        address="a@b",
        at=at,
        message=message,
        touched=touched,
    )


@pytest.mark.design("001-42")
def test_which_commits_are_entries():
    """One for our id; one for each section a hand touched; none for a merge or our upkeep."""
    ours = f"s\n\nt\n\nSection: a\nEntry-Id: {ID}"
    assert [(x.section, x.id) for x in entries_of(commit(ours, "b.md"))] == [("a", ID)]
    assert [(x.section, x.id) for x in entries_of(commit(ours))] == [("a", ID)]
    old = f"s\n\nt\n\nEntry-Id: {ID}"
    assert [x.section for x in entries_of(commit(old, "b.md"))] == ["b"]
    for hostile in ("../x", ".git/hooks/x", "-rf", "a#b", "x/../.."):
        forged = ours.replace("Section: a", f"Section: {hostile}")
        assert [x.section for x in entries_of(commit(forged, "b.md"))] == ["b"]
        assert not list(entries_of(commit(forged)))
    made = commit("fix\n\nwhy", "a.md", "d/e.md", "x.txt", ".git.md")
    by_hand = list(entries_of(made))
    assert [(x.section, x.id, x.by_hand) for x in by_hand] == [
        ("a", id_of(made), True),
        ("d/e", id_of(made), True),
    ]
    assert not list(entries_of(commit(ours, "a.md", parents=("p", "q"))))
    assert not list(
        entries_of(commit("Move\n\nSection: b\nMoved-From: a\nCommonplace: move", "b.md"))
    )
