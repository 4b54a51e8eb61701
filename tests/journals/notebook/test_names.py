"""What a section may be called: nothing that leads out, and nothing that git could misread."""

from __future__ import annotations

import pytest

from commonplace.core.errors import Invalid
from commonplace.journals.notebook.names import (
    file_of,
    find_section,
    parse_address,
    parse_new_section,
    parse_section,
    refuse_twin,
)

HOSTILE = [
    *("", " ", "/", "a/", "/a", "a//b", ".", "..", "../a", "a/..", "a/../b", "~/../x/.."),
    *(".git", ".git/hooks/pre-commit", "a/.git/x", ".GIT", ".gitattributes", "git~1", "GIT~1/x"),
    *(".g\u200cit", "\u200c.git", "\u200d.git/x", "a/\u200d"),
    *("-rf", "--output=x", "a/-x", "--upload-pack=x", "\u200c-rf"),
    *("a\nb", "a\0b", "a\x7fb", "a\rb", "\x1b[31m", "a\ud800b"),
    *("a#b", "#", "a#"),
]
UNWRITABLE = [
    *("C:\\x", "a\\b", "a:b", "a*", 'a"b', "a|b", "file:stream", "\\\\host\\share"),
    *("con", "NUL", "aux.txt", "com1", "LPT9", "COM¹", "a/prn", "CON.x/y"),
    *("a.", "a./b", "a /b", "a/ b", "note.md", "note.MD/x", "x" * 300, "é" * 61, "a\u202eb"),
    "/".join(["abcdefghi"] * 21),
]


@pytest.mark.parametrize("name", HOSTILE)
def test_what_leads_out_or_confuses_git_is_no_section(name):
    """Neither to read nor to write; the message shows it in plain letters."""
    with pytest.raises(Invalid) as told:
        parse_section(name)
    assert str(told.value).isprintable()
    with pytest.raises(Invalid):
        parse_new_section(name)


@pytest.mark.parametrize("name", UNWRITABLE)
def test_what_some_system_cannot_hold_is_not_written(name):
    """It may lie there already, made by hand, and can then be read."""
    assert parse_section(name)
    with pytest.raises(Invalid):
        parse_new_section(name)


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "project-alpha/api-design",
        "日本語/メモ",
        "naïve",
        "a b",
        "👩\u200d💻",
        "x" * 120,
        "1/2",
    ],
)
def test_ordinary_names_are_files(name):
    """In any script, with blanks inside."""
    assert parse_new_section(f" {name} ") == name
    assert find_section(file_of(name)) == name


def test_a_name_is_composed():
    """NFD, as a Mac types it, is the NFC section."""
    assert parse_new_section("cafe\u0301") == "caf\u00e9"


@pytest.mark.parametrize(
    "path", ["a.txt", ".github/x.md", "..md", "a/.md", "a#b.md", "cafe\u0301.md"]
)
def test_files_that_are_no_sections(path):
    """Another kind of file, a hidden one, or one whose name cannot be said in an id."""
    assert find_section(path) is None


def test_case_twins_are_refused_on_every_level():
    """Some disks hold both in one file."""
    there = ["Project/api", "straße"]
    for twin in ["project/api", "PROJECT/other", "Project/API", "STRASSE", "Straße/x"]:
        with pytest.raises(Invalid):
            refuse_twin(twin, there)
    for other in ["Project/api", "Project/web", "projects", "straße/x", "Project"]:
        refuse_twin(other, there)


def test_an_address_names_a_section_and_an_entry():
    """A hash or an entry id after the sign; the journal's name before it may stand or not."""
    assert parse_address("api/errors") == ("api/errors", "")
    assert parse_address("notebook:api/errors#abc123") == ("api/errors", "abc123")
    for broken in ["a#", "#abc", "../x#abc"]:
        with pytest.raises(Invalid):
            parse_address(broken)
